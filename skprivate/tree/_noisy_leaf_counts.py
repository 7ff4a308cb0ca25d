# SPDX-License-Identifier: BSD-3-Clause
"""Leaf counts of a trusted curator, released with exact discrete Laplace noise."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray, IntArray
from ..noise import DiscreteLaplaceMechanism
from ..noise._argument_checks import MAX_SCALE
from ..utils import check_epsilon
from ..utils._public_module import public_module


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
        Number of labels.
    rows_per_unit : int
        Rows that one unit of privacy contributes at most.

    Notes
    -----
    **Privacy.** Relation: replace-one. Replacing a row takes 1 from one count and adds 1 to another: the
    counts move by at most 2 in L1, and by ``2 * rows_per_unit`` when a unit's rows are replaced, which is
    attained. The noise is exact discrete Laplace noise of scale ``sensitivity / epsilon`` on the integers,
    rounded up where that has more binary digits than the sampler takes.
    """

    name = "histogram"
    relation = "replace-one"

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int, rows_per_unit: int) -> None:
        self.n_cells, self.n_labels, self._rows_per_unit = n_cells, n_labels, rows_per_unit
        sensitivity = 2 * rows_per_unit
        scale = _scale(check_epsilon(epsilon), sensitivity)
        self._mechanism = DiscreteLaplaceMechanism.from_scale(scale, sensitivity)
        self.epsilon = self._mechanism.epsilon
        self.sensitivity = self._mechanism.sensitivity
        self.noise_scale = self._mechanism.scale

    def describe(self) -> str:
        """Return the mechanism in a few words."""
        return f"discrete Laplace noise on leaf x label counts (L={self.n_cells})"

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return the noisy counts of rows of these categories."""
        counts = np.bincount(np.asarray(categories), minlength=self.n_cells * self.n_labels)
        return self.randomize(counts.astype(np.int64), random_state)

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return noisy counts, of shape (n_cells, n_labels)."""
        return self._mechanism.randomize(values.reshape(self.n_cells, self.n_labels), entropy)

    def count_rows(self, counts: ArrayLike, n: int) -> int:
        """Return the number of rows behind the counts: n, or an estimate where persons may have fewer."""
        if self._rows_per_unit == 1:
            return n
        return int(np.clip(np.sum(counts), n // self._rows_per_unit, n))

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the noisy counts, all moved by the same amount to the number of rows, where it is public."""
        noisy = np.asarray(counts, dtype=np.float64)
        # Of several rows of a person some may be missing, which nobody is told.
        return noisy if self._rows_per_unit > 1 else noisy + (n - noisy.sum()) / noisy.size

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the numbers of rows in the leaves."""
        cells: FloatArray = self.estimate(counts, n).sum(axis=1)
        return cells

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of the difference of two labels' estimates in every leaf, whatever the rows."""
        return np.full(self.n_cells, 2 * self._mechanism.variance)


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
