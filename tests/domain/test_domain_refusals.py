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
    "equal bounds": (declared((1, 1)), "column 'x': lower must be below upper"),
    "an infinite bound": (declared((0, np.inf)), "upper must be finite"),
    "a bound beyond floats": (declared((0, 10**400)), "upper must be finite"),
    "levels in round brackets": (declared(("a", "b")), r"levels are a list: \['a', 'b'\]"),
    "one date": (declared(("2001-01-01", "b")), "upper must be a date"),
    "no date": (made(DateColumn, np.datetime64("NaT", "s"), "2002-01-01"), "must be a date"),
    "three ends": (declared(("a", "b", "c")), "levels are a list"),
    "dates in another order": (declared(DATES[::-1]), "lower must be below upper"),
    "no levels": (declared([]), "there are no levels"),
    "a text twice": (declared(["a", " a "]), "a level is given twice"),
    "a number twice": (declared([1, 1.0]), "a level is given twice"),
    "a level of NaN": (declared([0, np.nan]), "must be finite"),
    "an empty level": (declared(["a", " "]), "empty text"),
    "no character": (declared(["\ud800"]), "surrogates"),
    "a marker as a level": (declared(["1", "2"], missing_values=[1]), "also a level"),
    "a marker as a number": (declared([1, 2], missing_values=["1.0"]), "also a level"),
    "a marker as a boolean": (declared([False, True], missing_values=[0]), "also a level"),
    "a marker that says no": (declared(bool, missing_values=["NO"]), "reads as true or false"),
    "an infinite marker": (declared((0, 1), missing_values=[np.inf]), "finite"),
    "no rule": (declared((0, 1), missing="drop"), "missing must be one of"),
    "no columns": (columns({}), "at least one column"),
    "two columns of one name": (columns({"x": ["a"], "x=a": (0, 1)}), "same name"),
    "fill beyond bounds": (made(NumberColumn, 0, 1, fill=2), "within the bounds"),
    "fill on a later day": (made(DateColumn, *DATES, fill="2021-01-01"), "within the bounds"),
    "fill without use": (made(NumberColumn, 0, 1, missing="error", fill=1), "does not use it"),
    "order of one": (made(CategoricalColumn, ["a"], ordered=True), "a single level cannot be ordered"),
    "fill that is no level": (made(CategoricalColumn, [0, 1], fill=True), "one of the levels"),
    "two signs": (made(NumberColumn, 0, 1, decimal=",,"), "decimal must be a single sign"),
    "a digit": (made(NumberColumn, 0, 1, thousands="0"), "thousands must be a single sign"),
    "a sign twice": (made(NumberColumn, 0, 1, decimal=",", thousands=","), "must be different"),
    "a number as unit": (made(NumberColumn, 0, 1, unit="7"), "unit must be text that is not a number"),
    "a month by name": (made(DateColumn, *DATES, format="%d %B %Y"), "no other field"),
    "no day": (made(DateColumn, *DATES, format="%m/%Y"), "year, the month and the day"),
    "half a field": (made(DateColumn, *DATES, format="%d%"), "no other field"),
    "no law": (made(StressColumn, 20, 150, "eyring"), "law must be one of"),
    "stress 0": (made(StressColumn, 0, 10, "inverse-power"), "must be above 0"),
    "stress near 0": (made(StressColumn, 5e-324, 10, "arrhenius-kelvin"), "must be above 0"),
    "0 kelvin": (made(StressColumn, -273.15, 10, "arrhenius"), "must be above -273.15"),
    "one class twice": (lambda: declared_classes(["no", "no "]), "classes must"),
    "1 and True": (lambda: declared_classes([1, True]), "classes must"),
    "classes of two kinds": (lambda: declared_classes([0, "no"]), "classes must"),
    "an infinite class": (lambda: declared_classes([0, np.inf]), "classes must"),
    "a class beyond floats": (lambda: declared_classes([0, 2**60]), r"classes must.*2\^53"),
}
DECLARATIONS_TYPES = {
    "booleans as bounds": (declared((False, True)), "two numbers or two dates"),
    "text and a number": (declared(["a", 1]), "all text, all numbers or all booleans"),
    "a number and a boolean": (declared([0, True]), "all text, all numbers or all booleans"),
    "another type": (declared(int), "a declaration must be"),
    "markers that are no list": (declared((0, 1), missing_values="?"), "must be a list"),
    "a boolean marker": (declared((0, 1), missing_values=[True]), "texts and numbers"),
    "a number as a name": (columns({1: (0, 1)}), "must be text"),
    "an empty name": (columns({"": (0, 1)}), "must be text"),
    "a list": (columns(["x"]), "must be a dict"),
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
    **{f"document: {change}"[:60]: (restored(*change), ".") for change in CHANGES},
    **{
        f"no document: {text[:9]!r}": (lambda text=text: TableDomain.from_json(text), ".")
        for text in ("[]", "{}", '{"format":', b"\xff", "[" * 100_000)
    },
    "no dict": (lambda: TableDomain.from_dict(None), "."),
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
    "no column": (encoded(FRAME[["job"]]), "lacks 'age'"),
    "one more": (encoded(FRAME.assign(more=1)), "does not declare: 'more'"),
    "another name": (
        encoded(FRAME.rename(columns={"age": "Age"})),
        "lacks 'age' and has columns that .* not declare: 'Age'",
    ),
    "one name twice": (encoded(FRAME[["age", "age", "job"]]), "a column twice"),
    "three columns": (encoded(np.zeros((2, 3))), "has 3 columns, and the domain declares 2"),
    "one dimension": (encoded(np.zeros(3)), "must be a data frame"),
    "a list of numbers": (encoded([1, 2]), "rows of one length"),
    "rows of two lengths": (encoded([[1, 2], [1]]), "rows of one length"),
    "columns of two lengths": (encoded({"age": [1, 2], "job": ["clerk"]}), "different lengths"),
    "half a record": (encoded([{"age": 1}]), "a record lacks 'job'"),
    "records of halves": (encoded([{"age": 1}, {"job": "clerk"}]), "a record lacks 'age', 'job'"),
    "a field more": (encoded([{"age": 1, "job": None, "secret": 1}]), "a field that is not declared"),
    "an error of others": (read((0, 1), StrangeColumn()), r"column 'x' cannot be read\.$"),
    "another level": (cell(["Fair", "Good"], "fair"), "none of .* 'Fair', 'Good'.*spelling"),
    "one of many levels": (cell(["a", "b", "c", "d"], "secret"), "levels 'a', 'b', 'c', ..., and"),
    "bounds as levels": (cell([0, 3000], 777), r"two levels, and \(0, 3000\) all numbers"),
    "another number": (cell([1, 2, 3], 777), "none of the declared levels 1, 2, 3,"),
    "a word": (cell((0, 1), "secret"), "column 'x' holds.*list of levels"),
    "a separator": (cell((0, 30000), "18,823"), "thousands="),
    "infinity": (cell((0, 1), np.inf), "column 'x' holds"),
    "beyond floats": (cell((0, 1), 10**400), "column 'x' holds"),
    "a date": (cell((0, 1), date(2001, 1, 1)), "column 'x' holds"),
    "another format": (cell(DATES, "2012/01/01"), "format="),
    "a number for a date": (cell(DATES, 20010101), "column 'x' holds"),
    "another boolean": (cell(bool, "secret"), "list of levels"),
    "two for a boolean": (cell(bool, 2), "column 'x' holds"),
    "nothing": (cell((0, 1), None), "column 'x' holds a missing value"),
    "no level": (cell(["a", "b"], np.nan), "column 'x' holds a missing value"),
}
TABLES_TYPES = {
    "a masked array": (encoded(np.ma.masked_array(np.zeros((2, 2)))), "masked array or a sparse"),
    "a sparse matrix": (encoded(csr_array(np.zeros((2, 2)))), "masked array or a sparse"),
    "a masked column": (read((0, 1), np.ma.masked_array([0.0])), "column 'x'"),
    "NumPy durations": (read((0, 1), np.array(DAYS, dtype="m8[s]")), "column 'x'"),
    "pandas durations": (read((0, 1), pd.Series(DAYS)), "column 'x'"),
    "polars durations": (read((0, 1), pl.Series(DAYS)), "column 'x'"),
    "Arrow durations": (read((0, 1), pa.array(DAYS)), "column 'x'"),
    "polars lists": (read((0, 1), pl.Series([[1]])), "column 'x'"),
    "Arrow lists": (read((0, 1), pa.array([[1]])), "column 'x'"),
    "complex numbers": (read((0, 1), np.array([1j])), "column 'x'"),
    "undeclared dates": (read((0, 1), np.array(["2001-01-01"], dtype="M8[D]")), "column 'x'"),
    **{
        f"levels of text, numbers of {kind}": (read(["male", "female"], cells), NO_LEVEL)
        for kind, cells in {**NUMBERS, **BOOLEANS}.items()
    },
    "ordered text": (
        read(CategoricalColumn(["low", "high"], ordered=True), NUMBERS["int"]),
        "column 'x': its type is one of numbers.*Declare its codes",
    ),
    "dates, numbers": (read(DATES, NUMBERS["int"]), "dates are declared.*as declared .ISO 8601"),
    "dates in a format": (read(DateColumn(*DATES, format="%d.%m.%Y"), NUMBERS["int"]), "%d.%m.%Y"),
}


# Labels


def labels(values, classes):
    return lambda: refuse_label_types(values, classes)


def public(values):
    return lambda: refuse_unknown_labels(values, np.array([1, 2]))


LABELS = {
    "public numbers": (public(np.array([0, 1, 2])), r"classes=\[1, 2\]: \[0\]\."),
    "public booleans": (public([True, False]), r": \[False\]\."),
    "public labels": (public([*range(9), "x" * 99]), r": \[0, 3, 4, \.\.\.\]\."),
    "a long label": (public(["x" * 99]), rf": \['{'x' * 29}\]\."),
}
LABELS_TYPES = {
    **{f"text as {kind}": (labels(text, [0, 1]), r"classes=\['0', '1'\]") for kind, text in TEXTS.items()},
    **{
        f"numbers as {kind}": (labels(numbers, ["no", "yes"]), r"classes=\[0, 1\]")
        for kind, numbers in {**NUMBERS, **BOOLEANS}.items()
    },
    **{
        f"booleans as {kind}, classes 1 and 2": (labels(truth, [1, 2]), r"classes=\[False, True\]")
        for kind, truth in BOOLEANS.items()
    },
    "a frame of text": (labels(pd.DataFrame({"y": TEXT}), [0, 1]), "turn y into numbers"),
    "complex labels": (labels(np.array([0j, 1j]), [0, 1]), "not complex"),
    "many classes": (labels(np.array([0]), list("abcdef")), r"classes=\['a', 'b', 'c', ...\] are"),
}


# Domains of public rows


def described(values):
    return lambda: TableDomain.from_public({"x": values})


FORMS = [f"{i:02}/{j:02}/2012" for i in range(1, 12) for j in range(1, 12)]
PUBLIC_ROWS = {
    "one number": (described([1, 1]), "column 'x': it has the same value"),
    "one day": (described(["2001-01-01"] * 2), "same value"),
    "no value": (described([None, None]), "column 'x': it holds no value"),
    "text and number": (described(["a", 1]), "column 'x': its cells are neither"),
    "an infinity": (described([1, np.inf]), "column 'x': it holds infinity"),
    "dates in two formats": (described(FORMS), "by '%m/%d/%Y'. Declare which"),
    "many levels": (described([f"level {i}" for i in range(101)]), "more than max_levels"),
    "two public columns of one name": (
        lambda: TableDomain.from_public(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        "more than one column 'a'",
    ),
    "a declaration too many": (
        lambda: TableDomain.from_public({"x": [1, 2]}, columns={"y": (0, 1)}),
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
    "no time": (lives(event=FAILED), "pass time and event"),
    "time and ends": (lives(time=HOURS, **PAIR), "but not both"),
    "one end": (lives(lower=HOURS), "lower and upper"),
    "7 as an event": (lives(time=HOURS, event=[7, 0, 1]), "neither true nor false.*happened=2"),
    "no event": (lives(time=HOURS, happened=1), "pass event"),
    "censored alone": (lives(time=HOURS, event=FAILED, censored=1), "censored needs happened"),
    "one code twice": (lives(time=HOURS, event=FAILED, happened=1, censored=1), "twice"),
    "an unknown event": (lives(time=HOURS, event=[None, 0, 1]), "event does not state"),
    "an undeclared code": (lives(time=HOURS, event=[2, 9, 1], happened=2, censored=1), "neither in happened"),
    "a word as a time": (lives(time=["7.25", "soon"], event=FAILED[:2]), "time holds a value that"),
    "a word as an entry": (lives(time=HOURS, event=FAILED, entry=["soon", 0, 0]), "entry holds"),
    "two lengths": (lives(time=HOURS, event=FAILED[:2]), "length"),
    "no such column": (lives(table={"a": HOURS}, time="days"), "columns once: days"),
    "roles exchanged": (
        lives(table={"hours": HOURS, "failed": FAILED}, time="failed", event="hours"),
        "'hours' holds a value",
    ),
}
LIVES_TYPES = {
    "numbers and a text": (lives(time=HOURS, event=np.array([7, 0, 1]), happened="dead"), "declare numbers"),
    "codes of two kinds": (lives(time=HOURS, event=FAILED, happened=[1, "a"]), "all numbers"),
    "no codes": (lives(time=HOURS, event=FAILED, happened=[]), "happened must be"),
    "cells of a table": (lives(table={"a": HOURS}, time=HOURS), "names of its columns"),
    "NumPy's durations": (lives(time=np.array([7, 9], "m8[D]")), SECONDS),
    "Arrow's durations": (lives(time=pa.array([7], pa.duration("s"))), SECONDS),
    "booleans and a 2": (lives(time=HOURS, event=np.array([True] * 3), happened=2), "declare happened=True"),
}
ERRORS = {
    ValueError: {**DECLARATIONS, **DOCUMENTS, **TABLES, **LABELS, **PUBLIC_ROWS, **LIVES},
    TypeError: {**DECLARATIONS_TYPES, **TABLES_TYPES, **LABELS_TYPES, **LIVES_TYPES},
}
REFUSALS = [
    pytest.param(error, *row, id=name) for error, rows in ERRORS.items() for name, row in rows.items()
]


@pytest.mark.parametrize(("error", "call", "match"), REFUSALS)
def test_what_is_refused(error, call, match):
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
