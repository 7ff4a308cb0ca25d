# SPDX-License-Identifier: BSD-3-Clause
"""Rows as numbers: what each kind of cell becomes, strict mode, and that a row depends on nothing else."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skprivate
from skprivate.domain import (
    BooleanColumn,
    CategoricalColumn,
    DateColumn,
    NumberColumn,
    StressColumn,
    TableDomain,
)
from skprivate.domain._readers import reader_of
from tests.domain.typed_columns import EVERY_KIND

DATES = ("2001-01-01", "2020-12-31")


def read(column, cells, strict=False, **table):
    return TableDomain({"x": column}, **table).encode({"x": cells}, strict=strict)


def test_numbers_in_every_form_and_beyond_bounds():
    cells = [1, 2.5, "3", " -4.5 ", Decimal("0.1"), Fraction(1, 4), True, b"7", "1e3", np.float32(0.5)]
    expected = [1, 2.5, 3, -4.5, 0.1, 0.25, 1, 7, 1000, 0.5]
    np.testing.assert_array_equal(read((0, 5), cells)[:, 0], expected)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (
            NumberColumn(0, 9e3, decimal=",", thousands=".", unit="%", missing_values=[-9.5, "-8,5"]),
            {"0,5": 0.5, "1.234,5": 1234.5, "1.234": 1234, " 5 %": 5, "%5": 5, 1.5: 1.5, "-7,5": -7.5}
            | {"-9,5": np.nan, -9.5: np.nan, -8.5: np.nan, "-8,5": np.nan, "": np.nan}
            | dict.fromkeys(["1.5", "12.34,5", "1,234.5", "1,2,3", "5 EUR", "%", "1.234.5"]),
        ),
        (NumberColumn(0, 9e3, thousands=","), {"1,234.5": 1234.5, "12": 12} | dict.fromkeys(["1,23", "0,5"])),
        (StressColumn(1, 9, "inverse-power", decimal=","), {"2,5": 2.5, "2.5": None, "-1,5": None}),
        (
            DateColumn(*DATES, format="%d/%m/%Y", missing_values=["1900-01-01"]),
            {"31/01/2001": 30, "1/2/2001": 31, date(2001, 1, 3): 2, "01/01/1900": np.nan}
            | dict.fromkeys(["2001-01-03", "31/02/2001", "01/31/2001", "1/2/01", "31/01/2001 12:00"]),
        ),
        (
            DateColumn(*DATES, format="%y%m%d %H%M"),
            {"010102 1200": 1.5, "700101 0000": -11323},
        ),
    ],
)
def test_text_in_a_declared_format(column, values):
    """None: a cell that is no value of the column, alone and beside others."""
    known = {"junk": None, **values}
    reading = reader_of(column).read(list(known))
    np.testing.assert_array_equal(reading.values, [np.nan if one is None else one for one in known.values()])
    np.testing.assert_array_equal(reading.unusable, [one is None for one in known.values()])
    for cell, value in known.items():
        alone = reader_of(column).read([cell])
        np.testing.assert_array_equal(alone.values[0], np.nan if value is None else value)
        assert alone.unusable[0] == (value is None)


def test_minus_zero_has_one_form():
    assert not np.signbit(read((-1, 1), [-0.0, "-0"])).any()
    assert not np.signbit(read((-1, 1), np.array([-0.0]))).any()
    assert not np.signbit(read((-1, 1), ["-0", "junk"], strict=True)).any()


def test_infinity_cannot_be_used_beside_other_text_too():
    reading = reader_of(NumberColumn(0, 1)).read(["inf", "junk", "0.5", ""])
    np.testing.assert_array_equal(reading.unusable, [True, True, False, False])


def test_levels_of_text_match_text_and_numbers_that_are_written_so():
    cells = ["a", " b", "12", 12, 12.0, np.int64(12), b"a"]
    np.testing.assert_array_equal(read(["a", "b", "12"], cells).argmax(axis=1), [0, 1, 2, 2, 2, 2, 0])
    for cell in ("A", "12.0", 1, True, "c"):
        assert not read(["a", "b", "12"], [cell], strict=True).any()


def test_levels_that_are_numbers_match_by_value():
    np.testing.assert_array_equal(
        read([0, 1, 2.5], ["2.50", 1, False, "0", 2.5]).argmax(axis=1), [2, 1, 0, 0, 2]
    )


def test_booleans_in_every_form():
    cells = [True, False, 1, 0.0, "true", "FALSE", "Yes", "no", "1", "0", np.bool_(True)]
    expected = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    np.testing.assert_array_equal(read(bool, cells)[:, 0], expected)
    np.testing.assert_array_equal(read([False, True], cells)[:, 1], expected)


def test_dates_are_days_since_the_lower_bound():
    cells = [
        *("2001-01-03", date(2001, 1, 3), np.datetime64("2001-01-03"), pd.Timestamp("2001-01-03")),
        *("2001-01-01T12:00", "2000-12-31", datetime(2001, 1, 3, 2, tzinfo=timezone(timedelta(hours=2)))),
    ]
    expected = [2, 2, 2, 2, 0.5, -1, 2]
    np.testing.assert_array_equal(read(DATES, cells)[:, 0], expected)


def test_dates_of_arrays_in_every_unit():
    for unit in ("Y", "M", "D", "h", "s", "ms", "us", "ns"):
        encoded = read(DATES, np.array(["2003-01-01"], dtype=f"M8[{unit}]"))
        assert encoded[0, 0] == 730
    far = np.array(["-200000-01-01", "200000-01-01"], dtype="M8[D]")
    encoded = read(DATES, far)[:, 0]
    np.testing.assert_array_equal(encoded, read(DATES, ["0001-01-01", "9999-12-31"])[:, 0])


@pytest.mark.parametrize(
    ("column", "fill", "indicator"),
    [
        (NumberColumn(0, 3), [1.5], [1.5, 1]),
        (NumberColumn(0, 3, fill=2, missing="indicator"), None, [2, 1]),
        (CategoricalColumn(["a", "b"]), [0, 0], [0, 0, 1]),
        (CategoricalColumn(["a", "b"], fill="b", missing="fill"), [0, 1], None),
        (CategoricalColumn(["a", "b", "c"], ordered=True), [1], [1, 1]),
        (BooleanColumn(), [0.5], [0.5, 1]),
        (BooleanColumn(fill=True), [1], None),
        (DateColumn("2001-01-01", "2001-01-03"), [1], [1, 1]),
        (DateColumn("2001-01-01", "2001-01-03", fill="2001-01-03"), [2], None),
    ],
)
def test_what_a_missing_cell_becomes(column, fill, indicator):
    for rule, expected in (("fill", fill), ("indicator", indicator)):
        if expected is not None:
            for cell in (None, np.nan, "", "  ", " ? ", pd.NA, pd.NaT, np.datetime64("NaT", "s")):
                encoded = read(column, [cell], missing=rule, missing_values=["?"])
                np.testing.assert_array_equal(encoded, [expected])


def test_values_that_stand_for_a_missing_one_in_every_form():
    for marker in (-999, "-999", -999.0):
        for cell in (-999, "-999", -999.0, np.int8(-99) * np.int64(10) - 9):
            for column in ((-5, 5), ["a", "b"], [1, 2], bool, ("2001-01-01", "2002-01-01")):
                encoded = read(column, [cell], missing="indicator", missing_values=[marker])
                assert encoded[0, -1] == 1
    dates = ["9999-12-31", "9999-12-31T00:00", date(9999, 12, 31), np.datetime64("9999-12-31")]
    encoded = read(("2001-01-01", "2002-01-01"), dates, missing="indicator", missing_values=["9999-12-31"])
    assert encoded[:, -1].all()


def test_strict_mode_follows_the_configuration():
    domain = TableDomain({"x": (0, 4)})
    with skprivate.config_context(strict=True):
        np.testing.assert_array_equal(domain.encode({"x": ["?", np.inf, -np.inf, 9]}), [[2], [4], [0], [9]])
    with pytest.raises(ValueError, match="no finite number"):
        domain.encode({"x": ["?"]})


class Strange:
    """An object that raises whatever is asked of it."""

    def __eq__(self, other):
        raise RuntimeError("strange")

    def __float__(self):
        raise RuntimeError("strange")

    __hash__ = None


class StrangeNumber(float):
    """A number that cannot be read."""

    def __float__(self):
        raise RuntimeError("strange")


class StrangeText(str):
    """Text that cannot be read."""

    def __str__(self):
        raise RuntimeError("strange")


TEXTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        ["a", " a", "b ", "12", "1", "2.5", "true", "No", "?", "-999", "nan", "inf", "1_0", "low"]
    ),
    st.dates().map(str),
    st.floats().map(str),
)
CELLS = st.one_of(
    TEXTS,
    TEXTS.map(np.str_),
    st.binary(max_size=4),
    st.floats(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), -0.0, 0, False, True, 1, 12, 2.5, -999]),
    st.none(),
    st.decimals(),
    st.sampled_from([Decimal("sNaN"), Fraction(1, 3), 1j, np.bool_(True), np.float32(2.5), np.int8(1)]),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5))])),
    st.sampled_from([pd.NA, pd.NaT, pd.Period("2001-01"), time(1), timedelta(1), np.timedelta64(1, "D")]),
    st.sampled_from([np.datetime64("NaT", "s"), np.datetime64("2002-02-02"), np.datetime64(10**15, "D")]),
    st.builds(list),
    st.builds(dict),
    st.builds(object),
    st.builds(Strange),
    st.builds(StrangeNumber),
    st.builds(StrangeText),
    st.just(np.array([1, 2])),
)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries({name: CELLS for name in EVERY_KIND}), min_size=1, max_size=6))
def test_in_strict_mode_no_cell_fails_and_a_row_depends_on_itself_alone(rows):
    domain = TableDomain(EVERY_KIND, missing_values=["?"])
    together = domain.encode(rows, strict=True)
    assert np.isfinite(together).all()
    alone = np.concatenate([domain.encode([row], strict=True) for row in rows])
    assert together.tobytes() == alone.tobytes()
    columns = {name: np.array([None] * len(rows), dtype=object) for name in EVERY_KIND}
    for name, column in columns.items():
        for place, row in enumerate(rows):
            column[place] = row[name]
    assert domain.encode(pd.DataFrame(columns, dtype=object), strict=True).tobytes() == together.tobytes()


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (["2007", "2008"], np.array([2007, 2008])),
        (["a", "12"], pd.Series([12.0, np.nan])),
        ([1, 2], pd.Series([1, None, 2], dtype="Int64")),
        (["a", "b"], pd.Series([None, None], dtype=object)),
        (["a", "b"], pd.Series([np.nan, np.nan]).astype("str")),
        (["a", "b"], pa.nulls(2)),
        (["a", "b"], pl.Series([None, None])),
        (["a", "b"], [1.0, 2.0]),  # a list has no type: cell by cell
        (DATES, [None, np.nan]),
        (DATES, pd.Series([pd.NaT, pd.NaT])),
        ((0, 100), pd.Series(["12", "13.5"])),
        (bool, np.array([0, 1])),
    ],
)
@pytest.mark.parametrize("rule", ["fill", "error"])
def test_types_that_may_hold_values_are_read(column, cells, rule):
    read(column, cells, strict=True, missing=rule)
