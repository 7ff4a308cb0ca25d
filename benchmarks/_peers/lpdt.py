# SPDX-License-Identifier: BSD-3-Clause
"""LPDT of Ma, Zhang, Cai and Yang (2023), a locally private tree of numbers; its noise is NumPy's.

For comparison only: it protects nobody. What a curator sees of the reports are their sums over clients, and
only these are drawn here.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeRegressor

FloatArray = NDArray[np.float64]
Cells = NDArray[np.intp]

#: Mechanisms and the share of epsilon for the cell: Laplace as the paper defines it, and those shares of its
#: randomised response that the authors' experiments try.
REPORTS = (("laplace", 0.5), ("response", 0.3), ("response", 0.5), ("response", 0.7))


class MaxEdgePartition:
    """Cells of the unit cube, halved along a longest edge: the one that reduces the variance of y most.

    A cell with fewer than two public rows is left whole, and so is one at ``max_depth``.
    """

    def __init__(self, X: FloatArray, y: FloatArray, max_depth: int) -> None:
        feature, threshold, left = [-1], [0.0], [-1]
        d = X.shape[1]
        cells = [(0, np.arange(len(X)), np.zeros(d), np.ones(d))]
        for _ in range(max_depth):
            halves = []
            for node, rows, lower, edges in cells:
                if len(rows) < 2:
                    continue
                longest = np.flatnonzero(edges == edges.max())
                middle = lower + edges / 2
                is_right = X[rows] >= middle
                j = max(longest, key=lambda k: _reduction(y[rows], is_right[:, k]))
                feature[node], threshold[node], left[node] = int(j), float(middle[j]), len(feature)
                shorter, moved = edges.copy(), lower.copy()
                shorter[j], moved[j] = edges[j] / 2, middle[j]
                halves += [
                    (left[node], rows[~is_right[:, j]], lower, shorter),
                    (left[node] + 1, rows[is_right[:, j]], moved, shorter),
                ]
                feature += [-1, -1]
                threshold += [0.0, 0.0]
                left += [-1, -1]
            cells = halves
        self.feature, self.threshold, self.left = np.array(feature), np.array(threshold), np.array(left)
        self.max_depth = max_depth

    def apply(self, X: FloatArray) -> Cells:
        """Return the node of every row; rows outside the cube go to the cells at its border."""
        node, rows = np.zeros(len(X), dtype=np.intp), np.arange(len(X))
        for _ in range(self.max_depth):
            is_right = X[rows, self.feature[node]] >= self.threshold[node]
            node = np.where(self.feature[node] < 0, node, self.left[node] + is_right)
        return node


def _reduction(y: FloatArray, is_right: NDArray[np.bool_]) -> float:
    """Return the sum of squares between the two sides, which is what the split takes from that within."""
    sides = y[is_right], y[~is_right]
    return sum(len(side) * (side.mean() - y.mean()) ** 2 for side in sides if len(side))


@dataclass(eq=False, repr=False)
class LPDT(RegressorMixin, BaseEstimator):
    """Partition on public rows; the mean of a cell is the ratio of two sums of the clients' reports.

    Every client reports its cell, one-hot, and its target times that: with ``mechanism="laplace"`` by Laplace
    noise on each entry; with "response" by flipping each entry of the first, and Laplace noise on the target
    alone. A share of epsilon goes to the cell. Where the noisy count is not above ``least_share`` of all
    rows, the mean of the cell's public rows takes the place of the ratio, as in the authors' code. Targets
    are counted from the middle of ``target_range``, and means clipped to it: both favour the method.
    """

    epsilon: float
    bounds: Any
    target_range: tuple[float, float]
    max_depth: int = 6
    rule: str = "max-edge"
    mechanism: str = "response"
    share: float = 0.5
    least_share: float = 0.0
    random_state: int | None = None

    def fit(self, X: FloatArray, y: FloatArray, is_public: NDArray[np.bool_]) -> Self:
        """Grow the cells on public rows, and collect one report of every private row."""
        self.grow(X[is_public], y[is_public])
        return self.collect(self.apply(X[~is_public]), y[~is_public])

    def grow(self, X: FloatArray, y: FloatArray) -> Self:
        """Make the cells of public rows, and keep the public means, which cost nothing."""
        rows = self._rows(X)
        if self.rule == "cart":
            self.partition_ = DecisionTreeRegressor(max_depth=self.max_depth, random_state=0).fit(rows, y)
            left = self.partition_.tree_.children_left
        else:
            self.partition_ = MaxEdgePartition(rows, y, self.max_depth)
            left = self.partition_.left
        self.leaves_ = np.flatnonzero(left < 0)
        cells = self.apply(X)
        counts, sums = (np.bincount(cells, w, minlength=len(self.leaves_)) for w in (None, y))
        self.public_means_ = np.where(counts > 0, sums / np.maximum(counts, 1), y.mean())
        return self

    def apply(self, X: FloatArray) -> Cells:
        """Return the cell of every row, between 0 and the number of cells."""
        return np.searchsorted(self.leaves_, self.partition_.apply(self._rows(X)))

    def _rows(self, X: FloatArray) -> FloatArray:
        """Return rows as they are, or in the unit cube, which is halved."""
        lower, upper = self.bounds
        return X if self.rule == "cart" else (X - lower) / (upper - lower)

    def collect(self, cells: Cells, y: FloatArray) -> Self:
        """Draw the sums of the private rows' reports, and make the means of the cells of them."""
        low, high = self.target_range
        middle, half = (low + high) / 2, (high - low) / 2
        u = np.clip((y - middle) / half, -1, 1)
        draw = laplace_sums if self.mechanism == "laplace" else response_sums
        rng = np.random.default_rng(self.random_state)
        budget = self.epsilon * self.share, self.epsilon * (1 - self.share)
        self.counts_, sums = draw(cells, u, len(self.leaves_), budget, rng)
        known = self.counts_ > self.least_share * len(y)
        ratio = np.divide(sums, self.counts_, out=np.zeros_like(sums), where=known)
        self.values_ = np.where(known, middle + half * np.clip(ratio, -1, 1), self.public_means_)
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the mean of every row's cell."""
        return self.values_[self.apply(X)]


def laplace_sums(
    cells: Cells, u: FloatArray, n_cells: int, budget: tuple[float, float], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return sums of one-hot vectors and of u in [-1, 1] times these, each entry with Laplace noise.

    Either vector moves by at most 2 in L1. A difference of two gamma variables is a sum of Laplace draws.
    """
    found = []
    for weights, epsilon in zip((None, u), budget, strict=True):
        first, second = rng.standard_gamma(len(u), (2, n_cells))
        noise = 2 / epsilon * (first - second)
        found.append(np.bincount(cells, weights, minlength=n_cells) + noise)
    return found[0], found[1]


def response_sums(
    cells: Cells, u: FloatArray, n_cells: int, budget: tuple[float, float], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return unbiased sums of one-hot vectors whose entries are flipped, and of noisy u times these.

    A client keeps each entry with probability q, of odds e^(epsilon / 2), and adds Laplace noise to u, which
    spans 2. Given these, both sums of a cell are over thousands of independent entries: they are drawn from
    the normal distribution with their means, variances and covariance.
    """
    keep = expit(budget[0] / 2)
    noisy = u + rng.laplace(scale=2 / budget[1], size=len(u))
    spread = np.sqrt(keep * (1 - keep)) / (2 * keep - 1)
    # Entry i is off by a variable of variance spread^2: the first sum adds them up, the second times noisy.
    moments = [[len(u), noisy.sum()], [noisy.sum(), noisy @ noisy]]
    off = spread * rng.multivariate_normal([0, 0], moments, size=n_cells)
    counts, sums = (np.bincount(cells, w, minlength=n_cells) for w in (None, noisy))
    return counts + off[:, 0], sums + off[:, 1]
