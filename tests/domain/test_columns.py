# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of columns: short forms, rules of missing cells, and mistakes that are named."""

import copy
import pickle
from datetime import date, datetime

import numpy as np
import pytest
from sklearn.base import clone

from skprivate.domain import BooleanColumn, CategoricalColumn, DateColumn, NumberColumn, TableDomain
from skprivate.preprocessing import BoundsScaler

DOMAIN = TableDomain(
    {
        "age": (17, 90),
        "job": ["clerk", "smith"],
        "married": bool,
        "since": ("2001-01-01", "2020-12-31"),
        "size": CategoricalColumn(["small", "middle", "large"], ordered=True),
        "pay": NumberColumn(0, 1000, missing="indicator", fill=10),
    },
    missing_values=["?"],
)


def test_short_forms_stand_for_columns():
    columns = TableDomain(
        {
            "a": (1, 2.5),
            "b": (date(2001, 1, 1), np.datetime64("2002-01-01T12")),
            "c": ["x", "y"],
            "d": range(3),
            "e": np.array([1.0, 2.0]),
            "f": bool,
            "g": [False, True],
        }
    ).columns
    assert list(columns) == list("abcdefg")
    assert columns["a"] == NumberColumn(1.0, 2.5, missing="error")
    assert columns["b"] == DateColumn("2001-01-01", "2002-01-01T12:00:00", missing="error")
    assert columns["d"] == CategoricalColumn([0, 1, 2], missing="error")
    assert columns["e"].levels == (1, 2)
    assert columns["f"] == BooleanColumn(missing="error")
    assert columns["g"].levels == (False, True)


def test_encoded_names_and_bounds_follow_the_columns():
    assert DOMAIN.names == ("age", "job", "married", "since", "size", "pay")
    assert DOMAIN.encoded_names == (
        *("age", "job=clerk", "job=smith", "job:missing", "married", "married:missing", "since"),
        *("size", "size:missing", "pay", "pay:missing"),
    )
    lower, upper = DOMAIN.bounds
    np.testing.assert_array_equal(lower, [17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(upper, [90, 1, 1, 1, 1, 1, 7304, 2, 1, 1000, 1])
    with pytest.raises(ValueError, match="read-only"):
        lower[0] = 0


@pytest.mark.parametrize(
    ("column", "table", "rule"),
    [
        (NumberColumn(0, 1), {}, "error"),
        (NumberColumn(0, 1), {"missing_values": ["?"]}, "fill"),
        (CategoricalColumn(["a"]), {"missing_values": ["?"]}, "indicator"),
        (BooleanColumn(missing_values=[-9]), {}, "indicator"),
        (NumberColumn(0, 1), {"missing": "indicator"}, "indicator"),
        (NumberColumn(0, 1, missing="fill"), {"missing": "indicator"}, "fill"),
        (NumberColumn(0, 1, fill=0.25), {}, "fill"),
        (CategoricalColumn(["a"], fill="a"), {"missing_values": ["?"]}, "fill"),
        (DateColumn("2001-01-01", "2001-01-02"), {"missing_values": [None]}, "fill"),
    ],
)
def test_rule_of_missing_cells(column, table, rule):
    assert TableDomain({"x": column}, **table).columns["x"].missing == rule


@pytest.mark.parametrize(
    ("columns", "table", "error", "message"),
    [
        ({"x": (2, 1)}, {}, ValueError, "column 'x': lower must be below upper"),
        ({"x": (1, 1)}, {}, ValueError, "lower must be below upper"),
        ({"x": (0, np.inf)}, {}, ValueError, "upper must be finite"),
        ({"x": (0, 10**400)}, {}, ValueError, "upper must be finite"),
        ({"x": (False, True)}, {}, TypeError, "two numbers or two dates"),
        ({"x": ("a", "b")}, {}, ValueError, r"levels are a list: \['a', 'b'\]"),
        ({"x": ("2001-01-01", "b")}, {}, ValueError, "upper must be a date"),
        ({"x": ("a", "b", "c")}, {}, ValueError, "levels are a list"),
        ({"x": ("2020-01-01", "2001-01-01")}, {}, ValueError, "lower must be below upper"),
        ({"x": []}, {}, ValueError, "there are no levels"),
        ({"x": ["a", " a "]}, {}, ValueError, "a level is given twice"),
        ({"x": [1, 1.0]}, {}, ValueError, "a level is given twice"),
        ({"x": ["a", 1]}, {}, TypeError, "all text, all numbers or all booleans"),
        ({"x": [0, True]}, {}, TypeError, "all text, all numbers or all booleans"),
        ({"x": [0, np.nan]}, {}, ValueError, "must be finite"),
        ({"x": ["a", " "]}, {}, ValueError, "empty text"),
        ({"x": ["\ud800"]}, {}, ValueError, "surrogates"),
        ({"x": {"a", "b"}}, {}, TypeError, "a declaration must be"),
        ({"x": int}, {}, TypeError, "a declaration must be"),
        ({"x": "text"}, {}, TypeError, "a declaration must be"),
        ({"x": ["a", "?"]}, {"missing_values": ["?"]}, ValueError, "also a level"),
        ({"x": [1, 2]}, {"missing_values": ["1.0"]}, ValueError, "also a level"),
        ({"x": ["1", "2"]}, {"missing_values": [1]}, ValueError, "also a level"),
        ({"x": bool}, {"missing_values": ["NO"]}, ValueError, "reads as true or false"),
        ({"x": [False, True]}, {"missing_values": [0]}, ValueError, "also a level"),
        ({"x": (0, 1)}, {"missing_values": "?"}, TypeError, "missing_values must be a list"),
        ({"x": (0, 1)}, {"missing_values": [True]}, TypeError, "texts and numbers"),
        ({"x": (0, 1)}, {"missing_values": [np.inf]}, ValueError, "finite"),
        ({"x": (0, 1)}, {"missing": "drop"}, ValueError, "missing must be one of"),
        ({1: (0, 1)}, {}, TypeError, "must be text"),
        ({"": (0, 1)}, {}, TypeError, "must be text"),
        ({}, {}, ValueError, "at least one column"),
        (["x"], {}, TypeError, "must be a dict"),
        ({"x": ["a"], "x=a": (0, 1)}, {}, ValueError, "same name"),
    ],
)
def test_mistakes_are_named(columns, table, error, message):
    with pytest.raises(error, match=message):
        TableDomain(columns, **table)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NumberColumn(0, 1, fill=2), "within the bounds"),
        (lambda: DateColumn("2001-01-01", "2002-01-01", fill="2003-01-01"), "within the bounds"),
        (lambda: NumberColumn(0, 1, missing="error", fill=1), "does not use it"),
        (lambda: CategoricalColumn(["a"], ordered=True), "one level has no order"),
        (lambda: CategoricalColumn(["a"], fill="b"), "one of the levels"),
        (lambda: CategoricalColumn([0, 1], fill=True), "one of the levels"),
        (lambda: NumberColumn(0, 1, decimal=",,"), "decimal must be one sign"),
        (lambda: NumberColumn(0, 1, thousands="0"), "thousands must be one sign"),
        (lambda: NumberColumn(0, 1, decimal=",", thousands=","), "must be different"),
        (lambda: NumberColumn(0, 1, unit="7"), "unit must be text that is no number"),
        (lambda: DateColumn("2001-01-01", "2002-01-01", format="%d %B %Y"), "no other field"),
        (lambda: DateColumn("2001-01-01", "2002-01-01", format="%m/%Y"), "year, the month and the day"),
        (lambda: DateColumn("2001-01-01", "2002-01-01", format="%d%"), "no other field"),
    ],
)
def test_mistakes_in_one_column(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
    assert repr(DOMAIN).startswith(
        "TableDomain(age: 17 to 90, job: 2 levels, married: true or false, since: "
    )


def test_dates_are_bounds_in_all_their_forms():
    forms = ["2001-01-31", date(2001, 1, 31), datetime(2001, 1, 31), np.datetime64("2001-01-31")]
    assert {DateColumn(form, "2002-01-01").lower for form in forms} == {"2001-01-31"}
    assert DateColumn("2001-01-31T02:00+02:00", "2002-01-01").lower == "2001-01-31"
    with pytest.raises(ValueError, match="must be a date"):
        DateColumn(np.datetime64("NaT", "s"), "2002-01-01")
