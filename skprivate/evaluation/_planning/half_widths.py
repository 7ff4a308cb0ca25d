# SPDX-License-Identifier: BSD-3-Clause
"""Half-widths of the intervals that private fits print, in trials on rows that were drawn."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from ..._config import config_context
from ..._typing import FloatArray
from ...exceptions import UtilityWarning
from .lifetimes import Draw

Cell = tuple[str, float | Fraction]


@dataclass(frozen=True)
class FitWidths:
    """Half-widths of the 90 % intervals of one fit.

    Attributes
    ----------
    quantile, slopes : ndarray
        Of the quantile at each row, relative where the target is a time; of each slope.
    scale : float
        Relative.
    warned : bool
        Whether the fit warned of its noise.
    relative : bool
    slope_names : tuple of str
    """

    quantile: FloatArray
    slopes: FloatArray
    scale: float
    warned: bool
    relative: bool
    slope_names: tuple[str, ...]


class Trials:
    """Fits of an estimator to rows that are drawn, at any number of rows; each number is tried once.

    Parameters
    ----------
    estimator : estimator
        Without a ledger.
    variants : dict of str to dict
        Parameters of each.
    epsilons : sequence of float or Fraction
    draw : callable
    X_at : array-like
        Rows at which the quantile is looked at.
    q : float
    seeds : sequence of int
        One for each repeat.
    n_jobs : int or None
    """

    def __init__(
        self,
        estimator: Any,
        variants: Mapping[str, Mapping[str, Any]],
        epsilons: Sequence[float | Fraction],
        draw: Draw,
        X_at: Any,
        q: float,
        seeds: Sequence[int],
        n_jobs: int | None,
    ) -> None:
        self._models = {
            (name, epsilon): clone(estimator).set_params(**{**parameters, "epsilon": epsilon})
            for name, parameters in variants.items()
            for epsilon in epsilons
        }
        self._draw, self._X_at, self._q = draw, X_at, q
        self._seeds, self._n_jobs = seeds, n_jobs
        self._known: dict[tuple[int, Cell], list[FitWidths]] = {}

    def at(self, n: int, cells: Sequence[Cell]) -> list[list[FitWidths]]:
        """Return the fits to n rows of each cell: a variant and an epsilon."""
        new = [cell for cell in cells if (n, cell) not in self._known]
        if new:
            tried = Parallel(n_jobs=self._n_jobs)(delayed(self._try)(n, seed, new) for seed in self._seeds)
            self._known |= {(n, cell): [one[cell] for one in tried] for cell in new}
        return [self._known[n, cell] for cell in cells]

    def _try(self, n: int, seed: int, cells: Sequence[Cell]) -> dict[Cell, FitWidths]:
        # Rows, and the noise of each cell, by streams of their own.
        of_rows, *of_cells = np.random.SeedSequence(seed).spawn(1 + len(self._models))
        X, y = self._draw(n, np.random.default_rng(of_rows))
        noise = {
            cell: int(one.generate_state(1)[0]) for cell, one in zip(self._models, of_cells, strict=True)
        }
        with config_context(allow_seeds=True):
            return {
                cell: widths_of_fit(
                    clone(self._models[cell]).set_params(random_state=noise[cell]), X, y, self._X_at, self._q
                )
                for cell in cells
            }


def widths_of_fit(model: Any, X: Any, y: Any, X_at: Any, q: float) -> FitWidths:
    """Fit a model, and return the half-widths of its intervals.

    Those of quantiles of times are relative: the root of the ratio of the ends, minus 1.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    # Of fits that are tried a width is enough: no warning.
    _, interval = model._with_intervals(X_at, q, 0.9)
    if model.log_target_:
        with np.errstate(all="ignore"):
            quantile = np.sqrt(interval[:, 1] / interval[:, 0]) - 1
    else:
        quantile = (interval[:, 1] - interval[:, 0]) / 2
    return FitWidths(
        np.where(np.isnan(quantile), np.inf, quantile),
        np.ptp(model.coef_interval_, axis=1) / 2,
        float(np.ptp(model.scale_interval_) / 2 / model.scale_),
        any(issubclass(one.category, UtilityWarning) for one in caught),
        bool(model.log_target_),
        model.names_of_features() or tuple(f"x{place}" for place in range(len(model.coef_))),
    )


def widest_of(fits: Sequence[FitWidths]) -> FloatArray:
    """Return the half-width of each fit's quantile where it is widest; infinite where the fit warned."""
    return np.array([np.inf if one.warned else one.quantile.max() for one in fits])


def median_widths(fits: Sequence[FitWidths], of: Callable[[FitWidths], Any]) -> FloatArray:
    """Return the medians over fits; one that warned counts as infinitely wide: its intervals are no claim."""
    return np.median([np.full(np.shape(of(one)), np.inf) if one.warned else of(one) for one in fits], axis=0)
