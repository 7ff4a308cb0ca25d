# SPDX-License-Identifier: BSD-3-Clause
"""The stated sensitivities bound every pair of rows and are reached by some."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skprivate.linear_model._moments.released_moments import (
    MomentWeights,
    Neighbours,
    l1_moments,
    sensitivity_of_unit,
    squared_l2_moments,
)

CASES = [(a, m, d) for a in (1, 2, 3) for m in (1, 2, 5) for d in (1, 2, 3, 4)]


def coefficients(v):
    """Coefficients of (v . theta)^2 / 2, each once."""
    products = np.outer(v, v)
    rows, columns = np.triu_indices(len(v))
    return products[rows, columns] * np.where(rows == columns, 0.5, 1.0)


def l1(v, other):
    return np.abs(coefficients(v) - coefficients(other)).sum()


def squared_l2(v, other):
    return ((np.outer(v, v) - np.outer(other, other)) ** 2).sum()


def extreme_rows(weights, rng):
    """Rows at corners, on edges, and anywhere; with the constant."""
    a, m, d = weights.target, weights.features, weights.n_features
    levels = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=d)))
    if weights.norm_order is not None:
        levels = np.vstack([np.eye(d), -np.eye(d), np.zeros((1, d)), levels])
        norms = np.linalg.norm(levels, ord=weights.norm_order, axis=1, keepdims=True)
        levels = levels / np.maximum(norms, 1.0)
    targets = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    rows = [[1.0, a * y, *(m * x)] for x in levels for y in targets]
    loose = rng.uniform(-1, 1, size=(60, d + 1))
    if weights.norm_order is not None:
        norms = np.linalg.norm(loose[:, 1:], ord=weights.norm_order, axis=1, keepdims=True)
        loose[:, 1:] /= np.maximum(norms, 1.0)
    rows += [[1.0, a * y, *(m * x)] for y, x in zip(loose[:, 0], loose[:, 1:], strict=True)]
    return np.array(rows)


def largest(rows, metric, absent):
    """Largest distance of a pair; squared Euclidean on v v' counts products of different entries twice."""
    scaled = np.array([coefficients(v) for v in rows])
    if metric == "sqeuclidean":
        scaled = np.array([np.outer(v, v).ravel() for v in rows])
    if absent:
        scaled = np.vstack([scaled, 0 * scaled[:1]])
    return cdist(scaled, scaled, metric).max()


@pytest.mark.parametrize(("a", "m", "d"), CASES)
@pytest.mark.parametrize("order", [None, 1, 2])
def test_no_pair_of_rows_passes_the_bounds(a, m, d, order):
    weights = MomentWeights(a, m, d, order)
    rows = extreme_rows(weights, np.random.default_rng(0))
    slack = 1 + 1e-12
    if order != 2:
        assert largest(rows, "cityblock", True) <= float(l1_moments(weights, "replace-one")) * slack
        alone = max(l1(row, 0 * row) for row in rows)
        assert alone <= float(l1_moments(weights, "add-remove")) * slack
    assert largest(rows, "sqeuclidean", True) <= float(squared_l2_moments(weights, "replace-one")) * slack
    alone = max(squared_l2(row, 0 * row) for row in rows)
    assert alone <= float(squared_l2_moments(weights, "add-remove")) * slack


@pytest.mark.parametrize(("a", "m", "d"), CASES)
def test_cube_reaches_its_bound(a, m, d):
    # s and t share B equally: whole entries on one side, one entry cut.
    weights = MomentWeights(a, m, d)
    sizes = np.array([1.0, a, *[m] * d])
    half, order = sizes.sum() / 2, np.argsort(-sizes[1:]) + 1
    v, other, used = sizes.copy(), sizes.copy(), 0.0
    for j in order:
        share = min(1.0, max(0.0, (half - used) / sizes[j]))
        other[j] = (1 - 2 * share) * sizes[j]
        used += share * sizes[j]
    assert used == pytest.approx(half)
    assert l1(v, other) == pytest.approx(float(l1_moments(weights, "replace-one")), rel=1e-12)


@pytest.mark.parametrize(("a", "m", "d"), [case for case in CASES if case[2] >= 2])
def test_l1_ball_reaches_its_bound(a, m, d):
    weights = MomentWeights(a, m, d, 1)
    q = min(1.0, (1 + m) / a)
    v, other = np.zeros(d + 2), np.zeros(d + 2)
    v[:3] = 1, a, m
    other[[0, 1, 3]] = 1, -a * q, m
    assert l1(v, other) == pytest.approx(float(l1_moments(weights, "replace-one")), rel=1e-12)
    assert l1(v, 0 * v) == pytest.approx(float(l1_moments(weights, "add-remove")), rel=1e-12)


@pytest.mark.parametrize(("a", "m", "d"), [(a, m, d) for a, m, d in CASES if d >= 2 and a**2 <= 1 + m**2])
def test_l2_ball_reaches_its_bound(a, m, d):
    # Opposite targets, and features at the angle that makes the rows orthogonal.
    weights = MomentWeights(a, m, d, 2)
    cosine = (a**2 - 1) / m**2
    v, other = np.zeros(d + 2), np.zeros(d + 2)
    v[:3] = 1, a, m
    other[:4] = 1, -a, m * cosine, m * np.sqrt(1 - cosine**2)
    bound = float(squared_l2_moments(weights, "replace-one"))
    assert squared_l2(v, other) == pytest.approx(bound, rel=1e-12)


def test_gaussian_cube_reaches_its_bound_for_even_d():
    weights = MomentWeights(1, 1, 4)
    v = np.ones(6)
    other = np.array([1.0, -1, 1, 1, -1, -1])
    assert squared_l2(v, other) == float(squared_l2_moments(weights, "replace-one"))


def test_groups_pay_for_each_row():
    weights = MomentWeights(2, 1, 2)
    rows = extreme_rows(weights, np.random.default_rng(3))
    neighbours = Neighbours(weights=weights, rows_per_unit=3, grouped=True)
    rng = np.random.default_rng(4)
    for _ in range(3000):
        sums = []
        for _ in range(2):
            chosen = rows[rng.integers(len(rows), size=rng.integers(0, 4))]
            sums.append(sum((coefficients(v) for v in chosen), np.zeros(10)))
        assert np.abs(sums[0] - sums[1]).sum() <= float(neighbours.l1) * (1 + 1e-12)
    assert not neighbours.n_is_public
    assert sensitivity_of_unit(Fraction(2), 3, squared=True) == 18
