# SPDX-License-Identifier: BSD-3-Clause
"""Reports of one bit per category: subset selection and unary encoding."""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import Blanket
from ..noise import check_entropy
from ..noise._entropy import Entropy
from ..noise._response_threshold import WORD
from ..noise._sampling_kernels import fill_binomial
from ..noise._stream_kernels import WordStream
from ..utils import check_int
from ..utils._public_module import public_module
from ._bit_kernels import count_bits, randomize_subset, randomize_unary
from ._response import approximate_excess, certified_response, response_leakage
from ._support_counts import SupportCountRandomizer


class _BitRandomizer(SupportCountRandomizer):
    """A report is a set of categories: bit k % 8 of byte k // 8 is 1 if it holds category k."""

    # What every report has, where the number is fixed.
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
        """About how many random bits a report takes."""

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
    """Subset selection: a report is a set of d categories that holds the client's own more often than not.

    The own category is in the set with probability ``e d / (e d + K - d)``, e = exp(epsilon), K categories;
    the rest of the set is drawn uniformly from the others.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels; there are K = n_cells * n_labels <= 2^32 categories.
    subset_size : int, default=None
        d, from 1 to K / 2. None: the d of least variance, near K / (e + 1).

    Attributes
    ----------
    epsilon : Fraction
        What a report costs: the request.
    subset_size : int
        d.
    threshold : int
        The own category is in the set when a uniform 64-bit word falls below it.
    odds : Fraction
        The exact ratio of the probabilities of a set under a category in it and under one outside, at most
        exp(epsilon).

    See Also
    --------
    UnaryRandomizer : Independent bits, cheaper to draw for many categories, with a little more variance.
    HadamardRandomizer : Two bytes instead of a bit per category.

    Notes
    -----
    A report is K bits, packed eight a byte, the lowest first. No other mechanism has less variance (Ye,
    Barg, 2018) for estimating all categories; with two labels, signed Hadamard reports estimate only the
    signed sums and can do better. Every honest report has d ones: `aggregate` refuses all others, so that a
    forged report supports d categories and no more.

    **Privacy.** Relation: local. Let t be the threshold and C the binomial coefficient. A set S of d
    categories has the probability ``t / 2^64 / C(K - 1, d - 1)`` under a category in S, and
    ``(1 - t / 2^64) / C(K - 1, d)`` under one outside. Their ratio ``t (K - d) / (d (2^64 - t))`` = ``odds``
    is certified in integers to be at most exp(epsilon). Only integers are compared: there is no floating
    point to attack. The number of random words used does not depend on the data, but the time of other
    operations is not guaranteed to be constant.

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
        # Without the rounding to whole numbers, K / (e + 1) is the best.
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
        that if it holds it: for two categories, C(K - 2, d - 1) sets hold the first one only.

        Returns
        -------
        blanket : Blanket
        """
        size, others = self.subset_size, self.n_categories - self.subset_size
        # Of a uniformly drawn set, by how many of the two it holds.
        pairs = self.n_categories * (self.n_categories - 1)
        mass = Fraction(WORD - self.threshold, WORD) * Fraction(self.n_categories, others)
        return Blanket(
            self.odds,
            mass * Fraction(size * others, pairs),
            both=mass * Fraction(size * (size - 1), pairs),
            neither=mass * Fraction(others * (others - 1), pairs),
        )

    def _leakage(self, prior: FloatArray) -> float:
        # A set is `odds` times as probable under its members: the lightest set with a possible one. Those of
        # probability 0 fill it up for nothing.
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
    """Optimised unary encoding: the own category's bit is a fair coin, every other bit is mostly 0.

    A bit of another category is 1 with probability ``1 / (e + 1)``, e = exp(epsilon); all bits are
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
        What a report costs: the request.
    threshold : int
        Another category's bit is 0 when a uniform 64-bit word falls below it.
    odds : Fraction
        The exact ratio of the probabilities of 0 and 1 of such a bit, at most exp(epsilon).

    See Also
    --------
    SubsetRandomizer : Never more variance, and forged reports are recognised by their number of ones.

    Notes
    -----
    A report is K bits, packed eight a byte, the lowest first.

    **Privacy.** Relation: local. Two categories differ in the distribution of two bits only. Both are fair
    coins under their own category, so the coins cancel from the ratio of two probabilities of a report, and
    what remains is that of two other bits: 1 where they are equal, else ``odds`` or its inverse. ``odds`` is
    certified in integers to be at most exp(epsilon). Only integers are compared: there is no floating point
    to attack. The number of random words used does not depend on the data, but the time of other operations
    is not guaranteed to be constant.

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

        With q = 1 / (odds + 1), let every bit be 1 with probability q. A report is (odds + 1) / 2 times as
        probable as that under the category of one of its ones, and (odds + 1) / (2 odds) times under that of
        a zero: the blanket is the latter part of it.

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
        """Return counts distributed as those of the reports of all these clients, in two draws per count.

        A simulation: whoever calls this holds the categories of all clients.

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
        # Bits are independent, so a count is a sum of two binomials; a binomial reads about 2 n bits.
        words = 1 + len(checked) * self.n_categories // 32
        with WordStream(check_entropy(random_state), words) as stream:
            for trials, probability in ((own, WORD // 2), (len(checked) - own, WORD - self.threshold)):
                fill_binomial(drawn, trials, np.array([probability], dtype=np.uint64), stream)
                total += drawn
        return total

    def _shares(self) -> tuple[Fraction, Fraction]:
        return Fraction(1, 2), Fraction(WORD - self.threshold, WORD)

    def _pair_variances(self) -> tuple[float, float]:
        # (1 / 4 + q (1 - q)) / (1 / 2 - q)^2 and 2 q (1 - q) / (1 / 2 - q)^2 with q = 1 / (e + 1).
        excess = float(self.odds - 1)
        elsewhere = 8 / excess + 8 / excess**2
        return 1 + elsewhere, elsewhere


def _subset_variances(excess: float, n: int, size: int) -> tuple[float, float]:
    """What a client adds to the variance of a difference: of its own category and another, and of two others.

    With e = 1 + excess, S = e d + n - d and c = S (n - 1) / (d (n - d) (e - 1)^2), these are (e + 1) c - 1
    and 2 c (e (d - 1) + n - 1 - d) / (n - 2), without differences of near equals.
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
