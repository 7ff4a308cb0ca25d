# SPDX-License-Identifier: BSD-3-Clause
"""Simulated lifetimes for a study of life data, and half-widths of the intervals of trial fits."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ..._config import config_context
from ..._typing import FloatArray
from ...exceptions import UtilityWarning
from ...linear_model._distributions import ErrorDistribution, error_distribution_of, models_log_target
from ...linear_model._goodness_of_fit import KNOWN
from ...linear_model._scale_by_level import each_level
from ...utils import check_bounds, is_structured
from ...utils._compat import safe_indexing
from ...utils._public_module import public_module
from .populations import StatedWorld, check_public
from .trial_fits import quieten

_RECORDS = np.dtype([("event", np.bool_), ("time", np.float64)])
#: A function that draws n rows and their targets.
Draw = Callable[[int, np.random.Generator], tuple[Any, NDArray[Any]]]


@public_module("skprivate.evaluation")
@dataclass(frozen=True, kw_only=True, eq=False)
class StatedLifetimes:
    """Lifetimes by a stated model: the expectation of the planner of a test.

    Parameters
    ----------
    coef : array-like of shape (d,)
        Slopes of the location, one for each column of the design; with a domain, one for each of its
        ``encoded_names``.
    intercept : float
        Location at 0; for life distributions, of log time.
    scale : float or array-like of shape (m,)
        Scale of the errors, above 0; or one for each row of X, if it differs by level.
    X : array-like or data frame of shape (m, n_features), default=None
        Rows of the design, such as the levels of a test. Units are drawn from them with replacement. None:
        uniform within the ``bounds_X`` of the estimator; with ``coef=[]`` one population, without columns.
    censoring : float, default=0.0
        Share of units that still run when the test ends, in [0, 1). The test ends at one time for all units.
        If it is above 0, targets are events and times.

    Raises
    ------
    ValueError
        A parameter is out of range.

    See Also
    --------
    plan_life_study : Its parameter ``stated`` takes it.

    Notes
    -----
    **Privacy.** All of it must be public: from an earlier test, a handbook or a guess. Never take it from the
    private rows of the study.

    Examples
    --------
    >>> from skprivate.evaluation import StatedLifetimes
    >>> StatedLifetimes(coef=[-0.5, 0.2], intercept=6.0, scale=0.5, censoring=0.3).censoring
    0.3
    """

    coef: ArrayLike
    intercept: float
    scale: ArrayLike
    X: Any = None
    censoring: float = 0.0

    def __post_init__(self) -> None:
        coef = np.asarray(self.coef, dtype=np.float64)
        if coef.ndim != 1 or not np.isfinite(coef).all() or not np.isfinite(self.intercept):
            raise ValueError("coef must be a list of finite numbers, and intercept a finite number.")
        scale = np.asarray(self.scale, dtype=np.float64)
        if not ((scale > 0) & (scale < np.inf)).all():
            raise ValueError("scale must be above 0.")
        if scale.ndim and (self.X is None or scale.shape != (len(self.X),)):
            raise ValueError("scale must be a number, or one for each row of X.")
        if not 0 <= self.censoring < 1:
            raise ValueError("censoring must be at least 0 and below 1.")

    def draw_for(self, estimator: Any) -> Draw:
        """Return a function that draws units for an estimator; ValueError if the model does not fit it."""
        coef = np.asarray(self.coef, dtype=np.float64)
        design = _Design(self.X, estimator, len(coef))
        error = error_distribution_of(estimator.distribution)
        log_target = models_log_target(estimator.distribution) or self.censoring > 0

        def draw(n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
            X, encoded, places = design.draw(n, rng)
            scale = np.asarray(self.scale, dtype=np.float64)
            scale = scale[places] if scale.ndim else scale
            line = self.intercept + encoded @ coef + scale * _errors(error, n, rng)
            if not log_target:
                return X, line
            times = np.exp(line)
            # One end for all units.
            end = float(np.quantile(times, 1 - self.censoring))
            return X, _observed(times, end) if self.censoring > 0 else times

        return draw


class _Design:
    """Rows of a test, and the same rows as the model encodes them."""

    def __init__(self, X: Any, estimator: Any, width: int) -> None:
        self._X, self._domain = X, estimator.domain
        if X is None:
            if not width:
                self._lower = self._upper = np.zeros(0)
                return
            if estimator.bounds_X is None:
                raise ValueError("StatedLifetimes needs X, unless the estimator declares bounds_X.")
            self._lower, self._upper = check_bounds(estimator.bounds_X, width, name="bounds_X")
            return
        self._encoded = np.asarray(X, dtype=np.float64) if self._domain is None else self._domain.encode(X)
        if self._encoded.ndim != 2 or self._encoded.shape[1] != width:
            raise ValueError(f"coef has {width} slopes, and the rows X of the design have other columns.")

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, FloatArray, Any]:
        """Return n rows as the estimator takes them, the rows as numbers, and their places in the design."""
        if self._X is None:
            rows = rng.uniform(self._lower, self._upper, size=(n, len(self._lower)))
            return rows if len(self._lower) else None, rows, None
        places = rng.integers(len(self._encoded), size=n)
        X = self._X if hasattr(self._X, "iloc") or hasattr(self._X, "dtypes") else np.asarray(self._X)
        return safe_indexing(X, places), self._encoded[places], places


def _errors(error: ErrorDistribution, n: int, rng: np.random.Generator) -> FloatArray:
    # The quantile of 0 would be infinite.
    return error.quantile(rng.uniform(np.finfo(float).tiny, 1, size=n))


def _observed(times: FloatArray, ends: FloatArray | float) -> NDArray[Any]:
    """Return events and times of units that are observed until their ends."""
    records = np.empty(len(times), dtype=_RECORDS)
    records["event"], records["time"] = times <= ends, np.minimum(times, ends)
    return records


def draw_lives(template: Any, stated: Any, public: Any, simulate: Any) -> tuple[str, Draw]:
    """Return the name of the source of rows, and a function that draws them."""
    given = {"stated": stated, "public": public, "simulate": simulate}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError("give one of stated=StatedLifetimes(...), public=(X, y) and simulate=...")
    if stated is not None:
        return "stated", stated.draw_for(template)
    if public is not None:
        return "public", draw_from_public(public, template)
    return "simulate", draw_from_simulation(simulate)


def draw_from_public(public: Any, estimator: Any) -> Draw:
    """Return a function that draws units like public ones; TypeError or ValueError if these are unusable.

    Public rows are drawn with replacement. Lifetimes follow the model that the estimator, with hardly any
    noise, finds in the public rows. The end of observation is drawn from its Kaplan-Meier curve. Drawing
    whole public rows would be wrong: one in five hundred that is beyond a bound would be 0.2 percent.
    """
    X, y = check_public(public, np.asarray)
    if is_structured(y) and len(y.dtype.names or ()) != 2:
        raise ValueError("public targets must be numbers, or records of event and time.")
    with config_context(allow_seeds=True), warnings.catch_warnings(action="ignore"):
        model = quieten(estimator, "epsilon", 0).fit(X, y)
    design = _Design(X, estimator, len(model.coef_))
    ends = _ends_of(y) if is_structured(y) else None

    def draw(n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        rows, encoded, _ = design.draw(n, rng)
        target = model.intercept_ + encoded @ model.coef_
        errors = _errors(model.error_distribution_, n, rng)
        for where, level in each_level(model, encoded, intervals=False):
            target[where] += level.scale_ * errors[where]
        if model.log_target_:
            target = np.exp(target)
        return rows, target if ends is None else _observed(target, ends(n, rng))

    return draw


def _ends_of(y: NDArray[Any]) -> Callable[[int, np.random.Generator], FloatArray]:
    """Return a function that draws ends of observation by their Kaplan-Meier curve; above it, infinity."""
    event, time = (y[name] for name in y.dtype.names or ())
    order = np.argsort(time, kind="stable")
    falls = ~event[order].astype(bool) / np.arange(len(time), 0, -1)
    survival, times = np.cumprod(1 - falls), np.append(time[order].astype(np.float64), np.inf)

    def draw(n: int, rng: np.random.Generator) -> FloatArray:
        return times[np.searchsorted(-survival, -rng.uniform(size=n), side="right")]

    return draw


def draw_from_simulation(simulate: Any) -> Draw:
    """Return a function that draws by a simulation of the user and checks its result."""
    world = StatedWorld(simulate)

    def draw(n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        X, y = world.draw(n, rng)
        if not is_structured(y) and y.dtype.kind not in "fiu":
            raise ValueError("simulate(n, rng) must return numbers, or events and times.")
        return X, y

    return draw


# Half-widths of the intervals of private fits, in trials.

Cell = tuple[str, float | Fraction]


@dataclass(frozen=True)
class FitWidths:
    """Half-widths of the 90 % intervals of one fit.

    Attributes
    ----------
    quantile, slopes : ndarray
        Half-widths of the quantile at each row, relative if the target is a time; and of each slope.
    scale : float
        Half-width of the scale, relative.
    warned : bool
        Whether the state of a quantile is not "known": "mostly noise" or "unknown".
    relative : bool
    slope_names : tuple of str
    """

    quantile: FloatArray
    slopes: FloatArray
    scale: float
    warned: bool
    relative: bool
    slope_names: tuple[str, ...]


@dataclass(eq=False)
class Trials:
    """Fits of an estimator to any number of drawn rows; each number is tried once.

    Parameters
    ----------
    estimator : estimator
        It has no ledger.
    variants : dict of str to dict
        Parameters of each variant.
    epsilons : sequence of float or Fraction
    draw : callable
    X_at : array-like
        Rows at which the quantile is evaluated.
    q : float
    seeds : sequence of int
        One for each repeat.
    n_jobs : int or None
    """

    estimator: Any
    variants: Mapping[str, Mapping[str, Any]]
    epsilons: Sequence[float | Fraction]
    draw: Draw
    X_at: Any
    q: float
    seeds: Sequence[int]
    n_jobs: int | None

    def __post_init__(self) -> None:
        self._models = {
            (name, epsilon): clone(self.estimator).set_params(**{**parameters, "epsilon": epsilon})
            for name, parameters in self.variants.items()
            for epsilon in self.epsilons
        }
        self._known: dict[tuple[int, Cell], list[FitWidths]] = {}

    def at(self, n: int, cells: Sequence[Cell]) -> list[list[FitWidths]]:
        """Return the fits to n rows of each cell: a variant and an epsilon."""
        new = [cell for cell in cells if (n, cell) not in self._known]
        if new:
            tried = Parallel(n_jobs=self.n_jobs)(delayed(self._try)(n, seed, new) for seed in self.seeds)
            self._known |= {(n, cell): [one[cell] for one in tried] for cell in new}
        return [self._known[n, cell] for cell in cells]

    def _try(self, n: int, seed: int, cells: Sequence[Cell]) -> dict[Cell, FitWidths]:
        # Rows, and the noise of each cell, have random streams of their own.
        of_rows, *of_cells = np.random.SeedSequence(seed).spawn(1 + len(self._models))
        X, y = self.draw(n, np.random.default_rng(of_rows))
        noise = {
            cell: int(one.generate_state(1)[0]) for cell, one in zip(self._models, of_cells, strict=True)
        }
        with config_context(allow_seeds=True):
            return {
                cell: widths_of_fit(
                    clone(self._models[cell]).set_params(random_state=noise[cell]), X, y, self.X_at, self.q
                )
                for cell in cells
            }


def widths_of_fit(model: Any, X: Any, y: Any, X_at: Any, q: float) -> FitWidths:
    """Fit a model, and return the half-widths of its intervals.

    Those of quantiles of times are relative: the root of the ratio of the ends, minus 1.
    """
    with warnings.catch_warnings(action="ignore", category=UtilityWarning):
        model.fit(X, y)
    # Trial fits need the width alone, and no warning.
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
        bool((model.quantile_state(X_at, q) != KNOWN).any()),
        bool(model.log_target_),
        model._names_of_features() or tuple(f"x{place}" for place in range(len(model.coef_))),
    )


def widest_of(fits: Sequence[FitWidths]) -> FloatArray:
    """Return the widest half-width of each fit's quantile; infinite if a quantile is not known."""
    return np.array([np.inf if one.warned else one.quantile.max() for one in fits])


def median_widths(fits: Sequence[FitWidths], of: Callable[[FitWidths], Any]) -> FloatArray:
    """Return the medians over fits; a fit with a quantile that is not known counts as infinitely wide."""
    return np.median([np.full(np.shape(of(one)), np.inf) if one.warned else of(one) for one in fits], axis=0)
