# SPDX-License-Identifier: BSD-3-Clause
"""Sources, tables and targets that are refused: before the charge if possible, and no value is repeated."""

from datetime import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from skprivate import (
    DPLogLocationScaleRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    TableDomain,
    config_context,
)
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError
from skprivate.rounds import PartialSums, TableSource, fit_rounds
from skprivate.rounds._rows import KINDS, check_observations, read_target
from skprivate.rounds._tables import TableColumns, iter_batches, read_pieces
from tests.rounds.examples import LIFE, NAMES, PUBLIC, ROWS, Mortal, N, is_round, unfitted

#: Private values.
SECRETS = ("777", "secret", "7.25", "1.5", "1234")
BOTH = (TypeError, ValueError)

# Sources


def source(tables=ROWS, **options):
    return lambda: TableSource(tables, **options)


ENDS = {"lower": "life", "upper": "seen"}
SOURCES = {
    "no features": (source(target="life", features=[]), "features"),
    "no jobs": (source(target="life", n_jobs=0), "n_jobs"),
    "no tables": (source([]), "empty"),
    "one end": (source(lower="life"), "lower and upper together"),
    "ends and a target": (source(**ENDS, target="age"), "in place of a target"),
    "ends and an event": (source(lower="life", upper="age", event="seen"), "event needs target"),
    "an entry": (source(entry="age"), "entry needs"),
    "an entry and a target": (source(target="life", entry="age"), "entry needs"),
    "one column twice": (source(lower="life", upper="life"), "different columns"),
    "codes without a column": (source(target="life", happened=2), "name its column"),
    "no rows": (source(target="life", n_rows=0), "n_rows"),
    "rows without features": (source([ROWS, ROWS], target="life", n_rows=N), "name the features"),
    "persons in tables": (source([ROWS, ROWS], groups="person"), "groups_within_tables=True"),
}
SOURCES_TYPES = {
    "rows as text": (source(target="life", n_rows="500"), "n_rows"),
    "rows as a boolean": (source(target="life", n_rows=True), "n_rows"),
    "four parts": (source([(1, 2, 3, 4)]), "X, y"),
    "a number": (source([3]), "a table must be"),
    "a stream": (source(pa.Table.from_pandas(ROWS).to_reader()), "read only once"),
    "a tree without rounds": (lambda: fit_rounds(LocallyPrivateTreeClassifier(), [ROWS]), "cannot be fitted"),
}

# Batches

FRAME = {"a": [1.0, 2.5, -3.0], "hours": [9.0, 8.0, 7.0], "b": [4, 5, 6]}
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "Arrow": pa.table}


def batch(table, y=None, **options):
    return lambda: [*iter_batches(table, y, **options)[1]]


LEVELS = r'domain=TableDomain\({"a": \["...", ...\]}\)'
BATCHES = {
    **{
        f"{library}, {what}": (batch(make(FRAME), **options), match)
        for library, make in LIBRARIES.items()
        for what, options, match in (
            ("no target", {"target": "nowhere"}, "nowhere"),
            ("no feature", {"target": "hours", "features": ["a", "c"]}, "once: c"),
            ("nothing named", {}, "target="),
        )
    },
    "two of one name": (
        batch(pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "hours"]), target="hours"),
        "once: a, a",
    ),
    "two of one name in Arrow": (
        batch(pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "hours"]), target="hours"),
        "once: a, a",
    ),
    "an array alone": (batch(np.zeros((3, 2))), "y is missing"),
    "a target twice": (batch(pa.table(FRAME), np.zeros(3), target="hours"), "column of Arrow data"),
    "a short target": (batch(pd.DataFrame(FRAME), np.zeros(2)), "one value per row"),
    "no columns": (lambda: list(read_pieces(pd.DataFrame(index=range(3)), TableColumns())), "no columns"),
}
BATCHES_TYPES = {
    **{
        f"{library}, dates": (
            batch(make({"a": [datetime(2020, 1, 1)], "hours": [1.0]}), target="hours"),
            "holds dates or durations",
        )
        for library, make in LIBRARIES.items()
    },
    **{
        f"{library}, text": (batch(make({"a": values, "hours": [1.0, 2.0]}), target="hours"), LEVELS)
        for library, make in LIBRARIES.items()
        for values in (["secret", "12"], [None, b"secret"])
    },
}

# Targets

EVENT, TIMES = np.array([True, False, True]), np.array([7.25, 1.5, 1234.5])
INF = np.inf


def structured(**columns):
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    y = np.empty(len(next(iter(arrays.values()))), dtype=[(name, one.dtype) for name, one in arrays.items()])
    for name, values in arrays.items():
        y[name] = values
    return y


def lives(event=EVENT, time=TIMES, **more):
    return target(structured(event=event, time=time, **more), False, None)


def ends(lower, upper, **more):
    return target(structured(lower=[lower], upper=[upper], **more))


def target(y, log_target=True, kinds=KINDS):
    return lambda: read_target(y, log_target, kinds)


def frame(columns):
    return target(pd.DataFrame(columns), False, None)


def undeclared(lower, upper, kind):
    y = structured(lower=[lower], upper=[upper])
    return target(y, True, tuple(other for other in KINDS if other != kind))


UNDECLARED = "{}.*observations does not declare"
TARGETS = {
    "time 0": (lives(time=[7.25, 0.0, 1234.5]), "not above 0"),
    "time below 0": (lives(time=[7.25, -1.5, 1234.5]), "not above 0"),
    "a missing time": (lives(time=[7.25, np.nan, 1234.5]), "contains NaN"),
    "an infinite time": (lives(time=[7.25, INF, 1234.5]), "infinity"),
    "a nullable time": (frame({"e": EVENT, "t": pd.array([7.25, None, 1234.5])}), "contains NaN"),
    "three fields": (frame({"e": EVENT, "t": TIMES, "u": TIMES}), "two fields.*it has 3"),
    "one field": (target(structured(event=EVENT)), "it has 1"),
    "two dimensions": (target(structured(event=EVENT, time=TIMES)[:, None]), "one-dimensional"),
    "a field of pairs": (target(np.zeros(3, dtype=[("e", bool), ("t", float, (2,))])), "one-dimensional"),
    "fields of one name": (target(pd.DataFrame(np.zeros((3, 2)), columns=["e", "e"])), "one-dimensional"),
    "a number of 0": (target(np.array([7.25, 0.0])), "not above 0"),
    "ends in another order": (ends(7.25, 1.5), "lower end is above"),
    "a lower end below 0": (ends(-7.25, 1.5), "below 0"),
    "an upper end of 0": (ends(0.0, 0.0), "not above 0"),
    "an upper end below 0": (ends(-INF, -7.25), "not above 0"),
    "an unknown upper end": (ends(7.25, np.nan), "NaN: write an unknown"),
    "an unknown lower end": (ends(np.nan, 7.25), "NaN: write an unknown"),
    "an event at infinity": (ends(INF, INF), "infinite"),
    "an entry at the end": (ends(7.25, INF, entry=[7.25]), "entry that is not before"),
    "an entry at the upper end": (ends(1.5, 7.25, entry=[7.25]), "entry that is not before"),
    "an unknown entry": (ends(1.5, 7.25, entry=[np.nan]), "NaN"),
    "an infinite entry": (ends(1.5, 7.25, entry=[INF]), "infinity"),
    "an entry at the event": (lives([True], [7.25], entry=[7.25]), "entry that is not before"),
    "an entry after censoring": (lives([False], [7.25], entry=[8.0]), "entry that is not before"),
    "ends and events": (frame({"lower": [7.25], "upper": [8.0], "event": [True]}), "it has 3"),
    "events and entries": (frame({"event": [True], "entry": [7.25]}), "it has 2"),
    "an undeclared censoring": (
        target(structured(event=[False], time=[2.0], entry=[0.0]), True, ("exact", "entry")),
        "right-censored",
    ),
    "an undeclared event": (undeclared(2.0, 2.0, "exact"), UNDECLARED.format("an event at")),
    "an undeclared end": (undeclared(2.0, INF, "right"), UNDECLARED.format("right-censored")),
    "an undeclared start": (undeclared(0.0, 2.0, "left"), UNDECLARED.format("left-censored")),
    "an undeclared interval": (undeclared(2.0, 3.0, "interval"), UNDECLARED.format("interval-censored")),
    "undeclared ends": (
        lambda: check_observations(None, True, ("lower", "upper")),
        "lower and upper: declare",
    ),
    "an undeclared entry": (
        lambda: check_observations(["exact"], True, ("event", "time", "entry")),
        "declare 'entry'",
    ),
    "an entry without observations": (
        lambda: check_observations(None, True, ("event", "time", "entry")),
        "declare 'entry'",
    ),
}
TARGETS_TYPES = {
    "whole events": (lives([1, 0, 1]), r"not boolean.*life_data\(time=y"),
    "events of floats": (lives([1.0, 0.0, 1.0]), "not boolean"),
    "an unknown event": (lives(np.array([True, None, False], dtype=object)), "not boolean"),
    "time first": (frame({"time": TIMES, "event": EVENT}), "event comes first"),
    "a frame of whole events": (frame({"e": [1, 0, 1], "t": TIMES}), "not boolean"),
    "boolean times": (lives(time=EVENT), "the time is of type bool"),
    "times of text": (lives(time=["7.25", "1.5", "1234.5"]), "not a number"),
    "durations": (lives(time=np.array([1, 2, 3], dtype="m8[D]")), "timedelta64"),
    "masked fields": (target(np.ma.masked_array(structured(event=EVENT, time=TIMES))), "masked"),
    "ends of text": (frame({"lower": ["7.25"], "upper": [8.0]}), "lower is of type"),
    "ends of booleans": (frame({"lower": [True], "upper": [8.0]}), "lower is of type bool"),
    "entries of text": (frame({"lower": [7.25], "upper": [8.0], "entry": ["1.5"]}), "entry is of type"),
}
ERRORS = {
    ValueError: {**SOURCES, **BATCHES, **TARGETS},
    TypeError: {**SOURCES_TYPES, **BATCHES_TYPES, **TARGETS_TYPES},
}
REFUSALS = [
    pytest.param(error, *row, id=name) for error, rows in ERRORS.items() for name, row in rows.items()
]


@pytest.mark.parametrize(("error", "call", "match"), REFUSALS)
def test_what_is_refused(error, call, match):
    with pytest.raises(error, match=match) as caught:
        call()
    assert not any(text in str(caught.value) for text in SECRETS)
    assert caught.value.__context__ is None or "secret" not in str(caught.value.__context__)


# Fits


class Answers:
    """An engine whose answers to looks and to rounds are made by functions of (tables, function)."""

    def __init__(self, tables, look=None, rounds=None):
        self.tables, self.look, self.rounds = tables, look or self.honest, rounds or self.honest

    @staticmethod
    def honest(tables, function):
        return [function(table, place) for place, table in enumerate(tables)]

    def map_partitions(self, function):
        return (self.rounds if is_round(function) else self.look)(self.tables, function)


def one_name(tables, function):
    return [function(table, 7) for table in tables]


def half(tables, function):
    return Answers.honest(tables, function)[:1]


def fewer(tables, function):
    return [function(tables[0][:100], 0)]


def of_another_run(tables, function):
    """Answer with the sums of a task of another run."""
    kept = []

    def keep(tables, function):
        kept.extend(Answers.honest(tables, function))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_rounds(DPSEVRegressor(1.0, **LIFE), TableSource(Answers(tables, rounds=keep), **NAMED))
    return kept


NAMED = {"target": "life", "features": NAMES}
HALVES = [ROWS[:300], ROWS[300:]]
RENAMED = ROWS[[*NAMES, "life"]].rename(columns={"age": "year"})
BAD = ROWS.assign(age=np.where(np.arange(N) == 177, np.nan, 1.0))
TWICE = "'7' was received twice, with different rows"
#: Tables, error, its words, charges (rows were read by then), and what the source is told beside.
FITS = {
    "a missing column": ([ROWS, ROWS.drop(columns="age")], ValueError, "columns once: age", 0, {}),
    "another column": (
        [ROWS[[*NAMES, "life"]], RENAMED],
        ValueError,
        "differ in their columns",
        0,
        {"features": None},
    ),
    "text": ([ROWS, ROWS.assign(age="777")], TypeError, 'holds text.*"age": \\["...", ...\\]', 0, {}),
    "no row": ([ROWS[:0], ROWS[:0]], ValueError, "has no rows", 0, {}),
    "one name": (Answers([ROWS[:10], ROWS[10:]], one_name, one_name), ValueError, TWICE, 0, {}),
    # As many rows, which only their sums tell apart.
    "one name for halves": (Answers(HALVES, one_name, one_name), ValueError, TWICE, 1, {}),
    "tables that change": (Answers([ROWS], rounds=fewer), ValueError, "has changed", 1, {}),
    "an answer that is lost": (Answers(HALVES, rounds=half), ValueError, "was not received", 1, {}),
    "an old answer": (Answers([ROWS], rounds=of_another_run), ValueError, "those of another plan", 1, {}),
    "a row less": ([ROWS], ValueError, "the declared number of rows", 1, {"n_rows": N + 1}),
    "too many rows": ([ROWS], ValueError, "too many rows", 0, {"n_rows": 2**70}),
    "NaN": ([BAD], ValueError, "finite", 1, {}),
}


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("name", FITS)
def test_fits_that_are_refused(name, tmp_path):
    tables, error, match, charged, options = FITS[name]
    ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=100)
    model = DPSEVRegressor(1.0, bounds_X=(-3, 3), bounds_y=(0.1, 50), ledger=ledger)
    with pytest.raises(error, match=match) as caught:
        fit_rounds(model, TableSource(tables, **{**NAMED, **options}))
    assert len(ledger.entries()) == charged
    assert ledger.n_failures == charged or name != "NaN"
    assert not any(text in str(caught.value) for text in SECRETS)
    assert not hasattr(model, "coef_")


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_strict_mode_takes_any_value_and_neither_objects_nor_a_seed():
    with config_context(strict=True):
        model = DPSEVRegressor(1.0, bounds_X=(-3, 3), bounds_y=(0.1, 50))
        assert fit_rounds(model, TableSource([BAD], **NAMED)).privacy_spent_.private
        objects = TableSource([ROWS[:100], ROWS[100:].astype({"age": object})], **NAMED)
        with pytest.raises(TypeError, match=r'domain=TableDomain\({"load": \(low, high\), .*"age": \["'):
            fit_rounds(model, objects)
        with pytest.raises(PrivacyLeakError):
            fit_rounds(unfitted("moments"), TableSource([ROWS], **NAMED))


def test_what_must_be_declared_is_found_before_the_charge(tmp_path):
    ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=100)
    tree = DPTreeClassifier(bounds=(-3, 3), classes=["no", "yes"], ledger=ledger)
    model = DPSEVRegressor(bounds_X=(-3, 3), bounds_y=(0.1, 50), ledger=ledger)
    X = ROWS[NAMES]
    for estimator in (tree, model):
        for tables in (X, [(X.to_numpy(), None)], X.to_numpy()):
            with pytest.raises(ValueError, match="has no target"):
                fit_rounds(estimator, TableSource(tables))
    for estimator in (DPSEVRegressor(ledger=ledger), DPTreeClassifier(ledger=ledger)):
        with pytest.raises(ValueError, match="not read for"):
            fit_rounds(estimator, TableSource([ROWS], **NAMED))
    for public in ((PUBLIC[0][NAMES[:2]].assign(life=1.0), PUBLIC[1]), 5, (1, 2, 3)):
        with pytest.raises(BOTH, match=r"columns of X|tuple"):
            fit_rounds(tree, TableSource([ROWS], target="ill", features=NAMES), public=public)
    assert (ledger.entries(), ledger.n_failures) == ([], 0)


def test_a_ledger_that_refuses_is_asked_before_rows_are_read(tmp_path):
    ledger, engine = PrivacyLedger(tmp_path / "b.ledger", epsilon=Fraction(1, 2)), Mortal([ROWS], 1)
    model = DPSEVRegressor(1.0, ledger=ledger, bounds_X=(-3, 3), bounds_y=(0.1, 50))
    with pytest.raises(BudgetExceededError):
        fit_rounds(model, TableSource(engine, **NAMED))
    assert engine.left == 1


def test_what_holds_sums_or_rows_shows_none():
    part = PartialSums.of_batch("task", "a", np.array([777]), 777, 777)
    assert "777" not in repr(part) + repr(part.batches)


# Types of columns

M = 40
TYPED = pd.DataFrame(
    {
        "age": np.linspace(18, 95, M),
        "ward": ["surgery", "medicine"] * (M // 2),
        "days": np.geomspace(1, 900, M),
        "status": [2, 1] * (M // 2),
        "died": [True, False] * (M // 2),
        "state": ["dead", "alive"] * (M // 2),
        "admitted": pd.date_range("2001-01-01", periods=M),
        "stay": pd.to_timedelta(np.arange(M) + 1, unit="h"),
    }
)
DOMAIN = TableDomain({"admitted": (18, 95)})
DEAD = {"target": "days", "event": "died", "features": ["age"]}
MISTAKES = {
    "text among numbers": ({**DEAD, "features": ["age", "ward"]}, None, "X holds text or objects.*domain="),
    "dates declared as numbers": ({**DEAD, "features": ["admitted"]}, DOMAIN, "column 'admitted'.*dates"),
    "events of text": ({**DEAD, "event": "state"}, None, "column 'state' is not boolean.*happened="),
    "undeclared codes": ({**DEAD, "event": "status"}, None, r"not boolean.*event='status', happened="),
    "a code of text": ({**DEAD, "event": "status", "happened": "2"}, None, "'status' holds numbers"),
    "a code of booleans": ({**DEAD, "happened": 2}, None, "'died' holds booleans.*happened=True"),
    "durations": ({**DEAD, "target": "stay"}, None, "dates or durations|timedelta64"),
}
FORMS = {
    "pandas": lambda rows: rows,
    "polars": pl.from_pandas,
    "Arrow": pa.Table.from_pandas,
    "Arrow stream": lambda rows: lambda: pa.Table.from_pandas(rows).to_reader(),
}


def refuse_type(tmp_path, strict, source, domain, message):
    ledger = PrivacyLedger(tmp_path / "ledger")
    given = {"bounds_X": (0, 100)} if domain is None else {"domain": domain}
    model = DPLogLocationScaleRegressor(1.0, bounds_y=(0.5, 1000), ledger=ledger, **given)
    with config_context(strict=strict), pytest.raises(TypeError, match=message):
        fit_rounds(model, source)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_columns_of_unreadable_types_are_refused_before_the_charge(mistake, form, strict, tmp_path):
    named, domain, message = MISTAKES[mistake]
    refuse_type(tmp_path, strict, TableSource(FORMS[form](TYPED), **named), domain, message)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (TYPED[["age", "ward"]], TYPED[["died", "days"]], "X holds text or objects"),
        (TYPED[["age"]].to_numpy().astype(str), TYPED[["died", "days"]], "X holds text or objects"),
        (TYPED[["age"]], TYPED[["status", "days"]], r"event=y\['status'\], happened="),
        (TYPED[["age"]], TYPED[["days", "died"]], r"life_data\(time=y\['days'\], event=y\['died'\]\)"),
    ],
)
def test_arrays_of_unreadable_types_are_refused_before_the_charge(X, y, message, strict, tmp_path):
    refuse_type(tmp_path, strict, TableSource((X, y)), None, message)


@pytest.mark.parametrize("n_rows", [None, N])
def test_a_file_without_a_column_is_no_column_of_nulls(n_rows, tmp_path):
    for number, rows in enumerate((ROWS[:300], ROWS[300:].drop(columns="age"))):
        rows.to_parquet(tmp_path / f"{number}.parquet", index=False)
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    source = TableSource(ds.dataset([*tmp_path.glob("*.parquet")]), n_rows=n_rows, **NAMED)
    with pytest.raises(ValueError, match="each of these columns once: age"):
        fit_rounds(unfitted("moments").set_params(ledger=ledger), source)
    # Unless it was found before the charge.
    assert len(ledger.entries()) == (n_rows is not None)
