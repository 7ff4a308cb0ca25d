# SPDX-License-Identifier: BSD-3-Clause
"""Base of the randomizers that estimate a category from the number of reports that support it."""

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from ._base import FloatArray, IntArray, LocalRandomizer

# A category is sent in 32 bits at most.
_LARGEST_CATEGORIES = 2**32


class SupportCountRandomizer(LocalRandomizer):
    """A report supports each category with probability p if it is the client's own, and else with q.

    The number N of reports that support a category then estimates its number of clients by
    (N - n q) / (p - q). No category is treated differently from another, so a client adds one variance to
    the difference of two categories if it is in one of them, and another if it is not.
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
        """What a client adds to the variance of the difference of two categories: of its own and another, and
        of two others.

        In terms of ``odds - 1``, without the differences of near equals that a large or a small epsilon would
        lose.
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
        # A client of the cell is in one of two of its labels in this share of the pairs.
        in_pair = label_counts.sum(axis=1) * (2 / self.n_labels)
        return in_pair * own + np.maximum(label_counts.sum() - in_pair, 0.0) * elsewhere
