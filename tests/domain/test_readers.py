# SPDX-License-Identifier: BSD-3-Clause
"""Rows as numbers: what each kind of cell becomes, strict mode, and that a row depends on nothing else."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skprivate
from skprivate.domain import (
    TableDomain,
)
from tests.domain.typed_columns import EVERY_KIND

DATES = ("2001-01-01", "2020-12-31")


def read(column, cells, strict=False, **table):
    return TableDomain({"x": column}, **table).encode({"x": cells}, strict=strict)


def test_numbers_in_every_form_and_beyond_bounds():
    cells = [1, 2.5, "3", " -4.5 ", Decimal("0.1"), Fraction(1, 4), True, b"7", "1e3", np.float32(0.5)]
    expected = [1, 2.5, 3, -4.5, 0.1, 0.25, 1, 7, 1000, 0.5]
    np.testing.assert_array_equal(read((0, 5), cells)[:, 0], expected)


def test_levels_of_text_match_text_and_numbers_that_are_written_so():
    cells = ["a", " b", "12", 12, 12.0, np.int64(12), b"a"]
    np.testing.assert_array_equal(read(["a", "b", "12"], cells).argmax(axis=1), [0, 1, 2, 2, 2, 2, 0])
    for cell in ("A", "12.0", 1, True, "c"):
        assert not read(["a", "b", "12"], [cell], strict=True).any()


def test_dates_are_days_since_the_lower_bound():
    cells = [
        *("2001-01-03", date(2001, 1, 3), np.datetime64("2001-01-03"), pd.Timestamp("2001-01-03")),
        *("2001-01-01T12:00", "2000-12-31", datetime(2001, 1, 3, 2, tzinfo=timezone(timedelta(hours=2)))),
    ]
    expected = [2, 2, 2, 2, 0.5, -1, 2]
    np.testing.assert_array_equal(read(DATES, cells)[:, 0], expected)


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
