# SPDX-License-Identifier: BSD-3-Clause
"""Block-Hadamard reports: two bytes a client, and near the least variance a signed report can have."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..noise import check_entropy
from ..noise._response import response_odds, response_threshold
from ..noise._stream_kernels import WordStream
from ..utils import check_int
from ._base import FloatArray, IntArray, LocalRandomizer
from ._report_kernels import count_signs, randomize_hadamard

# A report holds its (block, row) index and one sign bit.
_LARGEST_CELLS = 2**31
_LEAST_EPSILON = Fraction(1, 2**64)
_TOO_SMALL = "epsilon is too small: a 64-bit threshold cannot tell it from 0."


class HadamardRandomizer(LocalRandomizer):
    """Signed block-Hadamard response.

    Cells are padded to a power of two L and cut into B blocks of L / B. A client draws a row r of the
    Hadamard matrix uniformly and answers a (block, sign): the true block with the sign
    ``H[r, cell] (2 label - 1)`` has probability ``e / (e + 2 B - 1)`` with e = exp(epsilon), and the other
    2 B - 1 answers share the rest equally. The report is the answer with r. B = 1 is one-bit Hadamard
    response, B = L is k-ary randomised response on (cell, label).

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_blocks : int, default=None
        B, a power of two of at most L. None: the B of least variance for uniformly filled cells.

    Attributes
    ----------
    epsilon : Fraction
        What a report costs: the request.
    n_padded : int
        L, the number of cells padded to a power of two.
    n_blocks : int
        B.
    threshold : int
        The truth is told when a uniform 64-bit word falls below it.
    odds : Fraction
        The exact ratio of the probabilities of the true answer and of another one, at most exp(epsilon).

    See Also
    --------
    LaplaceRandomizer : The mechanism of the paper.

    Notes
    -----
    **Privacy.** Relation: local. Given the row, which is drawn without looking at the data, an answer has
    probability p or q = (1 - p) / (2 B - 1) under every category, so any two categories differ in the
    probability of a report by at most p / q = ``odds``, which is certified in integers to be at most
    exp(epsilon). Only integers are compared: there is no floating point to attack. The number of random words
    used does not depend on the data, but the time of other operations is not guaranteed to be constant.

    References
    ----------
    Acharya, Sun, Zhang, Hadamard response: estimating distributions privately, efficiently, and with little
    communication, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.randomizers import HadamardRandomizer
    >>> randomizer = HadamardRandomizer(epsilon=1.0, n_cells=4)
    >>> categories = np.repeat([0, 1, 7], [2000, 1000, 3000])  # 2 * cell + label
    >>> reports = randomizer.randomize(categories, random_state=0)
    >>> reports.dtype, reports.shape
    (dtype('uint16'), (6000,))
    >>> counts = randomizer.aggregate(reports)
    >>> np.abs(randomizer.estimate(counts, n=6000) - [-1000, 0, 0, 3000]).max() < 900
    np.True_
    """

    name = "hadamard"

    def __init__(self, epsilon: float | Fraction, n_cells: int, *, n_blocks: int | None = None) -> None:
        super().__init__(epsilon, n_cells)
        if self.n_cells > _LARGEST_CELLS:
            raise ValueError(f"n_cells must be at most {_LARGEST_CELLS}, got {self.n_cells}.")
        if self.epsilon < _LEAST_EPSILON:
            raise ValueError(_TOO_SMALL)
        self.n_padded = 1 << (self.n_cells - 1).bit_length()
        self.n_blocks = self._best_blocks() if n_blocks is None else self._check_blocks(n_blocks)
        self.threshold = response_threshold(self.epsilon, 2 * self.n_blocks - 1)
        self.odds = response_odds(self.threshold, 2 * self.n_blocks - 1)
        if self.odds == 1:
            raise ValueError(_TOO_SMALL)

    def _check_blocks(self, n_blocks: Any) -> int:
        n_blocks = check_int(n_blocks, "n_blocks", least=1)
        if n_blocks > self.n_padded or n_blocks & (n_blocks - 1):
            raise ValueError(f"n_blocks must be a power of two in 1..{self.n_padded}, got {n_blocks}.")
        return n_blocks

    def _best_blocks(self) -> int:
        candidates = [1 << k for k in range(self.n_padded.bit_length())]
        excess = math.expm1(min(float(self.epsilon), 40.0))
        return min(candidates, key=lambda blocks: _uniform_variance(excess, blocks) + 1 / blocks)

    def _specification(self) -> dict[str, Any]:
        return {**super()._specification(), "n_blocks": self.n_blocks}

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"block-Hadamard response (L={self.n_padded}, B={self.n_blocks})"

    @property
    def _log2_rows(self) -> int:
        return (self.n_padded // self.n_blocks).bit_length() - 1

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """uint16 for up to 2^15 cells, else uint32."""
        return np.dtype(np.uint16 if 2 * self.n_padded <= 2**16 else np.uint32)

    def randomize(self, categories: ArrayLike, random_state: Any = None) -> NDArray[Any]:
        """Return one report per category.

        Parameters
        ----------
        categories : array-like of int of shape (n,)
            ``2 * cell + label`` of every client.
        random_state : None, int, RandomState or Generator, default=None
            None: entropy of the operating system. Anything else is reproducible and not private.

        Returns
        -------
        reports : ndarray of uint16 or uint32, of shape (n,)

        Raises
        ------
        TypeError, ValueError
            Categories are not integers, or out of range.
        """
        checked = self._check_categories(categories)
        reports: NDArray[Any] = np.empty(checked.shape[0], dtype=self.report_dtype)
        # 16 bits for the truth test and the row's bits; lies need a few more.
        expected_words = 1 + checked.shape[0] * (17 + self._log2_rows) // 64
        with WordStream(check_entropy(random_state), expected_words) as stream:
            randomize_hadamard(checked, self._log2_rows, self.n_blocks, self.threshold, stream, reports)
        return reports

    def aggregate(self, reports: ArrayLike, *, specification: str | None = None) -> IntArray:
        """Return the counts of a batch of reports; counts of batches add.

        Parameters
        ----------
        reports : array-like of shape (n,)
            As returned by `randomize`.
        specification : str, default=None
            ``specification`` of the randomizer that made them, where it came along; compared with this one's.

        Returns
        -------
        counts : ndarray of int64 of shape (n_padded,)
            Sum of the signs for every (block, row).

        Raises
        ------
        TypeError, ValueError
            Reports of another type, shape, specification, or out of range; nothing is counted then.
        """
        self._check_specification(specification)
        array = np.asarray(reports)
        if array.dtype != self.report_dtype:
            raise TypeError(f"reports must be {self.report_dtype}, not {array.dtype}: another specification?")
        if array.ndim != 1:
            raise ValueError(f"reports must be one-dimensional, got {array.ndim} dimensions.")
        counts = np.zeros(self.n_padded, dtype=np.int64)
        if not count_signs(np.ascontiguousarray(array), counts):
            raise ValueError(f"a report lies outside 0..{2 * self.n_padded - 1}: another specification?")
        return counts

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the unbiased estimate of every cell's signed sum.

        Parameters
        ----------
        counts : array-like of int of shape (n_padded,)
            Sum of the counts of all batches.
        n : int
            Number of reports in them.

        Returns
        -------
        signed_sums : ndarray of shape (n_cells,)

        Raises
        ------
        TypeError, ValueError
            The counts cannot come from n reports of this randomizer.
        """
        checked, n = self._check_counts(counts, (self.n_padded,), n)
        total = int(np.abs(checked).sum())
        if total > n or (n - total) % 2:
            raise ValueError("these counts cannot come from n reports: n, or a merge, is wrong.")
        blocks = _walsh_hadamard(checked.reshape(self.n_blocks, -1)).ravel()
        return blocks[: self.n_cells] / float((self.odds - 1) / (self.odds + 2 * self.n_blocks - 1))

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of every cell's estimate, exactly.

        With e = ``odds`` and A = (e + 2 B - 1) / (e - 1)^2, a client adds (e + 1) A - 1 to the variance of
        its own cell, (e + 1) A to the other cells of its block, and 2 A to the cells of other blocks.

        Parameters
        ----------
        n : int
            Number of reports.
        cell_counts : array-like of shape (n_cells,), default=None
            Number of clients in every cell, n in all. None: the L padded cells are equally full.

        Returns
        -------
        variance : ndarray of shape (n_cells,)

        Raises
        ------
        ValueError
            The cell counts have another shape, are negative or not finite, or do not add up to n.
        """
        n = check_int(n, "n", least=0)
        own, elsewhere = _cell_variances(float(self.odds - 1), self.n_blocks)
        if cell_counts is None:
            uniform = _uniform_variance(float(self.odds - 1), self.n_blocks)
            # What one block is more than one cell holds; 0 for B = L.
            crowd = 1.0 / self.n_blocks - 1.0 / self.n_padded
            return np.full(self.n_cells, n * (uniform + crowd))
        cells = np.zeros(self.n_padded)
        cells[: self.n_cells] = self._check_cell_counts(cell_counts, n)
        in_block = np.repeat(cells.reshape(self.n_blocks, -1).sum(axis=1), self.n_padded // self.n_blocks)
        variance = in_block * own + (in_block - cells) + (n - in_block) * elsewhere
        return variance[: self.n_cells]


def _cell_variances(excess: float, n_blocks: int) -> tuple[float, float]:
    """Variance that a client adds to its own cell, and to a cell of another block.

    These are (e + 1) A - 1 and 2 A with e = 1 + excess, written without the differences of near equals that
    a large or a small epsilon would lose.
    """
    own = (2 + 2 * n_blocks) / excess + 4 * n_blocks / excess**2
    return own, 2 * (1 / excess + 2 * n_blocks / excess**2)


def _uniform_variance(excess: float, n_blocks: int) -> float:
    """Variance of one report about a cell for equally full cells, but for 1/B - 1/L."""
    own, elsewhere = _cell_variances(excess, n_blocks)
    return own / n_blocks + elsewhere * (1 - 1 / n_blocks)


def _walsh_hadamard(rows: IntArray) -> IntArray:
    """Unnormalised Walsh-Hadamard transform of every row, in exact integers."""
    n_blocks, size = rows.shape
    half = 1
    while half < size:
        pairs = rows.reshape(n_blocks, -1, 2, half)
        rows = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        rows = rows.reshape(n_blocks, size)
        half *= 2
    return rows
