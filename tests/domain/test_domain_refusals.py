# SPDX-License-Identifier: BSD-3-Clause
"""Columns that are not what is declared: refused by their type, and cells with the remedy in the message."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate import DPBoostingClassifier, PrivacyLedger, TableDomain, config_context, private_describe
from skprivate.domain import CategoricalColumn, DateColumn

DATES = ("2001-01-01", "2020-12-31")
NUMBERS = {
    "NumPy": np.array([1, 2, 1]),
    "NumPy floats": np.array([1.0, np.nan, 2.0]),
    "booleans": np.array([True, False, True]),
    "pandas": pd.Series([1, 2, 1]),
    "nullable": pd.Series([1, None, 2], dtype="Int64"),
    "categories": pd.Series([1, 2, 1]).astype("category"),
    "polars": pl.Series([1, 2, 1]),
    "Arrow": pa.chunked_array([[1, 2], [1]]),
    "Arrow's booleans": pa.array([True, False, True]),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        (["male", "female"], "'male', 'female' are text that no number.*codes, such as (.1, 2.|bool)"),
        (CategoricalColumn(["low", "high"], ordered=True), "Declare its codes"),
        (DATES, "dates are declared. Turn it into dates, or into text as declared .ISO 8601"),
        (DateColumn(*DATES, format="%d.%m.%Y"), "%d.%m.%Y"),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_numbers_by_type_are_refused_where_no_number_fits(kind, column, remedy, strict):
    with pytest.raises(TypeError, match=f"column 'x': its type is one of numbers.*{remedy}"):
        TableDomain({"x": column}).encode({"x": NUMBERS[kind]}, strict=strict)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (["2007", "2008"], np.array([2007, 2008])),
        (["a", "12"], pd.Series([12.0, np.nan])),
        ([0, 1], np.array([0.0, 1.0])),
        ([1, 2], pd.Series([1, None, 2], dtype="Int64")),
        (["a", "b"], pd.Series([None, "b"])),
        (["a", "b"], pd.Series([None, None], dtype=object)),
        (["a", "b"], pd.Series([np.nan, np.nan]).astype("str")),
        (["a", "b"], pa.nulls(2)),
        (["a", "b"], pl.Series([None, None])),
        (["a", "b"], [None, np.nan]),
        (["a", "b"], [1.0, 2.0]),  # a list has no type: cell by cell
        (DATES, [None, np.nan]),
        (DATES, pd.Series([pd.NaT, pd.NaT])),
        ((0, 100), pd.Series(["12", "13.5"])),
        (bool, np.array([0, 1])),
        (bool, pd.Series(["yes", "No"])),
    ],
)
def test_types_that_may_hold_values_are_read(column, cells):
    for rule in ("fill", "error"):
        TableDomain({"x": column}, missing=rule).encode({"x": cells}, strict=True)


@pytest.mark.parametrize(
    ("column", "cell", "remedy"),
    [
        (["Fair", "Good"], "fair", "none of the declared levels 'Fair', 'Good'.*spelling"),
        (["a", "b", "c", "d"], "zz", "levels 'a', 'b', 'c', ..., and"),
        ([0, 3000], 17, r"\[0, 3000\] declares two levels, and \(0, 3000\) all numbers"),
        ([1, 2, 3], 17, "none of the declared levels 1, 2, 3,"),
        ((0, 1), "Yes", "list of levels"),
        ((0, 30000), "18,823", "thousands="),
        (DATES, "2012/01/01", "format="),
        (bool, "ja", "list of levels"),
    ],
)
def test_a_cell_that_is_no_value_has_a_remedy(column, cell, remedy):
    with pytest.raises(ValueError, match=remedy) as refused:
        TableDomain({"x": column}).encode({"x": [cell]}, strict=False)
    assert str(cell) not in str(refused.value)


@pytest.mark.parametrize("strict", [False, True])
def test_a_refused_type_costs_nothing(strict, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=9)
    domain, rows = TableDomain({"sex": ["m", "f"]}), pd.DataFrame({"sex": [1, 2] * 50})
    with config_context(strict=strict), pytest.raises(TypeError, match="column 'sex': its type"):
        DPBoostingClassifier(domain=domain, classes=[0, 1], ledger=ledger).fit(rows, [0, 1] * 50)
    with config_context(strict=strict), pytest.raises(TypeError, match="column 'sex': its type"):
        private_describe(rows, domain, 1.0, ledger=ledger)
    assert not ledger.entries()
