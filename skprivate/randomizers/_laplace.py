# SPDX-License-Identifier: BSD-3-Clause
"""One-hot vectors of the cell with Laplace noise: the two vectors of the paper, and one signed vector."""

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import Blanket, pml_from_ldp
from ..accounting._leakage import minus_log
from ..noise import DiscreteLaplaceMechanism, check_entropy, laplace_sum
from ..noise._mechanisms import Entropy
from ..noise._rounding import grid_exponent
from ..utils._public_module import public_module
from ._interface import LocalRandomizer

_LARGEST_SUM = 2**62
# Largest number of clients of the grid, for which the sum of the one-hot vectors is exact.
_MOST_CLIENTS = 2**30
# Largest scale of the noise: a sum over the most clients, about 2^15 times as large, is far below 2^62.
_LARGEST_SCALE = 2**40
_LARGEST_AMPLIFIED = 60
# Largest product of clients and scale in one exact sum.
_LARGEST_DRAW = 2**53


class _NoisyVectorRandomizer(LocalRandomizer):
    """Integer vectors on a grid 2^-exponent, with discrete Laplace noise on every entry."""

    binary_only = True
    # Largest L1 distance of the vectors of two categories, before scaling to the grid.
    _distance: int

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.report_dtype = np.dtype(np.int64)
        self.report_shape = self.counts_shape = self._vector_shape()
        self.exponent = grid_exponent(self._distance, self.epsilon_requested, n=_MOST_CLIENTS)
        self.sensitivity: int = self._distance << self.exponent
        self._mechanism = DiscreteLaplaceMechanism(self.epsilon_requested, self.sensitivity)
        self.noise_scale: int = int(self._mechanism.scale)
        if self.noise_scale > _LARGEST_SCALE:
            raise ValueError("epsilon is too small: sums of reports would exceed 64-bit integers.")
        self.epsilon = Fraction(self.sensitivity, self.noise_scale)

    @abstractmethod
    def _vector_shape(self) -> tuple[int, ...]:
        """Shape of one client's vector."""

    @abstractmethod
    def _fill(self, vectors: IntArray, categories: IntArray) -> None:
        """Write the clients' vectors into zeros."""

    @abstractmethod
    def _sum(self, by_label: IntArray) -> IntArray:
        """Sum of the vectors of clients counted by (cell, label)."""

    def blanket(self) -> Blanket | None:
        """Return what the reports of all clients have in common, which hides each of them once shuffled.

        Two entries that differ by an even number 2 h have e^(-h / t) of their mass in common, with noise of
        scale t. Independent entries have at least the product of these in common. This is e^(-epsilon / 2),
        because the sum of the differences is at most epsilon t.

        Returns
        -------
        blanket : Blanket or None
            None if no number of reports amplifies this epsilon.
        """
        if self.epsilon > _LARGEST_AMPLIFIED or self.exponent < 1:
            return None
        epsilon = float(self.epsilon)
        upwards = 1 + Fraction(1, 2**40)
        odds, variation = Fraction(math.exp(epsilon)), Fraction(-math.expm1(-epsilon / 2))
        return Blanket.of_total_variation(odds * upwards, min(variation * upwards, Fraction(1)))

    @property
    def _noise_variance(self) -> float:
        return self._mechanism.variance * 4.0**-self.exponent

    def _randomize(self, categories: IntArray, entropy: Entropy) -> NDArray[Any]:
        exact = np.zeros((len(categories), *self.report_shape), dtype=np.int64)
        self._fill(exact, categories)
        exact <<= self.exponent
        return self._mechanism.randomize(exact, entropy)

    def _aggregate(self, reports: NDArray[Any]) -> IntArray:
        largest = max(abs(int(reports.max())), abs(int(reports.min()))) if reports.size else 0
        if largest * max(len(reports), 1) >= _LARGEST_SUM:
            raise ValueError(
                "reports are too large for an exact sum: send smaller batches, or drop forgeries."
            )
        return reports.sum(axis=0, dtype=np.int64)

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return counts with the distribution of those of all these clients' reports, in one draw per count.

        This is a simulation: the caller holds the categories of all clients.

        Parameters
        ----------
        categories : array-like of int of shape (n,)
        random_state : None, int, RandomState or Generator, default=None
            As in `randomize`.

        Returns
        -------
        counts : ndarray of int64 of shape ``counts_shape``
        """
        checked = self._check_categories(categories)
        if len(checked) > _MOST_CLIENTS:
            raise ValueError("more than 2^30 clients: simulate them in parts, and add the counts.")
        by_label = np.bincount(checked, minlength=self.n_categories).reshape(self.n_cells, 2)
        exact = self._sum(by_label.astype(np.int64)) << self.exponent
        entropy = check_entropy(random_state)
        at_once = _LARGEST_DRAW // self.noise_scale
        for start in range(0, len(checked), at_once):
            clients = min(at_once, len(checked) - start)
            exact += laplace_sum(clients, self.noise_scale, size=exact.shape, random_state=entropy)
        return exact

    def _variance(self, label_counts: FloatArray) -> FloatArray:
        # The noise does not depend on the data.
        return np.full(self.n_cells, label_counts.sum() * self._even_variance())


@public_module("skprivate.randomizers")
class LaplaceRandomizer(_NoisyVectorRandomizer):
    """One-hot vectors U (cell) and V = label U, each with Laplace noise of scale 4 / epsilon per cell.

    It is the mechanism of the paper, and kept for comparison. A block-Hadamard report has about a thirtieth
    of its variance at epsilon 1, and two bytes instead of 16 per cell (see `HadamardRandomizer`).

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Must be 2.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report, ``sensitivity / noise_scale``: at most the request.
    exponent : int
        Values are multiples of 2^-exponent.
    sensitivity : int
        L1 sensitivity of (U, V) on the grid: 4 * 2^exponent.
    noise_scale : int
        Scale t of the discrete Laplace noise on the grid.

    See Also
    --------
    SignedLaplaceRandomizer : One vector, with a twentieth of the variance.
    HadamardRandomizer : The default.

    Notes
    -----
    A report has shape (2, n_cells): U and V in units of 2^-exponent. The signed sum is estimated by 2 V - U,
    with five times the variance of the noise.

    **Privacy.** Relation: local. Between two categories at most two entries of U and two of V differ by 1. So
    (U, V) changes by at most 4 in L1, which two cells with label 1 attain. The noise is exact discrete
    Laplace noise on the integers ``2^exponent (U, V)``, whose L1 sensitivity is ``4 * 2^exponent``. Every
    report is a whole vector of noise. See `skprivate.noise.DiscreteLaplaceMechanism` for the limits of the
    sampler.

    Proof: :doc:`/proofs/discrete_noise`.

    References
    ----------
    Ma, Yang, Optimal locally private nonparametric classification with public data, 2023.

    Examples
    --------
    >>> from skprivate.randomizers import LaplaceRandomizer
    >>> randomizer = LaplaceRandomizer(epsilon=1.0, n_cells=4)
    >>> reports = randomizer.randomize([0, 3, 7], random_state=0)
    >>> reports.shape  # client, (U, V), cell
    (3, 2, 4)
    >>> randomizer.estimate(randomizer.aggregate(reports), n=3).shape
    (4,)
    """

    name = "laplace"
    _distance = 4

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"discrete Laplace noise on one-hot cell and labelled cell (L={self.n_cells})"

    def _vector_shape(self) -> tuple[int, ...]:
        return (2, self.n_cells)

    def _fill(self, vectors: IntArray, categories: IntArray) -> None:
        client = np.arange(len(categories))
        vectors[client, 0, categories >> 1] = 1
        vectors[client, 1, categories >> 1] = categories & 1

    def _sum(self, by_label: IntArray) -> IntArray:
        return np.stack([by_label.sum(axis=1), by_label[:, 1]])

    def _estimate(self, counts: IntArray, n: int) -> FloatArray:
        return np.ldexp(2.0 * counts[1] - counts[0], -self.exponent)

    def _estimate_cells(self, counts: IntArray, n: int) -> FloatArray:
        return np.ldexp(counts[0].astype(np.float64), -self.exponent)

    def _even_variance(self) -> float:
        return 5.0 * self._noise_variance

    def _leakage(self, prior: FloatArray) -> float:
        """The largest -log E exp(-rate d(X, a)) over the possible a, with d the L1 distance of the vectors.

        A report y leaks -log E exp((|y - a| - |y - X|) rate) for the nearest possible a. |y - X| is at most
        |y - a| + d(a, X), with equality at y = a. Categories of one cell have the distance 1, others 2 and 1
        more for every label 1.
        """
        cells = prior.reshape(self.n_cells, 2)
        others = _sums_of_others(cells)
        rate = float(self.epsilon) / self._distance
        label = np.arange(2)
        mean = cells + cells[:, ::-1] * math.exp(-rate)
        missing = -cells[:, ::-1] * math.expm1(-rate)
        for other in (0, 1):
            distances = -rate * (2 + label + other)
            mean += others[:, other, None] * np.exp(distances)
            missing -= others[:, other, None] * np.expm1(distances)
        return float(minus_log(mean, missing)[cells > 0].max())


@public_module("skprivate.randomizers")
class SignedLaplaceRandomizer(_NoisyVectorRandomizer):
    """One vector, +1 or -1 at the cell by label, with Laplace noise of scale 2 / epsilon per cell.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Must be 2.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report, ``sensitivity / noise_scale``: at most the request.
    exponent : int
        Values are multiples of 2^-exponent.
    sensitivity : int
        L1 sensitivity of the vector on the grid: 2 * 2^exponent.
    noise_scale : int
        Scale t of the discrete Laplace noise on the grid.

    See Also
    --------
    LaplaceRandomizer : The two vectors of the paper, with 20 times the variance.
    HadamardRandomizer : The default, with a smaller variance, and two bytes instead of 8 per cell.

    Notes
    -----
    A report has shape (n_cells,), in units of 2^-exponent. The number of clients in a cell cannot be
    estimated from it.

    **Privacy.** Relation: local. Two categories of one cell differ by 2 in its entry, and two of different
    cells by 1 in each of two entries. The L1 distance is always 2. The noise is exact discrete Laplace noise
    on the integers ``2^exponent`` times the vector, whose L1 sensitivity is ``2 * 2^exponent``. Every report
    is a whole vector of noise. See `skprivate.noise.DiscreteLaplaceMechanism` for the limits of the sampler.

    Proof: :doc:`/proofs/discrete_noise`.

    Examples
    --------
    >>> from skprivate.randomizers import SignedLaplaceRandomizer
    >>> randomizer = SignedLaplaceRandomizer(epsilon=1.0, n_cells=4)
    >>> randomizer.randomize([0, 3, 7], random_state=0).shape
    (3, 4)
    >>> round(float(randomizer.variance(1)[0]), 6)
    8.0
    """

    name = "signed-laplace"
    _distance = 2

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"discrete Laplace noise on the signed one-hot cell (L={self.n_cells})"

    def _vector_shape(self) -> tuple[int, ...]:
        return (self.n_cells,)

    def _fill(self, vectors: IntArray, categories: IntArray) -> None:
        vectors[np.arange(len(categories)), categories >> 1] = 2 * (categories & 1) - 1

    def _sum(self, by_label: IntArray) -> IntArray:
        return by_label[:, 1] - by_label[:, 0]

    def _estimate(self, counts: IntArray, n: int) -> FloatArray:
        return np.ldexp(counts.astype(np.float64), -self.exponent)

    def _even_variance(self) -> float:
        return self._noise_variance

    def _leakage(self, prior: FloatArray) -> float:
        # Any two vectors have the distance 2, and a report at the vector of the rarest category leaks most.
        return pml_from_ldp(self.epsilon, float(prior[prior > 0].min()))


def _sums_of_others(cells: FloatArray) -> FloatArray:
    """Sums over all other rows, by two running sums: a difference would lose small values."""
    sums = np.zeros_like(cells)
    sums[1:] = np.cumsum(cells[:-1], axis=0)
    sums[:-1] += np.cumsum(cells[:0:-1], axis=0)[::-1]
    return sums
