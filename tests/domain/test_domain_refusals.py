# SPDX-License-Identifier: BSD-3-Clause
"""Declarations, documents, tables, cells and labels that are refused, in words that repeat no value."""

import json
from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from skprivate import (
    DPBoostingClassifier,
    PrivacyLedger,
    TableDomain,
    config_context,
    life_data,
    private_describe,
)
from skprivate.domain import BooleanColumn, CategoricalColumn, DateColumn, NumberColumn, StressColumn
from skprivate.domain._labels import declared_classes, refuse_label_types, refuse_unknown_labels
from tests.domain.typed_columns import BOOLEANS, NUMBERS, TEXT, TEXTS

#: Private values.
SECRETS = ("secret", "soon", "7.25", "9.5", "777", "fair", "18,823", "2012/01/01", "20010101")
DATES = ("2001-01-01", "2020-12-31")


# Declarations


def declared(column, **options):
    return lambda: TableDomain({"x": column}, **options)


def columns(given):
    return lambda: TableDomain(given)


def made(kind, *arguments, **options):
    return lambda: kind(*arguments, **options)


DECLARATIONS = {
    "equal bounds": (declared((1, 1)), ValueError, "column 'x': lower must be below upper"),
    "an infinite bound": (declared((0, np.inf)), ValueError, "upper must be finite"),
    "a bound beyond floats": (declared((0, 10**400)), ValueError, "upper must be finite"),
    "booleans as bounds": (declared((False, True)), TypeError, "two numbers or two dates"),
    "levels in round brackets": (declared(("a", "b")), ValueError, r"levels are a list: \['a', 'b'\]"),
    "one date": (declared(("2001-01-01", "b")), ValueError, "upper must be a date"),
    "no date": (made(DateColumn, np.datetime64("NaT", "s"), "2002-01-01"), ValueError, "must be a date"),
    "three ends": (declared(("a", "b", "c")), ValueError, "levels are a list"),
    "dates in another order": (declared(DATES[::-1]), ValueError, "lower must be below upper"),
    "no levels": (declared([]), ValueError, "there are no levels"),
    "a text twice": (declared(["a", " a "]), ValueError, "a level is given twice"),
    "a number twice": (declared([1, 1.0]), ValueError, "a level is given twice"),
    "text and a number": (declared(["a", 1]), TypeError, "all text, all numbers or all booleans"),
    "a number and a boolean": (declared([0, True]), TypeError, "all text, all numbers or all booleans"),
    "a level of NaN": (declared([0, np.nan]), ValueError, "must be finite"),
    "an empty level": (declared(["a", " "]), ValueError, "empty text"),
    "no character": (declared(["\ud800"]), ValueError, "surrogates"),
    "another type": (declared(int), TypeError, "a declaration must be"),
    "a marker as a level": (declared(["1", "2"], missing_values=[1]), ValueError, "also a level"),
    "a marker as a number": (declared([1, 2], missing_values=["1.0"]), ValueError, "also a level"),
    "a marker as a boolean": (declared([False, True], missing_values=[0]), ValueError, "also a level"),
    "a marker that says no": (declared(bool, missing_values=["NO"]), ValueError, "reads as true or false"),
    "markers that are no list": (declared((0, 1), missing_values="?"), TypeError, "must be a list"),
    "a boolean marker": (declared((0, 1), missing_values=[True]), TypeError, "texts and numbers"),
    "an infinite marker": (declared((0, 1), missing_values=[np.inf]), ValueError, "finite"),
    "no rule": (declared((0, 1), missing="drop"), ValueError, "missing must be one of"),
    "a number as a name": (columns({1: (0, 1)}), TypeError, "must be text"),
    "an empty name": (columns({"": (0, 1)}), TypeError, "must be text"),
    "no columns": (columns({}), ValueError, "at least one column"),
    "a list": (columns(["x"]), TypeError, "must be a dict"),
    "two columns of one name": (columns({"x": ["a"], "x=a": (0, 1)}), ValueError, "same name"),
    "fill beyond bounds": (made(NumberColumn, 0, 1, fill=2), ValueError, "within the bounds"),
    "fill on a later day": (made(DateColumn, *DATES, fill="2021-01-01"), ValueError, "within the bounds"),
    "fill without use": (made(NumberColumn, 0, 1, missing="error", fill=1), ValueError, "does not use it"),
    "order of one": (made(CategoricalColumn, ["a"], ordered=True), ValueError, "one level has no order"),
    "fill that is no level": (made(CategoricalColumn, [0, 1], fill=True), ValueError, "one of the levels"),
    "two signs": (made(NumberColumn, 0, 1, decimal=",,"), ValueError, "decimal must be one sign"),
    "a digit": (made(NumberColumn, 0, 1, thousands="0"), ValueError, "thousands must be one sign"),
    "a sign twice": (made(NumberColumn, 0, 1, decimal=",", thousands=","), ValueError, "must be different"),
    "a number as unit": (
        made(NumberColumn, 0, 1, unit="7"),
        ValueError,
        "unit must be text that is no number",
    ),
    "a month by name": (made(DateColumn, *DATES, format="%d %B %Y"), ValueError, "no other field"),
    "no day": (made(DateColumn, *DATES, format="%m/%Y"), ValueError, "year, the month and the day"),
    "half a field": (made(DateColumn, *DATES, format="%d%"), ValueError, "no other field"),
    "no law": (made(StressColumn, 20, 150, "eyring"), ValueError, "law must be one of"),
    "stress 0": (made(StressColumn, 0, 10, "inverse-power"), ValueError, "must be above 0"),
    "stress near 0": (made(StressColumn, 5e-324, 10, "arrhenius-kelvin"), ValueError, "must be above 0"),
    "0 kelvin": (made(StressColumn, -273.15, 10, "arrhenius"), ValueError, "must be above -273.15"),
    "one class twice": (lambda: declared_classes(["no", "no "]), ValueError, "classes must"),
    "1 and True": (lambda: declared_classes([1, True]), ValueError, "classes must"),
    "classes of two kinds": (lambda: declared_classes([0, "no"]), ValueError, "classes must"),
    "an infinite class": (lambda: declared_classes([0, np.inf]), ValueError, "classes must"),
    "a class beyond floats": (lambda: declared_classes([0, 2**60]), ValueError, r"classes must.*2\^53"),
}


# Documents

DOMAIN = TableDomain(
    {
        "age": NumberColumn(0, 120, missing="indicator", fill=40),
        "job": CategoricalColumn(["clerk", "smith"], fill="clerk"),
        "grade": CategoricalColumn([1, 2.5, 3], ordered=True, missing_values=[-1, "none"]),
        "married": BooleanColumn(missing="fill", fill=False),
        "since": DateColumn("2001-01-01", "2020-12-31T12:00", fill="2010-01-01"),
    },
    missing_values=["?"],
)
CHANGES = [
    *(("version", 2), ("columns", {}), ("columns", ["secret"])),
    *((0, "kind", "secret"), (0, "kind", []), (0, "name", 7), (0, "name", "job"), (0, "lower", "0")),
    *((0, "lower", 121), (0, "upper", 10**400), (0, "fill", True), (0, "fill", [[]]), (0, "missing", None)),
    *((0, "missing_values", "?"), (0, "missing_values", [{}]), (0, "missing_values", ["?", "?"])),
    *((0, "unit", 7), (1, "levels", [" clerk"]), (1, "levels", [["secret"]]), (1, "ordered", 1)),
    *((2, "levels", [1, 10**400]), (3, "fill", 0), (3, "lower", 0), (4, "lower", "secret")),
    *((4, "lower", "2001-01-01T00:00"), (4, "format", "%d %B secret"), (4, "decimal", ",")),
]


def restored(*change):
    *places, value = change
    state = inner = json.loads(DOMAIN.to_json())
    for place in ["columns", *places[:-1]] if len(places) > 1 else []:
        inner = inner[place]
    inner[places[-1]] = value
    return lambda: TableDomain.from_json(json.dumps(state))


DOCUMENTS = {
    **{f"document: {change}"[:60]: (restored(*change), ValueError, ".") for change in CHANGES},
    **{
        f"no document: {text[:9]!r}": (lambda text=text: TableDomain.from_json(text), ValueError, ".")
        for text in ("[]", "{}", '{"format":', b"\xff", "[" * 100_000)
    },
    "no dict": (lambda: TableDomain.from_dict(None), ValueError, "."),
}


# Tables

FRAME = pd.DataFrame({"age": [1.0, 2.0], "job": ["clerk", "smith"]})
TWO = TableDomain({"age": (0, 100), "job": ["clerk", "smith"]}, missing="indicator")
DAYS = [timedelta(1)] * 2


def encoded(table, strict=False):
    return lambda: TWO.encode(table, strict=strict)


def read(column, cells, strict=True):
    return lambda: TableDomain({"x": column}).encode({"x": cells}, strict=strict)


def cell(column, value):
    domain = TableDomain({"other": (0, 1), "x": column})
    return lambda: domain.encode({"other": [0.5], "x": [value]}, strict=False)


class StrangeColumn:
    """A column that shows a value when it cannot be read."""

    def __len__(self):
        return 1

    def __array__(self, dtype=None, copy=None):
        raise ValueError("could not convert string to float: 'secret'")


NO_LEVEL = "'male', 'female' are text that no number.*codes, such as (.1, 2.|bool)"
TABLES = {
    "no column": (encoded(FRAME[["job"]]), ValueError, "lacks 'age'"),
    "one more": (encoded(FRAME.assign(more=1)), ValueError, "does not declare: 'more'"),
    "another name": (
        encoded(FRAME.rename(columns={"age": "Age"})),
        ValueError,
        "lacks 'age' and has columns that .* not declare: 'Age'",
    ),
    "one name twice": (encoded(FRAME[["age", "age", "job"]]), ValueError, "a column twice"),
    "three columns": (encoded(np.zeros((2, 3))), ValueError, "has 3 columns, and the domain declares 2"),
    "one dimension": (encoded(np.zeros(3)), ValueError, "must be a data frame"),
    "a list of numbers": (encoded([1, 2]), ValueError, "rows of one length"),
    "rows of two lengths": (encoded([[1, 2], [1]]), ValueError, "rows of one length"),
    "columns of two lengths": (encoded({"age": [1, 2], "job": ["clerk"]}), ValueError, "different lengths"),
    "half a record": (encoded([{"age": 1}]), ValueError, "a record lacks 'job'"),
    "a field more": (
        encoded([{"age": 1, "job": None, "secret": 1}]),
        ValueError,
        "a field that is not declared",
    ),
    "a masked array": (encoded(np.ma.masked_array(np.zeros((2, 2)))), TypeError, "masked array or a sparse"),
    "a sparse matrix": (encoded(csr_array(np.zeros((2, 2)))), TypeError, "masked array or a sparse"),
    "a masked column": (read((0, 1), np.ma.masked_array([0.0])), TypeError, "column 'x'"),
    "NumPy durations": (read((0, 1), np.array(DAYS, dtype="m8[s]")), TypeError, "column 'x'"),
    "pandas durations": (read((0, 1), pd.Series(DAYS)), TypeError, "column 'x'"),
    "polars durations": (read((0, 1), pl.Series(DAYS)), TypeError, "column 'x'"),
    "Arrow durations": (read((0, 1), pa.array(DAYS)), TypeError, "column 'x'"),
    "polars lists": (read((0, 1), pl.Series([[1]])), TypeError, "column 'x'"),
    "Arrow lists": (read((0, 1), pa.array([[1]])), TypeError, "column 'x'"),
    "complex numbers": (read((0, 1), np.array([1j])), TypeError, "column 'x'"),
    "undeclared dates": (read((0, 1), np.array(["2001-01-01"], dtype="M8[D]")), TypeError, "column 'x'"),
    "an error of others": (read((0, 1), StrangeColumn()), ValueError, r"column 'x' cannot be read\.$"),
    **{
        f"levels of text, numbers of {kind}": (read(["male", "female"], cells), TypeError, NO_LEVEL)
        for kind, cells in {**NUMBERS, **BOOLEANS}.items()
    },
    "ordered text": (
        read(CategoricalColumn(["low", "high"], ordered=True), NUMBERS["int"]),
        TypeError,
        "column 'x': its type is one of numbers.*Declare its codes",
    ),
    "dates, numbers": (read(DATES, NUMBERS["int"]), TypeError, "dates are declared.*as declared .ISO 8601"),
    "dates in a format": (read(DateColumn(*DATES, format="%d.%m.%Y"), NUMBERS["int"]), TypeError, "%d.%m.%Y"),
    "another level": (cell(["Fair", "Good"], "fair"), ValueError, "none of .* 'Fair', 'Good'.*spelling"),
    "one of many levels": (
        cell(["a", "b", "c", "d"], "secret"),
        ValueError,
        "levels 'a', 'b', 'c', ..., and",
    ),
    "bounds as levels": (cell([0, 3000], 777), ValueError, r"two levels, and \(0, 3000\) all numbers"),
    "another number": (cell([1, 2, 3], 777), ValueError, "none of the declared levels 1, 2, 3,"),
    "a word": (cell((0, 1), "secret"), ValueError, "column 'x' holds.*list of levels"),
    "a separator": (cell((0, 30000), "18,823"), ValueError, "thousands="),
    "infinity": (cell((0, 1), np.inf), ValueError, "column 'x' holds"),
    "beyond floats": (cell((0, 1), 10**400), ValueError, "column 'x' holds"),
    "a date": (cell((0, 1), date(2001, 1, 1)), ValueError, "column 'x' holds"),
    "another format": (cell(DATES, "2012/01/01"), ValueError, "format="),
    "a number for a date": (cell(DATES, 20010101), ValueError, "column 'x' holds"),
    "another boolean": (cell(bool, "secret"), ValueError, "list of levels"),
    "two for a boolean": (cell(bool, 2), ValueError, "column 'x' holds"),
    "nothing": (cell((0, 1), None), ValueError, "column 'x' holds a missing value"),
    "no level": (cell(["a", "b"], np.nan), ValueError, "column 'x' holds a missing value"),
}


# Labels


def labels(values, classes):
    return lambda: refuse_label_types(values, classes)


def public(values):
    return lambda: refuse_unknown_labels(values, np.array([1, 2]))


LABELS = {
    **{
        f"text as {kind}": (labels(text, [0, 1]), TypeError, r"classes=\['0', '1'\]")
        for kind, text in TEXTS.items()
    },
    **{
        f"numbers as {kind}": (labels(numbers, ["no", "yes"]), TypeError, r"classes=\[0, 1\]")
        for kind, numbers in {**NUMBERS, **BOOLEANS}.items()
    },
    **{
        f"booleans as {kind}, classes 1 and 2": (labels(truth, [1, 2]), TypeError, r"classes=\[False, True\]")
        for kind, truth in BOOLEANS.items()
    },
    "a frame of text": (labels(pd.DataFrame({"y": TEXT}), [0, 1]), TypeError, "turn y into numbers"),
    "complex labels": (labels(np.array([0j, 1j]), [0, 1]), TypeError, "not complex"),
    "many classes": (labels(np.array([0]), list("abcdef")), TypeError, r"classes=\['a', 'b', 'c', ...\] are"),
    "public numbers": (public(np.array([0, 1, 2])), ValueError, r"classes=\[1, 2\]: \[0\]\."),
    "public booleans": (public([True, False]), ValueError, r": \[False\]\."),
    "public labels": (public([*range(9), "x" * 99]), ValueError, r": \[0, 3, 4, \.\.\.\]\."),
    "a long label": (public(["x" * 99]), ValueError, rf": \['{'x' * 29}\]\."),
}


# Domains of public rows


def described(values):
    return lambda: TableDomain.from_public({"x": values})


FORMS = [f"{i:02}/{j:02}/2012" for i in range(1, 12) for j in range(1, 12)]
PUBLIC_ROWS = {
    "one number": (described([1, 1]), ValueError, "column 'x': it has the same value"),
    "one day": (described(["2001-01-01"] * 2), ValueError, "same value"),
    "no value": (described([None, None]), ValueError, "column 'x': it holds no value"),
    "text and number": (described(["a", 1]), ValueError, "column 'x': its cells are neither"),
    "an infinity": (described([1, np.inf]), ValueError, "column 'x': it holds infinity"),
    "dates in two formats": (described(FORMS), ValueError, "by '%m/%d/%Y'. Declare which"),
    "many levels": (described([f"level {i}" for i in range(101)]), ValueError, "more than max_levels"),
    "two public columns of one name": (
        lambda: TableDomain.from_public(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        ValueError,
        "more than one column 'a'",
    ),
    "a declaration too many": (
        lambda: TableDomain.from_public({"x": [1, 2]}, columns={"y": (0, 1)}),
        ValueError,
        "the table does not have",
    ),
}


# Targets of life models

HOURS, FAILED = [7.25, 9.5, 3.0], [True, False, True]
PAIR = {"lower": HOURS, "upper": HOURS}
SECONDS = r"\.dt\.total_seconds\(\)"


def lives(**columns):
    return lambda: life_data(**columns)


LIVES = {
    "no time": (lives(event=FAILED), ValueError, "pass time and event"),
    "time and ends": (lives(time=HOURS, **PAIR), ValueError, "no other"),
    "one end": (lives(lower=HOURS), ValueError, "lower and upper"),
    "7 as an event": (lives(time=HOURS, event=[7, 0, 1]), ValueError, "neither true nor false.*happened=2"),
    "numbers and a text": (
        lives(time=HOURS, event=np.array([7, 0, 1]), happened="dead"),
        TypeError,
        "declare numbers",
    ),
    "no event": (lives(time=HOURS, happened=1), ValueError, "pass event"),
    "censored alone": (lives(time=HOURS, event=FAILED, censored=1), ValueError, "censored needs happened"),
    "codes of two kinds": (lives(time=HOURS, event=FAILED, happened=[1, "a"]), TypeError, "all numbers"),
    "no codes": (lives(time=HOURS, event=FAILED, happened=[]), TypeError, "happened must be"),
    "one code twice": (lives(time=HOURS, event=FAILED, happened=1, censored=1), ValueError, "twice"),
    "an unknown event": (lives(time=HOURS, event=[None, 0, 1]), ValueError, "event does not say"),
    "an undeclared code": (
        lives(time=HOURS, event=[2, 9, 1], happened=2, censored=1),
        ValueError,
        "neither hap",
    ),
    "a word as a time": (
        lives(time=["7.25", "soon"], event=FAILED[:2]),
        ValueError,
        "time holds a value that",
    ),
    "a word as an entry": (lives(time=HOURS, event=FAILED, entry=["soon", 0, 0]), ValueError, "entry holds"),
    "two lengths": (lives(time=HOURS, event=FAILED[:2]), ValueError, "length"),
    "cells of a table": (lives(table={"a": HOURS}, time=HOURS), TypeError, "names of its columns"),
    "no such column": (lives(table={"a": HOURS}, time="days"), ValueError, "columns once: days"),
    "roles exchanged": (
        lives(table={"hours": HOURS, "failed": FAILED}, time="failed", event="hours"),
        ValueError,
        "'hours' holds a value",
    ),
    "NumPy's durations": (lives(time=np.array([7, 9], "m8[D]")), TypeError, SECONDS),
    "Arrow's durations": (lives(time=pa.array([7], pa.duration("s"))), TypeError, SECONDS),
    "booleans and a 2": (
        lives(time=HOURS, event=np.array([True] * 3), happened=2),
        TypeError,
        "declare happened=True",
    ),
}
REFUSALS = {**DECLARATIONS, **DOCUMENTS, **TABLES, **LABELS, **PUBLIC_ROWS, **LIVES}


@pytest.mark.parametrize(("call", "error", "match"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_refused(call, error, match):
    with pytest.raises(error, match=match) as caught:
        call()
    assert not any(text in str(caught.value) for text in SECRETS)


@pytest.mark.parametrize("strict", [False, True])
def test_a_refused_type_costs_nothing(strict, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=9)
    domain, rows = TableDomain({"sex": ["m", "f"]}), pd.DataFrame({"sex": [1, 2] * 50})
    model = DPBoostingClassifier(domain=domain, classes=[0, 1], ledger=ledger)
    with config_context(strict=strict):
        for call in (
            lambda: model.fit(rows, [0, 1] * 50),
            lambda: private_describe(rows, domain, 1.0, ledger=ledger),
        ):
            with pytest.raises(TypeError, match="column 'sex': its type"):
                call()
    assert not ledger.entries()
