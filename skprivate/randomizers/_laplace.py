# SPDX-License-Identifier: BSD-3-Clause
"""The reports of the paper: noisy one-hot vectors of the cell and of the labelled cell."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..noise import DiscreteLaplaceMechanism, check_entropy, laplace_sum
from ..noise._quantise import grid_exponent
from ..utils import check_int
from ._base import FloatArray, IntArray, LocalRandomizer

_LARGEST_SUM = 2**62
# The grid is made for so many clients at most, so that the sum of their one-hot vectors is exact.
_MOST_CLIENTS = 2**30
# Of the noise: a sum over the most clients, about 2^15 times as large, is far from 2^62.
_LARGEST_SCALE = 2**40
# Clients times scale that one exact sum takes.
_LARGEST_DRAW = 2**53


class LaplaceRandomizer(LocalRandomizer):
    """One-hot vectors U (cell) and V = label U, each with Laplace noise of scale 4 / epsilon per cell.

    Kept because it is the paper's: a block-Hadamard report needs about a thirtieth of its variance at epsilon
    1, and two bytes instead of 16 per cell (see `HadamardRandomizer`).

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.

    Attributes
    ----------
    epsilon : Fraction
        What a report costs, ``sensitivity / noise_scale``: at most the request.
    exponent : int
        Values lie on the grid 2^-exponent.
    sensitivity : int
        L1 sensitivity of (U, V) on the grid: 4 * 2^exponent.
    noise_scale : int
        Scale t of the discrete Laplace noise on the grid.

    See Also
    --------
    HadamardRandomizer : The default.

    Notes
    -----
    **Privacy.** Relation: local. Two categories change at most two entries of U and two of V by 1, so (U, V)
    moves by at most 4 in L1, attained by two cells with label 1. The noise is exact discrete Laplace noise on
    the integers ``2^exponent (U, V)``, whose L1 sensitivity is ``4 * 2^exponent``; every report is a whole
    vector of noise. See `skprivate.noise.DiscreteLaplaceMechanism` for what the sampler does not hide.

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

    def __init__(self, epsilon: float | Fraction, n_cells: int) -> None:
        super().__init__(epsilon, n_cells)
        self.exponent = grid_exponent(4, self.epsilon_requested, n=_MOST_CLIENTS)
        self.sensitivity: int = 4 << self.exponent
        self._mechanism = DiscreteLaplaceMechanism(self.epsilon_requested, self.sensitivity)
        self.noise_scale: int = int(self._mechanism.scale)
        if self.noise_scale > _LARGEST_SCALE:
            raise ValueError("epsilon is too small: sums of reports would leave 64-bit integers.")
        self.epsilon = Fraction(self.sensitivity, self.noise_scale)

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"discrete Laplace noise on one-hot cell and labelled cell (L={self.n_cells})"

    def randomize(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return one report per category.

        Parameters
        ----------
        categories : array-like of int of shape (n,)
            ``2 * cell + label`` of every client.
        random_state : None, int, RandomState or Generator, default=None
            None: entropy of the operating system. Anything else is reproducible and not private.

        Returns
        -------
        reports : ndarray of int64 of shape (n, 2, n_cells)
            U and V in units of 2^-exponent.

        Raises
        ------
        TypeError, ValueError
            Categories are not integers, or out of range.
        """
        checked = self._check_categories(categories)
        exact = np.zeros((checked.shape[0], 2, self.n_cells), dtype=np.int64)
        client = np.arange(checked.shape[0])
        exact[client, 0, checked >> 1] = 1 << self.exponent
        exact[client, 1, checked >> 1] = (checked & 1) << self.exponent
        return self._mechanism.randomize(exact, check_entropy(random_state))

    def aggregate(self, reports: ArrayLike, *, specification: str | None = None) -> IntArray:
        """Return the counts of a batch of reports; counts of batches add.

        Parameters
        ----------
        reports : array-like of int of shape (n, 2, n_cells)
            As returned by `randomize`.
        specification : str, default=None
            ``specification`` of the randomizer that made them, where it came along; compared with this one's.

        Returns
        -------
        counts : ndarray of int64 of shape (2, n_cells)
            Sums of U and of V, in units of 2^-exponent.

        Raises
        ------
        TypeError, ValueError
            Reports of another type, shape, specification, or too large for an exact sum.
        """
        self._check_specification(specification)
        array = np.asarray(reports)
        if array.dtype.kind not in "iu":
            raise TypeError(f"reports must be integers, not {array.dtype}.")
        if array.ndim != 3 or array.shape[1:] != (2, self.n_cells):
            raise ValueError(
                f"reports must have shape (n, 2, {self.n_cells}), got {array.shape}: another specification?"
            )
        largest = max(abs(int(array.max())), abs(int(array.min()))) if array.size else 0
        if largest * max(array.shape[0], 1) >= _LARGEST_SUM:
            raise ValueError(
                "reports are too large for an exact sum: send smaller batches, or drop forgeries."
            )
        return array.sum(axis=0, dtype=np.int64)

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return counts distributed as those of the reports of all these clients, in one draw per count.

        A simulation: whoever calls this holds the categories of all clients.

        Parameters
        ----------
        categories : array-like of int of shape (n,)
        random_state : None, int, RandomState or Generator, default=None
            As in `randomize`.

        Returns
        -------
        counts : ndarray of int64 of shape (2, n_cells)
        """
        checked = self._check_categories(categories)
        if len(checked) > _MOST_CLIENTS:
            raise ValueError("more than 2^30 clients: simulate them in parts, and add the counts.")
        by_label = np.bincount(checked, minlength=self.n_categories).reshape(self.n_cells, 2)
        exact = np.stack([by_label.sum(axis=1), by_label[:, 1]]).astype(np.int64) << self.exponent
        entropy = check_entropy(random_state)
        at_once = _LARGEST_DRAW // self.noise_scale
        for start in range(0, len(checked), at_once):
            clients = min(at_once, len(checked) - start)
            exact += laplace_sum(clients, self.noise_scale, size=exact.shape, random_state=entropy)
        return exact

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the unbiased estimate of every cell's signed sum, 2 V - U.

        Parameters
        ----------
        counts : array-like of int of shape (2, n_cells)
            Sum of the counts of all batches.
        n : int
            Number of reports in them.

        Returns
        -------
        signed_sums : ndarray of shape (n_cells,)
        """
        checked, _ = self._check_counts(counts, (2, self.n_cells), n)
        return np.ldexp(2.0 * checked[1] - checked[0], -self.exponent)

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the unbiased estimate of the number of clients in every cell.

        Parameters
        ----------
        counts : array-like of int of shape (2, n_cells)
            Sum of the counts of all batches.
        n : int
            Number of reports in them.

        Returns
        -------
        cell_counts : ndarray of shape (n_cells,)
        """
        checked, _ = self._check_counts(counts, (2, self.n_cells), n)
        return np.ldexp(checked[0].astype(np.float64), -self.exponent)

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of every cell's estimate: five times that of one noise, per report.

        Parameters
        ----------
        n : int
            Number of reports.
        cell_counts : array-like of shape (n_cells,), default=None
            Checked, and without effect: the noise does not depend on the data.

        Returns
        -------
        variance : ndarray of shape (n_cells,)
        """
        if cell_counts is not None:
            self._check_cell_counts(cell_counts, n)
        noise = self._mechanism.variance * 4.0**-self.exponent
        return np.full(self.n_cells, 5.0 * check_int(n, "n", least=0) * noise)
