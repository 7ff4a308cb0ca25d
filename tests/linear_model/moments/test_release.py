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
    plan_moments,
)
from skprivate.noise import check_entropy, zcdp_to_epsilon
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._plans.moments import MomentGrid, choose_exponent


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
    {},
    {"a": 3, "m": 2, "order": 1},
    {"relation": "add-remove"},
    {"rows_per_unit": 2, "grouped": True},
    {"epsilon": Fraction(1, 3), "n_rows": 10**6},
]


@pytest.mark.parametrize("options", CASES)
def test_laplace_loss_of_every_pair_is_at_most_epsilon(options):
    planned, budget = plan(**options)
    copies = options.get("rows_per_unit", 1)
    losses = []
    rows = list(integer_rows(planned.grid, options.get("order")))
    grams = [copies * np.outer(q, q)[planned.rows, planned.columns] for q in rows]
    if options.get("relation") == "add-remove":
        pairs = ((gram, 0 * gram) for gram in grams)
    else:
        pairs = itertools.combinations(grams, 2)
    scales = [Fraction(int(scale)) for scale in planned.noise.scales]
    for gram, other in pairs:
        losses.append(sum(abs(int(x)) / t for x, t in zip(gram - other, scales, strict=True)))
    assert max(losses) <= budget.amount
    assert max(losses) > budget.amount * Fraction(99, 100)


@pytest.mark.parametrize(
    "options", [{}, {"order": 2, "m": 2}, {"relation": "add-remove"}, {"rows_per_unit": 2, "grouped": True}]
)
def test_gaussian_rho_of_every_pair_is_at_most_rho(options):
    planned, budget = plan("gaussian", **options)
    copies = options.get("rows_per_unit", 1)
    rows = [*integer_rows(planned.grid, options.get("order"))]
    grams = [copies * np.outer(q, q)[planned.rows, planned.columns] for q in rows]
    if options.get("relation") == "add-remove":
        pairs = ((gram, 0 * gram) for gram in grams)
    else:
        pairs = itertools.combinations(grams, 2)
    sigmas = [Fraction(int(sigma)) for sigma in planned.noise.scales]
    worst = max(
        sum((int(x) / s) ** 2 for x, s in zip(gram - other, sigmas, strict=True)) / 2 for gram, other in pairs
    )
    assert worst <= budget.amount
    assert worst > budget.amount * Fraction(4, 5)


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


def test_a_protected_number_of_rows_is_noisy():
    planned, _ = plan(relation="add-remove", n_rows=2**32)
    gram = np.zeros((4, 4), dtype=np.int64)
    release = planned.release(gram, check_entropy(3))
    assert release.noise_std[0, 0] > 0
    assert release.matrix[0, 0] != 0


def test_budget():
    budget = FitBudget.of(1, 1e-6, "gaussian")
    assert budget.epsilon == zcdp_to_epsilon(budget.amount, budget.delta) <= 1
    assert budget.epsilon > Fraction(999, 1000)
    assert FitBudget.of(0.5, 0, "laplace").amount == Fraction(1, 2)


@pytest.mark.parametrize("n_rows", [1, 2, 1000, 2_000_000, 2_097_153, 10**8, 2**32, 2**41])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(8), Fraction(10**6), Fraction(2**31), Fraction(10**12)]
)
def test_the_finest_grid_that_fits(n_rows, scale):
    k = choose_exponent(n_rows, scale)
    assert n_rows * 4**k <= 2**61
    assert scale * 4**k <= 2**51
    assert k == 20 or n_rows * 4 ** (k + 1) > 2**61 or scale * 4 ** (k + 1) > 2**51


def test_what_no_grid_can_hold():
    with pytest.raises(ValueError, match="too many rows"):
        choose_exponent(2**61 + 1, Fraction(1))
    with pytest.raises(ValueError, match="epsilon is too small"):
        choose_exponent(10, Fraction(2**52))


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_largest_scale_covers_every_scale(mechanism, epsilon):
    planned, budget = plan(mechanism, epsilon=epsilon, d=40)
    neighbours = Neighbours(weights=MomentWeights(2, 1, 40))
    before = largest_scale(neighbours, budget) * 4**planned.grid.exponent
    assert planned.noise.scales.max() <= before + 1 <= 2**51 + 1


def test_a_grid_travels_as_plain_values():
    grid = MomentGrid(lower=np.array([0.0, -1.0]), upper=np.array([2.0, 5.0]), target=(1.0, 3.0), exponent=7)
    copy = MomentGrid.from_dict(grid.to_dict())
    assert copy.to_dict() == grid.to_dict()
    assert grid.center.tolist() == [1, 2]
    assert grid.half.tolist() == [1, 3]
    assert (grid.y_center, grid.y_half, grid.size) == (2.0, 1.0, 4)
    ball = MomentGrid(
        lower=grid.lower, upper=grid.upper, target=(1.0, 3.0), exponent=7, x_norm=4.0, norm_order=2
    )
    assert ball.half.tolist() == [4, 4]
