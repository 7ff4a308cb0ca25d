# SPDX-License-Identifier: BSD-3-Clause
"""What is public of an accumulator: weights below their cap, a grid that has room, bounds of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate import MomentAccumulator
from skprivate.linear_model._accumulator_plan import RowWeights
from skprivate.rounds._plans.moments import check_room


@settings(deadline=None)
@given(
    max_rows=st.integers(1, 2**50),
    d=st.integers(1, 2000),
    cap=st.one_of(st.none(), st.floats(1e-5, 1e6)),
    group=st.one_of(st.none(), st.integers(1, 1000)),
)
def test_every_plan_has_room(max_rows, d, cap, group):
    def plan_it():
        return MomentAccumulator(
            (np.zeros(d), np.ones(d)), (1, 2), max_rows, max_sample_weight=cap, max_rows_per_group=group
        ).plan

    largest = RowWeights.of(cap).largest if cap else 1
    if max_rows * largest > 2**61:
        with pytest.raises(ValueError, match="too many rows"):
            plan_it()
        return
    plan = plan_it()
    assert plan.largest_weight == largest
    check_room(max_rows, plan.grid.exponent, plan.largest_weight)
    # For speed: sums over 2^15 rows are exact in float64.
    assert 4**plan.grid.exponent * plan.largest_weight <= 2**38


def test_scalar_bounds_with_names_and_a_norm_without_bounds():
    accumulator = MomentAccumulator((0, 1), (1, 2), 10, feature_names=["a", "b"])
    assert accumulator.plan.grid.n_features == 2
    centred = MomentAccumulator(None, (1, 2), 10, feature_names=["a", "b"], x_norm=3.0)
    np.testing.assert_array_equal(centred.plan.grid.center, [0.0, 0.0])
