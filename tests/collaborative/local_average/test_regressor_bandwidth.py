# SPDX-License-Identifier: BSD-3-Clause
"""The choice of a kernel's size, recomputed with NumPy, and its refinement."""

import math

import numpy as np
import pytest

from skprivate.collaborative._local_average.regressor import (
    BANDWIDTHS,
    MODELS,
    VALIDATION_ROWS,
    cross_validate,
    neighbors_grid,
    refined_bandwidth,
    refined_neighbors,
)

KERNELS = sorted(MODELS)


def recomputed_error(kernel, X, y, size):
    """Mean squared error over five folds of every fifth row."""
    squared = []
    for fold in range(5):
        out = np.arange(len(X)) % 5 == fold
        squares = ((X[out][:, None] - X[~out]) ** 2).sum(axis=2)
        if kernel == "knn":
            weights = np.argsort(np.argsort(squares, axis=1, kind="stable"), axis=1) < size
        elif kernel == "partition":
            weights = (np.floor(X[out][:, None] / size) == np.floor(X[~out] / size)).all(axis=2)
        else:
            weights = {
                "gaussian": np.exp(-squares / size**2),
                "laplace": np.exp(-np.sqrt(squares) / size),
                "epanechnikov": np.maximum(0, 1 - squares / size**2),
            }[kernel]
        total = weights.sum(axis=1)
        squared.append(((weights @ y[~out]) / np.where(total > 0, total, 1) - y[out]) ** 2)
    return np.concatenate(squared).mean()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(3))
def test_choice_and_errors_equal_a_recomputation(kernel, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(157, 2))
    y = np.sin(5 * X[:, 0]) + 0.3 * rng.normal(size=157)
    # Smaller bandwidths underflow in the recomputation.
    sizes = neighbors_grid(157) if kernel == "knn" else BANDWIDTHS[: 13 if kernel == "laplace" else 9]
    size, errors = cross_validate(MODELS[kernel], X, y, sizes)
    expected = np.array([recomputed_error(kernel, X, y, each) for each in sizes])
    np.testing.assert_allclose(errors * np.abs(y).max() ** 2, expected, rtol=1e-9)
    assert size == sizes[int(expected.argmin())]
    assert sizes[-1] < size < sizes[0]


def test_grids_descend_by_about_the_square_root_of_two():
    assert BANDWIDTHS[0] == 1
    assert BANDWIDTHS[-1] == 2**-8
    np.testing.assert_allclose(np.divide(BANDWIDTHS[:-1], BANDWIDTHS[1:]), math.sqrt(2))
    assert neighbors_grid(10**6) == [
        *(1024, 724, 512, 362, 256, 181, 128, 91, 64, 45, 32, 23, 16, 11, 8, 6, 4, 3, 2, 1),
    ]


@pytest.mark.parametrize("n", range(1, 40))
def test_no_training_part_has_fewer_rows_than_neighbours_are_tried(n):
    least = n - -(-n // min(5, n)) if n > 1 else 1
    grid = neighbors_grid(n)
    assert grid[0] == max(1, least)
    assert grid[-1] == 1
    assert grid == sorted(set(grid), reverse=True)


def test_many_rows_are_validated_on_few():
    class Counting:
        queries = 0
        rows = []

        def __init__(self, X, y, sizes):
            self.rows.append(len(X))

        def averages(self, X, ranges):
            type(self).queries += len(X)
            # Rows of every part of a fold.
            assert X.min() < 0.01
            assert X.max() > 0.98
            return np.zeros((len(X), 1)), np.ones((len(X), 1), dtype=bool)

    n = 10 * VALIDATION_ROWS
    cross_validate(Counting, np.linspace(0, 1, n).reshape(-1, 1), np.zeros(n), [1.0])
    assert Counting.queries == VALIDATION_ROWS
    assert Counting.rows == [n * 4 // 5] * 5


def test_refinement_of_a_bandwidth():
    # 100 = 10^2: e = ln 100 / ln 10 = 2.
    assert refined_bandwidth(0.5, 10, 100) == pytest.approx(0.25, rel=1e-14)
    assert refined_bandwidth(0.3, 500, 10_000) == pytest.approx(0.3 ** (math.log(1e4) / math.log(500)))
    assert refined_bandwidth(0.3, 500, 500) == 0.3
    assert refined_bandwidth(0.3, 1, 10_000) == 0.3
    assert refined_bandwidth(1.0, 10, 100) == 1.0
    assert refined_bandwidth(2.0, 10, 100) == 2.0
    assert refined_bandwidth(1e-200, 2, 10**9) > 0


def test_refinement_of_a_number_of_neighbours():
    # 10 (4 / 10)^2 = 1.6
    assert refined_neighbors(4, 10, 100) == 2
    assert refined_neighbors(1, 10, 100) == 1
    assert refined_neighbors(10, 10, 100) == 10
    assert refined_neighbors(1, 1, 100) == 1
    assert refined_neighbors(20, 500, 500) == 20
    assert refined_neighbors(20, 500, 10_000) == round(500 * (20 / 500) ** (math.log(1e4) / math.log(500)))
