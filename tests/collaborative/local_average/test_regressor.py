# SPDX-License-Identifier: BSD-3-Clause
"""The estimator: scikit-learn's checks, public ranges, refinement, and what it shows of its rows."""

import math
import re

import numpy as np
import pytest

from skprivate.collaborative import LocalAverageRegressor
from tests.marks import needs_names_of_polars

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


@pytest.mark.parametrize("kernel", ["epanechnikov", "partition"])
def test_without_support_the_prediction_is_0(kernel):
    X, y = np.array([[0.0, 0.0], [0.1, 0.1]]), np.array([5.0, 7.0])
    model = LocalAverageRegressor(kernel, bandwidth=0.3, bounds=(0, 1)).fit(X, y)
    queries = np.array([[0.05, 0.05], [0.9, 0.9], [0.9, 0.05]])
    values, support = model.responses(queries)
    np.testing.assert_array_equal(support, [True, False, False])
    np.testing.assert_array_equal(values[1:], 0)
    assert values[0] == pytest.approx(6.0)
    np.testing.assert_array_equal(model.predict(queries), values)
    np.testing.assert_array_equal(model.support(queries), support)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "knn"])
def test_other_kernels_reach_every_query(kernel):
    X, y = make_rows(50)
    model = LocalAverageRegressor(kernel, bandwidth=1e-6, bounds=(-100, 100)).fit(X, y)
    assert model.support([[-100, 100], [100, 100]]).all()


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


@pytest.mark.parametrize("kernel", KERNELS)
def test_refinement_is_a_step_of_its_own(kernel):
    X, y = make_rows(100)
    n_total = 10_000
    for size in ("cv", 12 if kernel == "knn" else 0.4):
        options = {"n_neighbors": size} if kernel == "knn" else {"bandwidth": size}
        plain = LocalAverageRegressor(kernel, **options).fit(X, y)
        refined = LocalAverageRegressor(kernel, refine_to=n_total, **options).fit(X, y)
        if kernel == "knn":
            expected = max(1, round(100 * (plain.n_neighbors_ / 100) ** 2))
            assert refined.n_neighbors_ == expected
            assert refined.bandwidth_ is refined.bandwidth_cv_ is None
            same = LocalAverageRegressor(kernel, n_neighbors=expected)
        else:
            assert plain.bandwidth_cv_ == plain.bandwidth_ == refined.bandwidth_cv_
            assert refined.bandwidth_ == pytest.approx(plain.bandwidth_**2, rel=1e-13)
            assert refined.n_neighbors_ is None
            same = LocalAverageRegressor(kernel, bandwidth=refined.bandwidth_)
        np.testing.assert_array_equal(refined.predict(X), same.fit(X, y).predict(X))


@pytest.mark.parametrize("kernel", KERNELS)
def test_any_form_of_a_query_has_the_same_answer(kernel):
    X, y = make_rows()
    model = LocalAverageRegressor(kernel).fit(X, y)
    values, support = model._respond(X)
    for form in (X, X.tolist(), np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.astype(object)):
        again, again_support = model.responses(form)
        np.testing.assert_array_equal(again, values)
        np.testing.assert_array_equal(again_support, support)
    for i in range(20):
        assert model.predict(X[i : i + 1])[0] == values[i]


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_do_not_change_a_bit(kernel):
    X, y = make_rows(1000, 3)
    queries = make_rows(1001, 3, seed=1)[0]
    options = {"bandwidth": 0.05, "n_neighbors": 7}
    one = LocalAverageRegressor(kernel, **options).fit(X, y).responses(queries)
    two = LocalAverageRegressor(kernel, n_jobs=2, **options).fit(X, y).responses(queries)
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape == (1001,)


@pytest.mark.parametrize("library", ["pandas", pytest.param("polars", marks=needs_names_of_polars)])
def test_data_frames(library):
    frames = pytest.importorskip(library)
    X, y = make_rows()
    table = frames.DataFrame({"age": X[:, 0], "dose": X[:, 1]})
    bounds = {"dose": (-2, 3), "age": (-2, 3)}
    model = LocalAverageRegressor("knn", bounds=bounds).fit(table, frames.Series(y))
    np.testing.assert_array_equal(
        model.predict(table), LocalAverageRegressor("knn", bounds=(-2, 3)).fit(X, y).predict(X)
    )
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)


@pytest.mark.parametrize("kernel", KERNELS)
def test_nothing_of_the_rows_is_shown(kernel):
    X, y = make_rows(37)
    model = LocalAverageRegressor(kernel).fit(1000 + 111.25 * X, 777 + y)
    assert not model.releases_state
    shown = repr(model) + re.sub("<style>.*?</style>", "", model._repr_html_(), flags=re.DOTALL)
    # Numbers of elements go up with every page of the process.
    shown = re.sub(r"id-\d+", "", shown)
    assert "LocalAverageRegressor" in shown
    assert "Fitted attributes" not in shown
    for value in [*np.ravel(model.bounds_), *(777 + y)]:
        assert f"{value:.4g}" not in shown
    # Text is refused without being repeated.
    with pytest.raises(ValueError, match="X holds text"):
        LocalAverageRegressor(kernel).fit([["secret"]], [1.0])


def test_a_failed_fit_leaves_the_previous_one():
    X, y = make_rows()
    model = LocalAverageRegressor(bandwidth=0.1).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * math.nan, y)
    np.testing.assert_array_equal(model.predict(X), before)


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
