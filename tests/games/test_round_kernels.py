# SPDX-License-Identifier: BSD-3-Clause
"""The inner loops of a round: what is sent never tells more than the sensitivity allows."""

import numpy as np
import pytest

from skprivate.games._round_kernels import clip_rows, fill_broadcast

STEPS = 2.0**40


def sent(values, noise):
    out = np.empty(len(values))
    in_range = fill_broadcast(np.array(values, dtype=float), STEPS, np.array(noise, dtype=np.int64), out)
    return out * STEPS, in_range


def test_values_are_rounded_toward_zero_and_noise_is_added():
    values, in_range = sent([1.5 / STEPS, -1.5 / STEPS, 3.0], [10, 10, 0])
    assert values.tolist() == [11.0, 9.0, 3.0 * STEPS]
    assert in_range


def test_values_beyond_the_range_are_sent_from_its_end():
    # A test of the values would end a run or not by what is private.
    values, in_range = sent([2.0**30, -np.inf], [0, 0])
    assert values.tolist() == [2.0**60, -(2.0**60)]
    assert not in_range


@pytest.mark.parametrize("value", [2.0**18, 2.0**25, np.inf])
def test_whether_a_run_goes_on_depends_on_what_is_sent_alone(value):
    inside = -int(min(value * STEPS, 2.0**60))
    assert sent([value], [inside])[1]
    assert not sent([value], [2**61])[1]
    assert not sent([0.0], [2**61])[1]


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, np.inf], [1e308, 1e308]])
def test_no_gradient_leaves_the_clipping_bound(row):
    rows = np.array([row, [3.0, -1.0], [0.5, 0.5]])
    clip_rows(rows, 2.0)
    assert rows[0].tolist() == [0.0, 0.0]
    assert np.allclose(rows[1], [1.5, -0.5])
    assert np.abs(rows[1]).sum() <= 2.0
    assert rows[2].tolist() == [0.5, 0.5]
