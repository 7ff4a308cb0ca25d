# SPDX-License-Identifier: BSD-3-Clause
"""Local average regression: weighted means of a site's targets around a query."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import AveragingKernel, FloatArray
from ...base import private_fit, redact_errors
from ...base._html_repr import PrivacyHTMLMixin
from ...utils import check_bounds
from ...utils._compat import Interval, StrOptions
from ...utils._public_module import public_module
from ...utils._table_validation import validate_data
from .bandwidth import (
    BANDWIDTHS,
    cross_validate,
    neighbors_grid,
    refined_bandwidth,
    refined_neighbors,
)
from .row_layouts import MODELS, Averages, make_ranges, scaled

# Queries of a task at least, to outweigh its own cost; tasks of a thread, so that all end together.
BLOCK = 64
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
    Cross-validation has five folds, row i in fold i mod 5 (with fewer rows than five, a fold per row), and
    at most 1,000 rows are predicted, evenly spaced, so that the time grows with the number of rows only. Of
    sizes that do equally well the largest is taken. A single row can leave nothing out: the bandwidth is
    then 1.

    Gaussian and Laplace weights are positive everywhere. Where all of them are too small for a float they are
    taken relative to the nearest row's, so that the prediction is the limit, the nearest row's y.

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
        self.bounds_ = self._column_ranges(X)
        self._ranges = make_ranges(*self.bounds_)
        self.n_samples_ = len(X)
        X = scaled(X, self._ranges)
        self._model = MODELS[self.kernel](X, y, [self._choose_size(X, y)])
        return self

    def _column_ranges(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.bounds is None:
            return X.min(axis=0), X.max(axis=0)
        return check_bounds(self.bounds, X.shape[1], getattr(self, "feature_names_in_", None))

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
        chosen = self.bandwidth
        if chosen == "cv":
            chosen = cross_validate(model, X, y, BANDWIDTHS)[0]
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
        """Tell around which queries some row has a positive weight.

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
        if len(X) <= BLOCK or (n_jobs := effective_n_jobs(self.n_jobs)) == 1:
            values, support = self._model.averages(X, self._ranges)
            return values[:, 0], support[:, 0]
        size = max(BLOCK, -(-len(X) // (TASKS * n_jobs)))
        blocks = [X[first : first + size] for first in range(0, len(X), size)]
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._model.averages)(block, self._ranges) for block in blocks
        )
        values, support = (np.concatenate(side)[:, 0] for side in zip(*parts, strict=True))
        return values, support
