# SPDX-License-Identifier: BSD-3-Clause
"""Schedules over rounds, in every form."""

import numpy as np
import pytest

from skprivate.games._plan import check_schedule, hyperbolic_schedule, power_schedule


@pytest.mark.parametrize("value", [(1.0, 0.5, 2.0), [1.0, 1.5, 3.0, 5.5, 9.0], lambda k: 1 + 0.5 * k**2])
def test_forms_of_growing_noise_agree(value):
    found = check_schedule(value, "noise_scale", 4, power_schedule, positive=False)
    assert found.tolist() == [1.0, 1.5, 3.0, 5.5]


def test_a_number_is_constant_and_three_numbers_fall():
    assert check_schedule(2, "step_size", 3, hyperbolic_schedule, positive=True).tolist() == [2.0, 2.0, 2.0]
    assert check_schedule((1, 2, 1), "step_size", 3, hyperbolic_schedule, positive=True).tolist() == [
        1 / 2,
        1 / 3,
        1 / 4,
    ]


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        ([1.0, 2.0], ValueError, "each of 4 rounds"),
        (0.0, ValueError, "above 0"),
        (-1.0, ValueError, "above 0"),
        ((1.0, 0.0, 1.0), ValueError, "finite"),
        (lambda k: np.nan, ValueError, "finite"),
        (np.ones((4, 2)), TypeError, "function of the round"),
        (["a", "b"], TypeError, "function of the round"),
        ((1.0, 2.0), ValueError, "each of 4 rounds"),
    ],
)
def test_bad_schedules_are_refused(value, error, match):
    with pytest.raises(error, match=match):
        check_schedule(value, "step_size", 4, hyperbolic_schedule, positive=True)
