# SPDX-License-Identifier: BSD-3-Clause
"""Rows of every kind of observation move a round by no more than the stated sensitivity, and reach it."""

import functools
import itertools
import json
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
from skprivate.linear_model._censored.histograms import histogram_cells, histogram_sensitivity
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.linear_model._moments.released_moments import MomentWeights, Neighbours
from skprivate.rounds._plans.cells import CellsPlan
from skprivate.rounds._plans.moments import GradientsPlan, MomentGrid
from skprivate.rounds._rows import KINDS, PreparedRows
from tests.marks import slow

DISTRIBUTIONS = [SEV, LOGISTIC, NORMAL]
DECLARED = [
    ("exact", "right", "left"),
    ("exact", "right", "interval"),
    ("exact", "right", "entry"),
    KINDS,
]
ALL_CASES = list(itertools.product(DECLARED, (0.5, 2.0)))
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


@functools.cache
def prepared(x, end, code, start=-np.inf, entry=-np.inf):
    """A table of one row."""
    return PreparedRows(
        np.array([[x]]),
        y=np.array([end]),
        event=np.array([code], dtype=np.uint8),
        start=np.array([start]),
        entry=np.array([entry]),
    )


def contributions(rows, plan, theta, with_curvature=True):
    """What tables of one row put into a round, in the units of the row."""
    sums = plan.sums(GRID, np.array(theta), with_curvature)
    found = []
    for row in rows:
        found.append(sums.sums(prepared(*row)))
        sums.check_sums(found[-1], 1)
    return np.array(found, dtype=float)


def norms(found, weights, squared):
    """Largest distance of two rows, and of a row from nothing."""
    scaled = found * weights
    if squared:
        return cdist(scaled, scaled, "sqeuclidean").max(), (scaled**2).sum(axis=1).max()
    return cdist(scaled, scaled, "cityblock").max(), np.abs(scaled).sum(axis=1).max()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("observations", "clip"), [(KINDS, 0.5), *(slow(*case) for case in ALL_CASES if case != (KINDS, 0.5))]
)
def test_no_row_moves_a_round_further_than_stated(distribution, observations, clip):
    plan = plan_for(distribution, clip, observations)
    unit = 2.0**plan.residual_bits
    counts = [unit] * plan.n_counts
    weights = 1.0 / np.array([*counts, *unit * 2.0**plan.exponent * np.array([1.0, 0.5, 1.0])])
    rows, reached = extreme_rows(observations), np.zeros(4)
    # An entry just before the end of rows, at nearly the same hazard.
    last = plan.residuals.cuts[1] if np.isfinite(plan.residuals.cuts[1]) else 9.0
    for theta in [*THETAS, *WILD, (last - 0.011, 0.01, 0.0)]:
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
    # Rows with an entry would need hazards from 0 to the clip within bounds that one theta gives them.
    assert (reached / stated).max() >= (0.89 if "entry" in observations else 0.98)


def curvatures(rows, plan, theta):
    """Curvatures of one row each, of shape (n, 3, 3)."""
    found = np.unique(contributions(rows, plan, theta), axis=0)
    matrices = found[:, plan.n_counts + 3 :].reshape(-1, 3, 3)
    unit = 2.0 ** (2 * plan.coarse + plan.curvature_bits)
    return matrices / unit


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("observations", "clip"),
    [(KINDS, 0.5), (KINDS[:2], 2.0), *(slow(*case) for case in ALL_CASES if case != (KINDS, 0.5))],
)
def test_no_row_moves_a_curvature_further_than_stated(distribution, observations, clip):
    """Of every row the curvature is in the hull of 0 and all K v v': in the cube, nowhere below 0."""
    plan = plan_for(distribution, clip, observations)
    largest = float(plan.residuals.curvature)
    stated = {
        (squared, relation): float(bound(plan.residuals, CURVATURE_WEIGHTS, relation))
        for squared, bound in ((False, l1_curvature), (True, squared_l2_curvature))
        for relation in ("replace-one", "add-remove")
    }
    assert plan.curvature_weights == CURVATURE_WEIGHTS
    rows = extreme_rows(observations)[:: 1 if observations != KINDS else 3]
    reached = 0.0
    for theta in [*THETAS, *WILD, (0.0, 1e-9, 0.0), (0.3, 1e300, 1.0), (np.nan, 1.0, 1.0)]:
        found = curvatures(rows, plan, theta)
        # In the hull: nonnegative definite, the constant's square up to K, no entry above it.
        assert np.linalg.eigvalsh(found).min() >= -1e-12 * largest
        assert found[:, 0, 0].max() <= largest
        assert (np.abs(found) <= found[:, :1, :1] * (1 + 1e-12)).all()
        assert (np.abs(np.trace(found, axis1=1, axis2=2)) <= 3 * found[:, 0, 0] * (1 + 1e-12)).all()
        scale = np.array([1.0, 2.0, 2.0])
        flat = (found * np.outer(scale, scale)).reshape(-1, 9)
        l1, alone = norms(flat, 1.0, False)
        l2, alone_2 = norms(flat, 1.0, True)
        # Coefficients: each product once, squares by half.
        assert l1 / 2 <= stated[False, "replace-one"] * (1 + 1e-12)
        assert alone / 2 <= stated[False, "add-remove"] * (1 + 1e-12)
        assert l2 <= stated[True, "replace-one"] * (1 + 1e-12)
        assert alone_2 <= stated[True, "add-remove"] * (1 + 1e-12)
        reached = max(reached, alone / 2 / stated[False, "add-remove"])
    # Where intervals or earlier events are declared, the curvature is the second derivative alone: of SEV
    # errors at most C, of K = (C + 1) / 2.
    assert reached >= (0.8 if plan.sums(GRID, np.zeros(3), True).residuals.in_halves else 0.15)


CURVATURE_WEIGHTS = MomentWeights(2, 2, 1)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("observations", [KINDS[:2], KINDS])
@pytest.mark.parametrize("limits", [0.0, 7.0, 2.0**10])
@pytest.mark.parametrize("cuts", [(-1e308, 1e308), (1e308, -1e308), (5.0, -5.0), (0.0, 0.0)])
def test_plans_with_limits_of_no_law_keep_to_them(distribution, observations, limits, cuts):
    """Read from elsewhere: whatever the sums of the rows are, they are below what `check_room` allows."""
    content = plan_for(distribution, 1.0, observations).sums(GRID, np.array([0.1, 2.0, 0.5]), True).to_dict()
    content["limits"] = [limits] * len(content["limits"])
    content["cuts"] = list(cuts)
    for theta in ([0.1, 2.0, 0.5], [1e308, -1e308, 1e308], [0.0, 0.0, 0.0]):
        sums = GradientsPlan.from_dict({**content, "theta": theta})
        sums.check_room(1000)
        rows = extreme_rows(observations)[::5]
        for row in rows:
            sums.check_sums(sums.sums(prepared(*row)), 1)
    for place in range(len(content["limits"])):
        large = [*content["limits"]]
        large[place] = 2.0**50
        with pytest.raises(OverflowError, match="too fine"):
            GradientsPlan.from_dict({**content, "limits": large}).check_room(1)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_one_row_moves_the_integers_within_the_noise(distribution, mechanism, relation):
    plan = plan_for(distribution, 1.0, KINDS, mechanism, relation)
    rows = np.random.default_rng(0).permutation(extreme_rows(KINDS))[:500]
    triangle = np.triu_indices(3)
    for theta in [THETAS[4], THETAS[8], WILD[2]]:
        found = contributions(rows, plan, theta)
        matrix = found[:, 5:].reshape(-1, 3, 3)
        assert matrix[:, 0, 0].min() >= 0
        assert matrix[:, 0, 0].max() <= float(plan.residuals.curvature) * 2.0 ** (
            2 * plan.coarse + plan.curvature_bits
        )
        released = np.column_stack([found[:, :5], matrix[:, triangle[0], triangle[1]]])
        scaled = released / plan.noise(3, Fraction(1, 10), True).scales
        loss = norms(scaled, 1.0, mechanism == "gaussian")[0 if relation == "replace-one" else 1]
        assert loss <= (0.2 if mechanism == "gaussian" else 0.1)
        assert loss >= 0.01 or theta is WILD[2]


def test_one_row_moves_the_histogram_of_kinds_by_its_sensitivity():
    cells = histogram_cells(GRID, 4)
    counts = [
        cells.sums(prepared(0.0, end, code, start))
        for end in (-9.0, 0.1, 9.0)
        for code in range(4)
        for start in (-np.inf, -0.7)
    ]
    assert cdist(counts, counts, "cityblock").max() == histogram_sensitivity("replace-one")
    assert max(np.abs(count).sum() for count in counts) == histogram_sensitivity("add-remove")
    # In order of the tables; an interval by its middle, (-0.7 + 0.1) / 2.
    assert [int(np.argmax(count)) // 64 for count in counts[8:16]] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.argmax(counts[15]) == 3 * 64 + int((1 - 0.3) * 32)
    row = PreparedRows(np.zeros((1, 1)), y=np.array([0.1]), event=np.array([3], dtype=np.uint8))
    assert np.argmax(histogram_cells(GRID).sums(row)) == 64 + 35


def test_plans_of_kinds_survive_json():
    sums = plan_for(NORMAL, 1.0, KINDS).sums(GRID, np.array([0.1, 2.0, 0.5]), True)
    again = GradientsPlan.from_dict(json.loads(json.dumps(sums.to_dict())))
    assert again.to_dict() == sums.to_dict()
    assert again.residuals.observations == KINDS
    rows = prepared(0.0, 0.4, 3, 0.1)
    np.testing.assert_array_equal(again.sums(rows), sums.sums(rows))
    cells = histogram_cells(GRID, 4)
    assert CellsPlan.from_dict(cells.to_dict()).n_sums == cells.n_sums == 4 * 64 + 1
