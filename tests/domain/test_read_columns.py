# SPDX-License-Identifier: BSD-3-Clause
"""Columns as they are read: what is missing and what is no value, and no cell is an error."""

import numpy as np
import pandas as pd
import pytest

from skprivate.domain import TableDomain

DOMAIN = TableDomain({"size": (0, 10), "kind": ["a", "b"], "on": bool, "day": ("2001-01-01", "2002-01-01")})
ROWS = {
    "size": ["3", None, "many", float("inf")],
    "kind": [" b", None, "c", "a"],
    "on": ["yes", None, 2, 0],
    "day": ["2001-01-03", None, "soon", "1999-12-31"],
}
VALUES = {
    "size": [3, np.nan, np.nan, np.inf],
    "kind": [1, np.nan, np.nan, 0],
    "on": [1, np.nan, np.nan, 0],
    "day": [2, np.nan, np.nan, -367],
}


@pytest.mark.parametrize("table", [ROWS, pd.DataFrame(ROWS)], ids=["dict", "pandas"])
def test_missing_cells_and_those_that_are_no_value_are_told_apart(table):
    found = DOMAIN.read_columns(table)
    assert list(found) == list(DOMAIN.names)
    for name, (values, unusable) in found.items():
        assert np.array_equal(values, VALUES[name], equal_nan=True), name
        assert unusable.tolist() == [False, False, True, name == "size"], name


def test_only_what_is_asked_for_is_read():
    table = {**ROWS, "day": np.zeros(4, dtype=complex)}
    assert list(DOMAIN.read_columns(table, ["kind", "size"])) == ["kind", "size"]
    with pytest.raises(TypeError, match="'day'"):
        DOMAIN.read_columns(table)


def test_the_columns_must_be_those_of_the_domain():
    with pytest.raises(ValueError, match="lacks 'day'"):
        DOMAIN.read_columns({name: cells for name, cells in ROWS.items() if name != "day"}, ["kind"])
