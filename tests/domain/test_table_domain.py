# SPDX-License-Identifier: BSD-3-Clause
"""Domains as JSON: what is written comes back, and anything else is a ValueError that repeats nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.domain import BooleanColumn, CategoricalColumn, DateColumn, NumberColumn, TableDomain

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


def test_a_domain_survives_json():
    again = TableDomain.from_json(DOMAIN.to_json())
    assert again == DOMAIN
    assert again.to_json() == DOMAIN.to_json()
    assert TableDomain.from_json(DOMAIN.to_json().encode()) == DOMAIN
    assert TableDomain.from_dict(DOMAIN.to_dict()) == DOMAIN


def test_numbers_may_be_written_as_whole_ones():
    text = DOMAIN.to_json().replace('"upper":120.0', '"upper":120')
    assert TableDomain.from_json(text) == DOMAIN


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).filter(
    lambda name: "=" not in name
)
levels = st.one_of(
    st.lists(st.text("abcäß ", min_size=1).map(str.strip).filter(bool), min_size=2, max_size=4, unique=True),
    st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=4, unique=True),
)
columns = st.one_of(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2, unique=True).map(
        lambda pair: NumberColumn(*sorted(pair))
    ),
    st.builds(CategoricalColumn, levels, st.booleans()),
    st.lists(st.datetimes(), min_size=2, max_size=2, unique=True).map(lambda pair: DateColumn(*sorted(pair))),
    st.builds(BooleanColumn),
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(names, columns, min_size=1, max_size=4), st.sampled_from([None, "fill", "error"]))
def test_any_domain_survives_json(columns, missing):
    domain = TableDomain(columns, missing=missing)
    assert TableDomain.from_json(domain.to_json()) == domain


def change(path, value):
    state = json.loads(DOMAIN.to_json())
    inner = state
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return state


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "other"),
        (["version"], 2),
        (["columns"], {}),
        (["columns"], []),
        (["columns"], ["secret"]),
        (["columns", 0, "kind"], "secret"),
        (["columns", 0, "kind"], []),
        (["columns", 0, "name"], ""),
        (["columns", 0, "name"], 7),
        (["columns", 0, "name"], "job"),
        (["columns", 0, "lower"], "0"),
        (["columns", 0, "lower"], 121),
        (["columns", 0, "upper"], 10**400),
        (["columns", 0, "fill"], True),
        (["columns", 0, "fill"], [[]]),
        (["columns", 0, "missing"], "secret"),
        (["columns", 0, "missing"], None),
        (["columns", 0, "missing_values"], "?"),
        (["columns", 0, "missing_values"], [{}]),
        (["columns", 0, "missing_values"], ["?", "?"]),
        (["columns", 1, "levels"], ["clerk", "clerk"]),
        (["columns", 1, "levels"], [" clerk"]),
        (["columns", 1, "levels"], [["secret"]]),
        (["columns", 1, "levels"], []),
        (["columns", 1, "ordered"], 1),
        (["columns", 2, "levels"], [1, 10**400]),
        (["columns", 4, "fill"], 0),
        (["columns", 4, "lower"], 0),
        (["columns", 5, "lower"], "secret"),
        (["columns", 5, "lower"], "2001-01-01T00:00"),
        (["columns", 5, "format"], None),
        (["columns", 5, "format"], "%d %B secret"),
        (["columns", 5, "decimal"], ","),
        (["columns", 6, "decimal"], "."),
        (["columns", 6, "unit"], 7),
        (["columns", 6, "format"], "%d/%m/%Y"),
    ],
)
def test_what_is_no_domain(path, value):
    for read in (TableDomain.from_dict, lambda state: TableDomain.from_json(json.dumps(state))):
        with pytest.raises(ValueError, match=r".") as refused:
            read(change(path, value))
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"format":', b"\xff", "1" * 5000, "[" * 100000])
def test_what_is_no_json(text):
    with pytest.raises(ValueError, match=r"."):
        TableDomain.from_json(text)


def test_what_is_no_dict():
    for state in (None, [], "text", {"format": float("nan")}):
        with pytest.raises(ValueError, match=r"."):
            TableDomain.from_dict(state)
