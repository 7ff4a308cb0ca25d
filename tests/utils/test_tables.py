# SPDX-License-Identifier: BSD-3-Clause
"""Dates, durations, masks, numbers beyond floats and surrogates: one clear error, whatever meets them."""

import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skprivate import (
    BoundsScaler,
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    DPBoostingRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    LocalAverageRegressor,
    LocallyPrivateTreeClassifier,
    MomentAccumulator,
    PrivateGridSearch,
    SecureSumAggregator,
    TQMATransformer,
    config_context,
)
from skprivate.collection import TreeClient, TreeCurator, TreeSpecification
from skprivate.domain._labels import plain_cells
from skprivate.evaluation import private_evaluate
from skprivate.metrics import record_linkage_score
from skprivate.partition import Partition
from skprivate.preprocessing import DomainEncoder, SilentUfunc, estimate_bounds
from skprivate.randomizers import HadamardRandomizer
from skprivate.rounds import fit_rounds
from skprivate.utils._tables import numbers_of, refuse_cells, refuse_kinds, refuse_missing
from tests.accounting.records import spend

N = 12
X = np.random.default_rng(0).uniform(size=(N, 2))
LABELS, TIMES = np.arange(N) % 2, 1 + X[:, 0]
DAYS = np.arange(N).astype("M8[D]")
DATES = "holds dates or durations; turn them into numbers of one unit, such as days"
MASKED = "must not be a masked array"
BEYOND = "holds a number that a float cannot hold"
SURROGATE = "\ud800"
STRANGE_NAMES = pd.Index(["a", SURROGATE], dtype=object)


def with_cell(value):
    table = X.astype(object)
    table[3, 1] = value
    return table


def frame(column, library=pd):
    return library.DataFrame({"a": X[:, 0], "b": column})


CELLS = {
    "date": datetime.date(2020, 1, 1),
    "time": datetime.time(1),
    "duration": datetime.timedelta(3),
    "NumPy's date": np.datetime64("2020-01-01"),
    "NumPy's duration": np.timedelta64(3, "D"),
    "Timestamp": pd.Timestamp(0),
    "NaT": pd.NaT,
    "Timedelta": pd.Timedelta(3),
    "Period": pd.Period("2020-01"),
}
DAYS_OF_PANDAS = pd.Series(DAYS)
DAYS_OF_POLARS = pl.Series(DAYS.astype("M8[us]"))
COLUMNS = {
    "pandas": frame(DAYS_OF_PANDAS),
    "time zone": frame(DAYS_OF_PANDAS.dt.tz_localize("UTC")),
    "durations": frame(DAYS_OF_PANDAS - DAYS[0]),
    "periods": frame(pd.Series(pd.period_range("2020", periods=N, freq="D"))),
    "categories": frame(DAYS_OF_PANDAS.astype("category")),
    "Arrow": frame(DAYS_OF_PANDAS.astype("timestamp[ns][pyarrow]")),
    "Arrow's days": frame(pd.Series(DAYS.astype(object)).astype("date32[pyarrow]")),
    "polars": frame(pl.Series(DAYS), pl),
    "polars' time zone": frame(DAYS_OF_POLARS.dt.replace_time_zone("UTC"), pl),
    "polars' durations": frame(pl.Series((DAYS - DAYS[0]).astype("m8[us]")), pl),
    "array": np.column_stack([DAYS, DAYS]),
    "array of durations": np.column_stack([DAYS, DAYS]) - DAYS[0],
    "column": DAYS,
    "record": np.array([(1.0, DAYS[0])], dtype=[("a", float), ("b", "M8[D]")]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_types_of_dates_are_refused_in_every_mode(name):
    for strict in (False, True):
        with config_context(strict=strict), pytest.raises(TypeError, match=f"z {DATES}"):
            refuse_kinds(COLUMNS[name], "z")
    if name != "record":
        with pytest.raises(TypeError, match=DATES):
            numbers_of(COLUMNS[name])


@pytest.mark.parametrize("name", CELLS)
def test_single_dates_are_refused_or_missing(name):
    table = with_cell(CELLS[name])
    both = [table, table.tolist(), table[3].tolist(), pd.DataFrame(table), [*X[:3], table[3]]]
    if name not in ("NaT", "Period"):
        both.append(pl.DataFrame({"b": pl.Series([CELLS[name], 1.5], dtype=pl.Object)}))
    for container in both:
        with pytest.raises(TypeError, match=DATES):
            refuse_cells(container)
    # In strict mode no cell is an error, nor a number by accident.
    assert np.isnan(numbers_of(table)[3, 1])
    assert plain_cells(table[3]).tolist() == [X[3, 0], None]


def test_masks():
    masked = np.ma.array(X, mask=X > 0.5)
    for check in (refuse_kinds, numbers_of):
        with pytest.raises(TypeError, match=MASKED):
            check(masked)
    for rows in ([[np.ma.masked, 1.0]], [masked[0], masked[1]]):
        with pytest.raises(TypeError, match=MASKED):
            refuse_cells(rows)


@pytest.mark.parametrize("value", [10**400, -(10**400), Fraction(10**400)])
def test_numbers_beyond_floats(value):
    for container in (with_cell(value), with_cell(value).tolist(), pd.DataFrame(with_cell(value))):
        with pytest.raises(ValueError, match=BEYOND) as caught:
            refuse_cells(container)
        assert "000" not in str(caught.value)


def test_what_is_usual_is_not_refused():
    categories = pd.Series(["a", "b"] * 6).astype("category")
    nullable = pd.Series([1, None] * 6, dtype="Int64")
    cells = X.astype(object), with_cell(None), with_cell("text"), with_cell(10**300), [], [[]]
    frames = [frame(X[:, 1]), frame(categories), frame(nullable), frame(X[:, 1], pl), frame(["a"] * N, pl)]
    for values in (X, X.tolist(), *cells, *frames, LABELS, pd.Series(LABELS), None, object()):
        refuse_kinds(values)
        refuse_cells(values)


@pytest.mark.parametrize("value", [None, pd.NA, pd.NaT])
def test_what_is_missing_in_a_target(value):
    for container in ([1, value], np.array([1, value], dtype=object), pd.Series([1, value], dtype=object)):
        with pytest.raises(ValueError, match="y holds None or another missing value"):
            refuse_missing(container)
    refuse_missing(np.array([1.0, np.nan]))


# Everything that takes rows.

SITES = np.arange(N) % 3
TREE = {"bounds": (0, 1), "classes": [0, 1]}
LEARNERS = {
    "central": DPTreeClassifier(**TREE),
    "local": LocallyPrivateTreeClassifier(**TREE),
    "search": PrivateGridSearch(DPTreeClassifier(**TREE), {"max_depth": [1]}),
    "weibull": DPLogLocationScaleRegressor(bounds_X=(0, 1), bounds_y=(1, 2)),
    "normal": DPNormalLLSRegressor(bounds_X=(0, 1), bounds_y=(1, 2)),
    "swapping": BSTDAggregator(),
    "sum": SecureSumAggregator(),
    "local average": LocalAverageRegressor(bounds=(0, 1)),
    "sites": CollaborativeRegressor(),
    "sites' classes": CollaborativeClassifier(),
    "sites, coarsened": CollaborativeLARRegressor(),
}
OTHERS = {
    "scaler": lambda rows: BoundsScaler((0, 1)).fit(rows),
    "scaler, transform": lambda rows: BoundsScaler((0, 1)).fit(X).transform(rows),
    "scaler, back": lambda rows: BoundsScaler((0, 1)).fit(X).inverse_transform(rows),
    "coarsened": lambda rows: TQMATransformer(bounds=(0, 1)).fit(rows),
    "bounds": lambda rows: estimate_bounds(rows, epsilon=1.0),
    "moments": lambda rows: MomentAccumulator((0, 1), (1, 2), max_rows=N).update(rows, TIMES),
    "curator": lambda rows: TreeCurator(LocallyPrivateTreeClassifier(**TREE), rows, LABELS, n_clients=9),
    "linkage": lambda rows: record_linkage_score(rows, X),
}
# No cell makes them fail: they do not know the ledger that counts, and hand NaN to the model behind them.
STEPS = ("scaler", "scaler, transform", "coarsened")
HOSTILE = {
    "dates": (COLUMNS["array"], TypeError, DATES),
    "time zone": (COLUMNS["time zone"], TypeError, DATES),
    "cell": (with_cell(pd.NaT), TypeError, DATES),
    "duration": (with_cell(np.timedelta64(3, "D")).tolist(), TypeError, DATES),
    "masked": (np.ma.array(X, mask=X > 0.5), TypeError, MASKED),
    "beyond": (with_cell(10**400), ValueError, BEYOND),
    "name": (pd.DataFrame(X, columns=STRANGE_NAMES), ValueError, "surrogates"),
}


def fit(name, rows, y):
    sites = {"sites": SITES} if name.startswith("sites") else {}
    return clone(LEARNERS[name]).fit(rows, y, **sites)


def target_of(name):
    return LABELS if is_classifier(LEARNERS[name]) else TIMES


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("name", [*LEARNERS, *OTHERS])
def test_hostile_rows(name):
    for what, (rows, kind, message) in HOSTILE.items():
        if name in STEPS and what in ("cell", "duration", "beyond"):
            OTHERS[name](rows)
            continue
        if name == "moments" and what == "time zone":
            message = message.replace("holds dates", "'b' holds dates")
        if name == "coarsened" and what == "time zone":
            # Other columns pass as they are; one that is coarsened is named.
            kind, message = ValueError, "column 'b' is a quasi-identifier and does not hold numbers"
        with pytest.raises(kind, match=message) as caught:
            OTHERS[name](rows) if name in OTHERS else fit(name, rows, target_of(name))
        assert "2020" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_hostile_targets(name):
    for value, kind, message in (
        (None, ValueError, "y holds None"),
        (10**400, ValueError, f"y {BEYOND}"),
        (pd.Timestamp(0), TypeError, f"y {DATES}"),
    ):
        y = target_of(name).astype(object)
        y[3] = value
        for container in (y, y.tolist()):
            with pytest.raises(kind, match=message):
                fit(name, X, container)
    for y, message in ((DAYS, DATES), (np.ma.array(TIMES, mask=TIMES > 1.5), MASKED)):
        with pytest.raises(TypeError, match=message):
            fit(name, X, y)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_strict_mode_refuses_types_and_replaces_cells():
    with config_context(strict=True):
        for learner in ("central", "weibull", "search"):
            for rows, kind, message in (HOSTILE["dates"], HOSTILE["time zone"], HOSTILE["masked"]):
                with pytest.raises(kind, match=message):
                    fit(learner, rows, target_of(learner))
        for learner in ("central", "weibull"):
            for cell in (pd.NaT, np.timedelta64(3, "D"), 10**400):
                fit(learner, with_cell(cell).tolist(), target_of(learner))


# Text, by the types of columns: before a cell is read, and before the ledger is charged.

SECRET = "secret-4711"
NAMES = '{"a": (low, high), "job": ["...", ...]}'
TEXT = {
    "str": lambda: pd.DataFrame({"a": X[:, 0], "job": [SECRET] * N}),
    "objects": lambda: pd.DataFrame({"a": X[:, 0], "job": pd.Series([SECRET, 1.5] * 6, dtype=object)}),
    "categories": lambda: TEXT["str"]().astype({"job": "category"}),
    "Arrow in pandas": lambda: TEXT["str"]().convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.DataFrame({"a": X[:, 0], "job": [SECRET] * N}),
    "polars' categories": lambda: TEXT["polars"]().cast({"job": pl.Categorical}),
    "Arrow": lambda: pa.table({"a": X[:, 0], "job": [SECRET] * N}),
    "Arrow's codes": lambda: pa.table({"a": X[:, 0], "job": pa.array([SECRET] * N).dictionary_encode()}),
    "array of text": lambda: np.array([["1.5", SECRET]] * N),
}


def tree_in_a_pipeline():
    return make_pipeline(BoundsScaler((0, 1)), DPTreeClassifier(**TREE))


READERS = {
    **{one: partial(lambda one, rows: fit(one, rows, target_of(one)), one) for one in LEARNERS},
    **OTHERS,
    "boosting": lambda rows: DPBoostingRegressor(bounds_X=(0, 1), bounds_y=(1, 2)).fit(rows, TIMES),
    "logistic": lambda rows: DPLogisticRegression(bounds=(0, 1), classes=[0, 1]).fit(rows, LABELS),
    "encoder without a domain": lambda rows: DomainEncoder().fit(rows),
    "pipeline": lambda rows: tree_in_a_pipeline().fit(rows, LABELS),
    "function": lambda rows: FunctionTransformer(SilentUfunc(np.log1p)).fit_transform(rows),
    "rounds": lambda rows: fit_rounds(clone(LEARNERS["weibull"]), [(rows, TIMES)]),
    "predict": lambda rows: fit("central", X, LABELS).predict(rows),
    "evaluation": lambda rows: private_evaluate(tree_in_a_pipeline().fit(X, LABELS), rows, LABELS, 1e3),
    "evaluation of a tree": lambda rows: private_evaluate(fit("central", X, LABELS), rows, LABELS, 1e3),
    "client": lambda rows: list(make_specification(["a", "job"]).randomize_many(rows, LABELS * 3)),
}


def assert_text_is_refused(reader, what, strict):
    with config_context(strict=strict), pytest.raises(TypeError, match="X holds text or objects") as told:
        READERS[reader](TEXT[what]())
    assert SECRET not in str(told.value)
    assert what == "array of text" or f"TableDomain({NAMES})" in str(told.value)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("what", TEXT)
def test_columns_of_text_are_refused_by_their_types(what, strict):
    assert_text_is_refused("central", what, strict)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", sorted(set(READERS) - {"sites, coarsened", "coarsened", "linkage"}))
def test_whatever_reads_rows_refuses_columns_of_text(name, strict):
    for what in ("str", "polars", "array of text"):
        assert_text_is_refused(name, what, strict)


def test_an_array_of_objects_is_read_by_its_cells_outside_strict_mode_alone():
    cells = with_cell("0.5")
    fit("central", cells, LABELS)
    with config_context(strict=True), pytest.raises(TypeError, match="X holds text or objects"):
        fit("central", cells, LABELS)
    with pytest.raises(ValueError, match=r"X holds text; .*domain=TableDomain") as told:
        fit("central", with_cell(SECRET), LABELS)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    "column",
    [
        *(LABELS, LABELS.astype(bool), LABELS.astype(np.float32), pd.Categorical([0, 1] * 6)),
        *(pd.array([0, 1] * 6, dtype="Int64"), pd.array([0, 1] * 6, dtype="int64[pyarrow]")),
        *(pd.array([True, False] * 6, dtype="boolean"), pl.Series([True, False] * 6)),
        pl.Series([Decimal(0), Decimal(1)] * 6),
    ],
    ids=str,
)
def test_columns_of_numbers_are_not_refused(column):
    for strict in (False, True):
        with config_context(strict=strict):
            fit("central", frame(column, pl if isinstance(column, pl.Series) else pd), LABELS)


# One person's device, and what is published.


def make_specification(names=("age",), classes=(0, 3)):
    bounds = [0.0] * len(names), [100.0] * len(names)
    partition = Partition.from_splits([0, -1, -1], [40.0], *bounds)
    return TreeSpecification(partition, HadamardRandomizer(1.0, n_cells=2), classes, names)


@pytest.mark.parametrize("value", [np.timedelta64(3, "D"), np.datetime64("2020-01-01"), 10**400, pd.NaT])
def test_a_client_takes_no_dates(value):
    client = TreeClient(make_specification())
    for x in ([value], {"age": value}):
        with pytest.raises(ValueError, match="'age' must hold a finite number"):
            client.randomize(x, 3)
    with pytest.raises(ValueError, match="is not one of the specification's classes"):
        client.randomize([1], np.timedelta64(3, "D"))
    with pytest.raises(ValueError, match="masked"):
        client.randomize(np.ma.array([1.0], mask=[False]), 3)


def test_no_hidden_report_or_group_counts():
    specification = make_specification()
    reports = np.ma.array(specification.randomizer.randomize([0, 1]), mask=[True, False])
    with pytest.raises(TypeError, match="hidden report"):
        specification.randomizer.aggregate(reports)
    with pytest.raises(TypeError, match="hidden group"):
        DPTreeClassifier(**TREE).fit(X, LABELS, groups=np.ma.array(SITES, mask=SITES > 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_specification(names=[SURROGATE]),
        lambda: make_specification(classes=["a", SURROGATE]),
        lambda: MomentAccumulator((0, 1), (1, 2), max_rows=N, feature_names=[SURROGATE]),
        lambda: MomentAccumulator((0, 1), (1, 2), max_rows=N, target=SURROGATE),
        lambda: MomentAccumulator((0, 1), (1, 2), max_rows=N).update(X, TIMES, batch_id=SURROGATE),
        lambda: CollaborativeRegressor().fit(X, TIMES, sites=[SURROGATE, "a"] * 6),
        lambda: spend(unprotected={"classes": ("a", SURROGATE)}),
    ],
)
def test_surrogates_in_names(make):
    with pytest.raises(ValueError, match="holds lone surrogates"):
        make()
