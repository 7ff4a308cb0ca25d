# SPDX-License-Identifier: BSD-3-Clause
"""Sums by label and of residuals times standardised rows: exact, within their norms, and free of order."""

from dataclasses import replace
from math import ulp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from skprivate.rounds._driver import RowsInMemory
from skprivate.rounds._plans.logit_kernels import TILE
from skprivate.rounds._plans.logits import LogitsPlan, StandardRows
from skprivate.rounds._plans.moments import BLOCK_ROWS, MomentGrid
from skprivate.rounds._rows import PreparedRows

D = 3
GRID = MomentGrid(lower=np.full(D, -2.0), upper=np.full(D, 2.0), target=(-1.0, 1.0), exponent=20)


def make_plan(n_logits=1, order=2, coarse=(8, 10), theta=None, radius=1.7, grid=GRID):
    rng = np.random.default_rng(1)
    rows = StandardRows(rng.normal(0, 0.1, D), rng.uniform(0.3, 0.8, D), radius, order, 14)
    theta = rng.normal(size=(n_logits, D + 1)) if theta is None else np.asarray(theta, dtype=float)
    return LogitsPlan(grid, rows, theta, 16, coarse if len(theta) == 1 else None)


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


@pytest.mark.parametrize("n_logits", [1, 3])
def test_sums_are_those_of_rows_alone_and_of_probabilities_elsewhere(n_logits):
    """Tiles are filled up, and rows in memory keep them for other parameters of the same standards."""
    rng, n = np.random.default_rng(2), BLOCK_ROWS + 2 * TILE + 3
    X, labels = rng.normal(size=(n, D)), rng.integers(0, max(n_logits, 2), n)
    first, source = make_plan(n_logits, radius=12.0), RowsInMemory(PreparedRows(X, labels=labels))
    source.sums(0, first)
    for plan in (replace(first, theta=2 * first.theta), make_plan(n_logits, order=1, radius=12.0)):
        sums = source.sums(1, plan)
        alone = [plan.sums(PreparedRows(X[i : i + 1], labels=labels[i : i + 1])) for i in range(0, n, 40)]
        assert np.array_equal(sum(alone), plan.sums(PreparedRows(X[::40], labels=labels[::40])))
        z = np.c_[np.ones(n), (np.clip(X, -2, 2) / 2 - plan.rows.center) / plan.rows.scale]
        logits = z @ plan.theta.T if n_logits > 1 else np.c_[np.zeros(n), z @ plan.theta[0]]
        shares = softmax(logits, axis=1)
        residuals = (np.eye(max(n_logits, 2))[labels] - shares)[:, -n_logits:]
        exact = [residuals.T @ z / plan.rows.radius * 2.0**30]
        exact.append((z * shares[:, :1] * shares[:, 1:2]).T @ z / plan.rows.radius**2 * 2.0**26)
        # No row is longer than the radius. Integers are rounded toward zero, those of the curvature coarsely.
        for found, real, share in zip(plan.split(sums), exact, (0.001, 0.05), strict=True):
            assert found is None or np.abs(found - real).max() < share * np.abs(real).max()
