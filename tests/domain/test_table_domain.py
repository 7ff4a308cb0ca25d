# SPDX-License-Identifier: BSD-3-Clause
"""Domains as values, in JSON and in pickles, and what they read and decode."""

import copy
import pickle
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from skprivate.domain import (
    BooleanColumn,
    CategoricalColumn,
    DateColumn,
    NumberColumn,
    StressColumn,
    TableDomain,
)
from skprivate.preprocessing import BoundsScaler
from tests.domain.typed_columns import EVERY_KIND

DOMAIN = TableDomain(
    {
        "age": NumberColumn(0, 120, missing="indicator", fill=40),
        "job": CategoricalColumn(["clerk", "smith"], fill="clerk"),
        "grade": CategoricalColumn([1, 2.5, 3], ordered=True, missing_values=[-1, "none"]),
        "truth": [False, True],
        "married": BooleanColumn(missing="fill", fill=False),
        "since": DateColumn("2001-01-01", "2020-12-31T12:00", fill="2010-01-01"),
        "share": NumberColumn(0, 1, decimal=",", thousands=".", unit="%"),
        "until": DateColumn("2001-01-01", "2020-12-31", format="%d/%m/%Y"),
    },
    missing_values=["?"],
)


def test_numbers_may_be_written_as_whole_ones():
    text = DOMAIN.to_json().replace('"upper":120.0', '"upper":120')
    assert TableDomain.from_json(text) == DOMAIN


def test_a_domain_is_a_value():
    same = TableDomain(dict(DOMAIN.columns))
    assert same == DOMAIN
    assert hash(same) == hash(DOMAIN)
    assert TableDomain({"x": (0, 1)}) != TableDomain({"y": (0, 1)})
    assert TableDomain({"x": [0, 1]}) != TableDomain({"x": [False, True]})
    assert DOMAIN.to_dict() != DOMAIN
    assert pickle.loads(pickle.dumps(DOMAIN)) == DOMAIN
    assert copy.deepcopy(DOMAIN) is DOMAIN
    assert clone(BoundsScaler(DOMAIN)).bounds is DOMAIN
    with pytest.raises(AttributeError, match="read-only"):
        DOMAIN.names = ()
    with pytest.raises(TypeError):
        DOMAIN.columns["age"] = NumberColumn(0, 1)


def test_repr_is_short_whatever_is_declared():
    many = TableDomain({f"x{i}": [str(level) for level in range(100)] for i in range(50)})
    assert len(repr(many)) < 200
    shown = repr(DOMAIN)
    assert shown.startswith(
        "TableDomain(age: 0 to 120, job: 2 levels, grade: 3 ordered levels, truth: 2 levels"
    )
    assert "married: true or false, since: 2001-01-01 to" in shown
    assert repr(StressColumn(1, 10, "inverse-power", missing="error")) == (
        "StressColumn(1.0, 10.0, 'inverse-power', missing='error')"
    )


CELLS = {
    "number": st.none() | st.floats(-5, 5),
    "text": st.sampled_from(["a", "b", "12", None]),
    "numeric": st.sampled_from([1, 2.5, None]),
    "ordered": st.sampled_from(["low", "mid", "high", None]),
    "truth": st.sampled_from([False, True, None]),
    "flag": st.sampled_from([False, True, None]),
    "date": st.none() | st.datetimes(datetime(2001, 1, 1), datetime(2020, 12, 31)),
    "stress": st.none() | st.floats(1, 9),
    "comma": st.sampled_from(["0,25", None]),
    "day first": st.sampled_from(["31/12/2003", None]),
}


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=8))
def test_decoding_loses_nothing_where_missing_has_a_column(rows):
    domain = TableDomain(EVERY_KIND, missing="indicator")
    decoded = domain.decode(domain.encode(rows))
    for name, found in decoded.items():
        given = [row[name] for row in rows]
        if name == "comma":
            given = [cell and 0.25 for cell in given]
        elif name == "day first":
            given = [cell and datetime(2003, 12, 31) for cell in given]
        if found.dtype == np.float64:
            np.testing.assert_allclose(found, np.array(given, dtype=float), rtol=1e-12 * (name == "stress"))
        else:
            assert found.tolist() == given


def test_decoding_takes_any_numbers():
    domain = TableDomain(EVERY_KIND, missing="indicator")
    for value in (np.nan, np.inf, -np.inf, 1e300, -1e300, 0.3):
        domain.decode(np.full((2, len(domain.encoded_names)), value))
    with pytest.raises(ValueError, match="must have"):
        domain.decode(np.zeros((2, 3)))
