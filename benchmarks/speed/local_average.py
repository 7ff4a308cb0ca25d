# SPDX-License-Identifier: BSD-3-Clause
"""Times of local average regression against scikit-learn's neighbours and against NumPy, on one thread."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from threadpoolctl import threadpool_limits

from skprivate.collaborative import LocalAverageRegressor

from ._goals import Measured, SideBySide

FloatArray = NDArray[np.float64]

# Rows; queries; pairs.
SIZES = {False: ((100_000, 1_000_000), 1000, 1), True: ((200,), 20, 0)}
N_FEATURES = 5
# Rows in the mean ball of the Epanechnikov kernel, beside the bandwidth n^(-1/7).
NEIGHBORHOODS = (100, 1000)
N_NEIGHBORS = 10
# The first is about what cross-validation chooses here; at the others hardly a row is passed over.
BANDWIDTHS = (0.1, 0.2, 0.3)
# Rows of a chunk in NumPy, by trial: fewer or more are slower.
CHUNK = 256


def make_rows(n: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, N_FEATURES))
    return X, np.sin(3 * X[:, 0]) + rng.normal(size=n)


def blas_average(X: FloatArray, y: FloatArray, bandwidth: float, queries: FloatArray) -> FloatArray:
    """The Gaussian average by products of matrices, chunk by chunk."""
    over, under = np.zeros(len(queries)), np.zeros(len(queries))
    squares = (queries**2).sum(axis=1)[:, None]
    for first in range(0, len(X), CHUNK):
        rows, targets = X[first : first + CHUNK], y[first : first + CHUNK]
        distances = queries @ (-2.0 * rows.T)
        distances += (rows**2).sum(axis=1)
        distances += squares
        distances *= -1 / bandwidth**2
        weights = np.exp(distances, out=distances)
        over += weights @ targets
        under += weights.sum(axis=1)
    return over / under


def parabola(bandwidth: float, distances: Any) -> Any:
    """Return the weights of neighbours, an array of arrays."""
    return np.array([1 - (d / bandwidth) ** 2 for d in distances] + [None], dtype=object)[:-1]


Contest = tuple[str, str, LocalAverageRegressor, Callable[[FloatArray], FloatArray]]


def contests(X: FloatArray, y: FloatArray) -> Iterator[Contest]:
    """Yield unfitted models, and the predictions that they are compared with."""
    n, ball = len(X), np.pi**2.5 / 3.3233509704478426  # of radius 1 in five dimensions
    known: dict[str, Any] = {"bounds": (0, 1)}
    for radius in [n ** (-1 / 7), *((count / (n * ball)) ** (1 / 5) for count in NEIGHBORHOODS)]:
        model = LocalAverageRegressor("epanechnikov", bandwidth=radius, **known)
        theirs = RadiusNeighborsRegressor(radius, weights=partial(parabola, radius), algorithm="kd_tree")
        yield f"epanechnikov, h = {radius:.3f}", "scikit-learn", model, theirs.fit(X, y).predict
    model = LocalAverageRegressor("knn", n_neighbors=N_NEIGHBORS, **known)
    nearest = KNeighborsRegressor(N_NEIGHBORS, algorithm="kd_tree").fit(X, y)
    yield f"knn, k = {N_NEIGHBORS}", "scikit-learn", model, nearest.predict
    for bandwidth in BANDWIDTHS:
        model = LocalAverageRegressor(bandwidth=bandwidth, **known)
        yield f"gaussian, h = {bandwidth}", "NumPy", model, partial(blas_average, X, y, bandwidth)


def bench_rows(table: SideBySide, n: int, queries: FloatArray) -> None:
    """Print the times of predictions, after checking that both predict the same."""
    X, y = make_rows(n)
    table.heading(f"predictions, {len(queries):,} queries, n = {n:,}, d = {N_FEATURES}")
    for work, beside, model, theirs in contests(X, y):
        ours = model.fit(X, y).predict
        # Theirs is NaN, or warns, where there is no row.
        np.testing.assert_allclose(ours(queries), np.nan_to_num(theirs(queries)), rtol=1e-9, atol=1e-9)
        table.row(work, beside, partial(ours, queries), partial(theirs, queries), goal="local averages")


def run(small: bool = False) -> Measured:
    sizes, n_queries, pairs = SIZES[small]
    queries = np.random.default_rng(1).uniform(size=(n_queries, N_FEATURES))
    table = SideBySide(pairs)
    with threadpool_limits(1):
        for n in sizes:
            bench_rows(table, n, queries)
    return table.measured
