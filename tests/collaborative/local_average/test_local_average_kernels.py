# SPDX-License-Identifier: BSD-3-Clause
"""The kernels against a few lines of NumPy, on random rows and on rows made to break them."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.collaborative._local_average.kd_tree_kernels import build_tree
from skprivate.collaborative._local_average.regressor import MODELS, UNIT_RANGE, make_ranges, scaled

KERNELS = sorted(MODELS)


def unit(d):
    return np.ascontiguousarray(np.broadcast_to(UNIT_RANGE, (4, d)))


def averages(kernel, X, y, queries, sizes):
    return MODELS[kernel](X, y, sizes).averages(queries, unit(X.shape[1]))


def reference(kernel, X, y, queries, size):
    squares = ((queries[:, None] - X) ** 2).sum(axis=2)
    if kernel == "gaussian":
        weights = np.exp(-(squares - squares.min(axis=1, keepdims=True)) / size**2)
    elif kernel == "laplace":
        distances = np.sqrt(squares)
        weights = np.exp(-(distances - distances.min(axis=1, keepdims=True)) / size)
    elif kernel == "epanechnikov":
        weights = np.maximum(0, 1 - squares / size**2)
    elif kernel == "partition":
        weights = (np.floor(queries[:, None] / size) == np.floor(X / size)).all(axis=2) * 1.0
    else:
        order = np.argsort(squares, axis=1, kind="stable")[:, :size]
        weights = np.zeros_like(squares)
        np.put_along_axis(weights, order, 1.0, axis=1)
    total = weights.sum(axis=1)
    return (weights @ y) / np.where(total > 0, total, 1), total > 0


def sizes_for(kernel, n):
    return sorted({1, min(3, n), min(40, n), n}) if kernel == "knn" else [0.03, 0.2, 0.5, 1.0]


def assert_equals_reference(kernel, X, y, queries, sizes):
    values, support = averages(kernel, X, y, queries, sizes)
    for k, size in enumerate(sizes):
        expected, expected_support = reference(kernel, X, y, queries, size)
        np.testing.assert_array_equal(support[:, k], expected_support)
        np.testing.assert_allclose(values[:, k], expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (8, 2), (9, 5), (33, 20), (700, 1), (700, 20), (4000, 3)])
def test_random_rows(kernel, d, n):
    rng = np.random.default_rng(n * d)
    X, y, queries = rng.uniform(size=(n, d)), rng.normal(size=n), rng.uniform(size=(70, d))
    queries[: min(n, 20)] = X[:20]
    assert_equals_reference(kernel, X, y, queries, sizes_for(kernel, n))


@pytest.mark.parametrize("kernel", KERNELS)
def test_duplicates_and_ties(kernel):
    # Rows on a lattice: most distances occur often, and most rows several times.
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, size=(600, 2)) / 4, rng.normal(size=600)
    queries = rng.integers(0, 9, size=(200, 2)) / 8
    sizes = [1, 7, 64, 599] if kernel == "knn" else [0.125, 0.25, 0.5, 1.0]
    assert_equals_reference(kernel, X, y, queries, sizes)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_rows_on_a_coarse_lattice(data):
    kernel = data.draw(st.sampled_from(KERNELS))
    d, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 90))
    cells = st.integers(0, 8)
    rows = data.draw(st.lists(st.tuples(*[cells] * d), min_size=n, max_size=n))
    X = np.array(rows, dtype=float) / 8
    y = np.arange(n) % 7 - 3.0
    queries = np.array(data.draw(st.lists(st.tuples(*[cells] * d), min_size=1, max_size=5)), dtype=float) / 8
    size = data.draw(st.integers(1, n)) if kernel == "knn" else data.draw(st.sampled_from([0.125, 0.3, 1.0]))
    assert_equals_reference(kernel, X, y, queries, [size])


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_weights_between_underflow_and_one_are_not_lost(kernel):
    # All weights of the query are far below the least float, their ratio is not.
    X, y = np.array([[0.0], [0.001]]), np.array([0.0, 1.0])
    size = 0.02 if kernel == "gaussian" else 0.0005
    power = 2 if kernel == "gaussian" else 1
    ratio = math.exp((0.999 / size) ** power - (1 / size) ** power)
    values, _ = averages(kernel, X, y, np.array([[1.0]]), [size])
    np.testing.assert_allclose(values, [[1 / (1 + ratio)]], rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_elsewhere_in_memory_give_the_same_bits(kernel):
    # Out of a pickle, rows need not start with a line of the cache.
    rng = np.random.default_rng(2)
    X, y, queries = rng.uniform(size=(700, 3)), rng.normal(size=700), rng.uniform(size=(30, 3))
    model = MODELS[kernel](X, y, [3] if kernel == "knn" else [0.1])
    other = pickle.loads(pickle.dumps(model))
    if kernel != "partition":
        other.columns = np.append(0.0, model.columns)[1:].reshape(model.columns.shape)
    np.testing.assert_array_equal(other.averages(queries, unit(3))[0], model.averages(queries, unit(3))[0])


def organ_pipe(n):
    return np.minimum(np.arange(n), np.arange(n)[::-1])


@pytest.mark.parametrize("order", [np.arange, lambda n: np.arange(n)[::-1], organ_pipe, np.zeros])
@pytest.mark.parametrize("n", [1, 32, 33, 5000])
def test_a_tree_holds_every_row_once_on_its_side_of_every_split(order, n):
    rows = np.column_stack([order(n), 0.1 * order(n)]).astype(float)
    original, size = rows.copy(), 32
    leaves = -(-n // size)
    places = np.arange(n)
    feature, gap = np.zeros(leaves, dtype=np.int32), np.zeros((leaves, 2))
    build_tree(rows, places, feature, gap, size)
    np.testing.assert_array_equal(rows, original[places])
    np.testing.assert_array_equal(np.sort(places), np.arange(n))

    def check(first, last):
        mid = (first + last) // 2
        if last - first < 2:
            return
        values = rows[:, feature[mid]]
        assert values[first * size : mid * size].max() == gap[mid, 0]
        assert values[mid * size : last * size].min() == gap[mid, 1]
        assert gap[mid, 0] <= gap[mid, 1]
        check(first, mid)
        check(mid, last)

    check(0, leaves)


def test_scaling_clips_and_reaches_both_ends_exactly():
    lower, upper = np.array([-3.0, 0.1, 5.0, -1.7e308]), np.array([4.0, 0.3, 5.0, 1.7e308])
    X = np.array([[-9.0, 0.1, 5.0, -1.7e308], [4.0, 0.3, 7.0, 0.0], [0.5, 9.0, -7.0, 1.7e308]])
    expected = [[0, 0, 0, 0], [1, 1, 0, 0.5], [0.5, 1, 0, 1]]
    np.testing.assert_array_equal(scaled(X, make_ranges(lower, upper)), expected)
