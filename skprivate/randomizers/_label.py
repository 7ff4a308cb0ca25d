# SPDX-License-Identifier: BSD-3-Clause
"""Randomised response on the label alone, for cells that are public."""

import math
from fractions import Fraction

import numpy as np

from .._typing import FloatArray, IntArray
from ..utils._public_module import public_module
from ._krr import ResponseRandomizer
from ._response import response_leakage


@public_module("skprivate.randomizers")
class LabelRandomizer(ResponseRandomizer):
    """Randomised response on the label; the cell is sent as it is, so the FEATURES ARE NOT PROTECTED.

    For a curator who knows the features already and must not learn the label. With M labels and
    e = exp(epsilon) a client sends its own label with probability ``e / (e + M - 1)``, else another one,
    uniformly.

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
        What a report costs: the request.
    threshold : int
        The true label is sent when a uniform 64-bit word falls below it.
    odds : Fraction
        The exact ratio of the probabilities of the true label and of another one, at most exp(epsilon).

    See Also
    --------
    KRRRandomizer : The same on (cell, label): the features are protected too.

    Notes
    -----
    A report is a category, the cell with the noisy label, in a uint16 or beyond 2^16 categories a uint32;
    counts have the shape (n_cells, n_labels). Only the clients of a cell add to the variance there, with two
    labels ``4 e / (e - 1)^2`` each.

    **Privacy.** Relation: label. Two categories of one cell differ in the probability of a report by at most
    ``odds``, which is certified in integers to be at most exp(epsilon). Nothing hides the cell: a report
    tells it exactly, and with it what the partition tells about the client's features. There is no floating
    point to attack. The number of random words used does not depend on the data, but the time of other
    operations is not guaranteed to be constant. `leakage` is that of the cell, sent in the clear, and of the
    label together: it exceeds epsilon where cells are rare.

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
        """Number of answers that a client chooses from."""
        return self.n_labels

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return f"{self.n_labels}-ary randomised response on the label (the cell is public)"

    def _leakage(self, prior: FloatArray) -> float:
        # Of a report (cell, y): log 1 / P(cell) for the cell, and what y leaks among the labels of the cell.
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
        """What a client adds in its own cell, over all pairs of labels."""
        own, elsewhere = self._pair_variances()
        share = 2 / self.n_labels
        return share * own + (1 - share) * elsewhere
