# SPDX-License-Identifier: BSD-3-Clause
"""Reports of many people in one call: those of their clients, from tables of any form and content."""

import itertools
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import skprivate
from skprivate.collection import TreeClient
from tests.collection.studies import (
    SECRET,
    domain_specification,
    draw,
    make_specification,
    number_specification,
)

LABELS = make_specification(classes=["no", "yes"], features=["b", "a"], label="cost")
NUMBERS = number_specification()


def make_rows(n, classes=("no", "yes"), seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform([-0.2, 0], [1.2, 2], size=(n, 2))
    return X, np.array(classes)[rng.integers(len(classes), size=n)]


RECORDS = [
    {"since": "2020-06-01", "age": 80, "job": "smith"},
    {"since": date(2001, 5, 17), "age": "21", "job": " clerk"},
    {"since": None, "age": 33.5, "job": "?"},
]
ANSWERS = ["yes", "no", "yes"]


def categories_of(specification, records, answers):
    cells = specification.partition.apply(specification.domain.encode(records, strict=True))
    return 2 * cells + (np.array(answers) == "yes")


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(lambda frame: (frame, None), id="pandas"),
        pytest.param(lambda frame: (frame.drop(columns=["sick", "id"]), frame["sick"]), id="pandas-and-y"),
        pytest.param(lambda frame: (pl.from_pandas(frame), None), id="polars"),
        pytest.param(lambda frame: (pa.Table.from_pandas(frame), None), id="arrow"),
        pytest.param(lambda frame: (pa.Table.from_pandas(frame).to_reader(1), None), id="stream"),
        pytest.param(lambda frame: (RECORDS, ANSWERS), id="records"),
        pytest.param(lambda frame: (iter([frame[:1], (RECORDS[1:], ANSWERS[1:])]), None), id="iterator"),
    ],
)
def test_raw_tables_of_declared_columns(table):
    specification = domain_specification()
    frame = pd.DataFrame(
        {
            "id": [4, 5, 6],
            "since": pd.to_datetime(["2020-06-01", "2001-05-17", None]),
            "job": pd.Series(["smith", "clerk", None], dtype="category"),
            "age": [80.0, 21.0, 33.5],
            "sick": ANSWERS,
        }
    )
    expected = categories_of(specification, RECORDS, ANSWERS)
    assert len(set(expected.tolist())) == 3
    np.testing.assert_array_equal(draw(specification, *table(frame)), expected)


@settings(deadline=None, max_examples=25)
@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_batches_do_not_matter(cuts):
    X, y = make_rows(60)
    batches = ((X[a:b], y[a:b]) for a, b in itertools.pairwise([0, *sorted(cuts), 60]))
    np.testing.assert_array_equal(draw(LABELS, batches), draw(LABELS, X, y))


@pytest.mark.statistical
def test_the_law_is_that_of_clients():
    """Both against the mechanism's probabilities, with the system's entropy; false alarms: 1e-10 each."""
    specification = make_specification("krr", classes=(0, 1), depth=1)
    n, row, label = 4000, [0.9, 0.5], 1
    category = 2 * int(specification.partition.apply([row])[0]) + label
    odds = np.exp(float(specification.randomizer.epsilon))
    probabilities = np.full(4, 1 / (odds + 3))
    probabilities[category] *= odds
    by_clients = [specification.unpack(TreeClient(specification).randomize(row, label)) for _ in range(n)]
    in_bulk = list(specification.randomize_many(np.tile(row, (n, 1)), np.full(n, label)))
    for reports in (by_clients, in_bulk):
        counts = np.bincount(np.concatenate(reports), minlength=4)
        statistic = ((counts - n * probabilities) ** 2 / (n * probabilities)).sum()
        assert statistic < chi2.isf(1e-10, df=3)


@pytest.mark.parametrize("strict", [False, True])
class TestNoValueMakesItFail:
    def test_cells_and_labels_count_as_a_public_value(self, strict):
        """The middle of the bounds, the bound, the first class: bit for bit, in strict mode and outside."""
        X, y = make_rows(8)
        cells, labels = X.astype(object), y.astype(object)
        bad = [(np.nan, 1.0), (None, 1.0), ("tall", 1.0), (np.inf, 2.0), (-np.inf, 0.0), (10**400, 2.0)]
        for row, (value, counted) in enumerate([*bad, ([1], 1.0)]):
            cells[row, 1], X[row, 1] = value, counted
        labels[[0, 2, 5]] = ["maybe", None, float("nan")]
        labels[6] = ["no", "yes"]
        y[[0, 2, 5, 6]] = "no"
        with skprivate.config_context(strict=strict):
            found = draw(LABELS, cells.tolist(), labels)
        np.testing.assert_array_equal(found, draw(LABELS, X, y))

    @pytest.mark.parametrize(
        ("value", "counts_as"),
        [
            *((nothing, 5.0) for nothing in (None, np.nan, "much", {"a": 1}, pd.NA, 1j)),
            *((large, 10.0) for large in (np.inf, 10**400, SECRET)),
            *((small, 0.0) for small in (-np.inf, -1e308)),
            ("2.5", 2.5),
            (True, 1.0),
        ],
    )
    def test_numbers_too(self, value, counts_as, strict):
        X = np.full((400, 2), 0.5)
        y = np.full(400, 2.5, dtype=object)
        y[1::2] = [value] * 200
        expected = draw(NUMBERS, X, np.tile([2.5, counts_as], 200))
        with skprivate.config_context(strict=strict):
            np.testing.assert_array_equal(draw(NUMBERS, X, y), expected)
        # Neighbours of what it counts as are told apart by this seed.
        assert (draw(NUMBERS, X, np.tile([2.5, (counts_as + 5) % 10], 200)) != expected).any()

    def test_cells_that_a_client_refuses_are_missing(self, strict):
        specification = domain_specification()
        bad = [{"since": "soon", "age": "old", "job": "pilot"}, {"since": [1], "age": np.inf, "job": 3}]
        counted = [{"since": None, "age": None, "job": None}, {"since": None, "age": 90, "job": None}]
        with skprivate.config_context(strict=strict):
            reports = draw(specification, bad, ["no", "maybe"])
        np.testing.assert_array_equal(reports, categories_of(specification, counted, ["no", "no"]))


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table])
def test_cells_of_frames_are_replaced_too(form):
    frame = {"b": [0.3, None, 0.5], "a": [0.2, np.nan, np.inf], "cost": ["yes", None, "maybe"]}
    X, y = [[0.3, 0.2], [0.5, 1.0], [0.5, 2.0]], ["yes", "no", "no"]
    np.testing.assert_array_equal(draw(LABELS, form(frame)), draw(LABELS, X, y))
    with pytest.raises(TypeError, match=r'{"b": \["...", ...\], "a": \(low, high\)}'):
        draw(LABELS, form(frame | {"b": ["0.3", "old", None]}))


def test_no_rows_no_reports():
    assert list(LABELS.randomize_many(np.zeros((0, 2)), [])) == []
    assert list(LABELS.randomize_many(iter([]))) == []
