# SPDX-License-Identifier: BSD-3-Clause
"""The stated sensitivities of a censored fit bound every pair of rows, on the grid, and are reached."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skprivate.linear_model._censored.gradient_round import (
    l1_curvature,
    l1_gradient,
    plan_rounds,
    residuals_of,
    squared_l2_curvature,
    squared_l2_gradient,
)
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.linear_model._moments.released_moments import MomentWeights, Neighbours
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import PreparedRows

DISTRIBUTIONS = [SEV, LOGISTIC, NORMAL]
CLIPS = [0.5, 1.0, 2.0, 8.0]
WEIGHTS = [MomentWeights(2, 1, d, order) for d in (1, 3) for order in (None, 1, 2)]


def extreme_rows(weights):
    """Rows v at corners of the cube or the ball."""
    levels = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=weights.n_features)))
    if weights.norm_order is not None:
        norms = np.linalg.norm(levels, ord=weights.norm_order, axis=1, keepdims=True)
        levels = levels / np.maximum(norms, 1.0)
    rows = [[1.0, weights.target * y, *(weights.features * x)] for x in levels for y in (-1.0, 1.0)]
    return np.array(rows)


def gradients(residuals, weights):
    """(event, residual times v) at all corners, and nothing."""
    rows = extreme_rows(weights)
    parts = [
        np.column_stack([np.full(len(rows), float(event)), float(r) * rows])
        for event, r, _ in residuals.corners
    ]
    return np.vstack(parts)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_gradient_reaches_its_bounds(distribution, clip, weights):
    residuals = residuals_of(distribution, clip)
    found = gradients(residuals, weights)
    if weights.norm_order != 2:
        replaced = cdist(found, found, "cityblock").max()
        assert replaced == pytest.approx(float(l1_gradient(residuals, weights, "replace-one")), rel=1e-12)
        alone = np.abs(found).sum(axis=1).max()
        assert alone == pytest.approx(float(l1_gradient(residuals, weights, "add-remove")), rel=1e-12)
    if weights.norm_order != 1:
        replaced = cdist(found, found, "sqeuclidean").max()
        bound = squared_l2_gradient(residuals, weights, "replace-one")
        assert replaced == pytest.approx(float(bound), rel=1e-12)
        alone = (found**2).sum(axis=1).max()
        bound = squared_l2_gradient(residuals, weights, "add-remove")
        assert alone == pytest.approx(float(bound), rel=1e-12)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_curvature_keeps_to_its_bounds(distribution, weights):
    residuals = residuals_of(distribution, 2.0)
    largest = float(residuals.curvature)
    rows = extreme_rows(weights)
    squares = np.array([np.outer(v, v) for v in rows]).reshape(len(rows), -1)
    both = largest * np.vstack([squares, 0 * squares[:1]])
    if weights.norm_order != 2:
        # Half the entrywise norm is that of the coefficients, each once.
        found = cdist(both, both, "cityblock").max() / 2
        bound = float(l1_curvature(residuals, weights, "replace-one"))
        assert found <= bound * (1 + 1e-12)
        # In a ball of one dimension no two supports are disjoint.
        assert found >= 0.99 * bound or (weights.norm_order, weights.n_features) == (1, 1)
        alone = np.abs(both).sum(axis=1).max() / 2
        assert alone == pytest.approx(float(l1_curvature(residuals, weights, "add-remove")), rel=1e-12)
    if weights.norm_order != 1:
        found = cdist(both, both, "sqeuclidean").max()
        bound = float(squared_l2_curvature(residuals, weights, "replace-one"))
        assert found <= bound * (1 + 1e-12)


def small_plan(distribution, clip, mechanism="laplace", n_features=2, order=None, relation="replace-one"):
    neighbours = Neighbours(weights=MomentWeights(2, 1, n_features, order), relation=relation)
    return plan_rounds(neighbours, residuals_of(distribution, clip), mechanism, 1000, Fraction(1, 10))


def small_grid(n_features=2, order=None):
    bounds = np.full(n_features, 2.0)
    norm = None if order is None else 2.0
    return MomentGrid(
        lower=-bounds, upper=bounds, target=(-1.0, 3.0), exponent=20, x_norm=norm, norm_order=order
    )


def one_by_one(n, seed=0):
    """Tables of one row, all different: corners of the box, far outside, and anywhere."""
    levels, off = [-9.0, -2.0, 0.0, 1.0, 2.0], [0.0, 0.3]
    every = np.array(list(itertools.product(levels, levels, off, [-5.0, -1.0, 0.5, 3.0, 9.0], [0, 1])))
    every = np.random.default_rng(seed).permutation(every)[:n]
    X, time, event = every[:, :2] + every[:, 2:3], every[:, 3], every[:, 4].astype(np.uint8)
    return [PreparedRows(X[i : i + 1], y=time[i : i + 1], event=event[i : i + 1]) for i in range(len(every))]


THETA = np.array([0.3, 2.0, -0.7, 1.1])


def contribution(rows, plan, theta=THETA, order=None):
    """What a table puts into a round, as integers."""
    sums = plan.sums(small_grid(order=order), theta, True)
    events, gradient, matrix = sums.split(sums.sums(rows))
    return np.concatenate([[events], gradient, matrix[np.triu_indices(4)]])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("order", [None, 1])
@pytest.mark.parametrize("theta", [THETA, 3 * THETA, np.array([-4.0, 0.5, 6.0, 0.1])])
def test_one_row_moves_the_integers_within_the_laplace_noise(distribution, order, theta):
    plan = small_plan(distribution, 2.0, order=order)
    found = np.array([contribution(rows, plan, theta, order) for rows in one_by_one(300)])
    for with_curvature in (False, True):
        scales = plan.noise(4, Fraction(1, 10), with_curvature).scales
        loss = cdist(found[:, : len(scales)] / scales, found[:, : len(scales)] / scales, "cityblock").max()
        assert loss <= 0.1
    assert loss >= 0.02  # the rows are extreme enough to tell


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("order", [None, 2])
def test_one_row_moves_the_integers_within_the_gaussian_noise(distribution, order):
    plan = small_plan(distribution, 2.0, "gaussian", order=order)
    found = np.array([contribution(rows, plan, order=order) for rows in one_by_one(300)])
    for with_curvature in (False, True):
        scales = plan.noise(4, Fraction(1, 10), with_curvature).scales
        part = found[:, : len(scales)] / scales
        assert cdist(part, part, "sqeuclidean").max() / 2 <= 0.1
