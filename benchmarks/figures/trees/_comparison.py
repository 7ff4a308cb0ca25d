# SPDX-License-Identifier: BSD-3-Clause
"""Competing classifiers, for comparison only: their noise is NumPy's, so that they protect nobody.

Each follows its paper in the distribution of what it releases, and takes ``fit(X, y, is_public=mask)``.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from skprivate.partition import build_partition

FloatArray = NDArray[np.float64]

# A histogram with more cells than this is left out: its paper's reports would not fit into memory.
LARGEST_HISTOGRAM = 2**20


def laplace_sums(n: int, scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Return sums of n Laplace draws each: the difference of two gamma variables has their distribution."""
    return scale * (rng.standard_gamma(n, shape) - rng.standard_gamma(n, shape))


def one_hot_sums(
    cells: NDArray[Any], labels: NDArray[Any], n_cells: int, epsilon: float, rng: np.random.Generator
) -> FloatArray:
    """Return the sums of all clients' noisy one-hot vectors U and V = label U, of shape (2, n_cells).

    Every client adds Laplace(4 / epsilon) to both, as Berrett and Butucea (2019) and the LPCT paper do.
    """
    sums = np.stack([np.bincount(cells, minlength=n_cells), np.bincount(cells, labels, minlength=n_cells)])
    return sums + laplace_sums(len(cells), 4.0 / epsilon, sums.shape, rng)


class PaperTree(ClassifierMixin, BaseEstimator):
    """LPCT as printed: Laplace one-hot reports, and eta = (V + w V_Q) / (U + w U_Q) against 1/2.

    The division is kept, although it turns a leaf around where its denominator is negative. Rows outside the
    public box are routed like any other, which favours it: the authors' code predicts class 0 there. Labels
    are 0 and 1. ``public_weight`` is read when it predicts, so a grid of weights costs one fit; 0 gives LPDT,
    which uses public rows for the partition only.
    """

    def __init__(
        self,
        epsilon: float,
        *,
        max_depth: int = 6,
        public_weight: float = 1.0,
        rule: str = "max-edge",
        bounds: Any = None,
        random_state: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.public_weight = public_weight
        self.rule = rule
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: FloatArray, y: NDArray[Any], is_public: NDArray[np.bool_]) -> Self:
        rng = np.random.default_rng(self.random_state)
        n_leaves = self._partition(X[is_public], y[is_public])
        cells, private = self._apply(X), ~is_public
        self.private_ = one_hot_sums(cells[private], y[private], n_leaves, self.epsilon, rng)
        self.public_ = one_hot_sums(cells[is_public], y[is_public], n_leaves, np.inf, rng)
        return self

    def _partition(self, X: FloatArray, y: NDArray[Any]) -> int:
        if self.rule == "cart":
            tree = DecisionTreeClassifier(max_depth=self.max_depth, random_state=0).fit(X, y)
            self.leaves_ = np.flatnonzero(tree.tree_.children_left < 0)
            self.partition_: Any = tree
            return len(self.leaves_)
        lower, upper = (X.min(axis=0), X.max(axis=0)) if self.bounds is None else self.bounds
        self.leaves_ = None
        shape = X.shape[1]
        self.partition_ = build_partition(
            X,
            y,
            lower=np.broadcast_to(lower, shape),
            upper=np.broadcast_to(upper, shape),
            max_depth=self.max_depth,
        )
        return int(self.partition_.n_leaves)

    def _apply(self, X: FloatArray) -> NDArray[Any]:
        nodes = self.partition_.apply(X)
        return nodes if self.leaves_ is None else np.searchsorted(self.leaves_, nodes)

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        rows, ones = self.private_ + self.public_weight * self.public_
        with np.errstate(divide="ignore", invalid="ignore"):
            second = ones / rows > 0.5
        return second.astype(np.int64)[self._apply(X)]


class PrivateHistogram(ClassifierMixin, BaseEstimator):
    """PHIST of Berrett and Butucea (2019): a cube of ``n_splits^d`` cells, private rows only.

    The cube is ``bounds``, by default that of the public rows, of which nothing else is used.
    """

    def __init__(
        self, epsilon: float, *, n_splits: int = 2, bounds: Any = None, random_state: int = 0
    ) -> None:
        self.epsilon = epsilon
        self.n_splits = n_splits
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: FloatArray, y: NDArray[Any], is_public: NDArray[np.bool_]) -> Self:
        n_cells = self.n_splits ** X.shape[1]
        if n_cells > LARGEST_HISTOGRAM:
            raise ValueError(f"a histogram of {n_cells} cells is too large")
        public = X[is_public]
        bounds = (public.min(axis=0), public.max(axis=0)) if self.bounds is None else self.bounds
        self.lower_, self.upper_ = (np.broadcast_to(bound, X.shape[1]) for bound in bounds)
        rng = np.random.default_rng(self.random_state)
        rows, ones = one_hot_sums(self._apply(X[~is_public]), y[~is_public], n_cells, self.epsilon, rng)
        # Without a division: its sign would be wrong where the noise makes the denominator negative.
        self.second_ = (2 * ones > rows).astype(np.int64)
        return self

    def _apply(self, X: FloatArray) -> NDArray[np.intp]:
        width = np.where(self.upper_ > self.lower_, self.upper_ - self.lower_, 1.0)
        place = np.floor(self.n_splits * (X - self.lower_) / width)
        place = np.clip(place, 0, self.n_splits - 1).astype(np.intp)
        return place @ self.n_splits ** np.arange(X.shape[1])

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        return self.second_[self._apply(X)]
