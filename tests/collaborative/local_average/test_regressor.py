# SPDX-License-Identifier: BSD-3-Clause
"""The estimator: scikit-learn's checks, public ranges, refinement, and what it shows of its rows."""

import numpy as np
import pytest

from skprivate.collaborative import LocalAverageRegressor

KERNELS = ["gaussian", "laplace", "epanechnikov", "partition", "knn"]


def make_rows(n=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 3, size=(n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def test_the_mean_of_a_kernel_by_hand():
    X, y = np.array([[0.0], [5.0], [10.0]]), np.array([1.0, 2.0, 4.0])
    query = [[2.5]]

    def predict(kernel, **options):
        return LocalAverageRegressor(kernel, bounds=(0, 10), **options).fit(X, y).predict(query)[0]

    near, far = 0.25**2, 0.75**2
    gauss = np.exp(-np.array([near, near, far]) / 0.5**2)
    assert predict("gaussian", bandwidth=0.5) == pytest.approx(gauss @ y / gauss.sum(), rel=1e-14)
    laplace = np.exp(-np.array([0.25, 0.25, 0.75]) / 0.5)
    assert predict("laplace", bandwidth=0.5) == pytest.approx(laplace @ y / laplace.sum(), rel=1e-14)
    parabola = 1 - np.array([near, near, far])
    assert predict("epanechnikov", bandwidth=1.0) == pytest.approx(parabola @ y / parabola.sum(), rel=1e-14)
    # The cell [0, 0.5) of the scaled feature holds the first row only.
    assert predict("partition", bandwidth=0.5) == 1.0
    assert predict("knn", n_neighbors=2) == 1.5
    # Two rows are equally near: the first of them.
    assert predict("knn", n_neighbors=1) == 1.0
    assert predict("knn", n_neighbors=50) == pytest.approx(7 / 3)


def test_values_outside_the_bounds_are_clipped_silently():
    X, y = make_rows()
    options = {"bandwidth": 0.2, "bounds": {1: (0, 1), 0: (-1, 1.5)}}
    model = LocalAverageRegressor(**options).fit(X, y)
    clipped = np.clip(X, [-1, 0], [1.5, 1])
    np.testing.assert_array_equal(
        model.predict(X), LocalAverageRegressor(**options).fit(clipped, y).predict(clipped)
    )
    np.testing.assert_array_equal(np.array(model.bounds_), [[-1, 0], [1.5, 1]])


def test_without_bounds_the_range_of_the_rows_scales_and_a_constant_column_has_width_1():
    X, y = make_rows(d=3)
    X[:, 1] = 7.0
    free = LocalAverageRegressor(bandwidth=0.2).fit(X, y)
    np.testing.assert_array_equal(np.array(free.bounds_), [X.min(axis=0), X.max(axis=0)])
    bounds = (X.min(axis=0) - [0, 0.5, 0], X.max(axis=0) + [0, 0.5, 0])
    declared = LocalAverageRegressor(bandwidth=0.2, bounds=bounds).fit(X, y)
    np.testing.assert_allclose(free.predict(X), declared.predict(X), rtol=1e-12)
    moved = X + [0, 100, 0]
    np.testing.assert_array_equal(free.predict(moved), free.predict(X))


def radial(X):
    norm = np.linalg.norm(X, axis=1)
    return np.maximum(0, 1 - norm) ** 5 * (1 + 5 * norm) + norm**2 / 5


def test_refined_sites_average_to_half_the_error():
    # The paper's simulation with sites of equal size; its means are 8.0e-4 refined and 1.67e-3 plain.
    rng = np.random.default_rng(0)
    n, sites, kernels = 10_000, 20, rng.choice(KERNELS, size=20)
    X, queries = rng.uniform(size=(n, 5)), rng.uniform(size=(1000, 5))
    y = radial(X) + 0.1 * rng.normal(size=n)

    def error(refine_to):
        answers = [
            LocalAverageRegressor(kernel, bounds=(0, 1), refine_to=refine_to).fit(*rows).responses(queries)
            for kernel, *rows in zip(kernels, np.split(X, sites), np.split(y, sites), strict=True)
        ]
        values, support = map(np.array, zip(*answers, strict=True))
        mean = (values * support).sum(axis=0) / support.sum(axis=0)
        return np.mean((mean - radial(queries)) ** 2)

    refined, plain = error(n), error(None)
    print(f"refined {refined:.2e}, plain {plain:.2e}")
    assert 5e-4 < refined < 1.1e-3
    assert plain > 1.5 * refined
