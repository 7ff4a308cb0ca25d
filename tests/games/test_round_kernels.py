# SPDX-License-Identifier: BSD-3-Clause
"""The inner loops of a round: what is sent never tells more than the sensitivity allows."""

from fractions import Fraction

import numpy as np
import pytest

from skprivate.games._round_kernels import clip_rows, fill_broadcast

STEPS = 2.0**40


LIMIT = 2.0**18


def sent(private, noise, public=0.0):
    private = np.array(private, dtype=float)[:, None]
    out = np.empty(private.shape)
    in_range = fill_broadcast(
        private, np.full((1, 1), public), STEPS, LIMIT * STEPS, np.array(noise, dtype=np.int64), out
    )
    return out[:, 0] * STEPS, in_range


def test_values_are_rounded_toward_zero_and_noise_is_added():
    values, in_range = sent([1.5 / STEPS, -1.5 / STEPS, 3.0], [10, 10, 0])
    assert values.tolist() == [11.0, 9.0, 3.0 * STEPS]
    assert in_range


def test_public_parts_are_rounded_for_themselves():
    # A sum rounded as one would part two runs by its private rounding.
    values, _ = sent([1.5 / STEPS], [0], public=1.5 / STEPS)
    assert values.tolist() == [2.0]
    private, public, out = np.zeros((3, 2)), np.arange(6.0).reshape(3, 2), np.empty((3, 2))
    assert fill_broadcast(private, public, 1.0, 2.0**20, np.zeros(6, dtype=np.int64), out)
    assert np.array_equal(out, public)
    assert fill_broadcast(private, public[1:2], 1.0, 2.0**20, np.arange(6), out)
    assert np.array_equal(out, public[1] + np.arange(6).reshape(3, 2))


def test_private_values_beyond_the_range_are_sent_from_its_end():
    # A test of the values would end a run or not by what is private.
    values, in_range = sent([2.0**30, -np.inf, np.nan], [0, 0, 0])
    assert values.tolist() == [2.0**60, -(2.0**60), 0.0]
    assert not in_range


@pytest.mark.parametrize("value", [2.0**18, 2.0**25, np.inf, np.nan])
def test_whether_a_run_goes_on_depends_on_what_is_sent_alone(value):
    inside = 0 if np.isnan(value) else -int(min(value * STEPS, 2.0**60))
    assert sent([value], [inside])[1]
    assert not sent([value], [2**61])[1]
    assert not sent([0.0], [2**61])[1]
    assert not sent([0.0], [-(2**61)])[1]


@pytest.mark.parametrize("public", [1.01 * LIMIT, -np.inf, np.nan])
def test_public_parts_out_of_range_end_a_run(public):
    assert sent([0.0], [0], public=-LIMIT)[1]
    assert not sent([0.0], [0], public=public)[1]


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, np.inf], [1e308, 1e308]])
def test_no_gradient_leaves_the_clipping_bound(row):
    rows = np.array([row, [3.0, -1.0], [0.5, 0.5]])
    clip_rows(rows, 2.0)
    assert rows[0].tolist() == [0.0, 0.0]
    assert np.allclose(rows[1], [1.5, -0.5])
    assert np.abs(rows[1]).sum() <= 2.0
    assert rows[2].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("n_dims", [1, 2, 5, 40])
def test_no_rounding_takes_a_row_beyond_the_bound(n_dims):
    """Exactly, and times a step."""
    rng = np.random.default_rng(n_dims)
    for bound, step in rng.lognormal(size=(20, 2)).tolist():
        rows = 10 * bound * rng.standard_normal((20, n_dims))
        # Half of them are hardly longer than the bound.
        rows[:10] *= bound * (1 + 1e-9) / np.abs(rows[:10]).sum(axis=1, keepdims=True)
        clip_rows(rows, bound)
        for row in rows.tolist():
            assert sum(Fraction(abs(value)) for value in row) <= Fraction(bound)
        for row in (rows * step).tolist():
            assert sum(Fraction(abs(value)) for value in row) <= Fraction(bound) * Fraction(step)
