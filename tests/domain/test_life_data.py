# SPDX-License-Identifier: BSD-3-Clause
"""Targets of life models from columns of tables of all kinds."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate import config_context, life_data

HOURS = [7.25, 9.5, 3.0]
FAILED = [True, False, True]


CODES = [2, 1, 2]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("event", "declared"),
    [
        (CODES, {"happened": 2}),
        (np.array(CODES), {"happened": {2}, "censored": 1}),
        (pd.Series(CODES), {"happened": 2.0}),
        (pl.Series(CODES), {"happened": [2, 7]}),
        (pa.array(CODES), {"happened": np.int64(2)}),
        (["2", " 1", "2.0"], {"happened": 2}),
        ([" dead", "alive", "dead"], {"happened": "dead "}),
        (pd.Series(["dead", "alive", "dead"], dtype="category"), {"happened": "dead", "censored": ["alive"]}),
        ([False, True, False], {"happened": False}),
    ],
)
def test_declared_codes_of_events(event, declared, strict):
    with config_context(strict=strict):
        y = life_data(time=HOURS, event=event, **declared)
    assert y["event"].tolist() == FAILED
    assert y["time"].tolist() == HOURS


# What is neither is missing in strict mode, never its opposite: no time is known of the row.
@pytest.mark.parametrize(
    ("event", "declared", "known"),
    [
        ([1, 2, 0], {}, [True, False, True]),
        ([2, 9, None], {"happened": 2}, [True, True, False]),
        ([2, 9, 1], {"happened": 2, "censored": 1}, [True, False, True]),
        ([2, "?", 1], {"happened": 2}, [True, False, True]),
        (["dead", "gone", ""], {"happened": "dead"}, [True, True, False]),
    ],
)
def test_an_undeclared_code_is_missing(event, declared, known):
    with config_context(strict=True):
        y = life_data(time=HOURS, event=event, **declared)
    assert (~np.isnan(y["time"])).tolist() == known
    assert y["event"].tolist() == [True, False, False]
    with pytest.raises(ValueError, match=r"happened|does not say"):
        life_data(time=HOURS, event=event, **declared)


def test_no_cell_fails_in_strict_mode():
    with config_context(strict=True):
        y = life_data(time=["7.25", "soon", None], event=["?", None, "yes"], entry=["soon", 1, 2])
        # A row whose event is not known says nothing: its time is not known, either.
        np.testing.assert_array_equal(y["time"], [np.nan, np.nan, np.nan])
        np.testing.assert_array_equal(y["entry"], [np.nan, 1, 2])
        assert y["event"].tolist() == [False, False, True]
        y = life_data(lower=["soon", 1], upper=[3, "late"])
        assert y.tolist() == [(0.0, 3.0), (1.0, np.inf)]
