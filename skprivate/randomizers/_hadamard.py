# SPDX-License-Identifier: BSD-3-Clause
"""Block-Hadamard response: reports of two bytes, with near the least variance of signed reports."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..accounting import Blanket
from ..noise._entropy import Entropy
from ..noise._stream_kernels import WordStream
from ..utils import check_int
from ..utils._public_module import public_module
from ._base import LocalRandomizer
from ._report_kernels import count_signs, randomize_hadamard
from ._response import approximate_excess, certified_response, response_leakage

# A report holds its (block, row) index and one sign bit.
_LARGEST_CODES = 2**31


@public_module("skprivate.randomizers")
class HadamardRandomizer(LocalRandomizer):
    """Block-Hadamard response: a report is a block, a row and a sign.

    Codes (with signed labels the cells, else the categories) are padded to a power of two L and cut into B
    blocks of L / B. A client draws a row r of the Hadamard matrix uniformly and answers a (block, sign): the
    true block with the sign ``H[r, code] (2 label - 1)``, without signed labels ``H[r, code]``, has
    probability ``e / (e + 2 B - 1)`` with e = exp(epsilon), and the other 2 B - 1 answers share the rest
    equally. The report is the answer with r. B = 1 is one-bit Hadamard response; with two labels B = L is
    k-ary randomised response on (cell, label).

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels. There are at most 2^31 codes.
    n_blocks : int, default=None
        B, a power of two of at most L. None: the B of least variance for uniformly filled codes.
    signed : bool, default=None
        Whether the label of two is the sign of its cell's code. False: every (cell, label) has a code of its
        own, so that the reports tell how full a cell is. None: True for two labels, False for more.

    Attributes
    ----------
    epsilon : Fraction
        What a report costs: the request.
    n_padded : int
        L, the number of codes padded to a power of two.
    n_blocks : int
        B.
    signed : bool
        Whether the label is the sign of its cell's code.
    threshold : int
        The true answer is sent when a uniform 64-bit word falls below it.
    odds : Fraction
        The exact ratio of the probabilities of the true answer and of another one, at most exp(epsilon).

    See Also
    --------
    SubsetRandomizer : Down to half the variance with more than two labels, for a bit per category.
    LaplaceRandomizer : The mechanism of the paper.

    Notes
    -----
    A report is a uint16 for L <= 2^15, else a uint32; counts are the sums of the signs for every (block,
    row). Where the sign carries the label, the reports do not tell how full a cell is.

    With e = ``odds`` and A = (e + 2 B - 1) / (e - 1)^2, a client adds (e + 1) A - 1 to the variance of the
    estimate of its own code, (e + 1) A to the other codes of its block, and 2 A to the codes of other blocks;
    estimates of two codes are uncorrelated given the data.

    **Privacy.** Relation: local. Given the row, which is drawn without looking at the data, an answer has
    probability p or q = (1 - p) / (2 B - 1) under every category, so any two categories differ in the
    probability of a report by at most p / q = ``odds``, which is certified in integers to be at most
    exp(epsilon). Only integers are compared: there is no floating point to attack. The number of random words
    used does not depend on the data, but the time of other operations is not guaranteed to be constant.

    Proof: :doc:`/proofs/hadamard`.

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
    _options = ("n_blocks", "signed")

    def __init__(
        self,
        epsilon: float | Fraction,
        n_cells: int,
        n_labels: int = 2,
        *,
        n_blocks: int | None = None,
        signed: bool | None = None,
    ) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        # Two labels are two signs of a cell's code; more need a code each.
        self.signed = self.n_labels == 2 if signed is None else bool(signed)
        if self.signed and self.n_labels > 2:
            raise ValueError("signed reports are for two labels: each label needs a code of its own here.")
        self._n_codes = self.n_cells if self.signed else self.n_categories
        if self._n_codes > _LARGEST_CODES:
            counted = "n_cells" if self.signed else "n_cells * n_labels"
            raise ValueError(f"{counted} must be at most 2^31, got {self._n_codes}.")
        self.n_padded = 1 << (self._n_codes - 1).bit_length()
        self.report_dtype = np.dtype(np.uint16 if 2 * self.n_padded <= 2**16 else np.uint32)
        self.counts_shape = (self.n_padded,)
        self.n_blocks = self._best_blocks() if n_blocks is None else self._check_blocks(n_blocks)
        self.threshold, self.odds = certified_response(self.epsilon, 2 * self.n_blocks - 1)

    def _check_blocks(self, n_blocks: Any) -> int:
        n_blocks = check_int(n_blocks, "n_blocks", least=1)
        if n_blocks > self.n_padded or n_blocks & (n_blocks - 1):
            raise ValueError(f"n_blocks must be a power of two in 1..{self.n_padded}, got {n_blocks}.")
        return n_blocks

    def _best_blocks(self) -> int:
        candidates = [1 << k for k in range(self.n_padded.bit_length())]
        excess = approximate_excess(self.epsilon)
        return min(candidates, key=lambda blocks: _uniform_variance(excess, blocks) + 1 / blocks)

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"block-Hadamard response (L={self.n_padded}, B={self.n_blocks})"

    def blanket(self) -> Blanket:
        """Return what the reports of all clients have in common, which hides each of them once shuffled.

        Given the row, all 2 B answers have at least the probability 1 / (odds + 2 B - 1) under every code.
        Two codes of different blocks, and the two signs of one, have different true answers in every row. Two
        codes of one block have the same one in half of the rows: there the mass of two answers is at ratios
        (odds, odds) and (1, 1) instead of (odds, 1) and (1, odds), which are the ends of an interval around
        both and have their mean. So the former pairs are the worst; only reports of one block without signs
        have no such pair. (They are hidden better still where all codes agree, in the first row.)

        Returns
        -------
        blanket : Blanket
        """
        answers = 2 * self.n_blocks
        share = 1 / (self.odds + answers - 1)
        if self.signed or self.n_blocks > 1:
            return Blanket(self.odds, share, neither=(answers - 2) * share)
        return Blanket(self.odds, share / 2, both=share / 2, neither=share / 2)

    def _leakage(self, prior: FloatArray) -> float:
        """A report is `odds` times as probable under the categories for which it is the true answer.

        Its (block, row, sign) is true for the codes c of the block with H[row, c] (2 label - 1) = sign. The
        masses of both signs go through the butterflies of the transform as a pair that a factor -1 swaps:
        nothing is subtracted, so small masses keep their digits and those of impossible answers stay 0.
        """
        signs = np.zeros((2, self.n_padded))
        if self.signed:
            signs[:, : self._n_codes] = prior.reshape(self.n_cells, 2).T
        else:
            signs[1, : self._n_codes] = prior
        masses = _sign_masses(signs.reshape(2, self.n_blocks, -1))
        return response_leakage(self.odds, float(masses[masses > 0].min()))

    @property
    def _log2_rows(self) -> int:
        return (self.n_padded // self.n_blocks).bit_length() - 1

    def _randomize(self, categories: IntArray, entropy: Entropy) -> NDArray[Any]:
        # The kernel reads 2 * code + label.
        signed = categories if self.signed else 2 * categories + 1
        reports: NDArray[Any] = np.empty(len(categories), dtype=self.report_dtype)
        # 16 bits for the truth test and the row's bits; lies need a few more.
        expected_words = 1 + len(categories) * (17 + self._log2_rows) // 64
        with WordStream(entropy, expected_words) as stream:
            randomize_hadamard(signed, self._log2_rows, self.n_blocks, self.threshold, stream, reports)
        return reports

    def _aggregate(self, reports: NDArray[Any]) -> IntArray:
        counts = np.zeros(self.n_padded, dtype=np.int64)
        if not count_signs(reports, counts):
            raise ValueError(f"a report lies outside 0..{2 * self.n_padded - 1}: another specification?")
        return counts

    def _possible(self, counts: IntArray, n: int) -> bool:
        total = int(np.abs(counts).sum())
        return total <= n and (n - total) % 2 == 0

    def _estimate_codes(self, counts: IntArray) -> FloatArray:
        sums = _walsh_hadamard(counts.reshape(self.n_blocks, -1)).ravel()[: self._n_codes]
        codes = sums / float((self.odds - 1) / (self.odds + 2 * self.n_blocks - 1))
        return codes if self.signed else codes.reshape(self.n_cells, self.n_labels)

    def _estimate(self, counts: IntArray, n: int) -> FloatArray:
        codes = self._estimate_codes(counts)
        return codes[:, 1] - codes[:, 0] if self.n_labels == 2 and not self.signed else codes

    def _estimate_cells(self, counts: IntArray, n: int) -> FloatArray | None:
        return None if self.signed else self._estimate_codes(counts).sum(axis=1)

    def _even_variance(self) -> float:
        # What one block is more than one code holds; 0 for B = L.
        crowd = 1.0 / self.n_blocks - 1.0 / self.n_padded
        per_code = _uniform_variance(float(self.odds - 1), self.n_blocks) + crowd
        return per_code if self.signed else 2 * per_code

    def _variance(self, label_counts: FloatArray) -> FloatArray:
        own, elsewhere = _code_variances(float(self.odds - 1), self.n_blocks)
        codes = np.zeros(self.n_padded)
        codes[: self._n_codes] = label_counts.sum(axis=1) if self.signed else label_counts.ravel()
        n = codes.sum()
        in_block = np.repeat(codes.reshape(self.n_blocks, -1).sum(axis=1), self.n_padded // self.n_blocks)
        variance = in_block * own + (in_block - codes) + np.maximum(n - in_block, 0.0) * elsewhere
        if self.signed:
            return variance[: self.n_cells]
        # Uncorrelated: a difference has the sum of two variances, and each label is in 2 of M pairs.
        by_label = variance[: self._n_codes].reshape(self.n_cells, self.n_labels)
        return by_label.sum(axis=1) * (2 / self.n_labels)


def _code_variances(excess: float, n_blocks: int) -> tuple[float, float]:
    """Variance that a client adds to its own code, and to a code of another block.

    These are (e + 1) A - 1 and 2 A with e = 1 + excess, written without the differences of near equals that
    a large or a small epsilon would lose.
    """
    own = (2 + 2 * n_blocks) / excess + 4 * n_blocks / excess**2
    return own, 2 * (1 / excess + 2 * n_blocks / excess**2)


def _uniform_variance(excess: float, n_blocks: int) -> float:
    """Variance of one report about a code for equally full codes, but for 1/B - 1/L."""
    own, elsewhere = _code_variances(excess, n_blocks)
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


def _sign_masses(signs: FloatArray) -> FloatArray:
    """Mass of the codes whose entry times sign is -1 and +1 in every row; signs: (2, n_blocks, n_codes)."""
    _, n_blocks, size = signs.shape
    half = 1
    while half < size:
        pairs = signs.reshape(2, n_blocks, -1, 2, half)
        first, second = pairs[:, :, :, 0], pairs[:, :, :, 1]
        signs = np.stack([first + second, first + second[::-1]], axis=3).reshape(2, n_blocks, size)
        half *= 2
    return signs
