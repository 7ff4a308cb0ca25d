# SPDX-License-Identifier: BSD-3-Clause
"""Randomizers by certified response: a category, a label, sets or bits of categories, or Hadamard codes."""

import functools
import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import Blanket
from ..noise import check_entropy
from ..noise._mechanisms import Entropy
from ..noise._rounding import WORD, response_odds, response_threshold
from ..noise._sampling_kernels import fill_binomial, tabulate_half_binomials
from ..noise._stream_kernels import WordStream
from ..utils import check_int
from ..utils._public_module import public_module
from ._bit_kernels import count_bits, randomize_subset, randomize_unary
from ._interface import LocalRandomizer
from ._report_kernels import count_answers, count_signs, randomize_hadamard, randomize_response

# Randomised response: its certified threshold and odds, and the leakage of one answer.

# Resolution of the words: below it, certifying a threshold would need more and more digits.
_LEAST_EPSILON = Fraction(1, 2**64)


# A pure function of public numbers: the cache contains nothing about rows. The choice of a depth needs up to
# 44 thresholds of one epsilon (four mechanisms, eleven depths). The cache is large enough for some twenty of
# them.
@functools.lru_cache(maxsize=1024)
def certified_response(epsilon: Fraction, n_others: int | Fraction) -> tuple[int, Fraction]:
    """Return the certified threshold of randomised response and its odds, which exceed 1.

    Raises
    ------
    ValueError
        Epsilon is so small that the odds would not distinguish the true answer from another.
    """
    if epsilon >= _LEAST_EPSILON:
        threshold = response_threshold(epsilon, n_others)
        odds = response_odds(threshold, n_others)
        if odds > 1:
            return threshold, odds
    raise ValueError("epsilon is too small: a 64-bit threshold cannot distinguish it from 0.")


def approximate_excess(epsilon: Fraction) -> float:
    """Return exp(epsilon) - 1 in floats, within the range that matters for the choice of a parameter."""
    return math.expm1(float(min(max(epsilon, _LEAST_EPSILON), Fraction(40))))


def response_leakage(odds: Fraction, mass: float) -> float:
    """Return log(odds / (1 + mass (odds - 1))): what is leaked by an answer that is `odds` times as probable
    under categories of this prior mass, above 0, as under the others.
    """
    rest = max(0.0, 1 - mass)
    # log(1 + ...) of the odds minus 1 is accurate for a tiny epsilon.
    return math.log1p(rest * float(odds - 1) / (1 + mass * float(odds - 1)))


# Base of the randomizers that estimate a category by the number of reports that support it.

# A category is sent in at most 32 bits.
_LARGEST_CATEGORIES = 2**32


class SupportCountRandomizer(LocalRandomizer):
    """A report supports a category with probability p if it is the client's own, and otherwise with q.

    The number N of reports that support a category gives the estimate (N - n q) / (p - q) of its number of
    clients. All categories are treated alike. A client therefore adds one variance to the difference of two
    categories if it is in one of them, and another if it is not.
    """

    # Largest ratio of the probabilities of a report under two categories.
    odds: Fraction

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        if self.n_categories > _LARGEST_CATEGORIES:
            raise ValueError(f"n_cells * n_labels must be at most 2^32, got {self.n_categories}.")
        self.counts_shape = (self.n_categories,)

    @abstractmethod
    def _shares(self) -> tuple[Fraction, Fraction]:
        """p and q."""

    @abstractmethod
    def _pair_variances(self) -> tuple[float, float]:
        """Variance that a client adds to a difference: of its own category and another, and of two others.

        Computed from ``odds - 1``, without differences of nearly equal numbers, which lose accuracy for a
        large or a small epsilon.
        """

    def _estimate(self, counts: IntArray, n: int) -> FloatArray:
        own, other = self._shares()
        by_label = counts.reshape(self.n_cells, self.n_labels).astype(np.float64)
        if self.n_labels == 2:
            return (by_label[:, 1] - by_label[:, 0]) / float(own - other)
        return (by_label - self._clients(counts, n) * float(other)) / float(own - other)

    def _clients(self, counts: IntArray, n: int) -> float | FloatArray:
        """Number of clients whose report may support a category."""
        return float(n)

    def _estimate_cells(self, counts: IntArray, n: int) -> FloatArray:
        own, other = self._shares()
        by_cell = counts.reshape(self.n_cells, self.n_labels).sum(axis=1)
        return (by_cell - float(n * self.n_labels * other)) / float(own - other)

    def _even_variance(self) -> float:
        own, elsewhere = self._pair_variances()
        share = 2 / self.n_categories
        return share * own + (1 - share) * elsewhere

    def _variance(self, label_counts: FloatArray) -> FloatArray:
        own, elsewhere = self._pair_variances()
        # A client of the cell has one of the two labels in this share of the pairs.
        in_pair = label_counts.sum(axis=1) * (2 / self.n_labels)
        return in_pair * own + np.maximum(label_counts.sum() - in_pair, 0.0) * elsewhere


# k-ary randomised response: a report is the true category, or any other one.


class ResponseRandomizer(SupportCountRandomizer):
    """A report is the true category, or another one of its block of ``n_answers``."""

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.report_dtype = np.dtype(np.uint16 if self.n_categories <= 2**16 else np.uint32)
        self.threshold, self.odds = certified_response(self.epsilon, self.n_answers - 1)

    @property
    def n_answers(self) -> int:
        """Number of answers among which a client chooses."""
        return self.n_categories

    def _randomize(self, categories: IntArray, entropy: Entropy) -> NDArray[Any]:
        reports: NDArray[Any] = np.empty(len(categories), dtype=self.report_dtype)
        # 16 bits decide whether the answer is true; another answer needs further bits.
        bits = 17 + (WORD - self.threshold) * (self.n_answers.bit_length() + 1) // WORD
        with WordStream(entropy, 1 + len(categories) * bits // 64) as stream:
            randomize_response(categories, self.n_answers, self.threshold, stream, reports)
        return reports

    def _aggregate(self, reports: NDArray[Any]) -> IntArray:
        counts = np.zeros(self.n_categories, dtype=np.int64)
        if not count_answers(reports, counts):
            raise ValueError(f"a report lies outside 0..{self.n_categories - 1}: another specification?")
        return counts.reshape(self.counts_shape)

    def _possible(self, counts: IntArray, n: int) -> bool:
        return bool((counts >= 0).all()) and int(counts.sum()) == n

    def _shares(self) -> tuple[Fraction, Fraction]:
        own = Fraction(self.threshold, WORD)
        return own, (1 - own) / (self.n_answers - 1)

    def _pair_variances(self) -> tuple[float, float]:
        # (e + 1) (e + K - 1) / (e - 1)^2 - 1 and 2 (e + K - 1) / (e - 1)^2 with K answers.
        excess, answers = float(self.odds - 1), self.n_answers
        return (
            (answers + 2) / excess + 2 * answers / excess**2,
            2 / excess + 2 * answers / excess**2,
        )


@public_module("skprivate.randomizers")
class KRRRandomizer(ResponseRandomizer):
    """k-ary randomised response on (cell, label): a report is one category.

    With K categories and e = exp(epsilon), a client sends its own with probability ``e / (e + K - 1)``, and
    otherwise another one, drawn uniformly.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels; there are K = n_cells * n_labels <= 2^32 categories.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report: the request.
    threshold : int
        The true category is sent if a uniform 64-bit word is below this.
    odds : Fraction
        The exact ratio of the probabilities of the true category and of another one, at most exp(epsilon).

    See Also
    --------
    HadamardRandomizer : A far smaller variance at a small epsilon.

    Notes
    -----
    A report is a uint16, or a uint32 with more than 2^16 categories. The variance of the difference of two
    categories is near ``2 K / (e - 1)^2`` per report. This is small for few categories or a large epsilon.

    **Privacy.** Relation: local. A report has probability p or q = (1 - p) / (K - 1) under every category.
    Any two categories differ in it by at most the factor p / q = ``odds``, which is certified in integers to
    be at most exp(epsilon). Only integers are compared, so there is no floating point to attack. The number
    of random words does not depend on the data, but the time of other operations may.

    Proof: :doc:`/proofs/randomised_response`.

    References
    ----------
    Kairouz, Bonawitz, Ramage, Discrete distribution estimation under local privacy, ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.randomizers import KRRRandomizer
    >>> randomizer = KRRRandomizer(epsilon=3.0, n_cells=2, n_labels=3)
    >>> categories = np.repeat([0, 2, 4], [2000, 1000, 3000])  # 3 * cell + label
    >>> counts = randomizer.aggregate(randomizer.randomize(categories, random_state=0))
    >>> estimates = randomizer.estimate(counts, n=6000)
    >>> np.abs(estimates - [[2000, 0, 1000], [0, 3000, 0]]).max() < 300
    np.True_
    """

    name = "krr"

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"{self.n_categories}-ary randomised response on (cell, label)"

    def blanket(self) -> Blanket:
        """Return what the reports of all clients have in common, which hides each of them once shuffled.

        Every answer has at least the probability 1 / (odds + K - 1), and a client's own answer odds times
        that.

        Returns
        -------
        blanket : Blanket
        """
        share = 1 / (self.odds + self.n_categories - 1)
        return Blanket(self.odds, share, neither=(self.n_categories - 2) * share)

    def _leakage(self, prior: FloatArray) -> float:
        # P(y) is q (1 + (odds - 1) prior[y]). A possible y leaks odds q / P(y), and an impossible one
        # nothing.
        return response_leakage(self.odds, float(prior[prior > 0].min()))


# Randomised response on the label alone, for cells that are public.


@public_module("skprivate.randomizers")
class LabelRandomizer(ResponseRandomizer):
    """Randomised response on the label; the cell is sent in the clear, so the FEATURES ARE NOT PROTECTED.

    It is for a curator who already knows the features, and must not learn the label. With M labels and e =
    exp(epsilon), a client sends its own label with probability ``e / (e + M - 1)``, and otherwise another
    one, drawn uniformly.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report about the label, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels; there are n_cells * n_labels <= 2^32 categories.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report: the request.
    threshold : int
        The true label is sent if a uniform 64-bit word is below this.
    odds : Fraction
        The exact ratio of the probabilities of the true label and of another one, at most exp(epsilon).

    See Also
    --------
    KRRRandomizer : The same on (cell, label): the features are protected too.

    Notes
    -----
    A report is a category, the cell with the noisy label. It is a uint16, or a uint32 with more than 2^16
    categories. Counts have the shape (n_cells, n_labels). Only the clients of a cell add to its variance,
    with two labels ``4 e / (e - 1)^2`` each.

    **Privacy.** Relation: label. Two categories of one cell differ in the probability of a report by at most
    the factor ``odds``, which is certified in integers to be at most exp(epsilon). Nothing hides the cell: a
    report reveals it exactly, and therefore the client's features as far as the partition divides them. There
    is no floating point to attack. The number of random words does not depend on the data, but the time of
    other operations may. `leakage` is that of the cell, sent in the clear, and of the label together. It
    exceeds epsilon for rare cells.

    Proof: :doc:`/proofs/randomised_response`.

    References
    ----------
    Warner, Randomized response: a survey technique for eliminating evasive answer bias, Journal of the
    American Statistical Association 1965.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.randomizers import LabelRandomizer
    >>> randomizer = LabelRandomizer(epsilon=1.0, n_cells=2)
    >>> categories = np.repeat([0, 3], [2000, 1000])  # 2 * cell + label
    >>> counts = randomizer.aggregate(randomizer.randomize(categories, random_state=0))
    >>> randomizer.estimate_cells(counts, n=3000)
    array([2000., 1000.])
    >>> np.abs(randomizer.estimate(counts, n=3000) - [-2000, 1000]).max() < 400
    np.True_
    """

    name = "label-rr"
    relation = "label"

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.counts_shape = (self.n_cells, self.n_labels)

    @property
    def n_answers(self) -> int:
        """Number of answers among which a client chooses."""
        return self.n_labels

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"{self.n_labels}-ary randomised response on the label (the cell is public)"

    def _leakage(self, prior: FloatArray) -> float:
        # A report (cell, y) leaks log 1 / P(cell) for the cell, and the leakage of y among the labels of the
        # cell.
        by_cell = prior.reshape(self.n_cells, self.n_labels)
        cells = by_cell.sum(axis=1)
        rarest = np.where(by_cell > 0, by_cell, np.inf).min(axis=1)
        worst = np.argmin(cells + float(self.odds - 1) * rarest)
        of_label = response_leakage(self.odds, float(rarest[worst] / cells[worst]))
        return max(0.0, of_label - math.log(cells[worst]))

    def _clients(self, counts: IntArray, n: int) -> FloatArray:
        return self._estimate_cells(counts, n)[:, None]

    def _estimate_cells(self, counts: IntArray, n: int) -> FloatArray:
        return counts.sum(axis=1).astype(np.float64)

    def _even_variance(self) -> float:
        return self._client_variance() / self.n_cells

    def _variance(self, label_counts: FloatArray) -> FloatArray:
        return label_counts.sum(axis=1) * self._client_variance()

    def _client_variance(self) -> float:
        """Variance that a client adds in its own cell, over all pairs of labels."""
        own, elsewhere = self._pair_variances()
        share = 2 / self.n_labels
        return share * own + (1 - share) * elsewhere


# Reports of one bit per category: subset selection and unary encoding.


class _BitRandomizer(SupportCountRandomizer):
    """A report is a set of categories: bit k % 8 of byte k // 8 is 1 if it holds category k."""

    # Number of ones in every report, if it is fixed.
    _n_ones = -1

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.report_dtype = np.dtype(np.uint8)
        self.report_shape = (-(-self.n_categories // 8),)

    def _randomize(self, categories: IntArray, entropy: Entropy) -> NDArray[np.uint8]:
        reports = np.empty((len(categories), *self.report_shape), dtype=np.uint8)
        with WordStream(entropy, 1 + len(categories) * self._bits_per_report() // 64) as stream:
            self._fill(categories, stream, reports)
        return reports

    @abstractmethod
    def _bits_per_report(self) -> int:
        """Approximate number of random bits of a report."""

    @abstractmethod
    def _fill(self, categories: IntArray, stream: WordStream, reports: NDArray[np.uint8]) -> None: ...

    def _aggregate(self, reports: NDArray[Any]) -> IntArray:
        used = self.n_categories % 8
        if used and (reports[:, -1] >> used).any():
            raise ValueError(
                f"a report has a bit beyond category {self.n_categories - 1}: another specification?"
            )
        n_words = -(-self.report_shape[0] // 8)
        lanes = np.zeros((n_words, 8), dtype=np.uint64)
        counts = np.zeros((n_words, 8, 8), dtype=np.int64)
        if not count_bits(reports, self._n_ones, lanes, counts):
            raise ValueError(
                f"a report has another number of ones than {self._n_ones}, which every honest one has: "
                "another specification, or a forgery?"
            )
        return counts.transpose(0, 2, 1).ravel()[: self.n_categories].copy()

    def _possible(self, counts: IntArray, n: int) -> bool:
        return bool((counts >= 0).all() and (counts <= n).all())


@public_module("skprivate.randomizers")
class SubsetRandomizer(_BitRandomizer):
    """Subset selection: a report is a set of d categories, the client's own more often than any other.

    With e = exp(epsilon) and K categories, the own category is in the set with probability ``e d / (e d + K -
    d)``. The rest of the set is drawn uniformly from the others.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels; there are K = n_cells * n_labels <= 2^32 categories.
    subset_size : int, default=None
        d, from 1 to K / 2. None: the d with the smallest variance, near K / (e + 1).

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report: the request.
    subset_size : int
        d.
    threshold : int
        The own category is in the set if a uniform 64-bit word is below this.
    odds : Fraction
        The exact ratio of the probabilities of a set under a category in it and under one outside, at most
        exp(epsilon).

    See Also
    --------
    UnaryRandomizer : Independent bits, faster to draw for many categories, with a slightly larger variance.
    HadamardRandomizer : Two bytes instead of a bit per category.

    Notes
    -----
    A report is K bits, eight in a byte, the lowest first. No other mechanism has a smaller variance for
    estimates of all categories (Ye, Barg, 2018). With two labels, signed Hadamard reports estimate only the
    signed sums, and can have a smaller one. Every honest report has d ones. `aggregate` refuses all others,
    so that a forged report supports exactly d categories.

    **Privacy.** Relation: local. Let t be the threshold and C the binomial coefficient. A set S of d
    categories has the probability ``t / 2^64 / C(K - 1, d - 1)`` under a category in S, and ``(1 - t / 2^64)
    / C(K - 1, d)`` under one outside. Their ratio ``t (K - d) / (d (2^64 - t))`` = ``odds`` is certified in
    integers to be at most exp(epsilon). Only integers are compared, so there is no floating point to attack.
    The number of random words does not depend on the data, but the time of other operations may.

    Proof: :doc:`/proofs/subset`.

    References
    ----------
    Ye, Barg, Optimal schemes for discrete distribution estimation under locally differential privacy, IEEE
    Transactions on Information Theory 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.randomizers import SubsetRandomizer
    >>> randomizer = SubsetRandomizer(epsilon=1.0, n_cells=4, n_labels=3)
    >>> randomizer.subset_size, randomizer.report_shape
    (3, (2,))
    >>> categories = np.repeat([0, 4, 11], [2000, 1000, 3000])  # 3 * cell + label
    >>> counts = randomizer.aggregate(randomizer.randomize(categories, random_state=0))
    >>> estimates = randomizer.estimate(counts, n=6000)
    >>> np.abs(estimates - [[2000, 0, 0], [0, 1000, 0], [0, 0, 0], [0, 0, 3000]]).max() < 900
    np.True_
    """

    name = "subset"
    _options = ("subset_size",)

    def __init__(
        self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2, *, subset_size: int | None = None
    ) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.subset_size = self._best_size() if subset_size is None else self._check_size(subset_size)
        others = Fraction(self.n_categories - self.subset_size, self.subset_size)
        self.threshold, self.odds = certified_response(self.epsilon, others)

    @property
    def _n_ones(self) -> int:  # type: ignore[override]
        return self.subset_size

    def _check_size(self, subset_size: Any) -> int:
        subset_size = check_int(subset_size, "subset_size", least=1)
        if subset_size > self.n_categories // 2:
            raise ValueError(f"subset_size must be in 1..{self.n_categories // 2}, got {subset_size}.")
        return subset_size

    def _best_size(self) -> int:
        excess = approximate_excess(self.epsilon)
        # Without rounding to whole numbers, K / (e + 1) is the best.
        middle = int(self.n_categories / (excess + 2))
        largest = self.n_categories // 2
        candidates = {min(max(size, 1), largest) for size in range(middle - 1, middle + 3)}
        return min(sorted(candidates), key=lambda size: _subset_variance(excess, self.n_categories, size))

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"subset selection on (cell, label) (K={self.n_categories}, d={self.subset_size})"

    def blanket(self) -> Blanket:
        """Return what the reports of all clients have in common, which hides each of them once shuffled.

        Every set has at least the probability that it has without the client's own category, and odds times
        that if it holds this category. For two categories, C(K - 2, d - 1) sets hold only the first one.

        Returns
        -------
        blanket : Blanket
        """
        size, others = self.subset_size, self.n_categories - self.subset_size
        # Probabilities of a uniformly drawn set, by the number of the two categories that it holds.
        pairs = self.n_categories * (self.n_categories - 1)
        mass = Fraction(WORD - self.threshold, WORD) * Fraction(self.n_categories, others)
        return Blanket(
            self.odds,
            mass * Fraction(size * others, pairs),
            both=mass * Fraction(size * (size - 1), pairs),
            neither=mass * Fraction(others * (others - 1), pairs),
        )

    def _leakage(self, prior: FloatArray) -> float:
        # A set is `odds` times as probable under its members. The worst set has the smallest mass with a
        # possible member; categories of probability 0 add no mass.
        possible = prior[prior > 0]
        needed = max(1, self.subset_size - (len(prior) - len(possible)))
        rarest = np.partition(possible, needed - 1)[:needed]
        return response_leakage(self.odds, float(rarest.sum()))

    def _bits_per_report(self) -> int:
        return 17 + self.subset_size * (self.n_categories.bit_length() + 6)

    def _fill(self, categories: IntArray, stream: WordStream, reports: NDArray[np.uint8]) -> None:
        randomize_subset(categories, self.n_categories, self.subset_size, self.threshold, stream, reports)

    def _possible(self, counts: IntArray, n: int) -> bool:
        return super()._possible(counts, n) and int(counts.sum()) == n * self.subset_size

    def _shares(self) -> tuple[Fraction, Fraction]:
        own = Fraction(self.threshold, WORD)
        return own, (self.subset_size - own) / (self.n_categories - 1)

    def _pair_variances(self) -> tuple[float, float]:
        return _subset_variances(float(self.odds - 1), self.n_categories, self.subset_size)


@public_module("skprivate.randomizers")
class UnaryRandomizer(_BitRandomizer):
    """Optimised unary encoding: the own category's bit is a fair coin, and every other bit is mostly 0.

    With e = exp(epsilon), a bit of another category is 1 with probability ``1 / (e + 1)``. All bits are
    independent.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels; there are K = n_cells * n_labels <= 2^32 categories.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report: the request.
    threshold : int
        Another category's bit is 0 if a uniform 64-bit word is below this.
    odds : Fraction
        The exact ratio of the probabilities of 0 and 1 of such a bit, at most exp(epsilon).

    See Also
    --------
    SubsetRandomizer : Never a larger variance, and forged reports are recognised by their number of ones.

    Notes
    -----
    A report is K bits, eight in a byte, the lowest first.

    **Privacy.** Relation: local. Two categories differ in the distribution of two bits only. Each is a fair
    coin under its own category, so the coins cancel from the ratio of two probabilities of a report. The
    ratio of the two other bits remains: 1 if they are equal, and otherwise ``odds`` or its inverse. ``odds``
    is certified in integers to be at most exp(epsilon). Only integers are compared, so there is no floating
    point to attack. The number of random words does not depend on the data, but the time of other operations
    may.

    Proof: :doc:`/proofs/unary`.

    References
    ----------
    Wang, Blocki, Li, Jha, Locally differentially private protocols for frequency estimation, USENIX Security
    2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.randomizers import UnaryRandomizer
    >>> randomizer = UnaryRandomizer(epsilon=1.0, n_cells=4)
    >>> categories = np.repeat([0, 1, 7], [2000, 1000, 3000])  # 2 * cell + label
    >>> counts = randomizer.aggregate(randomizer.randomize(categories, random_state=0))
    >>> np.abs(randomizer.estimate(counts, n=6000) - [-1000, 0, 0, 3000]).max() < 1200
    np.True_
    """

    name = "unary"

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.threshold, self.odds = certified_response(self.epsilon, 1)

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"optimised unary encoding of (cell, label) (K={self.n_categories})"

    def blanket(self) -> Blanket:
        """Return what the reports of all clients have in common, which hides each of them once shuffled.

        With q = 1 / (odds + 1), let every bit be 1 with probability q. Under the category of one of its ones,
        a report is (odds + 1) / 2 times as probable as that, and under the category of a zero (odds + 1) / (2
        odds) times. The blanket is the latter part.

        Returns
        -------
        blanket : Blanket
        """
        half = 1 / (2 * (self.odds + 1))
        return Blanket(self.odds, half, both=half / self.odds, neither=half * self.odds)

    def _leakage(self, prior: FloatArray) -> float:
        # A report is `odds` times as probable under the categories of its ones: at least the rarest one.
        return response_leakage(self.odds, float(prior[prior > 0].min()))

    def _bits_per_report(self) -> int:
        return 5 * 8 * self.report_shape[0]

    def _fill(self, categories: IntArray, stream: WordStream, reports: NDArray[np.uint8]) -> None:
        randomize_unary(categories, self.n_categories, self.threshold, stream, reports)

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return counts with the distribution of those of all these clients' reports, in two draws per count.

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
        own = np.bincount(checked, minlength=self.n_categories).astype(np.int64)
        total, drawn = np.zeros_like(own), np.empty_like(own)
        # Bits are independent, so a count is a sum of two binomials. A binomial takes about log2(n) digits. A
        # digit takes a draw for each 2^12 trials that are left, and about four for the rest, of half a word
        # each.
        rounds = len(checked).bit_length()
        words = 1 + self.n_categories * (len(checked) // 2**12 + 2 * rounds)
        with WordStream(check_entropy(random_state), words) as stream:
            for trials, probability in ((own, WORD // 2), (len(checked) - own, WORD - self.threshold)):
                fill_binomial(drawn, trials, np.array([probability], dtype=np.uint64), stream, _halves())
                total += drawn
        return total

    def _shares(self) -> tuple[Fraction, Fraction]:
        return Fraction(1, 2), Fraction(WORD - self.threshold, WORD)

    def _pair_variances(self) -> tuple[float, float]:
        # (1 / 4 + q (1 - q)) / (1 / 2 - q)^2 and 2 q (1 - q) / (1 / 2 - q)^2 with q = 1 / (e + 1).
        excess = float(self.odds - 1)
        elsewhere = 8 / excess + 8 / excess**2
        return 1 + elsewhere, elsewhere


_halves = functools.cache(tabulate_half_binomials)


def _subset_variances(excess: float, n: int, size: int) -> tuple[float, float]:
    """Variance that a client adds to a difference: of its own category and another, and of two others.

    With e = 1 + excess, S = e d + n - d and c = S (n - 1) / (d (n - d) (e - 1)^2), these are (e + 1) c - 1
    and 2 c (e (d - 1) + n - 1 - d) / (n - 2), without differences of nearly equal numbers.
    """
    rest = size * (n - size)
    own = (
        (size - 1) / (n - size)
        + (n + 2 * size) * (n - 1) / (rest * excess)
        + 2 * n * (n - 1) / (rest * excess**2)
    )
    # With two categories there are no others.
    others = 2 * ((size - 1) / (n - 2) + 1 / excess) if n > 2 else 0.0
    return own, others * (size + n / excess) * (n - 1) / rest


def _subset_variance(excess: float, n: int, size: int) -> float:
    """Variance of one report about a difference, for equally full categories."""
    own, elsewhere = _subset_variances(excess, n, size)
    return own * 2 / n + elsewhere * (1 - 2 / n)


# Block-Hadamard response: reports of two bytes, with nearly the smallest variance of signed reports.

# A report holds its (block, row) index and one sign bit.
_LARGEST_CODES = 2**31


@public_module("skprivate.randomizers")
class HadamardRandomizer(LocalRandomizer):
    """Block-Hadamard response: a report is a block, a row and a sign.

    Codes are the cells with signed labels, and otherwise the categories. They are padded to a power of two L
    and divided into B blocks of L / B. A client draws a row r of the Hadamard matrix uniformly, and answers
    with a (block, sign). The true answer is the true block with the sign ``H[r, code] (2 label - 1)``, or
    without signed labels ``H[r, code]``. With e = exp(epsilon), it has probability ``e / (e + 2 B - 1)``, and
    the other 2 B - 1 answers share the rest equally. The report is the answer with r. B = 1 is one-bit
    Hadamard response. With two labels B = L is k-ary randomised response on (cell, label).

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels. There are at most 2^31 codes.
    n_blocks : int, default=None
        B, a power of two of at most L. None: the B with the smallest variance for equally full codes.
    signed : bool, default=None
        Whether the label is the sign of its cell's code, with two labels. False: every (cell, label) has its
        own code, so that the reports show the number of clients in a cell. None: True for two labels, False
        for more.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report: the request.
    n_padded : int
        L, the number of codes padded to a power of two.
    n_blocks : int
        B.
    signed : bool
        Whether the label is the sign of its cell's code.
    threshold : int
        The true answer is sent if a uniform 64-bit word is below this.
    odds : Fraction
        The exact ratio of the probabilities of the true answer and of another one, at most exp(epsilon).

    See Also
    --------
    SubsetRandomizer : Down to half the variance with more than two labels, with a bit per category.
    LaplaceRandomizer : The mechanism of the paper.

    Notes
    -----
    A report is a uint16 for L <= 2^15, and otherwise a uint32. Counts are the sums of the signs for every
    (block, row). If the sign is the label, the reports do not show the number of clients in a cell.

    Let e = ``odds`` and A = (e + 2 B - 1) / (e - 1)^2. A client adds (e + 1) A - 1 to the variance of the
    estimate of its own code, (e + 1) A to the other codes of its block, and 2 A to the codes of other blocks.
    Given the data, estimates of two codes are uncorrelated.

    **Privacy.** Relation: local. The row is drawn independently of the data. Given the row, an answer has
    probability p or q = (1 - p) / (2 B - 1) under every category. Any two categories therefore differ in the
    probability of a report by at most the factor p / q = ``odds``, which is certified in integers to be at
    most exp(epsilon). Only integers are compared, so there is no floating point to attack. The number of
    random words does not depend on the data, but the time of other operations may.

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
        # Two labels are the two signs of a cell's code; more labels need their own codes.
        self.signed = self.n_labels == 2 if signed is None else bool(signed)
        if self.signed and self.n_labels > 2:
            raise ValueError("signed reports are for two labels only: leave signed out.")
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
        Two codes of different blocks, and the two signs of one code, have different true answers in every
        row. Two codes of one block have the same true answer in half of the rows. There the mass of two
        answers is at the ratios (odds, odds) and (1, 1) instead of (odds, 1) and (1, odds), which are the
        ends of an interval around both and have the same mean. So the former pairs are the worst. Only
        reports of one block without signs have no such pair. (They are hidden even better in the first row,
        in which all codes agree.)

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

        Its (block, row, sign) is the true answer for the codes c of the block with H[row, c] (2 label - 1) =
        sign. The masses of both signs pass through the butterflies of the transform as a pair that a factor
        -1 swaps. Nothing is subtracted, so small masses stay accurate, and those of impossible answers stay
        0.
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
        # 16 bits decide whether the answer is true, and the row has its bits; other answers need a few more.
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
        # Difference of the shares of clients in one block and one code; 0 for B = L.
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
        # Estimates are uncorrelated: a difference has the sum of two variances, and each label is in 2 of M
        # pairs.
        by_label = variance[: self._n_codes].reshape(self.n_cells, self.n_labels)
        return by_label.sum(axis=1) * (2 / self.n_labels)


def _code_variances(excess: float, n_blocks: int) -> tuple[float, float]:
    """Variance that a client adds to its own code, and to a code of another block.

    These are (e + 1) A - 1 and 2 A with e = 1 + excess, computed without differences of nearly equal numbers,
    which lose accuracy for a large or a small epsilon.
    """
    own = (2 + 2 * n_blocks) / excess + 4 * n_blocks / excess**2
    return own, 2 * (1 / excess + 2 * n_blocks / excess**2)


def _uniform_variance(excess: float, n_blocks: int) -> float:
    """Variance of one report about a code for equally full codes, without 1/B - 1/L."""
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
