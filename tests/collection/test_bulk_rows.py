# SPDX-License-Identifier: BSD-3-Clause
"""Reports of many people in one call: those of their clients, from tables of any form and content."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import skprivate
from skprivate import LocallyPrivateTreeClassifier
from skprivate.collection import ReportWriter, TreeClient, TreeCurator, TreeSpecification, _specification
from skprivate.exceptions import PrivacyLeakError
from skprivate.noise import check_entropy
from skprivate.randomizers import LabelRandomizer

MECHANISMS = ["hadamard", "krr", "subset", "unary", "signed-laplace", "laplace"]
COLUMNS = ["age", "weight"]


@pytest.fixture
def specification(make_specification):
    return make_specification(classes=["no", "yes"], features=COLUMNS, label="sick")


def make_rows(n, classes=("no", "yes"), seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform([-0.2, 0], [1.2, 2], size=(n, 2)), np.array(classes)[
        rng.integers(len(classes), size=n)
    ]


def draw(specification, *args, seed=0, **options):
    reports = list(specification.randomize_many(*args, random_state=seed, **options))
    return np.concatenate(reports)


def one_by_one(X, y):
    return iter([(X[at : at + 1], y[at : at + 1]) for at in range(len(X))])


def frame_of(X, y):
    return pd.DataFrame({"sick": y, "weight": X[:, 1], "unasked": "text", "age": X[:, 0]})


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reports_are_those_of_the_randomizer(make_specification, mechanism):
    specification = make_specification(mechanism, classes=(0, 1))
    X, y = make_rows(500, (0, 1))
    cells = specification.partition.apply(X)
    expected = specification.randomizer.randomize(2 * cells.astype(np.int64) + y, 0)
    np.testing.assert_array_equal(draw(specification, X, y), expected)


def test_pieces_are_drawn_one_after_the_other(specification, monkeypatch):
    monkeypatch.setattr(_specification, "_ROWS_AT_ONCE", 64)
    X, y = make_rows(200)
    entropy, randomizer = check_entropy(0), specification.randomizer
    categories = 2 * specification.partition.apply(X).astype(np.int64) + (y == "yes")
    pieces = [randomizer.randomize(categories[at : at + 64], entropy) for at in range(0, 200, 64)]
    found = list(specification.randomize_many(X, y, random_state=0))
    assert [len(piece) for piece in found] == [64, 64, 64, 8]
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate(pieces))


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(lambda X, y: (X.tolist(), y.tolist()), id="lists"),
        pytest.param(lambda X, y: (X, y.astype(object)), id="objects"),
        pytest.param(lambda X, y: (np.asfortranarray(X), pd.Series(y, index=-X[:, 0])), id="series"),
        pytest.param(lambda X, y: (frame_of(X, y), None), id="pandas"),
        pytest.param(lambda X, y: (frame_of(X, y), y), id="pandas-and-y"),
        pytest.param(lambda X, y: (frame_of(X, pd.Categorical(y)), None), id="categories"),
        pytest.param(lambda X, y: (pl.from_pandas(frame_of(X, y)), None), id="polars"),
        pytest.param(lambda X, y: (pa.Table.from_pandas(frame_of(X, y)), None), id="arrow"),
        pytest.param(lambda X, y: (pa.Table.from_pandas(frame_of(X, y)).to_reader(7), None), id="stream"),
        pytest.param(lambda X, y: (pa.RecordBatch.from_pandas(frame_of(X, y)), None), id="record-batch"),
        pytest.param(lambda X, y: (iter([(X[:10], y[:10]), frame_of(X[10:], y[10:])]), None), id="iterator"),
        pytest.param(lambda X, y: (one_by_one(X, y), None), id="one-by-one"),
    ],
)
def test_every_form_of_the_same_rows_gives_the_same_reports(specification, table, monkeypatch):
    monkeypatch.setattr(_specification, "_ROWS_AT_ONCE", 16)
    X, y = make_rows(50)
    np.testing.assert_array_equal(draw(specification, *table(X, y)), draw(specification, X, y))


@settings(deadline=None, max_examples=25)
@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_batches_do_not_matter(cuts):
    X, y = make_rows(60)
    specification = curator_of(60).specification
    ends = [0, *sorted(cuts), 60]
    batches = ((X[a:b], y[a:b]) for a, b in itertools.pairwise(ends))
    np.testing.assert_array_equal(draw(specification, batches), draw(specification, X, y))


def test_a_stream_is_read_as_it_is_needed(specification, monkeypatch):
    monkeypatch.setattr(_specification, "_ROWS_AT_ONCE", 10)
    X, y = make_rows(5)
    read = []
    reports = specification.randomize_many((read.append(i) or (X, y)) for i in range(10**9))
    assert not read
    assert len(next(reports)) == 10
    assert len(read) == 2


def test_the_law_is_that_of_clients(make_specification):
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


def curator_of(n_clients, **parameters):
    plan = LocallyPrivateTreeClassifier(
        epsilon=4.0, bounds=[[0, 0], [1, 2]], classes=["no", "yes"], max_depth=2, **parameters
    )
    return TreeCurator(plan, n_clients=n_clients, features=COLUMNS, label="sick")


def test_a_curator_takes_them(tmp_path):
    X, _ = make_rows(3000)
    y = np.where(X[:, 1] > 1, "yes", "no")
    curator = curator_of(3000)
    curator.update(curator.specification.randomize_many(X, y))
    assert curator.n_reports == 3000
    assert (curator.release().predict(frame_of(X, y)[COLUMNS]) == y).mean() > 0.95
    with ReportWriter(tmp_path / "reports.bin", curator.specification) as writer:
        for reports in curator.specification.randomize_many(frame_of(X, y)):
            writer.write(reports)
    assert curator.update_file(tmp_path / "reports.bin")
    assert curator.n_reports == 6000


@pytest.mark.parametrize("strict", [False, True])
def test_what_a_client_refuses_counts_as_a_public_value(specification, strict):
    """The middle of the bounds, the bound, the first class: bit for bit, in strict mode and outside."""
    X, y = make_rows(8)
    cells, labels = X.astype(object), y.astype(object)
    for row, (bad, counted) in enumerate(
        [(np.nan, 1.0), (None, 1.0), ("tall", 1.0), (np.inf, 2.0), (-np.inf, 0.0), (10**400, 2.0), ([1], 1.0)]
    ):
        cells[row, 1], X[row, 1] = bad, counted
    labels[[0, 2, 5]] = ["maybe", None, float("nan")]
    labels[6] = ["no", "yes"]
    y[[0, 2, 5, 6]] = "no"
    with skprivate.config_context(strict=strict):
        found = draw(specification, cells.tolist(), labels)
    np.testing.assert_array_equal(found, draw(specification, X, y))


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table])
def test_cells_of_frames_are_replaced_too(specification, form):
    frame = {"age": [0.3, None, 0.5], "weight": [0.2, np.nan, np.inf], "sick": ["yes", None, "maybe"]}
    X, y = [[0.3, 0.2], [0.5, 1.0], [0.5, 2.0]], ["yes", "no", "no"]
    np.testing.assert_array_equal(draw(specification, form(frame)), draw(specification, X, y))
    with pytest.raises(TypeError, match=r'{"age": \["...", ...\], "weight": \(low, high\)}'):
        draw(specification, form(frame | {"age": ["0.3", "old", None]}))


def test_the_mode_of_the_caller_is_left_alone(specification, monkeypatch):
    monkeypatch.setattr(_specification, "_ROWS_AT_ONCE", 10)
    X, y = make_rows(30)
    for _ in specification.randomize_many((X[at : at + 10], y[at : at + 10]) for at in (0, 10, 20)):
        assert not skprivate.get_config()["strict"]


def test_no_rows_no_reports(specification):
    assert list(specification.randomize_many(np.zeros((0, 2)), [])) == []
    assert list(specification.randomize_many(iter([]))) == []


@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        (np.full((3, 2), 0.987), None, ValueError, "y is missing"),
        (np.full((3, 2), 0.987), ["no"] * 2, ValueError, "one value per row"),
        (np.full((3, 2), 0.987), np.full((3, 2), "no"), ValueError, "one-dimensional"),
        (np.full((3, 2), 0.987), "no!", ValueError, "one-dimensional"),
        (np.full((3, 3), 0.987), ["no"] * 3, ValueError, "X must have 2 columns"),
        (np.full(3, 0.987), ["no"] * 3, ValueError, "two-dimensional"),
        ([[0.987], [0.987, 0.987]], ["no"] * 2, ValueError, "two-dimensional"),
        (0.987, ["no"], TypeError, "must be a table"),
        (np.full((3, 2), 0.987), np.full(3, 987), TypeError, "y holds numbers or booleans"),
        (np.full((3, 2), 0.987), np.full(3, 987, "M8[D]"), TypeError, "dates"),
        (np.full((3, 2), 987, "M8[D]"), ["no"] * 3, TypeError, "dates"),
        (np.ma.masked_all((3, 2)), ["no"] * 3, TypeError, "masked"),
        (pd.DataFrame({"age": [0.987], "sick": ["no"]}), None, ValueError, "weight"),
        (pd.DataFrame({"age": [0.987], "weight": [0.987]}), None, ValueError, "sick"),
        (pd.DataFrame({"age": [0.987]}), ["no"], ValueError, "weight"),
        (pa.table({"age": [0.987], "weight": [0.987], "sick": ["no"]}), ["no"], ValueError, "leave y out"),
        (iter([np.full((3, 2), 0.987)]), None, ValueError, "y is missing"),
        (iter([]), ["no"], ValueError, "pairs"),
    ],
)
def test_other_tables_are_refused_without_a_value(specification, X, y, error, match):
    with pytest.raises(error, match=match) as caught:
        list(specification.randomize_many(X, y))
    assert "987" not in str(caught.value)


def test_numbers_do_not_stand_for_text(make_specification):
    specification = make_specification(classes=(0, 1))
    with pytest.raises(TypeError, match="y holds text"):
        list(specification.randomize_many(np.zeros((2, 2)), np.array(["0", "1"])))


def test_features_are_told_with_consent_only(make_specification):
    base = make_specification(classes=(0, 1))
    randomizer = LabelRandomizer(1.0, base.partition.n_leaves)
    specification = TreeSpecification(base.partition, randomizer, (0, 1))
    X, y = make_rows(10, (0, 1))
    with pytest.raises(PrivacyLeakError, match="the label alone"):
        specification.randomize_many(X, y)
    assert len(draw(specification, X, y, protect="label")) == 10
