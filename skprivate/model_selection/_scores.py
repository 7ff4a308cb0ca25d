# SPDX-License-Identifier: BSD-3-Clause
"""Scores of a private search: means of rows' scores, or tables of counts; exact sums, released with noise."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray

from .._config import get_config
from .._typing import FloatArray
from ..metrics._rows_alone import rows_alone, takes_rows_together
from ..noise import DiscreteLaplaceMechanism
from ..utils import check_int
from ..utils._compat import num_samples

RowScorer = Callable[[Any, Any, Any], Any]

#: A row's score is a whole number of steps of 2^-20.
SCORE_STEPS = 2**20


WRONG_SHAPE = "scoring must return one score per row, an array of shape (n_rows,)."


@dataclass(frozen=True)
class OnCopies:
    """A scorer of the user's, on copies: what it writes on the model, the rows or itself is gone after it.

    An object that scores is a parameter of the search, and is saved with it.
    """

    scorer: RowScorer

    def __call__(self, estimator: Any, X: Any, y: Any) -> Any:
        scorer, *arguments = copy.deepcopy((self.scorer, estimator, X, y))
        return scorer(*arguments)

    def for_rows(self, estimator: Any) -> tuple[RowScorer, Any]:
        """Return a scorer of one row after the other, and a copy of the model that all of them share."""
        scorer, model = copy.deepcopy((self.scorer, estimator))
        return lambda model, *row: scorer(model, *copy.deepcopy(row)), model


class ScoreShapeError(ValueError):
    """A scoring function returned something else than one score per row, perhaps a single number."""

    def __init__(self, message: str, single: bool = False) -> None:
        super().__init__(message, single)
        self.single = single

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class ScoringRows:
    """The rows that models are scored on, and how their scores are released.

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
    **Privacy.** A model is scored by one release, `noisy_mean` or `noisy_counts`; what follows is computed
    from it and from public numbers. Both are exact sums over units, each of mass ``SCORE_STEPS``:

    - The score of a unit is that of its row, or the mean of its rows rounded down, a whole number between 0
      and ``SCORE_STEPS``. So replacing a unit moves the sum by ``SCORE_STEPS`` at most.
    - A unit gives every cell its share of rows there, rounded down to steps: numbers of at least 0 and of
      sum ``SCORE_STEPS`` at most. So replacing a unit moves the table by 2 ``SCORE_STEPS`` in L1 at most.

    Exact discrete Laplace noise of that sensitivity over epsilon, on the sum or on every cell, makes either
    epsilon-DP, whatever a unit's number of rows. The score of a row is the scorer's for a table of this row
    only, or is known to have the same bits (:doc:`/proofs/rows`), so that rows beside it do not move it.
    """

    X: Any
    y: Any
    groups: NDArray[np.intp] | None
    n_units: int
    epsilon: Fraction | None

    def score(self, scorer: "RowScorer | ClassScorer", estimator: Any, entropy: Any) -> Fraction:
        """Return the score of a model, with noise unless the rows are public."""
        if not isinstance(scorer, ClassScorer):
            return self.noisy_mean(scorer, estimator, entropy)
        if self.epsilon is None:
            return Fraction(scorer.exact(estimator, self.X, self.y))
        return scorer.private(self, self.epsilon, estimator, entropy)

    def noisy_mean(self, scorer: RowScorer, estimator: Any, entropy: Any) -> Fraction:
        """Return the mean score of the units, with noise unless the rows are public."""
        steps = row_scores(scorer, estimator, self.X, self.y, public=self.epsilon is None)
        if self.groups is not None:
            # Exact: sums of whole numbers below 2^53.
            sums = np.bincount(self.groups, weights=steps, minlength=self.n_units).astype(np.int64)
            steps = sums // np.bincount(self.groups, minlength=self.n_units)
        total = np.array([steps.sum()], dtype=np.int64)
        if self.epsilon is not None:
            total = DiscreteLaplaceMechanism(self.epsilon, SCORE_STEPS).randomize(total, entropy)
        return Fraction(int(total[0]), SCORE_STEPS * self.n_units)

    def noisy_counts(self, cells: NDArray[np.intp], n_cells: int, entropy: Any) -> tuple[FloatArray, float]:
        """Return how many units are in every cell, and the standard deviation of the noise of each.

        The counts are moved by one amount so that they sum to the public number of units.
        """
        if self.epsilon is None:
            raise ValueError("counts of public rows have no noise")
        mechanism = DiscreteLaplaceMechanism(self.epsilon, 2 * SCORE_STEPS)
        released = mechanism.randomize(self.masses(cells, n_cells), entropy) / SCORE_STEPS
        counts: FloatArray = released + (self.n_units - released.sum()) / n_cells
        return counts, float(np.sqrt(mechanism.variance)) / SCORE_STEPS

    def masses(self, cells: NDArray[np.intp], n_cells: int) -> NDArray[np.int64]:
        """Return the exact mass of every cell; a unit has ``SCORE_STEPS`` at most in all."""
        units = np.arange(self.n_units) if self.groups is None else self.groups
        places, rows = np.unique(units * n_cells + cells, return_counts=True)
        masses = SCORE_STEPS * rows // np.bincount(units, minlength=self.n_units)[places // n_cells]
        # Exact: sums of whole numbers below 2^53.
        return np.bincount(places % n_cells, weights=masses, minlength=n_cells).astype(np.int64)


class ClassScorer(ABC):
    """A score of classifiers that takes more than a given score per row."""

    @abstractmethod
    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score on public rows: scikit-learn's."""

    @abstractmethod
    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return the score from one noisy sum or table of the rows."""


def check_score_epsilon(epsilon: Fraction) -> None:
    """Refuse a privacy loss of which no score could be released."""
    try:
        DiscreteLaplaceMechanism(epsilon, 2 * SCORE_STEPS)
    except ValueError as error:
        raise ValueError(f"score_epsilon cannot be used for scores: {error}") from error


def row_scores(
    scorer: RowScorer, estimator: Any, X: Any, y: Any, *, public: bool = False
) -> NDArray[np.int64]:
    """Return the rows' scores as whole numbers between 0 and ``SCORE_STEPS``; NaN counts as 0.

    In strict mode a row on which the scorer fails counts as 0, too. A scorer that returns a single number is
    none, whatever the rows.

    Notes
    -----
    **Privacy.** The score of a private row is what the scorer makes of a table that holds this row only.
    Rows are scored together where that gives the same bits: by a score of ours, where `takes_rows_together`.
    """
    # In threads the trees of a forest would be added in any order.
    with parallel_config(backend="sequential"):
        return _row_scores(scorer, estimator, X, y, public)


def _row_scores(scorer: RowScorer, estimator: Any, X: Any, y: Any, public: bool) -> NDArray[np.int64]:
    n_rows, strict = num_samples(y), get_config()["strict"]
    ours = not isinstance(scorer, OnCopies)
    if public or (ours and takes_rows_together(estimator, X)):
        try:
            return _steps_of(np.asarray(scorer(estimator, X, y)), n_rows)
        except Exception as error:
            if not strict or _is_single(error):
                raise
    if isinstance(scorer, OnCopies):
        scorer, estimator = scorer.for_rows(estimator)
    steps = np.zeros(n_rows, dtype=np.int64)
    for number, (row, target) in enumerate(zip(rows_alone(X), rows_alone(y), strict=True)):
        try:
            steps[number] = _steps_of(np.asarray(scorer(estimator, row, target)), 1)[0]
        except Exception as error:
            if not strict or _is_single(error):
                raise
    return steps


def _is_single(error: Exception) -> bool:
    return isinstance(error, ScoreShapeError) and error.single


def _steps_of(scores: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    if scores.shape != (n_rows,):
        raise ScoreShapeError(WRONG_SHAPE, single=scores.ndim == 0)
    clipped = np.clip(np.nan_to_num(scores.astype(np.float64), nan=0.0), 0.0, 1.0)
    return np.floor(clipped * SCORE_STEPS).astype(np.int64)


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
