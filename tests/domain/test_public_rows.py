# SPDX-License-Identifier: BSD-3-Clause
"""Domains of public rows: kinds, levels and bounds, and what cannot be said."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate.domain import BooleanColumn, CategoricalColumn, DateColumn, NumberColumn, TableDomain

TABLE = {
    "age": [21, 68, 33],
    "pay": ["12.5", " 7", "?"],
    "job": [" smith", "clerk ", "?"],
    "married": [True, False, None],
    "smokes": ["yes", "No", "yes"],
    "since": ["2001-05-01", "2011-01-01", "2020-02-03"],
}


def test_kinds_levels_and_bounds_come_from_the_rows():
    domain = TableDomain.from_public(TABLE, missing_values=["?"])
    unmarked = {"missing_values": ["?"]}
    assert domain.columns["age"] == NumberColumn(21, 68, missing="fill", **unmarked)
    assert domain.columns["pay"] == NumberColumn(7, 12.5, missing="fill", **unmarked)
    assert domain.columns["job"] == CategoricalColumn(["clerk", "smith"], **unmarked)
    assert domain.columns["married"] == BooleanColumn(missing="indicator", **unmarked)
    assert domain.columns["smokes"] == BooleanColumn(**unmarked)
    assert domain.columns["since"] == DateColumn("2001-05-01", "2020-02-03", **unmarked)
    lower, upper = domain.bounds
    encoded = domain.encode(TABLE)
    assert ((lower <= encoded) & (encoded <= upper)).all()


def test_frames_give_the_same_domain():
    expected = TableDomain.from_public(TABLE, missing_values=["?"])
    for frame in (pd.DataFrame(TABLE), pl.DataFrame(TABLE), pd.DataFrame(TABLE).convert_dtypes()):
        assert TableDomain.from_public(frame, missing_values=["?"]) == expected
    typed = pd.DataFrame(TABLE).assign(since=pd.to_datetime(TABLE["since"]))
    assert TableDomain.from_public(typed, missing_values=["?"]) == expected


def test_categories_keep_their_order():
    sizes = pd.Series(["l", "s"], dtype=pd.CategoricalDtype(["s", "m", "l"], ordered=True))
    domain = TableDomain.from_public(pd.DataFrame({"size": sizes}))
    assert domain.columns["size"] == CategoricalColumn(["s", "m", "l"], ordered=True, missing="error")


def test_bounds_are_rounded_outwards():
    domain = TableDomain.from_public(TABLE, missing_values=["?"], rounded=True)
    assert (domain.columns["age"].lower, domain.columns["age"].upper) == (20, 70)
    assert (domain.columns["pay"].lower, domain.columns["pay"].upper) == (7, 13)
    assert (domain.columns["since"].lower, domain.columns["since"].upper) == ("2001-01-01", "2020-12-31")


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 0.3, 7.0, 1e300])
def test_rounded_bounds_hold_the_rows(scale):
    values = np.random.default_rng(5).normal(size=50) * scale
    column = TableDomain.from_public({"x": values}, rounded=True).columns["x"]
    assert column.lower <= values.min() < values.max() <= column.upper


def test_declarations_stand_as_they_are():
    domain = TableDomain.from_public({"a": [1, 1], "b": ["x", 2]}, columns={"a": (0, 9), "b": ["x", "2"]})
    assert domain == TableDomain({"a": (0, 9), "b": ["x", "2"]})


def test_arrays_have_numbered_names():
    assert TableDomain.from_public(np.arange(4.0).reshape(2, 2)).names == ("x0", "x1")


@pytest.mark.parametrize(
    ("texts", "declared", "values"),
    [
        (["2012/01/01", "2012/03/01"], {"format": "%Y/%m/%d"}, [0, 60]),
        (["17-08-1984", "16-08-1984"], {"format": "%d-%m-%Y"}, [1, 0]),
        (["01/02/2003", "01/13/2003", ""], {"format": "%m/%d/%Y"}, [0, 11, 5.5]),
        (["31.12.03 06:00", "31.12.03 18:00"], {"format": "%d.%m.%y %H:%M"}, [0, 0.5]),
        (["1,234.5", "2,500"], {"thousands": ","}, [1234.5, 2500]),
        (["1.234,5", "0,5"], {"decimal": ",", "thousands": "."}, [1234.5, 0.5]),
        (["0,5", "12,25", None], {"decimal": ",", "thousands": "."}, [0.5, 12.25, 6.375]),
        (["5 %", "7.5%"], {"unit": "%"}, [5, 7.5]),
        (["1'234.5", "7"], {"thousands": "'"}, [1234.5, 7]),
    ],
)
def test_other_formats_are_declared(texts, declared, values):
    domain = TableDomain.from_public({"x": texts})
    column = domain.columns["x"]
    assert {name: getattr(column, name) for name in declared} == declared
    np.testing.assert_array_equal(domain.encode({"x": texts})[:, 0], values)
    assert domain == TableDomain.from_public(pa.table({"x": texts}))
    assert TableDomain.from_json(domain.to_json()).columns["x"] == column


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["03/04/2012", "05/06/2012"], "dates by '%d/%m/%Y' and by '%m/%d/%Y'"),
        (["1,234", "2,500"], r"numbers by {'decimal': ',', .* and by {'thousands': ','}"),
        (["39", "50", "?"], r"others do not: \['\?'\]. .*missing_values"),
        (["2012/01/01", "2013/01/01", "unknown"], r"others do not: \['unknown'\]"),
    ],
)
def test_levels_that_look_like_numbers_or_dates_are_told(texts, told):
    with pytest.warns(UserWarning, match=f"column 'x' was read as {len(texts)} levels: .*{told}"):
        assert TableDomain.from_public({"x": texts}).columns["x"].levels == tuple(sorted(texts))
