# SPDX-License-Identifier: BSD-3-Clause
"""Leaf counts of a trusted curator, released with exact discrete Laplace noise; cells of numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray, IntArray
from ..noise import DiscreteLaplaceMechanism
from ..noise._argument_checks import MAX_SCALE
from ..utils import check_epsilon
from ..utils._public_module import public_module

#: Variance of numbers as a part of the largest within their bounds, where nothing tells it: that of a normal
#: distribution whose bounds are three standard deviations away from its mean.
USUAL_VARIANCE = 1 / 9


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class NumberCells:
    """Cells beside each other in every leaf, among which a row is divided by its share t of the width.

    Attributes
    ----------
    values : ndarray of shape (n_cells,)
        Sums over the cells, times these, are the sum of t.
    squares : ndarray of shape (n_cells,)
        Sums over the cells, times these, are the sum of t^2, or of the square of what t was rounded to.
    """

    values: FloatArray
    squares: FloatArray

    @classmethod
    def of_moments(cls) -> Self:
        """Return the cells (1 - t)^2, 2 t (1 - t) and t^2 of a row, whose sum is 1."""
        return cls(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0]))

    @classmethod
    def of_levels(cls, n_levels: int) -> Self:
        """Return the cells of rows that are in one of them: t was rounded at random to one of the levels."""
        levels = np.arange(n_levels) / (n_levels - 1)
        return cls(levels, levels**2)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.values)

    @property
    def contrast(self) -> float:
        """Noise variance of the sum of 2 t - 1, in units of that of a difference of two cells."""
        return float(np.sum((2 * self.values - 1) ** 2)) / 2

    def halves(self, estimates: FloatArray) -> FloatArray:
        """Return the sums of 1 - t and of t, of shape (n_leaves, 2)."""
        return np.column_stack([estimates @ (1 - self.values), estimates @ self.values])


@public_module("skprivate.tree")
class NoisyHistogram:
    """Counts by leaf and label, with discrete Laplace noise.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss, > 0 and finite.
    n_cells : int
        Number of leaves.
    n_labels : int
        Number of labels, or of the cells that a number is divided among.
    rows_per_unit : int
        Rows that one unit of privacy contributes at most.
    row_total : int, default=1
        What a row adds to the counts of its leaf, all labels together.
    max_weight : float, default=None
        Rows have weights from 0 to this one, and one of the largest weight adds `row_total`; None: all rows
        add the same.

    Notes
    -----
    **Privacy.** Relation: replace-one. Replacing a row takes at most `row_total` from some counts and adds at
    most as much to others: the counts move by at most ``2 * row_total`` in L1, and by ``2 * row_total *
    rows_per_unit`` when a unit's rows are replaced, which is attained. The noise is exact discrete Laplace
    noise of scale ``sensitivity / epsilon`` on the integers, rounded up where that has more binary digits
    than the sampler takes.
    """

    name = "histogram"
    relation = "replace-one"

    def __init__(
        self,
        epsilon: float | Fraction,
        n_cells: int,
        n_labels: int,
        rows_per_unit: int,
        row_total: int = 1,
        max_weight: float | None = None,
    ) -> None:
        self.n_cells, self.n_labels, self._rows_per_unit = n_cells, n_labels, rows_per_unit
        self._row_total, self._max_weight = row_total, max_weight
        sensitivity = 2 * rows_per_unit * row_total
        scale = _scale(check_epsilon(epsilon), sensitivity)
        self._mechanism = DiscreteLaplaceMechanism.from_scale(scale, sensitivity)
        self.epsilon = self._mechanism.epsilon
        self.sensitivity = self._mechanism.sensitivity
        self.noise_scale = self._mechanism.scale

    @property
    def weight_variance(self) -> float:
        """Largest variance of what a row adds to a weighted sum, in units of its weight and a row's own."""
        return 1.0 if self._max_weight is None else self._max_weight

    @property
    def _unit(self) -> float:
        """What a row of weight 1 adds."""
        return self._row_total / (1.0 if self._max_weight is None else self._max_weight)

    @property
    def total_is_public(self) -> bool:
        """Whether the number of rows, times what one adds, is the sum of all counts."""
        return self._rows_per_unit == 1 and self._max_weight is None

    def describe_noise(self) -> str:
        """Return the noise in a few words."""
        return f"discrete Laplace noise on leaf x {'label counts' if self._row_total == 1 else 'cell sums'}"

    def describe(self) -> str:
        """Return the mechanism in a few words."""
        return f"{self.describe_noise()} (L={self.n_cells})"

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return the noisy counts of rows of these categories."""
        counts = np.bincount(np.asarray(categories), minlength=self.n_cells * self.n_labels)
        return self.randomize(counts.astype(np.int64), random_state)

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return noisy counts, of shape (n_cells, n_labels)."""
        return self._mechanism.randomize(values.reshape(self.n_cells, self.n_labels), entropy)

    def count_rows(self, counts: ArrayLike, n: int) -> int:
        """Return the number of rows, or their weight, behind the counts: n, or an estimate."""
        if self.total_is_public:
            return n
        largest = n * (1.0 if self._max_weight is None else self._max_weight)
        # Of several rows of a person some may be missing, and weights may be as small as they like.
        least = n / self._rows_per_unit if self._max_weight is None else 1.0
        return int(np.clip(np.sum(counts) / self._unit, least, max(largest, least)))

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the noisy counts, all moved by the same amount to the number of rows, where it is public."""
        noisy = np.asarray(counts, dtype=np.float64) / self._unit
        # Of several rows of a person some may be missing, which nobody is told.
        return noisy + (n - noisy.sum()) / noisy.size if self.total_is_public else noisy

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the numbers of rows in the leaves."""
        cells: FloatArray = self.estimate(counts, n).sum(axis=1)
        return cells

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of the difference of two labels' estimates in every leaf, whatever the rows."""
        return np.full(self.n_cells, 2 * self._mechanism.variance / self._unit**2)


def _scale(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Return the least scale that the sampler takes and that spends no more than epsilon, nearly."""
    exact = sensitivity / epsilon
    if exact > MAX_SCALE:
        raise ValueError("epsilon is too small for the sensitivity: the scale of the noise passes 2^52.")
    if exact.numerator <= MAX_SCALE and exact.denominator <= MAX_SCALE:
        return exact
    # Up to a fraction with about 50 binary digits above, and no more than 52 below.
    digits = exact.numerator.bit_length() - exact.denominator.bit_length()
    steps = 2 ** min(max(50 - digits, 0), 52)
    return Fraction(math.ceil(exact * steps), steps)
