# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours move the integers of a logistic fit by no more than is stated, and some by as much."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from skprivate.linear_model._logistic.schedule import LogisticNeighbours
from skprivate.rounds._plans.logits import ColumnMomentsPlan, LogitsPlan, StandardRows
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import PreparedRows

AMOUNT = Fraction(3, 7)
STEPS = (-1.0, -0.6, 0.0, 0.5, 1.0)
CASES = list(product(["laplace", "gaussian"], ["replace-one", "add-remove"], [2, 3], [False, True]))


def make(mechanism, relation, n_labels, in_ball, **more):
    neighbours = LogisticNeighbours(
        relation=relation, mechanism=mechanism, n_features=2, n_labels=n_labels, in_ball=in_ball, **more
    )
    order = 2 if mechanism == "gaussian" else 1
    grid = MomentGrid(
        lower=np.full(2, -1.0),
        upper=np.full(2, 1.0),
        target=(-1.0, 1.0),
        exponent=10,
        x_norm=1.0 if in_ball else None,
        norm_order=order if in_ball else None,
    )
    return neighbours, grid, order


def contributions(plan):
    """Return what every row of a lattice, with every label, adds to the sums; and the absent row."""
    rows = []
    for x, label in product(product(STEPS, repeat=2), range(getattr(plan, "n_labels", 1))):
        one = PreparedRows(np.array([x]), labels=np.array([label], dtype=np.int32))
        rows.append(plan.sums(one))
    return np.array(rows).astype(float)


def worst_cost(values, scales, mechanism, relation):
    """Return the greatest cost of neighbours: the sum of moves over scales, or half that of their squares."""
    others = np.zeros((1, values.shape[1])) if relation == "add-remove" else values
    moves = np.abs(values[:, None] - others[None]) / scales
    if mechanism == "laplace":
        return moves.sum(axis=2).max()
    return (moves**2).sum(axis=2).max() / 2


@pytest.mark.parametrize(("mechanism", "relation", "n_labels", "in_ball"), CASES)
def test_moments(mechanism, relation, n_labels, in_ball):
    neighbours, grid, _ = make(mechanism, relation, n_labels, in_ball)
    plan = ColumnMomentsPlan(grid)
    noise = neighbours.moments_noise(plan.n_sums, grid.exponent, AMOUNT)
    cost = worst_cost(contributions(plan), noise.scales, mechanism, relation)
    assert 0.6 * AMOUNT < cost <= AMOUNT


@pytest.mark.parametrize(("mechanism", "relation", "n_labels", "in_ball"), CASES)
def test_gradient_of_residuals_of_minus_one_and_one(mechanism, relation, n_labels, in_ball):
    neighbours, grid, order = make(mechanism, relation, n_labels, in_ball)
    # So steep that neighbours on its two sides, with nearly the same features, have residuals of -1 and 1.
    theta = np.array([[0.0, 1e6, 0.0]] if n_labels == 2 else [[0, 1e6, 0], [0, -1e6, 0], [0, 0, 0]])
    rows = StandardRows(np.zeros(2), np.full(2, 0.25), 2.0, order, 10)
    plan = LogitsPlan(grid, rows, theta, 12)
    noise = neighbours.gradient_noise(plan, AMOUNT)
    # Rows of the radius itself keep their weight: those of the lattice are longer, or shorter.
    side = np.sqrt(3) * 0.25 if order == 2 else 0.25
    at_radius = [[0.002, side - 0.002], [-0.002, side - 0.002], [side, 0.0]]
    lattice = contributions(plan)
    edge = [
        plan.sums(PreparedRows(np.array([x]), labels=np.array([label], dtype=np.int32)))
        for x, label in product(at_radius, range(n_labels))
    ]
    cost = worst_cost(np.vstack([lattice, edge]), noise.scales, mechanism, relation)
    assert 0.95 * AMOUNT < cost <= AMOUNT


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_curvature(mechanism, relation):
    neighbours, grid, order = make(mechanism, relation, 2, False)
    rows = StandardRows(np.zeros(2), np.full(2, 0.25), 2.0, order, 10)
    plan = LogitsPlan(grid, rows, np.zeros((1, 3)), 12, (9, 10))
    noise = neighbours.curvature_noise(plan, AMOUNT)
    triangles = [plan.split(one)[1][np.triu_indices(3)] for one in contributions(plan).astype(np.int64)]
    cost = worst_cost(np.array(triangles, dtype=float), noise.scales.scales, mechanism, relation)
    assert 0.6 * AMOUNT < cost <= AMOUNT
