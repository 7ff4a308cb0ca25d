# SPDX-License-Identifier: BSD-3-Clause
"""k-ary randomised response: a report is the true category, or any other one."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..accounting import Blanket
from ..noise._entropy import Entropy
from ..noise._response_threshold import WORD
from ..noise._stream_kernels import WordStream
from ..utils._public_module import public_module
from ._report_kernels import count_answers, randomize_response
from ._response import certified_response, response_leakage
from ._support_counts import SupportCountRandomizer


class ResponseRandomizer(SupportCountRandomizer):
    """A category is sent as it is, or as another one of its block of ``n_answers``."""

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.report_dtype = np.dtype(np.uint16 if self.n_categories <= 2**16 else np.uint32)
        self.threshold, self.odds = certified_response(self.epsilon, self.n_answers - 1)

    @property
    def n_answers(self) -> int:
        """Number of answers that a client chooses from."""
        return self.n_categories

    def _randomize(self, categories: IntArray, entropy: Entropy) -> NDArray[Any]:
        reports: NDArray[Any] = np.empty(len(categories), dtype=self.report_dtype)
        # 16 bits for the truth test; a lie needs those of the answers.
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

    With K categories and e = exp(epsilon) a client sends its own with probability ``e / (e + K - 1)``, else
    another one, uniformly.

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
        The true category is sent when a uniform 64-bit word falls below it.
    odds : Fraction
        The exact ratio of the probabilities of the true category and of another one, at most exp(epsilon).

    See Also
    --------
    HadamardRandomizer : Far less variance at a small epsilon.

    Notes
    -----
    A report is a uint16, beyond 2^16 categories a uint32. The variance of the difference of two categories is
    near ``2 K / (e - 1)^2`` per report: good for few categories or a large epsilon.

    **Privacy.** Relation: local. A report has probability p or q = (1 - p) / (K - 1) under every category, so
    any two categories differ in it by at most p / q = ``odds``, which is certified in integers to be at most
    exp(epsilon). Only integers are compared: there is no floating point to attack. The number of random words
    used does not depend on the data, but the time of other operations is not guaranteed to be constant.

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

        Every answer has at least the probability 1 / (odds + K - 1), and a client's own one odds times that.

        Returns
        -------
        blanket : Blanket
        """
        share = 1 / (self.odds + self.n_categories - 1)
        return Blanket(self.odds, share, neither=(self.n_categories - 2) * share)

    def _leakage(self, prior: FloatArray) -> float:
        # P(y) is q (1 + (odds - 1) prior[y]); a possible y leaks odds q / P(y), an impossible one nothing.
        return response_leakage(self.odds, float(prior[prior > 0].min()))
