# SPDX-License-Identifier: BSD-3-Clause
"""Sums by label and of residuals times standardised rows: exact, within their norms, and free of order."""

from dataclasses import replace
from math import ulp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax

from skprivate.rounds._plans.logits import LabelMomentsPlan, LogitsPlan, StandardRows
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import PreparedRows

D = 3
GRID = MomentGrid(lower=np.full(D, -2.0), upper=np.full(D, 2.0), target=(-1.0, 1.0), exponent=20)
BALL = replace(GRID, x_norm=2.0, norm_order=2)


def make_rows(n, n_labels=2, seed=0):
    rng = np.random.default_rng(seed)
    return PreparedRows(rng.normal(size=(n, D)), labels=rng.integers(0, n_labels, n).astype(np.int32))


def make_plan(n_logits=1, order=2, coarse=(8, 10), theta=None, radius=1.7, grid=GRID):
    rng = np.random.default_rng(1)
    rows = StandardRows(rng.normal(0, 0.1, D), rng.uniform(0.3, 0.8, D), radius, order, 14)
    theta = rng.normal(size=(n_logits, D + 1)) if theta is None else np.asarray(theta, dtype=float)
    return LogitsPlan(grid, rows, theta, 16, coarse if len(theta) == 1 else None)


def plain(plan, rows):
    """Return gradient and curvature in NumPy, without a grid, in units of 1."""
    Z = (np.clip(rows.X / 2, -1, 1) - plan.rows.center) / plan.rows.scale
    Z = np.column_stack([np.ones(len(Z)), Z])
    weight = np.minimum(1, plan.rows.radius / np.linalg.norm(Z, axis=1, ord=plan.rows.norm_order))
    logits, K = Z @ plan.theta.T, plan.n_labels
    if K == 2:
        p = expit(logits)
        residuals, curvature = (rows.labels == 1)[:, None] - p, (p * (1 - p))[:, 0]
    else:
        residuals, curvature = np.eye(K)[rows.labels] - softmax(logits, axis=1), np.zeros(len(Z))
    return (residuals * weight[:, None] ** 2).T @ Z, (Z * (curvature * weight**2)[:, None]).T @ Z


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n_logits", [1, 3, 10])
def test_sums_are_those_of_a_plain_computation(n_logits, order):
    plan, n = make_plan(n_logits, order), 5000
    rows = make_rows(n, plan.n_labels)
    gradient, matrix = plan.split(plan.sums(rows))
    expected, curvature = plain(plan, rows)
    radius = plan.rows.radius
    np.testing.assert_allclose(gradient * radius / 2.0**30, expected, atol=n * 2.0**-12)
    if matrix is not None:
        np.testing.assert_allclose(matrix * radius**2 / 2.0**26, curvature, atol=n * 2.0**-6)
    else:
        assert n_logits > 1


@pytest.mark.parametrize("n_logits", [1, 4])
def test_sums_do_not_depend_on_blocks_or_order(n_logits):
    plan = make_plan(n_logits)
    rows = make_rows(9000, plan.n_labels)
    order = np.random.default_rng(2).permutation(9000)
    parts = [PreparedRows(rows.X[i], labels=rows.labels[i]) for i in np.split(order, [1, 17, 4200])]
    np.testing.assert_array_equal(sum(plan.sums(part) for part in parts), plan.sums(rows))
    moments = LabelMomentsPlan(replace(GRID, exponent=9), plan.n_labels)
    np.testing.assert_array_equal(sum(moments.sums(part) for part in parts), moments.sums(rows))


HOSTILE = st.sampled_from([0.0, -1.0, 1.0, 1e-300, 40.0, -1e9, 1e300, np.inf, -np.inf, np.nan, ulp(1.0)])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    x=st.lists(st.floats(-3, 3), min_size=D, max_size=D),
    theta=st.lists(HOSTILE, min_size=4 * 3, max_size=4 * 3),
    scale=st.lists(st.sampled_from([1e-320, 1e-9, 0.3, 7.0, 1e300]), min_size=D, max_size=D),
    radius=st.sampled_from([1e-9, 0.7, 1.0, 3.0, 1e9]),
    label=st.integers(0, 2),
    several=st.booleans(),
    order=st.sampled_from([1, 2]),
)
def test_a_row_keeps_to_its_norms_whatever_the_parameters(x, theta, scale, radius, label, several, order):
    theta = np.array(theta).reshape(3, 4)[: 3 if several else 1]
    plan = make_plan(theta=theta, order=order, radius=radius)
    plan = replace(plan, rows=replace(plan.rows, scale=np.array(scale)))
    label = label if several else label % 2
    one = PreparedRows(np.array([x]), labels=np.array([label], dtype=np.int32))
    gradient, matrix = plan.split(plan.sums(one))
    unit = 2**30
    sizes = [abs(int(value)) for value in gradient.ravel()]
    if order == 2:
        assert sum(size**2 for size in sizes) <= (2 if several else 1) * unit**2
    else:
        assert sum(sizes) <= (2 if several else 1) * unit
    if matrix is not None:
        entries = [abs(int(value)) for value in matrix.ravel()]
        most = 2**26 // 4
        assert (sum(v**2 for v in entries) <= most**2) if order == 2 else (sum(entries) <= most)


def test_a_row_reaches_its_norm():
    # The features of a corner, and a probability that is all wrong.
    plan = make_plan(theta=[[1e4, 0, 0, 0]], radius=0.5)
    one = PreparedRows(np.full((1, D), 9.0), labels=np.zeros(1, dtype=np.int32))
    size = float(np.linalg.norm(plan.split(plan.sums(one))[0].astype(float)))
    # The residual has the weight of a row that is longer than the radius.
    assert size < 0.3 * 2**30
    whole = make_plan(theta=[[1e4, 0, 0, 0]], radius=3.0)
    center = PreparedRows(np.zeros((1, D)), labels=np.zeros(1, dtype=np.int32))
    exact = replace(whole, rows=replace(whole.rows, center=np.zeros(D), radius=1.0))
    gradient, _ = exact.split(exact.sums(center))
    assert abs(gradient[0, 0]) == 2**30
