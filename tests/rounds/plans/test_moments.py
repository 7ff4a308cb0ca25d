# SPDX-License-Identifier: BSD-3-Clause
"""Exact moments: the kernels against NumPy, and nothing but the set of rows matters."""

import subprocess
import sys
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.rounds._plans import moments
from skprivate.rounds._plans.moment_kernels import pack_ball
from skprivate.rounds._plans.moments import WIDEST, MomentGrid, check_room, exact_gram, make_packer

HUGE = np.finfo(np.float64).max
TINY = np.finfo(np.float64).smallest_subnormal
EXTREMES = st.sampled_from([0.0, -0.0, TINY, -TINY, 1e-300, 1.0, -1.0, 4.0, -4.0, 1e6, 1e300, HUGE, -HUGE])
VALUES = st.one_of(st.floats(-10, 10), EXTREMES, st.floats(allow_nan=False, allow_infinity=False))


BALLS = [{}, {"x_norm": 4.0, "norm_order": 1}, {"x_norm": 4.0, "norm_order": 2}]


def make_grid(d, exponent=20, **kwargs):
    lower, upper = np.linspace(-4.0, -3.0, d), np.linspace(4.0, 5.5, d)
    return MomentGrid(lower=lower, upper=upper, target=(-3.0, 4.0), exponent=exponent, **kwargs)


def make_rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return 2.5 * rng.normal(size=(n, d)), 3 * rng.normal(size=n)


def packed(grid, X, y):
    out = np.full((len(X), grid.size), np.nan)
    assert make_packer(grid)(np.asarray(X), np.asarray(y, dtype=np.float64), out)
    return out


def reference_rows(grid, X, y):
    """Packed rows of the cube, in plain NumPy."""
    bound = 2.0**grid.exponent
    with np.errstate(over="ignore"):
        features = (X.astype(np.float64) - grid.center) * (bound / grid.half)
        target = (y - grid.y_center) * (bound / grid.y_half)
    values = np.column_stack([features, target, np.full(len(X), bound)])
    return np.trunc(np.clip(values, -bound, bound))


def reference_gram(rows):
    q = np.column_stack([rows[:, -1], rows[:, -2], rows[:, :-2]]).astype(np.int64)
    return q.T @ q


# The kernels


@settings(deadline=None)
@given(data=st.data(), d=st.integers(1, 6), exponent=st.integers(0, 20))
def test_the_cube_equals_numpy_at_the_extremes(data, d, exponent):
    n = data.draw(st.integers(1, 4))
    X = np.array(data.draw(st.lists(VALUES, min_size=n * d, max_size=n * d))).reshape(n, d)
    y = np.array(data.draw(st.lists(VALUES, min_size=n, max_size=n)))
    grid = make_grid(d, exponent)
    rows = packed(grid, X, y)
    np.testing.assert_array_equal(rows, reference_rows(grid, X, y))
    assert not np.signbit(rows[rows == 0]).any()


@settings(deadline=None, max_examples=300)
@given(data=st.data(), d=st.integers(1, 9), exponent=st.integers(0, 20), order=st.sampled_from([1, 2]))
def test_integers_never_leave_the_ball(data, d, exponent, order):
    n = data.draw(st.integers(1, 3))
    X = np.array(data.draw(st.lists(VALUES, min_size=n * d, max_size=n * d))).reshape(n, d)
    grid = make_grid(d, exponent, x_norm=data.draw(st.sampled_from([4.0, 1e-3, 1e9])), norm_order=order)
    rows = packed(grid, X, np.zeros(n))[:, :d]
    for row in rows.tolist():
        assert all(value.is_integer() for value in row)
        assert sum(abs(int(value)) ** order for value in row) <= 2 ** (exponent * order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 9, 13])
def test_the_ball_keeps_directions_and_what_lies_inside(d, order):
    exponent, radius = 20, 3.0
    grid = make_grid(d, exponent, x_norm=radius, norm_order=order)
    X, y = make_rows(50, d)
    X[::2] *= 0.05
    scaled = (X - grid.center) / radius
    norms = np.linalg.norm(scaled, ord=order, axis=1)
    expected = 2**exponent * scaled / np.maximum(norms, 1.0)[:, None]
    rows = packed(grid, X, y)
    # Rounding toward zero takes less than 1, and the safety of the integer norm at most 1 more.
    assert np.all(np.abs(rows[:, :d] - expected) < 2.001)
    assert np.all(np.abs(rows[:, :d]) <= np.abs(expected) + 1e-6)
    np.testing.assert_array_equal(rows[:, d:], reference_rows(make_grid(d, exponent), X, y)[:, d:])


@pytest.mark.parametrize(("long", "short"), [(0, 1), (2, 0), (3, 2), (1, 3), (0, 4)])
def test_a_row_that_floating_point_leaves_outside_is_shortened(long, short):
    """The root of 1 + 2^-52 is 1 in floating point, so this row is not shrunk: 1 too long in integers."""
    d, bound = 5, 2.0**26
    X, y = np.zeros((6, d)), np.zeros(6)
    X[:, long], X[:, short] = 1.0, 2.0**-26
    X[1::2] *= -1
    assert (bound**2 * X[0] ** 2).sum() == bound**2 + 1
    out, work, center = np.empty((6, d + 2)), np.zeros(d + 3), np.zeros(d + 3)
    scale = np.concatenate([np.ones(d), np.zeros(3)])
    assert pack_ball(X, y, center, scale, 0.0, 1.0, bound, True, work, out)
    # The last row takes the path without lanes.
    expected = np.zeros((6, d))
    expected[:, long] = bound - 1
    expected[1::2] *= -1
    np.testing.assert_array_equal(out[:, :d], expected)


@pytest.mark.parametrize("kwargs", BALLS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 7, 9])
def test_lanes_stay_inside_the_table(d, kwargs):
    grid = make_grid(d, **kwargs)
    for n in range(1, 7):
        X, y = make_rows(n + 4, d)
        X[n:] = np.nan
        out = np.full((n + 4, d + 2), 7.0)
        assert make_packer(grid)(X[:n], y[:n], out[:n])
        assert (out[n:] == 7.0).all()
        np.testing.assert_array_equal(out[:n, d], reference_rows(make_grid(d), X[:n], y[:n])[:, d])


GUARDED = """
import ctypes, mmap
import numpy as np
from skprivate.rounds._plans.moments import exact_gram
from skprivate.rounds._plans.moments import MomentGrid

pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
for dtype in (np.float64, np.float32):
    values = np.frombuffer(pages, dtype=dtype, count=mmap.PAGESIZE // np.dtype(dtype).itemsize)
    for d in range(1, 10):
        for options in ({}, {"x_norm": 1.0, "norm_order": 1}, {"x_norm": 1.0, "norm_order": 2}):
            grid = MomentGrid(lower=-np.ones(d), upper=np.ones(d), target=(-1.0, 1.0), exponent=9, **options)
            for n in range(1, 9):
                exact_gram(grid, values[len(values) - n * d :].reshape(n, d), np.zeros(n))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="protects a page by a call of Linux's")
@pytest.mark.slow
def test_nothing_is_read_beyond_the_table():
    """The table ends where a page ends, and the next one may not be read."""
    assert subprocess.run([sys.executable, "-c", GUARDED]).returncode == 0


@pytest.mark.parametrize("kwargs", BALLS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_without_its_value(bad, dtype, kwargs):
    for n, d in ((1, 1), (7, 3), (3000, 5)):
        X, y = make_rows(n, d)
        X = X.astype(dtype)
        for i in {0, n // 2, n - 1}:
            for j in range(d):
                broken = X.copy()
                broken[i, j] = bad
                with pytest.raises(ValueError, match="must be finite: NaN and inf") as caught:
                    exact_gram(make_grid(d, **kwargs), broken, y)
                assert str(i) not in str(caught.value)
            with pytest.raises(ValueError, match="must be finite"):
                exact_gram(make_grid(d, **kwargs), X, np.where(np.arange(n) == i, bad, y))


# Sums


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("d", [1, 3, 5, 10, 14, 30, 60, WIDEST - 2, WIDEST - 1])
def test_the_gram_equals_numpy(d, vectors, monkeypatch):
    """With kernels of our own, and where the compiler has no vectors or rows are wide, with those of BLAS."""
    monkeypatch.setattr(moments, "has_vectors", lambda: vectors)
    X, y = make_rows(1000, d)
    grid = make_grid(d)
    expected = reference_gram(reference_rows(grid, X, y))
    found = exact_gram(grid, X, y)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    assert found[0, 0] == 1000 * 4**20
    np.testing.assert_array_equal(exact_gram(grid, X, y, np.full(1000, 3.0), 3), 3 * expected)


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 6), n=st.integers(0, 60), rows=st.integers(1, 70))
def test_order_and_blocks_do_not_matter(seed, d, n, rows):
    rng = np.random.default_rng(seed)
    X, y = make_rows(n, d, seed)
    steps = rng.integers(0, 5, size=n).astype(np.float64)
    for kwargs in ({}, {"x_norm": 5.0, "norm_order": 1}, {"x_norm": 5.0, "norm_order": 2}):
        grid = make_grid(d, **kwargs)
        order = rng.permutation(n)
        whole = exact_gram(grid, X, y)
        np.testing.assert_array_equal(exact_gram(grid, X[order], y[order], block_rows=rows), whole)
        np.testing.assert_array_equal(exact_gram(grid, np.asfortranarray(X), y[::1]), whole)
        weighted = exact_gram(grid, X, y, steps, 4)
        again = exact_gram(grid, X[order], y[order], steps[order], 4, block_rows=rows)
        np.testing.assert_array_equal(again, weighted)
        times = steps.astype(int)
        repeated = exact_gram(grid, np.repeat(X, times, axis=0), np.repeat(y, times))
        np.testing.assert_array_equal(repeated, weighted)


@pytest.mark.parametrize("weight", [None, 3])
@pytest.mark.parametrize("d", [3, WIDEST])
def test_sums_are_exact_beyond_what_float64_holds(d, weight):
    """An odd number of odd integers next to the corner: blocks as large as may be, an odd sum above 2^53."""
    grid, n = make_grid(d, 20 if weight is None else 19), 20_001
    near = 1 - 0.5 / 2**grid.exponent
    X, y = np.tile(grid.center + near * grid.half, (n, 1)), np.full(n, grid.y_center + near * grid.y_half)
    rows = packed(grid, X[:1], y[:1])
    assert (rows[0, :-1] == 2**grid.exponent - 1).all()
    expected = n * (weight or 1) * reference_gram(rows)
    assert expected[1, 1] > 2**53
    steps = None if weight is None else np.full(n, float(weight))
    for block_rows in (None, 1000, n):
        gram = exact_gram(grid, X, y, steps, weight or 1, block_rows=block_rows)
        np.testing.assert_array_equal(gram, expected)


def test_float32_and_other_numbers_are_what_they_stand_for():
    X, y = make_rows(100, 4)
    grid = make_grid(4)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(exact_gram(grid, single, y), exact_gram(grid, single.astype(float), y))
    whole = np.round(X).astype(np.int16)
    np.testing.assert_array_equal(exact_gram(grid, whole, y), exact_gram(grid, whole.astype(float), y))
    swapped = X.astype(X.dtype.newbyteorder())
    np.testing.assert_array_equal(exact_gram(grid, swapped, y), exact_gram(grid, X, y))


def test_room_is_decided_before_a_row_is_looked_at():
    grid = make_grid(2)
    X = np.broadcast_to(np.nan, (2**21 + 1, 2))
    y = np.broadcast_to(np.nan, 2**21 + 1)
    with mock.patch.object(moments, "make_packer") as make_packer:
        with pytest.raises(OverflowError, match="too many rows"):
            exact_gram(grid, X, y)
        make_packer.assert_not_called()
    check_room(2**21, 20)
    check_room(2**61, 0)
    with pytest.raises(OverflowError, match="too many rows"):
        check_room(2**61 + 1, 0)
    with pytest.raises(OverflowError, match="too many rows"):
        check_room(2**20, 20, 3)
    check_room(1, 20, 2**13)
    with pytest.raises(OverflowError, match="too fine"):
        check_room(1, 20, 2**13 + 1)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((3, 2)), np.zeros(2)),
        (np.zeros((3, 1)), np.zeros(3)),
        (np.zeros(3), np.zeros(3)),
        (np.zeros((3, 2)), np.zeros((3, 1))),
        (np.zeros((3, 2), dtype=complex), np.zeros(3)),
        (np.full((3, 2), "1"), np.zeros(3)),
    ],
)
def test_wrong_shapes_and_types(X, y):
    with pytest.raises(ValueError, match=r"must (have|hold)"):
        exact_gram(make_grid(2), X, y)


def test_half_widths_near_the_least_float():
    grid = MomentGrid(lower=np.array([0.0]), upper=np.array([4 * TINY]), target=(0.0, 1.0), exponent=20)
    gram = exact_gram(grid, np.array([[0.0], [2 * TINY], [1.0]]), np.zeros(3))
    assert np.abs(gram).max() <= 3 * 4**20
    assert Fraction(int(gram[0, 0]), 4**20) == 3
