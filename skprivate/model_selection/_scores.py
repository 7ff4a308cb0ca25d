# SPDX-License-Identifier: BSD-3-Clause
"""Scores of a private search: bounded per row, summed exactly on a grid, and released with noise."""

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from .._config import get_config
from .._typing import FloatArray
from ..noise import DiscreteLaplaceMechanism
from ..utils import check_int, is_structured
from ..utils._compat import BaseScorer, num_samples, safe_indexing
from ..utils._private_fit import public_errors

RowScorer = Callable[[Any, Any, Any], Any]

#: A row's score is a whole number of steps of 2^-20.
SCORE_STEPS = 2**20


WRONG_SHAPE = "scoring must return one score per row, an array of shape (n_rows,)."


class ScoreShapeError(ValueError):
    """A scoring function returned something else than one score per row, perhaps a single number."""

    def __init__(self, message: str, single: bool = False) -> None:
        super().__init__(message, single)
        self.single = single

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class ScoringRows:
    """The rows that models are scored on, and how the sum of their scores is released.

    Attributes
    ----------
    X, y : array-like
    groups : ndarray of int of shape (n_rows,) or None
        Number of every row's group, 0 to n_units - 1; None: a row is a unit.
    n_units : int
        Public.
    epsilon : Fraction or None
        None: the rows are public, and scores are exact.

    Notes
    -----
    **Privacy.** The score of a unit is that of its row, or the mean of its rows rounded down, a whole number
    between 0 and ``SCORE_STEPS``. So replacing a unit moves the sum by ``SCORE_STEPS`` at most, whatever its
    number of rows, and exact discrete Laplace noise of scale SCORE_STEPS / epsilon makes it epsilon-DP. That
    takes predictions of a row that do not depend on the rows beside it. With groups a replaced unit may bring
    another number of rows, and linear algebra may then round another row's prediction otherwise: a change of
    a last bit, which could turn over a label on the very boundary and is not covered.
    """

    X: Any
    y: Any
    groups: NDArray[np.intp] | None
    n_units: int
    epsilon: Fraction | None

    def score(self, scorer: RowScorer, estimator: Any, entropy: Any) -> Fraction:
        """Return the mean score of the units, with noise unless the rows are public."""
        steps = row_scores(scorer, estimator, self.X, self.y)
        if self.groups is not None:
            # Exact: sums of whole numbers below 2^53.
            sums = np.bincount(self.groups, weights=steps, minlength=self.n_units).astype(np.int64)
            steps = sums // np.bincount(self.groups, minlength=self.n_units)
        total = np.array([steps.sum()], dtype=np.int64)
        if self.epsilon is not None:
            total = DiscreteLaplaceMechanism(self.epsilon, SCORE_STEPS).randomize(total, entropy)
        return Fraction(int(total[0]), SCORE_STEPS * self.n_units)


def check_score_epsilon(epsilon: Fraction) -> None:
    """Refuse a privacy loss of which no score could be released."""
    try:
        DiscreteLaplaceMechanism(epsilon, SCORE_STEPS)
    except ValueError as error:
        raise ValueError(f"score_epsilon cannot be used for scores: {error}") from error


def row_scores(scorer: RowScorer, estimator: Any, X: Any, y: Any) -> NDArray[np.int64]:
    """Return the rows' scores as whole numbers between 0 and ``SCORE_STEPS``; NaN counts as 0.

    In strict mode a row on which the scorer fails counts as 0, too. A scorer that returns a single number is
    none, whatever the rows.

    Notes
    -----
    **Privacy.** A row that fails is scored as a copy of another, and its score is set to 0. So the other rows
    stand in a table of the same size at the same place, and have the same scores, to the last bit, as if it
    had not failed.
    """
    n_rows = num_samples(y)
    try:
        return _steps_of(np.asarray(scorer(estimator, X, y)), n_rows)
    except Exception as error:
        single = isinstance(error, ScoreShapeError) and error.single
        if single or not get_config()["strict"]:
            raise
    works = _works(scorer, estimator, X, y)
    if not works.any():
        return np.zeros(n_rows, dtype=np.int64)
    rows = np.where(works, np.arange(n_rows), np.argmax(works))
    steps = _steps_of(np.asarray(scorer(estimator, safe_indexing(X, rows), safe_indexing(y, rows))), n_rows)
    return np.where(works, steps, 0)


def _works(scorer: RowScorer, estimator: Any, X: Any, y: Any) -> NDArray[np.bool_]:
    """Tell on which rows a scorer does not fail; halves are tried until those that fail are alone."""
    n_rows = num_samples(y)
    try:
        _steps_of(np.asarray(scorer(estimator, X, y)), n_rows)
        return np.ones(n_rows, dtype=bool)
    except Exception:
        if n_rows == 1:
            return np.zeros(1, dtype=bool)
    halves = np.array_split(np.arange(n_rows), 2)
    return np.concatenate(
        [_works(scorer, estimator, safe_indexing(X, half), safe_indexing(y, half)) for half in halves]
    )


def _steps_of(scores: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    if scores.shape != (n_rows,):
        raise ScoreShapeError(WRONG_SHAPE, single=scores.ndim == 0)
    clipped = np.clip(np.nan_to_num(scores.astype(np.float64), nan=0.0), 0.0, 1.0)
    return np.floor(clipped * SCORE_STEPS).astype(np.int64)


@dataclass(frozen=True)
class OnCopies:
    """A scorer of the user's, on copies: what it writes on the model, the rows or itself is gone after it.

    An object that scores is a parameter of the search, and is saved with it.
    """

    scorer: RowScorer

    def __call__(self, estimator: Any, X: Any, y: Any) -> Any:
        scorer, *arguments = copy.deepcopy((self.scorer, estimator, X, y))
        return scorer(*arguments)


def accuracy(estimator: Any, X: Any, y: Any) -> NDArray[np.bool_]:
    """Score 1 where the predicted label is right."""
    right: NDArray[np.bool_] = np.asarray(estimator.predict(X)) == np.asarray(y)
    return right


@dataclass(frozen=True)
class ErrorScore:
    """Score 1 minus the error in units of the target's width, or its square; 0 beyond the width."""

    width: float
    power: int

    def __call__(self, estimator: Any, X: Any, y: Any) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(np.asarray(estimator.predict(X), dtype=np.float64) - np.asarray(y)) / self.width
            score: FloatArray = 1.0 - np.minimum(error, 1.0) ** self.power
        return score


_POWERS = {"absolute_error": 1, "squared_error": 2}
#: Names that ``scoring`` takes.
Scoring = Literal["accuracy", "absolute_error", "squared_error"]


def resolve_scorer(
    scoring: Any, estimator: Any, candidates: Sequence[Any], y: Any, *, announced: bool = False
) -> RowScorer:
    """Return what scores rows.

    Parameters
    ----------
    scoring : str, callable or None
    estimator : estimator
        What is tuned; tells classifiers from regressors.
    candidates : list of estimators
        The last step of every candidate; errors are in units of the width of their ``bounds_y``.
    y : array-like
        Read for its width only where a candidate reads its bounds too, and says so.
    announced : bool, default=False
        Whether every candidate has said that it reads something from rows.
    """
    if isinstance(scoring, BaseScorer):
        raise ScoreShapeError(f"{WRONG_SHAPE} A scorer of scikit-learn returns one number for all.")
    if callable(scoring):
        _check_callable(scoring)
        return OnCopies(scoring)
    name = scoring or _default(estimator)
    if name == "accuracy":
        return accuracy
    if is_structured(y):
        raise ValueError("censored targets have no score by name: pass scoring=callable.")
    return ErrorScore(_width(candidates, y, announced), _POWERS[name])


@public_errors()
def _check_callable(scoring: Any) -> None:
    """Refuse what would fail whatever the rows: another number of arguments, or no copies."""
    try:
        copy.deepcopy(scoring)
    except Exception as error:
        raise TypeError("scoring cannot be copied, which every run does: pass a function.") from error
    try:
        signature = inspect.signature(scoring)
    except ValueError:  # of some builtins
        return
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise TypeError("scoring must take three arguments: estimator, X and y.") from None


def _default(estimator: Any) -> str:
    if is_classifier(estimator):
        return "accuracy"
    if is_regressor(estimator):
        return "absolute_error"
    raise ValueError(f"{type(estimator).__name__} has no default score: pass scoring.")


def _width(candidates: Sequence[Any], y: Any, announced: bool) -> float:
    if not all(hasattr(candidate, "bounds_y") for candidate in candidates):
        raise ValueError(
            "errors are measured by the estimator's bounds_y; it has none: pass scoring=callable."
        )
    declared = [candidate.bounds_y for candidate in candidates]
    if any(bounds is None for bounds in declared):
        if not announced:
            raise ValueError("errors are measured by bounds_y: declare them, or pass scoring=callable.")
        spread = float(np.ptp(np.asarray(y, dtype=np.float64)))
        return spread if spread > 0 else 1.0
    widths = {float(high) - float(low) for low, high in declared}
    if len(widths) > 1 or not min(widths) > 0:
        raise ValueError(
            "errors are measured by one width of bounds_y, above 0, for all candidates: pass a callable "
            "scoring."
        )
    return widths.pop()


def hold_out(n_units: int, share: float, random_bytes: Callable[[int], bytes]) -> NDArray[np.bool_]:
    """Choose the units that models are scored on: a public number of them, at random.

    Returns
    -------
    held : ndarray of bool of shape (n_units,)
    """
    n_held = max(1, round(check_int(n_units, "n_units", least=1) * share))
    if n_held >= n_units:
        raise ValueError(f"n_samples={n_units} private units cannot be parted into training and hold-out.")
    keys = np.frombuffer(random_bytes(8 * n_units), dtype=np.uint64)
    held = np.zeros(n_units, dtype=bool)
    held[np.argsort(keys)[:n_held]] = True
    return held
