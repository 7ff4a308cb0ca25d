# SPDX-License-Identifier: BSD-3-Clause
"""Rows of every kind of observation move a round by no more than the stated sensitivity, and reach it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skprivate.linear_model._censored.gradient_round import plan_rounds
from skprivate.linear_model._censored.sensitivity import (
    l1_gradient,
    residuals_of,
    squared_l2_gradient,
)
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.linear_model._moments.release import Neighbours
from skprivate.linear_model._moments.weights import MomentWeights
from skprivate.rounds._plans.grid import MomentGrid
from skprivate.rounds._plans.observations import KINDS
from skprivate.rounds._plans.rows import PreparedRows

DISTRIBUTIONS = [SEV, LOGISTIC, NORMAL]
DECLARED = [
    ("exact", "right", "left"),
    ("exact", "right", "interval"),
    ("exact", "right", "entry"),
    KINDS,
]
GRID = MomentGrid(lower=-np.ones(1), upper=np.ones(1), target=(-1.0, 1.0), exponent=20)
# Errors that hardly change with the target, or by hundreds; all early, all late, none.
THETAS = [(c, s, 0.5) for c in (-3.0, 0.0, 2.0) for s in (0.1, 2.0, 200.0)]
WILD = [(0.0, 0.0, 0.0), (1.0, -5.0, 1.0), (np.inf, 1.0, -np.inf), (1e308, 1e308, 1e308), (0.0, 1e-300, 9e9)]


def plan_for(distribution, clip, observations, mechanism="laplace", relation="replace-one"):
    neighbours = Neighbours(weights=MomentWeights(2, 1, 1), relation=relation)
    residuals = residuals_of(distribution, clip, observations)
    return plan_rounds(neighbours, residuals, mechanism, 1000, Fraction(1, 10))


def extreme_rows(observations):
    """Every row of a grid over features, codes, starts, ends and entries, far outside the bounds too."""
    times = (-9.0, -1.0, -0.3, -0.2995, 0.6, 1.0, 9.0)
    entries = (-np.inf, -9.0, -0.9, -0.3, 0.6, 1.0) if "entry" in observations else (-np.inf,)
    rows = [
        (x, end, code, start, entry)
        for x, end, code, entry in itertools.product((-1.0, 1.0), times, range(4), entries)
        for start in ((-np.inf, *times) if code == 3 else (-np.inf,))
    ]
    return np.array(rows)


def contributions(rows, plan, theta, with_curvature=True):
    """What tables of one row put into a round, in the units of the row."""
    sums = plan.sums(GRID, np.array(theta), with_curvature)
    found = []
    for x, end, code, start, entry in rows:
        one = PreparedRows(
            np.array([[x]]),
            y=np.array([end]),
            event=np.array([code], dtype=np.uint8),
            start=np.array([start]),
            entry=np.array([entry]),
        )
        found.append(sums.sums(one))
        sums.check_sums(found[-1], 1)
    return np.array(found, dtype=float)


def norms(found, weights, squared):
    """Largest distance of two rows, and of a row from nothing."""
    scaled = found * weights
    if squared:
        return cdist(scaled, scaled, "sqeuclidean").max(), (scaled**2).sum(axis=1).max()
    return cdist(scaled, scaled, "cityblock").max(), np.abs(scaled).sum(axis=1).max()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("observations", DECLARED)
@pytest.mark.parametrize("clip", [0.5, 2.0])
def test_no_row_moves_a_round_further_than_stated(distribution, observations, clip):
    plan = plan_for(distribution, clip, observations)
    unit = 2.0**plan.residual_bits
    weights = 1.0 / np.array([unit, unit, *unit * 2.0**plan.exponent * np.array([1.0, 0.5, 1.0])])
    rows, reached = extreme_rows(observations), np.zeros(4)
    for theta in [*THETAS, *WILD]:
        found = contributions(rows, plan, theta, False)
        # Distances within a subset are a lower bound of those of all rows, and fast.
        found = np.unique(found, axis=0)
        reached = np.maximum(reached, [*norms(found, weights, False), *norms(found, weights, True)])
    stated = [
        float(bound(plan.residuals, MomentWeights(2, 1, 1), relation))
        for bound in (l1_gradient, squared_l2_gradient)
        for relation in ("replace-one", "add-remove")
    ]
    assert (reached <= np.array(stated) * (1 + 1e-12)).all()
    assert reached[1] >= 0.8 * stated[1]
