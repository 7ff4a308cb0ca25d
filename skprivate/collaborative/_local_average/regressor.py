# SPDX-License-Identifier: BSD-3-Clause
"""Local average regression: layouts of rows, the choice of the kernel's size, and the estimator.

A size is a bandwidth, or a number of neighbours. Rows are scaled to [0, 1]; queries are scaled on the way by
``ranges``, an array of four lines: lower, upper, a unit, the width in units. `averages` returns values and
support, both of shape (n_queries, n_sizes).
"""

import math
import sys
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, Protocol, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import AveragingKernel, FloatArray
from ...base import private_fit, redact_errors
from ...base._mixin import PrivacyHTMLMixin
from ...utils import check_bounds
from ...utils._compat import Interval, StrOptions
from ...utils._public_module import public_module
from ...utils._tables import validate_data
from .cell_kernels import cell_averages, fill_cells
from .kd_tree_kernels import ball_averages, build_tree, nearest_averages
from .smooth_kernels import scale_rows, smooth_averages

Averages = tuple[FloatArray, NDArray[np.bool_]]

# Rows of a leaf: what the loops take at a time; where most rows count, what the first cache holds.
LEAF = 32
BLOCK = 256
# Numbers in a line of the cache.
LINE = 8
# Bandwidths are cut to these, so that their squares and inverses are normal numbers; features are in [0, 1].
LEAST_BANDWIDTH, MOST_BANDWIDTH = 1e-100, 1e100
# What rows that are scaled already need.
UNIT_RANGE = np.array([[0.0], [1.0], [1.0], [1.0]])


class LocalModel(Protocol):
    """The interface of a layout: rows for one kernel, averaged for several sizes."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None: ...

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        """Average around the rows of X."""


def make_ranges(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the ranges of features as the kernels take them.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_features,)
        In the units of X; equal where a column is constant.

    Returns
    -------
    ranges : ndarray of shape (4, n_features)
    """
    with np.errstate(over="ignore"):
        # Halves where the width overflows.
        unit = np.where(np.isfinite(upper - lower), 1.0, 0.5)
    width = upper * unit - lower * unit
    return np.array([lower, upper, unit, np.where(width > 0, width, 1.0)])


def scaled(X: FloatArray, ranges: FloatArray) -> FloatArray:
    """Return rows clipped to the ranges and scaled to [0, 1], as the kernels scale a query."""
    out = np.empty(X.shape)
    scale_rows(X, ranges, out)
    return out


def _aligned(shape: tuple[int, ...]) -> FloatArray:
    """Return zeros that start with a line of the cache, so that no load of eight lanes needs two lines.

    A copy, or what comes out of a pickle, may start elsewhere: it is only slower.
    """
    count = math.prod(shape)
    memory = np.zeros(count + LINE - 1)
    first = -(memory.ctypes.data // memory.itemsize) % LINE
    return memory[first : first + count].reshape(shape)


class _TreeModel:
    """A balanced kd-tree, its rows leaf by leaf; all leaves are full but the last, filled up at infinity."""

    def __init__(self, X: FloatArray, y: FloatArray, leaf_size: int) -> None:
        n, d = X.shape
        size = min(leaf_size, -(-n // LEAF) * LEAF)
        leaves = -(-n // size)
        rows, order = X.copy(), np.arange(n)
        self.feature, self.gap = np.zeros(leaves, dtype=np.int32), np.zeros((leaves, 2))
        build_tree(rows, order, self.feature, self.gap, size)
        starts = np.arange(leaves) * size
        self.boxes = np.stack(
            [np.minimum.reduceat(rows, starts, axis=0), np.maximum.reduceat(rows, starts, axis=0)], axis=1
        )
        filled = np.full((leaves * size, d), np.inf)
        filled[:n] = rows
        self.columns = _aligned((leaves, d, size))
        self.columns[:] = filled.reshape(leaves, size, d).transpose(0, 2, 1)
        self.y, self.index = _aligned((leaves, size)), np.full((leaves, size), -1)
        self.y.flat[:n], self.index.flat[:n] = y[order], order


class _SmoothModel(_TreeModel):
    """A Gaussian or Laplace weight reaches everywhere, visibly only so far."""

    squared: bool

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        super().__init__(X, y, BLOCK)
        bandwidths = np.clip(sizes, LEAST_BANDWIDTH, MOST_BANDWIDTH)
        # Weights are powers of two. All rows that are passed over weigh less than 2^-50 of the others.
        self.factors = math.log2(math.e) / (bandwidths**2 if self.squared else bandwidths)
        self.invisible = 50 + math.log2(len(X))

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.factors))
        values = np.empty(shape)
        smooth_averages(
            *(X, ranges, self.columns, self.y, self.boxes, self.feature, self.gap),
            *(self.factors, self.squared, self.invisible, values),
        )
        return values, np.ones(shape, dtype=bool)


@public_module("skprivate.collaborative")
class GaussianModel(_SmoothModel):
    """Weights exp(-(distance / h)^2)."""

    squared = True


@public_module("skprivate.collaborative")
class LaplaceModel(_SmoothModel):
    """Weights exp(-distance / h)."""

    squared = False


@public_module("skprivate.collaborative")
class NeighborsModel(_TreeModel):
    """The mean of the nearest rows; of equally far ones, the first."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        super().__init__(X, y, LEAF)
        self.wanted = np.array(sizes, dtype=np.int64)

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.wanted))
        values = np.empty(shape)
        nearest_averages(
            X, ranges, self.columns, self.y, self.index, self.feature, self.gap, self.wanted, values
        )
        return values, np.ones(shape, dtype=bool)


@public_module("skprivate.collaborative")
class EpanechnikovModel(_TreeModel):
    """Weights (1 - (distance / h)^2)_+."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        super().__init__(X, y, LEAF)
        self.radii = np.clip(sizes, LEAST_BANDWIDTH, MOST_BANDWIDTH)

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.radii))
        values, support = np.empty(shape), np.empty(shape, dtype=bool)
        ball_averages(
            *(X, ranges, self.columns, self.y, self.feature, self.gap),
            *(self.radii, values, support.view(np.uint8)),
        )
        return values, support


@public_module("skprivate.collaborative")
class PartitionModel:
    """The mean of y in each cube of a grid anchored at 0, in a hash table per side."""

    def __init__(self, X: FloatArray, y: FloatArray, sizes: Sequence[float]) -> None:
        sides = np.clip(sizes, LEAST_BANDWIDTH, MOST_BANDWIDTH)
        self.tables = [self._table(X, y, float(side)) for side in sides]

    @staticmethod
    def _table(X: FloatArray, y: FloatArray, side: float) -> tuple[float, Any, FloatArray, FloatArray]:
        slots = np.full(2 ** (2 * len(X)).bit_length(), -1)
        cells, means = np.empty(X.shape), np.empty(len(X))
        n_cells = fill_cells(X, y, side, slots, cells, means, np.empty(len(X), dtype=np.int64))
        return side, slots, cells[:n_cells].copy(), means[:n_cells].copy()

    def averages(self, X: FloatArray, ranges: FloatArray) -> Averages:
        shape = (len(X), len(self.tables))
        values, support = np.empty(shape), np.empty(shape, dtype=bool)
        for column, (side, slots, cells, means) in enumerate(self.tables):
            cell_averages(X, ranges, side, slots, cells, means, values, support.view(np.uint8), column)
        return values, support


MODELS: dict[str, type[LocalModel]] = {
    "gaussian": GaussianModel,
    "laplace": LaplaceModel,
    "epanechnikov": EpanechnikovModel,
    "partition": PartitionModel,
    "knn": NeighborsModel,
}


# The choice of the kernel's size: cross-validation at one site, and refinement to all sites' rows.

FOLDS = 5
# Rows on which a choice is validated at most: beyond, time grows and the choice does not change.
VALIDATION_ROWS = 1000
# The grid, from the largest on, in steps of the square root of 2.
BANDWIDTHS = tuple(2.0 ** (-step / 2) for step in range(17))
MOST_NEIGHBORS = 1024


def neighbors_grid(n_samples: int) -> list[int]:
    """Return the numbers of neighbours that cross-validation tries, descending from those of a training part.

    Parameters
    ----------
    n_samples : int
        At least 1.

    Returns
    -------
    sizes : list of int
        1, 2, 3, 4, 6, 8, ..., about a factor of the square root of 2 apart, at most 1,024.
    """
    most = min(MOST_NEIGHBORS, max(1, n_samples - -(-n_samples // FOLDS)))
    steps = range(2 * MOST_NEIGHBORS.bit_length())
    return sorted({min(most, round(2.0 ** (step / 2))) for step in steps}, reverse=True)


def cross_validate(
    model: type[LocalModel], X: FloatArray, y: FloatArray, sizes: Sequence[Any]
) -> tuple[Any, FloatArray]:
    """Return the size with the least mean squared error on rows left out, the largest on ties.

    Row i is in fold i mod 5 (one fold per row where there are fewer). At most 1,000 rows, evenly spaced
    within each fold, are predicted from all rows of the other folds. One row can leave nothing out: the
    largest size.

    Parameters
    ----------
    model : type of LocalModel
    X : ndarray of shape (n_samples, n_features)
        Scaled to [0, 1].
    y : ndarray of shape (n_samples,)
    sizes : sequence
        Descending.

    Returns
    -------
    size : one of the sizes
    errors : ndarray of shape (n_sizes,)
        The mean squared error of each, with y scaled to [-1, 1]; zeros for one row.
    """
    folds = min(FOLDS, len(X))
    if folds < 2:
        return sizes[0], np.zeros(len(sizes))
    ranges = np.ascontiguousarray(np.broadcast_to(UNIT_RANGE, (4, X.shape[1])))
    # No square overflows, and the mean of a constant is exact.
    y = y / (np.abs(y).max() or 1.0)
    # The kernel of neighbours takes its sizes in ascending order.
    ascending = sizes[::-1]
    fold_of = np.arange(len(X)) % folds
    residuals = []
    for fold in range(folds):
        left_out, most = np.flatnonzero(fold_of == fold), VALIDATION_ROWS // folds
        if len(left_out) > most:
            left_out = left_out[np.arange(most) * len(left_out) // most]
        kept = fold_of != fold
        values, _ = model(X[kept], y[kept], ascending).averages(X[left_out], ranges)
        residuals.append(values - y[left_out, None])
    errors = np.mean(np.concatenate(residuals) ** 2, axis=0)[::-1]
    return sizes[int(np.argmin(errors))], errors


def refined_bandwidth(bandwidth: float, n_samples: int, n_total: int) -> float:
    """Return h^e, e = ln n / ln n_j: what suits n_j rows, made to suit the mean over all sites.

    Parameters
    ----------
    bandwidth : float
        In scaled units. One of 1 or more is returned as it is: a power would widen it.
    n_samples, n_total : int
        Rows of this site and of all sites, n_samples <= n_total.

    Returns
    -------
    bandwidth : float
        Positive.
    """
    if n_samples == 1 or bandwidth >= 1:
        return bandwidth
    return max(bandwidth ** (math.log(n_total) / math.log(n_samples)), sys.float_info.min)


def refined_neighbors(n_neighbors: int, n_samples: int, n_total: int) -> int:
    """Return max(1, round(n_j (k / n_j)^e)), e = ln n / ln n_j; `n_neighbors` at most `n_samples`."""
    if n_samples == 1:
        return n_neighbors
    share = (n_neighbors / n_samples) ** (math.log(n_total) / math.log(n_samples))
    return max(1, round(n_samples * share))


# Queries of a task at least, to outweigh its own cost; tasks of a thread, so that all end together.
TASK_QUERIES = 64
TASKS = 4


@public_module("skprivate.collaborative")
class LocalAverageRegressor(PrivacyHTMLMixin, RegressorMixin, BaseEstimator):
    """Regression by a mean of the rows around a query, weighted by a kernel.

    The prediction at x is sum W(x, x_i) y_i / sum W(x, x_i) over the rows (x_i, y_i), with features scaled to
    [0, 1]; 0 where every weight is 0, which `support` tells apart.

    Parameters
    ----------
    kernel : {"gaussian", "laplace", "epanechnikov", "partition", "knn"}, default="gaussian"
        The weight of a row at the distance r, for a bandwidth h: exp(-r^2 / h^2), exp(-r / h),
        max(0, 1 - r^2 / h^2); 1 in the query's cube of a grid of side h anchored at 0, otherwise 0; 1 for
        the k nearest rows (of equally far ones, the first), otherwise 0.
    bandwidth : float or "cv", default="cv"
        The bandwidth h > 0, in units of the scaled features, so that 1 is the width of a feature's range; not
        used by "knn". "cv" chooses among 1, 2^-1/2, 2^-1, ..., 2^-8 by cross-validation.
    n_neighbors : int or "cv", default="cv"
        The number k of neighbours, used by "knn" only; more than there are rows means all of them. "cv"
        chooses among 1, 2, 3, 4, 6, 8, ..., at most 1,024 and at most the rows of a training part.
    refine_to : int, default=None
        Number n of rows of all sites whose predictions will be averaged, at least the n_j rows passed to fit.
        The size, chosen or given, is then refined: h to h^e (where h < 1) and k to
        max(1, round(n_j (k / n_j)^e)), e = ln n / ln n_j. An average over sites has less noise than one site,
        and therefore wants less smoothing. None: no refinement.
    bounds : pair or dict, default=None
        Public range of the features, in their units: ``(lower, upper)``, each a scalar or an array of shape
        (n_features,), or a dict ``{column: (lower, upper)}``. Values outside, of rows or queries, are clipped
        silently. None: the range of the rows.
    n_jobs : int, default=None
        Threads over blocks of queries, as joblib counts them; no result depends on it.

    Attributes
    ----------
    bandwidth_ : float or None
        The bandwidth in use; None for "knn".
    bandwidth_cv_ : float or None
        The bandwidth before the refinement, chosen or given; None for "knn".
    n_neighbors_ : int or None
        The number of neighbours in use; None for other kernels.
    n_samples_ : int
        Number of rows.
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Lower and upper end of the features' ranges.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.

    See Also
    --------
    skprivate.collaborative.CollaborativeRegressor : The mean of such estimates over sites.
    sklearn.neighbors.KNeighborsRegressor : Neighbours without a refinement.

    Notes
    -----
    Cross-validation has five folds, row i in fold i mod 5 (with fewer rows than five, a fold per row), and at
    most 1,000 rows are predicted, evenly spaced, so that the time grows with the number of rows only. Of
    sizes that do equally well the largest is taken. A single row can leave nothing out: the bandwidth is then
    1.

    Gaussian and Laplace weights are positive everywhere. If all of them are too small for a float, they are
    taken relative to the nearest row's. The prediction is then the limit: the nearest row's y.

    **Privacy.** Nothing is protected: the fitted object holds the rows themselves (``releases_state`` is
    False). Never publish it, or a pickle of it; it stays at the site that owns the rows. Its predictions show
    y too, at a small bandwidth that of single rows; `CollaborativeRegressor` is what stands between them and
    others. With ``bounds=None`` the range of the rows is read, and stays inside as the rows do.

    References
    ----------
    .. [1] L. Györfi, M. Kohler, A. Krzyżak, H. Walk, *A Distribution-Free Theory of Nonparametric
       Regression*, Springer, 2002, chapters 4 to 6.
    .. [2] X. Chang, S.-B. Lin, Y. Wang, "Divide and conquer local average regression", *Electronic Journal of
       Statistics* 11(1), 2017, pp. 1326-1350: the refinement.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative import LocalAverageRegressor
    >>> X = np.linspace(0, 10, 201).reshape(-1, 1)
    >>> y = np.sin(X[:, 0])
    >>> model = LocalAverageRegressor("epanechnikov", bandwidth=0.05, bounds=(0, 20)).fit(X, y)
    >>> model.responses([[2.0], [15.0]])
    (array([0.82..., 0.        ]), array([ True, False]))
    """

    #: The object holds the rows it was fitted on: it stays where they are.
    releases_state = False

    n_neighbors_: int | None
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    _parameter_constraints: dict[str, list[Any]] = {
        "kernel": [StrOptions(set(MODELS))],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "refine_to": [Interval(Integral, 1, None, closed="left"), None],
        "bounds": ["array-like", Mapping, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel: AveragingKernel = "gaussian",
        bandwidth: float | Literal["cv"] = "cv",
        n_neighbors: int | Literal["cv"] = "cv",
        refine_to: int | None = None,
        bounds: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.refine_to = refine_to
        self.bounds = bounds
        self.n_jobs = n_jobs

    @private_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the size of the kernel, and keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        y : array-like of shape (n_samples,)
            Finite numbers.

        Returns
        -------
        self : LocalAverageRegressor

        Raises
        ------
        TypeError, ValueError
            X or y is not finite and numeric, a parameter is out of range, ``bounds`` does not fit X, or
            ``refine_to`` is below the number of rows.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        if self.refine_to is not None and self.refine_to < len(X):
            raise ValueError("refine_to must be at least the number of rows: it counts those of all sites.")
        if self.bounds is None:
            self.bounds_ = X.min(axis=0), X.max(axis=0)
        else:
            self.bounds_ = check_bounds(self.bounds, X.shape[1], getattr(self, "feature_names_in_", None))
        self._ranges = make_ranges(*self.bounds_)
        self.n_samples_ = len(X)
        X = scaled(X, self._ranges)
        self._model = MODELS[self.kernel](X, y, [self._choose_size(X, y)])
        return self

    def _choose_size(self, X: FloatArray, y: FloatArray) -> float:
        """Choose the bandwidth or the number of neighbours, refine it, and set what is fitted of it."""
        n, model = len(X), MODELS[self.kernel]
        self.bandwidth_ = self.bandwidth_cv_ = self.n_neighbors_ = None
        if self.kernel == "knn":
            chosen: Any = self.n_neighbors
            if chosen == "cv":
                chosen = cross_validate(model, X, y, neighbors_grid(n))[0]
            chosen = min(int(chosen), n)
            if self.refine_to is not None:
                chosen = refined_neighbors(chosen, n, int(self.refine_to))
            self.n_neighbors_ = chosen
            return chosen
        chosen = cross_validate(model, X, y, BANDWIDTHS)[0] if self.bandwidth == "cv" else self.bandwidth
        self.bandwidth_cv_ = self.bandwidth_ = float(chosen)
        if self.refine_to is not None:
            self.bandwidth_ = refined_bandwidth(self.bandwidth_cv_, n, int(self.refine_to))
        return self.bandwidth_

    def predict(self, X: Any) -> FloatArray:
        """Return the weighted mean of y around every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        y : ndarray of shape (n_queries,)
            0 where no row has a weight.
        """
        return self.responses(X)[0]

    def support(self, X: Any) -> NDArray[np.bool_]:
        """Return around which queries some row has a positive weight.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        support : ndarray of bool of shape (n_queries,)
            True everywhere for "gaussian", "laplace" and "knn".
        """
        return self.responses(X)[1]

    @redact_errors
    def responses(self, X: Any) -> Averages:
        """Return what `predict` and `support` return, in one pass.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        y : ndarray of shape (n_queries,)
        support : ndarray of bool of shape (n_queries,)
        """
        if not self._takes(X):
            check_is_fitted(self)
            X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return self._respond(X)

    def _takes(self, X: Any) -> bool:
        """Whether the full validation, slow for one query, could only say yes."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and X.flags.c_contiguous
            and len(X) > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and hasattr(self, "_model")
            and not hasattr(self, "feature_names_in_")
            and bool(np.isfinite(X).all())
        )

    def _respond(self, X: FloatArray) -> Averages:
        """`responses` to finite C-contiguous float64 rows, without any check."""
        if len(X) <= TASK_QUERIES or (n_jobs := effective_n_jobs(self.n_jobs)) == 1:
            values, support = self._model.averages(X, self._ranges)
            return values[:, 0], support[:, 0]
        size = max(TASK_QUERIES, -(-len(X) // (TASKS * n_jobs)))
        blocks = [X[first : first + size] for first in range(0, len(X), size)]
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._model.averages)(block, self._ranges) for block in blocks
        )
        values, support = (np.concatenate(side)[:, 0] for side in zip(*parts, strict=True))
        return values, support
