# SPDX-License-Identifier: BSD-3-Clause
"""From a budget to noisy moments: scales are exact, nothing wraps, and the integers reach the release."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from skprivate.linear_model._moments.released_moments import (
    MomentWeights,
    Neighbours,
    largest_scale,
    make_grid,
    moment_weights,
    plan_moments,
)
from skprivate.noise import check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._plans.moments import choose_exponent


def plan(mechanism="laplace", epsilon=1.0, n_rows=1000, a=2, m=1, d=2, order=None, **options):
    neighbours = Neighbours(weights=MomentWeights(a, m, d, order), **options)
    budget = FitBudget.of(epsilon, 1e-6 if mechanism == "gaussian" else 0, mechanism)
    x_norm = None if order is None else 1.0
    grid = make_grid(
        -np.ones(d), np.ones(d), (-1.0, 1.0), x_norm, n_rows=n_rows, neighbours=neighbours, budget=budget
    )
    return plan_moments(grid, neighbours, budget), budget


def integer_rows(grid, order):
    """All rows of the grid's corners, edges and middles."""
    one = 2**grid.exponent
    for y, *x in itertools.product([-one, 0, one], repeat=grid.size - 1):
        if order is None or sum(abs(value) ** order for value in x) <= one**order:
            yield np.array([one, y, *x], dtype=object)


CASES = [
    ("laplace", {}),
    ("laplace", {"a": 3, "m": 2, "order": 1}),
    ("laplace", {"relation": "add-remove"}),
    ("laplace", {"rows_per_unit": 2, "grouped": True}),
    ("laplace", {"epsilon": Fraction(1, 3), "n_rows": 10**6}),
    ("gaussian", {}),
    ("gaussian", {"order": 2, "m": 2}),
    ("gaussian", {"relation": "add-remove"}),
    ("gaussian", {"rows_per_unit": 2, "grouped": True}),
]


@pytest.mark.parametrize(("mechanism", "options"), CASES, ids=str)
def test_the_cost_of_every_pair_is_at_most_the_budget(mechanism, options):
    """Epsilon: the sum of moves over scales; rho: half that of their squares."""
    planned, budget = plan(mechanism, **options)
    copies = options.get("rows_per_unit", 1)
    rows = integer_rows(planned.grid, options.get("order"))
    grams = [copies * np.outer(q, q)[planned.rows, planned.columns] for q in rows]
    if options.get("relation") == "add-remove":
        pairs = ((gram, 0 * gram) for gram in grams)
    else:
        pairs = itertools.combinations(grams, 2)
    scales = [Fraction(int(scale)) for scale in planned.noise.scales]
    power = 1 if mechanism == "laplace" else 2
    worst = max(
        sum(abs(int(x) / t) ** power for x, t in zip(gram - other, scales, strict=True)) / power
        for gram, other in pairs
    )
    least = Fraction(99, 100) if mechanism == "laplace" else Fraction(4, 5)
    assert budget.amount * least < worst <= budget.amount


def test_release_is_the_moments_plus_the_noise_that_it_states():
    planned, _ = plan(d=3, epsilon=0.5)
    gram = np.full((5, 5), 7 * 4**planned.grid.exponent, dtype=np.int64)
    draws = np.array([planned.release(gram, check_entropy(seed)).matrix for seed in range(4000)])
    stated = planned.release(gram, check_entropy(0)).noise_std
    assert stated[0, 0] == 0
    assert (draws[:, 0, 0] == 7).all()
    assert (draws == draws.transpose(0, 2, 1)).all()
    private = stated > 0
    assert private.sum() == 24
    # Standard error of a mean: std / sqrt(4000); of a standard deviation of Laplace noise: 1.8 %.
    z = (draws.mean(axis=0) - 7)[private] / (stated[private] / np.sqrt(4000))
    assert np.abs(z).max() < 6
    assert np.abs(draws.std(axis=0)[private] / stated[private] - 1).max() < 0.11


@pytest.mark.parametrize("n_rows", [1, 2, 1000, 2_000_000, 2_097_153, 10**8, 2**32, 2**41])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(8), Fraction(10**6), Fraction(2**31), Fraction(10**12)]
)
def test_the_finest_grid_that_fits(n_rows, scale):
    k = choose_exponent(n_rows, scale)
    assert n_rows * 4**k <= 2**61
    assert scale * 4**k <= 2**51
    assert k == 20 or n_rows * 4 ** (k + 1) > 2**61 or scale * 4 ** (k + 1) > 2**51


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_largest_scale_covers_every_scale(mechanism, epsilon):
    planned, budget = plan(mechanism, epsilon=epsilon, d=40)
    neighbours = Neighbours(weights=MomentWeights(2, 1, 40))
    before = largest_scale(neighbours, budget) * 4**planned.grid.exponent
    assert planned.noise.scales.max() <= before + 1 <= 2**51 + 1


DIMENSIONS = (1, 2, 3, 10, 30, 200)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_cube_weighs_the_target_twice(d, mechanism):
    assert moment_weights(d, mechanism, False) == MomentWeights(2, 1, d)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_l2_ball_does_not_depend_on_the_number_of_features(d):
    weights = moment_weights(d, "gaussian", True)
    assert (weights.target, weights.features, weights.norm_order) == (3, 3, 2)
    assert weights.squared_l2 == Fraction(19)


@pytest.mark.parametrize(("d", "features"), [(1, 2), (2, 3), (3, 4), (4, 4), (9, 6), (10, 7), (200, 29)])
def test_l1_ball_weighs_features_by_the_root_of_their_number(d, features):
    weights = moment_weights(d, "laplace", True)
    assert (weights.target, weights.features, weights.norm_order) == (3, features, 1)
    assert weights.features_l1 == features
