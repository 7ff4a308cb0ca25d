# SPDX-License-Identifier: BSD-3-Clause
"""Times of local average regression against scikit-learn's neighbours and against NumPy, on one thread."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from threadpoolctl import threadpool_limits

from skprivate.collaborative import LocalAverageRegressor

from .._tables import Table, verdict
from .._timing import compare, fastest, seconds

FloatArray = NDArray[np.float64]

KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")
N_QUERIES, N_FEATURES = 1000, 5
SIZES = (100_000, 1_000_000)
# Rows in the mean ball of the Epanechnikov kernel, beside the bandwidth n^(-1/7).
NEIGHBORHOODS = (100, 1000)
N_NEIGHBORS = 10
# The first is about what cross-validation chooses here; at the others hardly a row is passed over.
BANDWIDTHS = (0.1, 0.2, 0.3)
PAIRS = 3
GOAL_NEIGHBORS, GOAL_GAUSSIAN = 1.5, 2.5
# Rows of a chunk in NumPy, by trial: fewer or more are slower.
CHUNK = 256


@dataclass(frozen=True)
class Rows:
    """Training rows, targets and queries."""

    X: FloatArray
    y: FloatArray
    queries: FloatArray


def make_rows(n: int) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, N_FEATURES))
    return Rows(X, np.sin(3 * X[:, 0]) + rng.normal(size=n), rng.uniform(size=(N_QUERIES, N_FEATURES)))


def blas_average(rows: Rows, bandwidth: float) -> FloatArray:
    """The Gaussian average by products of matrices, chunk by chunk."""
    over, under = np.zeros(N_QUERIES), np.zeros(N_QUERIES)
    squares = (rows.queries**2).sum(axis=1)[:, None]
    for first in range(0, len(rows.X), CHUNK):
        X, y = rows.X[first : first + CHUNK], rows.y[first : first + CHUNK]
        distances = rows.queries @ (-2.0 * X.T)
        distances += (X**2).sum(axis=1)
        distances += squares
        distances *= -1 / bandwidth**2
        weights = np.exp(distances, out=distances)
        over += weights @ y
        under += weights.sum(axis=1)
    return over / under


def radius_neighbors(rows: Rows, bandwidth: float) -> Any:
    def parabola(distances: Any) -> Any:
        return np.array([1 - (d / bandwidth) ** 2 for d in distances] + [None], dtype=object)[:-1]

    theirs = RadiusNeighborsRegressor(bandwidth, weights=parabola, algorithm="kd_tree")
    return theirs.fit(rows.X, rows.y)


@dataclass(frozen=True)
class Contest:
    """A fitted model of ours and a prediction of theirs for the same queries; the goal is a speed-up."""

    kernel: str
    size: str
    model: LocalAverageRegressor
    theirs: Callable[[], FloatArray]
    goal: float


def contests(rows: Rows) -> Iterator[Contest]:
    """Yield unfitted models and what they are compared with."""
    n, ball = len(rows.X), np.pi**2.5 / 3.3233509704478426  # of radius 1 in five dimensions
    for radius in [n ** (-1 / 7), *((count / (n * ball)) ** (1 / 5) for count in NEIGHBORHOODS)]:
        model = LocalAverageRegressor("epanechnikov", bandwidth=radius, bounds=(0, 1))
        other = radius_neighbors(rows, radius)
        yield Contest(
            "epanechnikov", f"h = {radius:.3f}", model, partial(other.predict, rows.queries), GOAL_NEIGHBORS
        )
    model = LocalAverageRegressor("knn", n_neighbors=N_NEIGHBORS, bounds=(0, 1))
    nearest = KNeighborsRegressor(N_NEIGHBORS, algorithm="kd_tree").fit(rows.X, rows.y)
    yield Contest("knn", f"k = {N_NEIGHBORS}", model, partial(nearest.predict, rows.queries), GOAL_NEIGHBORS)
    for bandwidth in BANDWIDTHS:
        model = LocalAverageRegressor(bandwidth=bandwidth, bounds=(0, 1))
        yield Contest(
            "gaussian", f"h = {bandwidth}", model, partial(blas_average, rows, bandwidth), GOAL_GAUSSIAN
        )


def bench_rows(n: int) -> None:
    """Print the times of fits and predictions, after checking that both predict the same."""
    rows = make_rows(n)
    print(f"n = {n:,}, {N_QUERIES:,} queries, d = {N_FEATURES}")
    table = Table(
        *(("kernel", "<13"), ("size", "<10"), ("fit, s", ">6.2f"), ("ms", ">8.1f"), ("theirs, ms", ">10.1f")),
        *(("faster", ">6.1f"), ("", "<18")),
    )
    for one in contests(rows):
        fit = seconds(partial(one.model.fit, rows.X, rows.y))
        ours = partial(one.model.predict, rows.queries)
        # Theirs is NaN, or warns, where there is no row.
        np.testing.assert_allclose(ours(), np.nan_to_num(one.theirs()), rtol=1e-9, atol=1e-9)
        first, second, ratio = compare(ours, one.theirs, PAIRS)
        faster = 1 / ratio
        goal = verdict(one.goal, faster >= one.goal)
        table.row(one.kernel, one.size, fit, 1e3 * first, 1e3 * second, faster, goal)


def bench_choice(n: int) -> None:
    """Print the seconds of a fit that cross-validates, by kernel."""
    rows = make_rows(n)
    print(f"fit with cross-validation, n = {n:,}")
    table = Table(("kernel", "<13"), ("s", ">6.2f"))
    for kernel in KERNELS:
        table.row(kernel, seconds(partial(LocalAverageRegressor(kernel, bounds=(0, 1)).fit, rows.X, rows.y)))


def bench_single() -> None:
    """Print the microseconds of one query at a site of 500 rows."""
    rows = make_rows(500)
    query = rows.queries[:1].copy()
    print("one query, 500 rows")
    table = Table(("kernel", "<13"), ("us", ">6.1f"), ("unchecked, us", ">13.1f"))
    for kernel in KERNELS:
        model = LocalAverageRegressor(kernel, bounds=(0, 1)).fit(rows.X, rows.y)
        calls = (model.predict, model._respond)
        took = [fastest(lambda c=call: [c(query) for _ in range(100)], 20)[0] for call in calls]
        table.row(kernel, *(1e4 * one for one in took))


def run() -> None:
    with threadpool_limits(1):
        for n in SIZES:
            bench_rows(n)
        bench_choice(SIZES[0])
        bench_single()
