# SPDX-License-Identifier: BSD-3-Clause
"""What a method of a comparison is, and what it says of test rows."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.exceptions import UtilityWarning

from .._timing import timed
from .data import Split

# Test rows of a leaf from which its mean is judged, and the normal quantile of intervals of 90 %.
LEAST_ROWS, QUANTILE = 10, 1.645


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a fitted model says of the test rows, the seconds of its fit, and whether it warned of no use.

    ``labels`` are numbers, and ``proba`` is None, where the target is a number. ``coverage`` is the share of
    leaves whose interval holds the leaf's mean, where a model gives intervals.
    """

    epsilon: float
    proba: NDArray[np.float64] | None
    labels: NDArray[Any]
    warned: bool = False
    seconds: float = np.nan
    coverage: float = np.nan


Predictions = Iterator[Prediction]


@dataclass(frozen=True, eq=False)
class Method:
    """A way to predictions at several epsilons.

    Attributes
    ----------
    predict : callable
        Takes a split and the epsilons, and yields predictions.
    kind : str
        "central", "local", "label"; "public" for models of public rows, "base rate", "ceiling" for models of
        all rows without privacy, and "peer".
    on_public, on_private_alone : bool
        Whether it is run with public rows, and without.
    available : callable
        Whether it can be run here.
    """

    predict: Callable[[Split, Sequence[float]], Predictions]
    kind: str
    on_public: bool = True
    on_private_alone: bool = True
    available: Callable[[], bool] = lambda: True

    def runs_at(self, setting: str) -> bool:
        return self.on_private_alone if setting == "0" else self.on_public

    def shows_elsewhere(self) -> bool:
        """Whether its figures without public rows stand in the tables of the other settings too."""
        return self.kind in ("peer", "ceiling") and not self.on_public

    def epsilons(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """Return the epsilons at which it is run: 0 where no noise is drawn."""
        return (0.0,) if self.kind in ("public", "base rate", "ceiling") else tuple(epsilons)


def said(epsilon: float, model: Any, split: Split, X_test: Any, fit: Callable[[], object]) -> Prediction:
    """Fit a model, with its warnings kept, and ask it about the test rows."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        seconds, _ = timed(fit)
        labels = model.predict(X_test)
        proba = widened(model, split, X_test) if split.classes else None
    warned = any(issubclass(one.category, UtilityWarning) for one in heard)
    coverage = np.nan if split.classes else leaf_coverage(model, X_test, split.y_test)
    return Prediction(epsilon, proba, labels, warned, seconds, coverage)


def leaf_coverage(model: Any, X_test: Any, y_test: NDArray[np.float64]) -> float:
    """Return the share of leaves whose interval of 90 % holds the mean target; NaN without intervals.

    The mean is that of the leaf's test rows, which errs as well: the half width h of the interval becomes
    sqrt(h^2 + (1.645 s)^2), s their standard error. Leaves with fewer than ten test rows are left out.
    """
    if not hasattr(model, "leaf_intervals"):
        return np.nan
    lower, upper = model.leaf_intervals(0.9).T
    leaves = model.apply(X_test)
    counts, sums, squares = (np.bincount(leaves, w, minlength=len(lower)) for w in (None, y_test, y_test**2))
    kept = counts >= LEAST_ROWS
    counts, means = counts[kept], sums[kept] / counts[kept]
    variances = np.maximum(squares[kept] / counts - means**2, 0) / (counts - 1)
    widths = np.sqrt(((upper - lower)[kept] / 2) ** 2 + QUANTILE**2 * variances)
    held = np.abs(means - (lower + upper)[kept] / 2) <= widths
    return float(held.mean()) if len(held) else np.nan


def widened(model: Any, split: Split, X_test: Any) -> NDArray[np.float64]:
    """Return probabilities of all classes from a model that has seen some of them."""
    proba = np.zeros((len(split.y_test), len(split.classes)))
    proba[:, np.searchsorted(split.classes, model.classes_)] = model.predict_proba(X_test)
    return proba
