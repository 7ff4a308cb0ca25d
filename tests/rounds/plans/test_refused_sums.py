# SPDX-License-Identifier: BSD-3-Clause
"""Sums that no rows have: the least int64, whose magnitude NumPy takes for negative."""

import numpy as np
import pytest

from skprivate.rounds._plans.cells import CellsPlan, SurvivalAxis
from skprivate.rounds._plans.moments import GradientsPlan, LooksPlan, MomentGrid, ResidualGrid

GRID = MomentGrid(lower=np.zeros(1), upper=np.ones(1), target=(0.0, 1.0), exponent=10)
LEAST = np.iinfo(np.int64).min
RESIDUALS = ResidualGrid(1, (-1e300, 1e300), 10, 10, (1024.0, 1024.0, 512.0, 0.0))
PLANS = {
    "looks": LooksPlan(GRID, np.zeros(2), 1.0, 10),
    "gradients": GradientsPlan(GRID, RESIDUALS, np.zeros(3), None),
    "curvature": GradientsPlan(GRID, RESIDUALS, np.zeros(3), 4),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_least_integer_is_refused_everywhere(name):
    plan = PLANS[name]
    plan.check_sums(np.zeros(plan.n_sums, dtype=np.int64), 5)
    for place in range(plan.n_sums):
        sums = np.zeros(plan.n_sums, dtype=np.int64)
        sums[place] = LEAST
        with pytest.raises(ValueError, match="so many rows"):
            plan.check_sums(sums, 5)


@pytest.mark.parametrize("counts", [[5, -1, 1], [5, 1, 0], [3, 1, 0], [LEAST, 0, 5]])
def test_counts_of_other_rows_are_refused(counts):
    plan = CellsPlan(((SurvivalAxis(0.0, 1.0, 8, 2),),))
    sums = np.zeros(plan.n_sums, dtype=np.int64)
    sums[0] = 5
    plan.check_sums(sums, 5)
    sums[:3] = counts
    with pytest.raises(ValueError, match="so many rows"):
        plan.check_sums(sums, 5)
