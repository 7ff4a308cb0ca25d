# SPDX-License-Identifier: BSD-3-Clause
"""Local average regression against scikit-learn's neighbours and against NumPy, on one thread."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from threadpoolctl import threadpool_limits

from skprivate.collaborative import LocalAverageRegressor

from .._timing import compare, seconds

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


def row(
    kernel: str,
    size: str,
    fit: float,
    ours: Callable[[], FloatArray],
    theirs: Callable[[], FloatArray],
    goal: float,
) -> None:
    """Print the seconds of both and how many times ours is faster, after checking that they agree."""
    mine, others = ours(), theirs()
    # Theirs is NaN, or warns, where there is no row.
    np.testing.assert_allclose(mine, np.nan_to_num(others), rtol=1e-9, atol=1e-9)
    first, second, ratio = compare(ours, theirs, PAIRS)
    verdict = "reached" if 1 / ratio >= goal else "missed"
    print(
        f"{kernel:<13} {size:<11} fit {fit:5.2f} s  {1e3 * first:8.1f} ms  theirs {1e3 * second:8.1f} ms"
        f"  {1 / ratio:5.1f} times faster (goal {goal}: {verdict})",
        flush=True,
    )


def bench_rows(n: int) -> None:
    rows = make_rows(n)
    print(f"n = {n:,}, {N_QUERIES:,} queries, d = {N_FEATURES}")

    def fitted(**options: Any) -> tuple[LocalAverageRegressor, float]:
        model = LocalAverageRegressor(bounds=(0, 1), **options)
        return model, seconds(lambda: model.fit(rows.X, rows.y))

    ball = np.pi**2.5 / 3.3233509704478426  # of radius 1 in five dimensions
    radii = [n ** (-1 / 7), *((count / (n * ball)) ** (1 / 5) for count in NEIGHBORHOODS)]
    for radius in radii:
        model, fit = fitted(kernel="epanechnikov", bandwidth=radius)
        theirs = radius_neighbors(rows, radius)
        row(
            "epanechnikov",
            f"h = {radius:.3f}",
            fit,
            lambda m=model: m.predict(rows.queries),
            lambda t=theirs: t.predict(rows.queries),
            GOAL_NEIGHBORS,
        )
    model, fit = fitted(kernel="knn", n_neighbors=N_NEIGHBORS)
    neighbors = KNeighborsRegressor(N_NEIGHBORS, algorithm="kd_tree").fit(rows.X, rows.y)
    row(
        "knn",
        f"k = {N_NEIGHBORS}",
        fit,
        lambda: model.predict(rows.queries),
        lambda: neighbors.predict(rows.queries),
        GOAL_NEIGHBORS,
    )
    for bandwidth in BANDWIDTHS:
        model, fit = fitted(bandwidth=bandwidth)
        row(
            "gaussian",
            f"h = {bandwidth}",
            fit,
            lambda m=model: m.predict(rows.queries),
            lambda h=bandwidth: blas_average(rows, h),
            GOAL_GAUSSIAN,
        )


def bench_choice(n: int) -> None:
    """Print the seconds of a fit that cross-validates, by kernel."""
    rows = make_rows(n)
    models = [LocalAverageRegressor(kernel, bounds=(0, 1)) for kernel in KERNELS]
    times = [f"{model.kernel} {seconds(lambda m=model: m.fit(rows.X, rows.y)):.2f}" for model in models]
    print(f"n = {n:,}, fit with cross-validation, s: {', '.join(times)}", flush=True)


def bench_single() -> None:
    """Print the microseconds of one query at a site of 500 rows."""
    rows = make_rows(500)
    query = rows.queries[:1].copy()
    for kernel in KERNELS:
        model = LocalAverageRegressor(kernel, bounds=(0, 1)).fit(rows.X, rows.y)
        took = [
            min(seconds(lambda c=call: [c(query) for _ in range(100)]) for _ in range(20)) * 1e4
            for call in (model.predict, model._respond)
        ]
        print(f"one query, 500 rows, {kernel:<12} {took[0]:5.1f} us, of which unchecked {took[1]:4.1f} us")


def run() -> None:
    with threadpool_limits(1):
        for n in SIZES:
            bench_rows(n)
        bench_choice(SIZES[0])
        bench_single()


if __name__ == "__main__":
    run()
