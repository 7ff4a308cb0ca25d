# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of observation: forms of targets, declarations, bounds, and strict mode."""

import itertools

import numpy as np
import pytest

from skprivate.rounds._rows import (
    CODES,
    KINDS,
    read_target,
    replace_target,
    within_target_bounds,
)

INF = np.inf
BOUNDS = (1.0, 100.0)
LOW, HIGH = np.log(BOUNDS)
DECLARED = [
    kinds for size in range(1, 6) for kinds in itertools.combinations(KINDS, size) if kinds != ("entry",)
]


def ends(*rows):
    """Rows of (lower, upper), with an entry or without."""
    names = ("lower", "upper", "entry")[: len(rows[0])]
    return np.array([tuple(row) for row in rows], dtype=[(name, float) for name in names])


def texts(target):
    """Rows of a target as (kind, start, time, entry), in the units of the table."""
    names = {code: kind for kind, code in CODES.items()}
    n = len(target.event)
    start = [-INF] * n if target.start is None else target.start
    entry = [-INF] * n if target.entry is None else target.entry
    return [
        (
            names[code],
            *(round(float(np.exp(value)), 9) for value in (s if names[code] == "interval" else -INF, t, v)),
        )
        for code, s, t, v in zip(target.event, start, target.time_on_model_scale, entry, strict=True)
    ]


def placed(y, kinds, *, strict=False):
    target = replace_target(y, BOUNDS, True, kinds) if strict else read_target(y, True, kinds)
    return texts(within_target_bounds(target, kinds, (LOW, HIGH)))


ALL = ("exact", "right", "left", "interval", "entry")


@pytest.mark.parametrize(
    ("row", "kinds", "want"),
    [
        # Events beyond the bounds.
        ((200, 200), ALL, ("right", 0, 100, 0)),
        ((200, 200), ("exact", "left"), ("exact", 0, 100, 0)),
        ((0.5, 0.5), ALL, ("left", 0, 1, 0)),
        ((0.5, 0.5), ("exact", "interval"), ("exact", 0, 1, 0)),
        # Intervals that pass a bound.
        ((50, 200), ALL, ("right", 0, 50, 0)),
        ((50, 200), ("exact", "interval"), ("interval", 50, 100, 0)),
        ((0.5, 50), ALL, ("left", 0, 50, 0)),
        ((0.5, 50), ("right", "interval"), ("interval", 1, 50, 0)),
        ((0.5, 200), ALL, ("right", 0, 1, 0)),
        # Intervals beyond a bound.
        ((150, 200), ALL, ("right", 0, 100, 0)),
        ((150, 200), ("exact", "interval"), ("exact", 0, 100, 0)),
        ((150, 200), ("left", "interval"), ("interval", 1, 100, 0)),
        ((0.1, 0.5), ALL, ("left", 0, 1, 0)),
        ((0.1, 0.5), ("exact", "interval"), ("exact", 0, 1, 0)),
        ((0.1, 0.5), ("right", "interval"), ("right", 0, 1, 0)),
        ((0.1, 0.5), ("interval",), ("interval", 1, 100, 0)),
        # Censored beyond a bound.
        ((200, INF), ALL, ("right", 0, 100, 0)),
        ((0.5, INF), ALL, ("right", 0, 1, 0)),
        ((0, INF), ALL, ("right", 0, 1, 0)),
        ((0, INF), ("exact", "right"), ("right", 0, 1, 0)),
        ((0, 200), ALL, ("left", 0, 100, 0)),
        ((0, 0.5), ALL, ("left", 0, 1, 0)),
        # Ends whose logarithms are equal.
        ((60, np.nextafter(60, 99)), ALL, ("exact", 0, 60, 0)),
        ((60, np.nextafter(60, 99)), ("interval",), ("interval", 60, 60, 0)),
        # Entries.
        ((50, 50, 0.5), ALL, ("exact", 0, 50, 0)),
        ((50, 50, 20), ALL, ("exact", 0, 50, 20)),
        ((200, 200, 120), ALL, ("right", 0, 1, 0)),
        ((200, 200, 120), ("exact", "interval", "entry"), ("interval", 1, 100, 0)),
        ((200, 200, 120), ("exact", "left", "entry"), ("left", 0, 100, 0)),
        ((200, 200, 120), ("exact", "entry"), ("exact", 0, 100, 0)),
        ((200, 200, 20), ALL, ("right", 0, 100, 20)),
        ((20, 200, 20), ALL, ("right", 0, 1, 0)),
        ((0, 50, 20), ALL, ("interval", 20, 50, 20)),
        ((0, 200, 20), ("interval", "entry"), ("interval", 20, 100, 20)),
        ((0.5, 0.5, 0.2), ALL, ("left", 0, 1, 0)),
    ],
)
def test_rows_beyond_the_bounds(row, kinds, want):
    assert placed(ends(row), kinds) == [want]
    assert placed(ends(row), kinds, strict=True) == [want]


@pytest.mark.parametrize(
    ("row", "kinds", "want"),
    [
        # Undeclared kinds.
        ((0, 50), ("exact", "right", "interval"), ("interval", 1, 50, 0)),
        ((0, 50), ("exact", "right"), ("right", 0, 1, 0)),
        ((0, 50), ("exact",), ("exact", 0, 50, 0)),
        ((50, INF), ("exact", "interval"), ("interval", 50, 100, 0)),
        ((50, INF), ("exact", "left"), ("left", 0, 100, 0)),
        ((50, INF), ("exact",), ("exact", 0, 50, 0)),
        ((20, 50), ("exact", "right", "left"), ("right", 0, 20, 0)),
        ((20, 50), ("exact", "left"), ("left", 0, 50, 0)),
        ((20, 50), ("exact",), ("exact", 0, 50, 0)),
        ((20, 50, 10), ("left", "entry"), ("left", 0, 50, 0)),
        ((50, 50), ("right", "interval"), ("interval", 1, 50, 0)),
        ((50, 50), ("right", "left"), ("right", 0, 50, 0)),
        ((50, 50), ("left",), ("left", 0, 50, 0)),
        # Cells that say nothing, or nonsense.
        ((50, 20), ALL, ("interval", 20, 50, 0)),
        ((np.nan, 50), ALL, ("left", 0, 50, 0)),
        ((50, np.nan), ALL, ("right", 0, 50, 0)),
        ((np.nan, np.nan), ALL, ("right", 0, 1, 0)),
        ((np.nan, np.nan), ("exact", "interval"), ("interval", 1, 100, 0)),
        ((np.nan, np.nan), ("exact",), ("exact", 0, 1, 0)),
        ((-7, 50), ALL, ("left", 0, 50, 0)),
        ((-7, -3), ALL, ("left", 0, 1, 0)),
        ((INF, INF), ALL, ("right", 0, 100, 0)),
        ((20, 50, 60), ALL, ("interval", 20, 50, 0)),
        ((20, 20, np.nan), ALL, ("exact", 0, 20, 0)),
        ((20, 20, INF), ALL, ("exact", 0, 20, 0)),
    ],
)
def test_strict_mode_replaces(row, kinds, want):
    assert placed(ends(row), kinds, strict=True) == [want]


def test_strict_mode_replaces_events_and_times():
    y = np.empty(6, dtype=[("event", object), ("time", object)])
    y["event"] = [True, False, "yes", True, True, None]
    y["time"] = [50, 50.0, "50", "?", INF, -3]
    both = ("exact", "right")
    want = [("exact", 0, 50, 0), ("right", 0, 50, 0), ("right", 0, 1, 0), ("right", 0, 1, 0)]
    assert placed(y, ("exact", "right", "left"), strict=True)[:4] == want
    target = within_target_bounds(replace_target(y, BOUNDS, True, both), both, (LOW, HIGH))
    assert target.event.tolist() == [1, 0, 0, 0, 0, 0]
    assert [row[0] for row in placed(y, ("exact",), strict=True)] == ["exact"] * 6
    assert [row[2] for row in placed(y, ("exact",), strict=True)] == [50, 50, 1, 1, 100, 1]


CELLS = np.array([-INF, -2.0, 0.0, 0.3, 1.0, 7.0, 7.0, 30.0, 100.0, 300.0, INF, np.nan])


def some_rows(n, seed):
    rng = np.random.default_rng(seed)
    return ends(*rng.choice(CELLS, size=(n, 3)))


@pytest.mark.parametrize("kinds", DECLARED, ids="-".join)
def test_nothing_but_declared_kinds_within_the_bounds(kinds):
    y = some_rows(3000, 1)
    y = y if "entry" in kinds else y[["lower", "upper"]]
    target = within_target_bounds(replace_target(y, BOUNDS, True, kinds), kinds, (LOW, HIGH))
    assert set(target.event) <= {CODES[kind] for kind in kinds if kind != "entry"}
    time = np.clip(target.time_on_model_scale, LOW, HIGH)
    assert np.isfinite(target.time_on_model_scale).all()
    if target.start is not None:
        interval = target.event == CODES["interval"]
        assert (target.start[interval] >= LOW).all()
        assert (target.start[interval] < time[interval]).all()
    if target.entry is not None:
        assert (target.entry < time).all()
        assert np.isneginf(target.entry[target.event == CODES["left"]]).all()
        assert ((target.entry > LOW) | np.isneginf(target.entry)).all()
    # A row by itself decides.
    for place in range(0, len(y), 37):
        one = y[place : place + 1]
        alone = within_target_bounds(replace_target(one, BOUNDS, True, kinds), kinds, (LOW, HIGH))
        for whole, part in zip(vars(target).values(), vars(alone).values(), strict=True):
            assert (whole is None) == (part is None)
            assert whole is None or whole[place] == part[0]


@pytest.mark.parametrize("kinds", DECLARED, ids="-".join)
def test_rows_without_fault_are_read_alike_in_both_modes(kinds):
    found = 0
    for row in some_rows(600, 2):
        one = np.array([row])
        one = one if "entry" in kinds else one[["lower", "upper"]]
        try:
            read = read_target(one, True, kinds)
        except ValueError:
            continue
        found += 1
        pair = (read, replace_target(one, BOUNDS, True, kinds))
        first, second = (texts(within_target_bounds(each, kinds, (LOW, HIGH))) for each in pair)
        assert first == second
    assert found > 5
