# SPDX-License-Identifier: BSD-3-Clause
"""Schedules over rounds in every form, and the grid of broadcasts: fine against the noise, or refused."""

import numpy as np
import pytest

from skprivate.games._plan import check_schedule, hyperbolic_schedule, make_grid, power_schedule


@pytest.mark.parametrize("value", [(1.0, 0.5, 2.0), [1.0, 1.5, 3.0, 5.5, 9.0], lambda k: 1 + 0.5 * k**2])
def test_forms_of_growing_noise_agree(value):
    found = check_schedule(value, "noise_scale", 4, power_schedule, positive=False)
    assert found.tolist() == [1.0, 1.5, 3.0, 5.5]


def test_a_number_is_constant_and_three_numbers_fall():
    assert check_schedule(2, "step_size", 3, hyperbolic_schedule, positive=True).tolist() == [2.0, 2.0, 2.0]
    falling = check_schedule((1, 2, 1), "step_size", 3, hyperbolic_schedule, positive=True)
    assert falling.tolist() == [1 / 2, 1 / 3, 1 / 4]


@pytest.mark.parametrize(
    ("scales", "reach", "exponent"),
    [
        ([1.0], 1.0, 40),
        ([1.0, 8.0], 1.0, 40),
        ([0.5], 1.0, 41),
        ([1.0], 2.0**20, 27),
        ([1.0, 2.0**20], 1.0, 27),
        ([3.0], 1.0, 38),
    ],
)
def test_exponent(scales, reach, exponent):
    grid = make_grid(np.array(scales), reach)
    assert grid.exponent == exponent
    assert grid.steps == 2.0**exponent
    assert 2.0**12 * max(*scales, reach) <= grid.limit < 2.0**13 * max(*scales, reach)
    assert grid.limit * grid.steps <= 2.0**59


def test_scales_are_rounded_up():
    grid = make_grid(np.array([1.0 + 2.0**-45, 2.0]), 1.0)
    assert grid.scales.tolist() == [2**39 + 1, 2**40] or grid.scales.tolist() == [2**40 + 1, 2**41]
    assert (grid.scales / grid.steps >= [1.0, 2.0]).all()
    assert np.array_equal(grid.noise_scales, grid.scales / grid.steps)


def test_a_range_that_integers_do_not_hold_is_refused():
    assert make_grid(np.array([1.0, 2.0**37]), 1.0).scales.tolist() == [2**10, 2**47]
    assert make_grid(np.array([1.0]), 2.0**37).scales.tolist() == [2**10]
    for scales, reach in (([1.0, 2.0**38], 1.0), ([1.0], 2.0**38), ([1e300], 1.0)):
        with pytest.raises(ValueError, match="orders of magnitude"):
            make_grid(np.array(scales), reach)


def test_no_grid_without_noise():
    assert make_grid(np.array([1.0, 0.0]), 1.0) is None
