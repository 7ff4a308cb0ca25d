# SPDX-License-Identifier: BSD-3-Clause
"""Names of persons of any type: a name that is missing moves no row of another person."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate.utils._arguments import number_units

DAYS = [dt.datetime(2020, 1, 1) + dt.timedelta(days=code) for code in range(60)]
LARGE = [2**53 + 2 * code + 1 for code in range(60)]
UNSIGNED = [2**63 + name for name in LARGE]
NAMED = {
    "list": (list, LARGE),
    "Int64": (lambda names: pd.Series(names, dtype="Int64"), LARGE),
    "array of Int64": (lambda names: pd.array(names, dtype="Int64"), LARGE),
    "UInt64": (lambda names: pd.Series(names, dtype="UInt64"), UNSIGNED),
    "categories": (pd.Categorical, LARGE),
    "pandas text": (lambda names: pd.Series(names, dtype="string"), [f"a{name}" for name in LARGE]),
    "pandas dates": (lambda names: pd.Series(names, dtype="datetime64[ns]"), DAYS),
    "pandas dates of a zone": (lambda names: pd.Series(names).dt.tz_localize("UTC"), DAYS),
    "pandas arrow": (lambda names: pd.Series(names, dtype="int64[pyarrow]"), LARGE),
    "polars": (pl.Series, LARGE),
    "polars unsigned": (lambda names: pl.Series(names, dtype=pl.UInt64), UNSIGNED),
    "polars text": (pl.Series, [f"a{code}" + code % 3 * "\0" for code in range(60)]),
    "polars dates of a zone": (lambda names: pl.Series(names, dtype=pl.Datetime("us", "UTC")), DAYS),
    "arrow chunks": (lambda names: pa.chunked_array([names[:30], names[30:]]), LARGE),
    "arrow unsigned": (lambda names: pa.array(names, pa.uint64()), UNSIGNED),
    "arrow dates of a zone": (lambda names: pa.array(names, pa.timestamp("us", "UTC")), DAYS),
    "arrow durations": (lambda names: pa.array(names, pa.duration("ns")), [day - DAYS[0] for day in DAYS]),
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_name_that_is_missing_moves_no_row_of_another_person(kind):
    make, names = NAMED[kind]
    names = [name for name in names for _ in range(3)]
    everyone = np.ones(len(names), dtype=bool)
    whole = number_units(make(names), everyone, strict=True)
    lacking = number_units(make([*names[:-1], None]), everyone, strict=True)
    assert (whole.n_units, lacking.n_units) == (60, 61)
    kept = [set(units.choose_rows(1, b"12345678").tolist()) for units in (whole, lacking)]
    others = set(range(len(names) - 3))
    assert kept[0] & others == kept[1] & others


def test_a_name_that_is_no_text_fails_nowhere():
    for name in ("\ud800", b"\xff", 1e300, (1, 2), 2**70):
        assert number_units(["a", name], np.ones(2, dtype=bool), strict=True).n_units == 2


def test_durations_name_persons():
    names = pd.to_timedelta([1, 1, 2], unit="D")
    assert number_units(names, np.ones(3, dtype=bool)).n_units == 2
    assert number_units(list(names.to_numpy()), np.ones(3, dtype=bool), strict=True).n_units == 2
