# SPDX-License-Identifier: BSD-3-Clause
"""A fit to a source is that of `fit` to the same rows, bit for bit, whatever the tables and their order."""

import datetime as dt
import itertools
import json
import pickle
import zlib
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate import (
    DPLogisticLLSRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    config_context,
)
from skprivate.domain._labels import number_labels
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError
from skprivate.linear_model._censored.histograms import PARTS
from skprivate.preprocessing import BoundsAccumulator
from skprivate.rounds import PartialSums, TableSource, fit_rounds
from skprivate.tree import LeafCountAccumulator
from skprivate.utils._arguments import number_units
from skprivate.utils._json_documents import unpack_integers

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

N = 600
NAMES = ["load", "heat", "age"]
LIFE = {"bounds_X": (-3.0, 3.0), "bounds_y": (0.1, 50.0), "random_state": 3}


def make_rows():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(N, 3)), columns=NAMES)
    life = np.exp(1 + 0.3 * rows["load"] + 0.2 * np.log(rng.exponential(size=N)))
    rows["life"], rows["seen"] = life, rng.random(N) < 0.7
    rows["ill"] = np.where(rows["load"] > 0, "yes", "no")
    rows["person"] = [f"person {code}" for code in rng.integers(0, 150, N)]
    return rows


ROWS = make_rows()
KNOWN = ROWS[:40]
CENSORED = np.array(
    list(zip(ROWS["seen"], ROWS["life"], strict=True)), dtype=[("event", bool), ("time", float)]
)

# Name -> (unfitted estimator, keywords of the source, targets of fit, whether rows have public ones).
REGRESSORS = {
    "moments": (DPLogLocationScaleRegressor(2.0, **LIFE), {}, "life"),
    "gaussian": (DPSEVRegressor(2.0, mechanism="gaussian", delta=1e-6, **LIFE), {}, "life"),
    "logistic": (DPLogisticLLSRegressor(2.0, relation="add-remove", **LIFE), {}, "life"),
    "norm": (DPNormalLLSRegressor(2.0, x_norm=2.0, bounds_y=(0.1, 50.0), random_state=3), {}, "life"),
    "censored": (DPLogLocationScaleRegressor(4.0, **LIFE), {"event": "seen"}, "life"),
    "persons": (DPSEVRegressor(4.0, max_rows_per_group=2, **LIFE), {"groups": "person"}, "life"),
    "censored persons": (
        DPLogLocationScaleRegressor(4.0, distribution="lognormal", max_rows_per_group=2, **LIFE),
        {"event": "seen", "groups": "person"},
        "life",
    ),
}
LABELS = {"bounds": (-3.0, 3.0), "classes": ["no", "yes"], "random_state": 3}
CLASSIFIERS = {
    "logit": (DPLogisticRegression(4.0, delta=1e-6, **LABELS), {}, "ill"),
    "logit of persons": (
        DPLogisticRegression(4.0, relation="add-remove", max_rows_per_group=2, **LABELS),
        {"groups": "person"},
        "ill",
    ),
}
REGRESSORS |= CLASSIFIERS
TREES = {
    "public rows": (DPTreeClassifier(1.0, bounds=(-3, 3), random_state=3), {}),
    "no public rows": (
        DPTreeClassifier(1.0, bounds=(-3, 3), classes=["no", "yes"], max_depth=3, random_state=3),
        {},
    ),
    "tree of persons": (
        DPTreeClassifier(1.0, bounds=(-3, 3), max_rows_per_group=2, random_state=3),
        {"groups": "person"},
    ),
}
KEPT = ("coef_", "intercept_", "scale_", "coef_interval_", "report_counts_", "leaf_proba_", "public_weight_")


def fitted_to_arrays(name):
    """Return what `fit` makes of the rows in memory."""
    if name in TREES:
        tree, options = TREES[name]
        public = np.zeros(N, dtype=bool) if name == "no public rows" else np.arange(N) < len(KNOWN)
        groups = ROWS["person"] if "groups" in options else None
        return pickle.loads(pickle.dumps(tree)).fit(ROWS[NAMES], ROWS["ill"], is_public=public, groups=groups)
    model, options, target = REGRESSORS[name]
    y = CENSORED if "event" in options else ROWS[target]
    groups = ROWS["person"] if "groups" in options else None
    return pickle.loads(pickle.dumps(model)).fit(ROWS[NAMES], y, groups=groups)


def fit_to(name, tables, **more):
    """Fit to tables of the private rows, of which only those of some names are features."""
    if name in TREES:
        tree, options = TREES[name]
        public = None if name == "no public rows" else (KNOWN[NAMES], KNOWN["ill"])
        source = TableSource(
            tables, target="ill", features=NAMES, groups_within_tables=True, **options, **more
        )
        return fit_rounds(pickle.loads(pickle.dumps(tree)), source, public=public)
    model, options, target = REGRESSORS[name]
    source = TableSource(tables, target=target, features=NAMES, groups_within_tables=True, **options, **more)
    return fit_rounds(pickle.loads(pickle.dumps(model)), source)


def private_rows(name):
    return ROWS if name == "no public rows" or name in REGRESSORS else ROWS[len(KNOWN) :]


def code_of(person):
    return zlib.crc32(person.encode())


def split(rows, cuts):
    """Cut a frame before these rows."""
    ends = [0, *sorted(cuts), len(rows)]
    return [rows.iloc[first:last] for first, last in itertools.pairwise(ends)]


def parts_of(name, cuts, order):
    """Split the private rows: by person where persons are protected, else anywhere."""
    rows = private_rows(name)
    options = (TREES.get(name) or REGRESSORS.get(name))[1]
    if "groups" in options:
        codes = rows["person"].map(code_of) % (len(cuts) + 1)
        parts = [rows[codes == code] for code in range(len(cuts) + 1)]
    else:
        parts = split(rows.sample(frac=1, random_state=order % 7), [cut % len(rows) for cut in cuts])
    shuffled = np.random.default_rng(order).permutation(len(parts))
    return [parts[place] for place in shuffled]


def assert_same(one, other):
    found = [name for name in KEPT if hasattr(one, name)]
    assert found
    for name in found:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert str(one.privacy_spent_) == str(other.privacy_spent_)
    assert one.n_features_in_ == other.n_features_in_
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()


FORMS = {
    "pandas": lambda rows: rows,
    "polars": pl.from_pandas,
    "table": lambda rows: pa.Table.from_pandas(rows, preserve_index=False),
    "stream": lambda rows: lambda: pa.Table.from_pandas(rows, preserve_index=False).to_reader(37),
}
REFERENCES = {name: fitted_to_arrays(name) for name in (*REGRESSORS, *TREES)}


@pytest.mark.parametrize("name", [*REGRESSORS, *TREES])
@settings(max_examples=6, deadline=None, derandomize=True)
@given(
    form=st.sampled_from([*FORMS]), cuts=st.lists(st.integers(0, N), max_size=5), order=st.integers(0, 1000)
)
def test_every_partition_in_every_order_gives_the_bits_of_fit(name, form, cuts, order):
    tables = [FORMS[form](part) for part in parts_of(name, cuts, order)]
    assert_same(fit_to(name, tables, n_jobs=1 + order % 2), REFERENCES[name])


def test_arrays_and_files_give_the_bits_of_fit(tmp_path):
    X, y = ROWS[NAMES].to_numpy(), ROWS["life"].to_numpy()
    model = pickle.loads(pickle.dumps(REGRESSORS["moments"][0]))
    model = fit_rounds(model, [(X[:100], y[:100]), (X[100:], y[100:])])
    np.testing.assert_array_equal(model.coef_, REFERENCES["moments"].coef_)
    for place, part in enumerate(split(ROWS, [200, 450])):
        part.to_parquet(tmp_path / f"{place}.parquet")
    assert_same(fit_to("censored", pyarrow.dataset.dataset(tmp_path)), REFERENCES["censored"])


class Engine:
    """An engine whose tasks fail, and are run again, and whose answers come in another order, twice."""

    def __init__(self, tables, broken=()):
        self.tables, self.calls, self.broken = tables, 0, broken

    def map_partitions(self, function):
        function = pickle.loads(pickle.dumps(function))
        answers = []
        for place, table in enumerate(self.tables):
            self.calls += 1
            with pytest.raises(ZeroDivisionError):
                function(table, place) and 1 / 0
            answers.append(function(table, place))
        return iter([*reversed(answers), *answers])


@pytest.mark.parametrize("name", ["moments", "censored", "public rows"])
def test_tasks_that_are_run_again_count_once(name):
    tables = parts_of(name, [100, 200], 1)
    assert_same(fit_to(name, Engine(tables)), REFERENCES[name])


def test_partial_sums_merge_on_the_engine():
    class Merging(Engine):
        def map_partitions(self, function):
            answers = [function(table, place) for place, table in enumerate(self.tables)]
            if "Partition" not in type(function).__name__:
                return answers
            first, *rest = (PartialSums.from_bytes(answer) for answer in answers)
            for part in rest:
                first = first.merge(part)
            return [first.to_bytes()]

    tables = parts_of("censored", [100, 200], 1)
    assert_same(fit_to("censored", Merging(tables)), REFERENCES["censored"])


class Killed(Exception):
    pass


class Mortal:
    """Tables whose driver is killed at one of its readings."""

    def __init__(self, tables, dies_at):
        self.tables, self.left = tables, dies_at

    def map_partitions(self, function):
        if "Partition" in type(function).__name__:
            self.left -= 1
            if not self.left:
                raise Killed
        return [function(table, place) for place, table in enumerate(self.tables)]


@pytest.mark.parametrize("name", ["censored", "censored persons", "moments", "tree of persons", "logit"])
@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_driver_that_is_killed_goes_on_and_nothing_is_charged_twice(name, dies_at, tmp_path):
    ledger, path = PrivacyLedger(tmp_path / "a.ledger", epsilon=100, delta=1e-3), tmp_path / "run"
    estimator = pickle.loads(pickle.dumps((TREES.get(name) or REGRESSORS[name])[0])).set_params(ledger=ledger)
    options = (TREES.get(name) or REGRESSORS[name])[1]
    target = "ill" if name in TREES or name in CLASSIFIERS else "life"
    public = (KNOWN[NAMES], KNOWN["ill"]) if name in TREES else None

    def source(dies_at):
        tables = Mortal(parts_of(name, [100], 1), dies_at)
        return TableSource(tables, target=target, features=NAMES, groups_within_tables=True, **options)

    n_rounds = 1 if name in ("moments", "tree of persons") else 4
    if dies_at <= n_rounds:
        with pytest.raises(Killed):
            fit_rounds(estimator, source(dies_at), public=public, checkpoint=path)
        assert path.exists()
        assert len(ledger.entries()) == 1
    fit_rounds(estimator, source(0), public=public, checkpoint=path)
    assert len(ledger.entries()) == 1
    assert not path.exists()
    assert_same(estimator, REFERENCES[name])
    # Another fit is another run.
    fit_rounds(estimator, source(0), public=public, checkpoint=path)
    assert len(ledger.entries()) == 2


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "run"

    def fit(epsilon, tables, dies_at):
        model = DPLogLocationScaleRegressor(epsilon, **LIFE)
        source = TableSource(Mortal(tables, dies_at), target="life", features=NAMES, event="seen")
        return fit_rounds(model, source, checkpoint=path)

    with pytest.raises(Killed):
        fit(4.0, [ROWS], 2)
    before = path.read_bytes()
    for epsilon, tables in ((2.0, [ROWS]), (4.0, [ROWS[:-1]])):
        with pytest.raises(ValueError, match="of another fit"):
            fit(epsilon, tables, 0)
    path.write_bytes(before[:-20])
    with pytest.raises(ValueError, match="cannot be used"):
        fit(4.0, [ROWS], 0)
    path.write_bytes(before)
    with monkeypatch.context() as patch:
        patch.setattr("skprivate.rounds._driver.__version__", "0.0.9")
        with pytest.raises(ValueError, match="another version"):
            fit(4.0, [ROWS], 0)
    assert fit(4.0, [ROWS], 0).n_iter_ >= 2


def test_another_ledger_hears_of_the_whole_cost(tmp_path):
    first, second = (PrivacyLedger(tmp_path / f"{name}.ledger", epsilon=5) for name in "ab")

    def fit(ledger, dies_at):
        model = DPLogLocationScaleRegressor(4.0, ledger=ledger, **LIFE)
        source = TableSource(Mortal([ROWS], dies_at), target="life", features=NAMES, event="seen")
        return fit_rounds(model, source, checkpoint=tmp_path / "run")

    with pytest.raises(Killed):
        fit(first, 3)
    fit(second, 0)
    assert first.remaining()[0] == second.remaining()[0] == 1


def test_two_drivers_do_not_go_on_from_one_checkpoint(tmp_path):
    path = tmp_path / "run"

    class Calling(Mortal):
        def map_partitions(self, function):
            if "Partition" in type(function).__name__:
                with pytest.raises(BlockingIOError, match="another fit"):
                    fit_rounds(DPSEVRegressor(1.0, **LIFE), self.again, checkpoint=path)
            return super().map_partitions(function)

    tables = Calling([ROWS], 0)
    source = TableSource(tables, target="life", features=NAMES)
    tables.again = TableSource([ROWS], target="life", features=NAMES)
    fit_rounds(DPSEVRegressor(1.0, **LIFE), source, checkpoint=path)


def test_without_a_seed_a_run_goes_on_with_what_it_released(tmp_path):
    path, released = tmp_path / "run", []

    def fit(dies_at):
        model = DPLogLocationScaleRegressor(4.0, bounds_X=(-3, 3), bounds_y=(0.1, 50))
        source = TableSource(Mortal([ROWS], dies_at), target="life", features=NAMES, event="seen")
        return fit_rounds(model, source, checkpoint=path)

    for dies_at in (2, 2, 0):
        try:
            model = fit(dies_at)
        except Killed:
            released.append(path.read_text())
    # The first round was released once; noise of two runs would differ.
    counts = model.release_.histogram.counts
    assert counts.shape == (2, 64)
    # The last count is of events below the lower bound, which are in the first bin.
    kept = [unpack_integers(json.loads(text)["rounds"][0][2], (2 * 64 + 1,)) for text in released]
    np.testing.assert_array_equal(kept[0], kept[1])
    counts[1, 0] -= model.release_.histogram.below
    np.testing.assert_array_equal(kept[0], np.append(counts, model.release_.histogram.below) * PARTS)


class TestRefusals:
    """Public mistakes are found before anything is charged, and no message holds a value of a row."""

    @pytest.fixture
    def ledger(self, tmp_path):
        return PrivacyLedger(tmp_path / "a.ledger", epsilon=100)

    def refuse(self, ledger, tables, match, kind=ValueError, charged=0, **options):
        model = DPSEVRegressor(1.0, bounds_X=(-3, 3), bounds_y=(0.1, 50), ledger=ledger)
        with pytest.raises(kind, match=match) as caught:
            fit_rounds(model, TableSource(tables, **{"target": "life", "features": NAMES, **options}))
        assert len(ledger.entries()) == charged
        assert "777" not in str(caught.value)
        assert not hasattr(model, "coef_")

    def test_other_columns(self, ledger):
        self.refuse(ledger, [ROWS, ROWS.drop(columns="age")], "each of these columns once: age")
        numbers = ROWS[[*NAMES, "life"]]
        renamed = numbers.rename(columns={"age": "year"})
        self.refuse(ledger, [numbers, renamed], "differ in their columns", features=None)

    def test_other_types(self, ledger):
        texts = ROWS.assign(age=["777"] * N)
        self.refuse(ledger, [ROWS, texts], 'holds text.*"age": \\["...", ...\\]', kind=TypeError)

    def test_empty(self, ledger):
        self.refuse(ledger, [ROWS[:0], ROWS[:0]], "empty")
        with pytest.raises(ValueError, match="empty"):
            TableSource([])

    def test_batch_ids(self, ledger):
        class Twice(Engine):
            def map_partitions(self, function):
                return [function(table, 7) for table in self.tables]

        self.refuse(ledger, Twice([ROWS[:10], ROWS[10:]]), "'7' came twice, with other rows")
        # As many rows, which only their sums tell apart: rows were read by then.
        self.refuse(ledger, Twice([ROWS[:300], ROWS[300:]]), "'7' came twice, with other rows", charged=1)

    def test_tables_that_change(self, ledger):
        class Fleeting(Engine):
            def map_partitions(self, function):
                self.calls += 1
                return [function(ROWS[: 100 * self.calls], 0)]

        self.refuse(ledger, Fleeting([]), "not as it was", charged=1)

    def test_answers_that_are_missing_or_wrong(self, ledger):
        class Lossy(Engine):
            def map_partitions(self, function):
                answers = [function(table, place) for place, table in enumerate(self.tables)]
                return answers[: 1 if "Partition" in type(function).__name__ else 2]

        self.refuse(ledger, Lossy([ROWS[:300], ROWS[300:]]), "did not come", charged=1)

        class Old(Engine):
            answers = None

            def map_partitions(self, function):
                answers = [function(table, place) for place, table in enumerate(self.tables)]
                if "Partition" in type(function).__name__:
                    type(self).answers = answers = self.answers or answers
                return answers

        once = DPSEVRegressor(1.0, max_iter=1, **LIFE)
        fit_rounds(once, TableSource(Old([ROWS]), target="life", features=NAMES))
        self.refuse(ledger, Old([ROWS]), "those of another plan", charged=2)

    def test_a_wrong_number_of_rows(self, ledger):
        self.refuse(ledger, [ROWS], "number of rows that was declared", charged=1, n_rows=N + 1)
        self.refuse(ledger, [ROWS], "too many rows", charged=1, n_rows=2**70)

    def test_values_that_cannot_be_used(self, ledger):
        bad = ROWS.assign(age=np.where(np.arange(N) == 777 % N, np.nan, 1.0))
        self.refuse(ledger, [bad], "finite", charged=1)
        assert ledger.n_failures == 1
        with config_context(strict=True):
            model = DPSEVRegressor(1.0, bounds_X=(-3, 3), bounds_y=(0.1, 50))
            assert fit_rounds(model, TableSource([bad], target="life", features=NAMES)).privacy_spent_.private

    def test_no_target(self, ledger):
        X = ROWS[NAMES]
        tree = DPTreeClassifier(bounds=(-3, 3), classes=["no", "yes"], ledger=ledger)
        model = DPSEVRegressor(bounds_X=(-3, 3), bounds_y=(0.1, 50), ledger=ledger)
        for estimator in (tree, model):
            for tables in (X, [(X.to_numpy(), None)], X.to_numpy()):
                with pytest.raises(ValueError, match="has no target"):
                    fit_rounds(estimator, TableSource(tables))
        assert not ledger.entries()

    @pytest.mark.parametrize(
        "options", [{"n_rows": 0}, {"n_rows": "500"}, {"n_rows": True}, {"n_jobs": 0}, {"features": []}]
    )
    def test_parameters_of_a_source(self, options):
        with pytest.raises((TypeError, ValueError), match=r"n_rows|n_jobs|features"):
            TableSource([ROWS], **{"target": "life", **options})
        with pytest.raises(TypeError, match="X, y"):
            TableSource([(1, 2, 3, 4)])

    def test_what_holds_sums_or_rows_shows_none(self):
        part = PartialSums.of_batch("task", "a", np.array([777]), 777, 777)
        assert "777" not in repr(part) + repr(part.batches)

    def test_persons_in_several_tables(self):
        with pytest.raises(ValueError, match="groups_within_tables=True"):
            TableSource([ROWS[:9], ROWS[9:]], target="life", groups="person")
        TableSource([ROWS], target="life", groups="person")

    def test_streams_that_can_be_read_once(self):
        with pytest.raises(TypeError, match="read once"):
            TableSource(pa.Table.from_pandas(ROWS).to_reader(), target="life")

    def test_bounds_and_classes_are_not_read(self, ledger):
        for estimator in (DPSEVRegressor(ledger=ledger), DPTreeClassifier(ledger=ledger)):
            with pytest.raises(ValueError, match="not read for"):
                fit_rounds(estimator, TableSource([ROWS], target="life", features=NAMES))
        assert not ledger.entries()
        assert ledger.n_failures == 0

    def test_what_has_no_rounds(self):
        with pytest.raises(TypeError, match="has no rounds"):
            fit_rounds(LocallyPrivateTreeClassifier(), [ROWS])
        with pytest.raises(TypeError, match="a table must be"):
            TableSource([3])

    def test_seeds_in_strict_mode(self, ledger):
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            fit_to("moments", [ROWS])

    def test_a_ledger_that_refuses(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "b.ledger", epsilon=Fraction(1, 2))
        model = DPSEVRegressor(1.0, ledger=ledger, bounds_X=(-3, 3), bounds_y=(0.1, 50))
        engine = Mortal([ROWS], 1)
        with pytest.raises(BudgetExceededError):
            fit_rounds(model, TableSource(engine, target="life", features=NAMES))
        assert engine.left == 1, "rows were read before the charge"


DAYS = [dt.datetime(2020, 1, 1) + dt.timedelta(days=code) for code in range(60)]
LARGE = [2**53 + 2 * code + 1 for code in range(60)]
NAMED = {
    "list": (list, LARGE),
    "Int64": (lambda names: pd.Series(names, dtype="Int64"), LARGE),
    "array of Int64": (lambda names: pd.array(names, dtype="Int64"), LARGE),
    "UInt64": (lambda names: pd.Series(names, dtype="UInt64"), [2**63 + name for name in LARGE]),
    "categories": (pd.Categorical, LARGE),
    "pandas text": (lambda names: pd.Series(names, dtype="string"), [f"a{name}" for name in LARGE]),
    "pandas dates": (lambda names: pd.Series(names, dtype="datetime64[ns]"), DAYS),
    "pandas dates of a zone": (lambda names: pd.Series(names).dt.tz_localize("UTC"), DAYS),
    "pandas arrow": (lambda names: pd.Series(names, dtype="int64[pyarrow]"), LARGE),
    "polars": (pl.Series, LARGE),
    "polars unsigned": (lambda names: pl.Series(names, dtype=pl.UInt64), [2**63 + name for name in LARGE]),
    "polars text": (pl.Series, [f"a{code}" + code % 3 * "\0" for code in range(60)]),
    "polars dates": (lambda names: pl.Series(names, dtype=pl.Datetime("ns")), DAYS),
    "polars dates of a zone": (lambda names: pl.Series(names, dtype=pl.Datetime("us", "UTC")), DAYS),
    "arrow": (pa.array, LARGE),
    "arrow chunks": (lambda names: pa.chunked_array([names[:30], names[30:]]), LARGE),
    "arrow unsigned": (lambda names: pa.array(names, pa.uint64()), [2**63 + name for name in LARGE]),
    "arrow dates": (lambda names: pa.array(names, pa.timestamp("ns")), DAYS),
    "arrow dates of a zone": (lambda names: pa.array(names, pa.timestamp("us", "UTC")), DAYS),
    "arrow durations": (lambda names: pa.array(names, pa.duration("ns")), [day - DAYS[0] for day in DAYS]),
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_name_that_is_missing_moves_no_row_of_another_person(kind):
    make, names = NAMED[kind]
    names = [name for name in names for _ in range(3)]
    everyone = np.ones(len(names), dtype=bool)
    whole = number_units(make(names), everyone, strict=True)
    lacking = number_units(make([*names[:-1], None]), everyone, strict=True)
    assert whole.n_units == 60
    assert lacking.n_units == 61
    kept = [set(units.choose_rows(1, b"12345678").tolist()) for units in (whole, lacking)]
    others = set(range(len(names) - 3))
    assert kept[0] & others == kept[1] & others


def test_a_name_that_is_no_text_fails_nowhere():
    for name in ("\ud800", b"\xff", 1e300, (1, 2), 2**70):
        assert number_units(["a", name], np.ones(2, dtype=bool), strict=True).n_units == 2


class TestNames:
    """Tables are read by name, in one order, and a table of other names is refused."""

    def test_public_rows_in_another_order(self):
        tree, source = (
            TREES["public rows"][0],
            TableSource([private_rows("public rows")], target="ill", features=NAMES),
        )
        turned = pickle.loads(pickle.dumps(tree))
        turned = fit_rounds(turned, source, public=(KNOWN[NAMES[::-1]], KNOWN["ill"]))
        assert_same(turned, REFERENCES["public rows"])
        arrays = fit_rounds(
            pickle.loads(pickle.dumps(tree)),
            source,
            public=(KNOWN[NAMES].to_numpy(), KNOWN["ill"].to_numpy()),
        )
        assert_same(arrays, REFERENCES["public rows"])

    @pytest.mark.parametrize("public", [(KNOWN[["load", "heat", "life"]], KNOWN["ill"]), 5, (1, 2, 3)])
    def test_public_rows_of_other_columns(self, public, tmp_path):
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=5)
        tree = DPTreeClassifier(1.0, bounds=(-3, 3), ledger=ledger)
        with pytest.raises((TypeError, ValueError), match=r"columns of X|tuple"):
            fit_rounds(tree, TableSource([ROWS], target="ill", features=NAMES), public=public)
        assert not ledger.entries()

    @pytest.mark.parametrize("n_rows", [None, N])
    def test_tables_in_several_orders(self, n_rows):
        tables = [ROWS[:300], ROWS[300:][ROWS.columns[::-1]]]
        source = TableSource(tables, target="life", features=NAMES, n_rows=n_rows)
        assert_same(
            fit_rounds(pickle.loads(pickle.dumps(REGRESSORS["moments"][0])), source), REFERENCES["moments"]
        )
        pairs = [(table[[name for name in table if name in NAMES]], table["life"]) for table in tables]
        source = TableSource(pairs, features=NAMES, n_rows=n_rows)
        assert_same(
            fit_rounds(pickle.loads(pickle.dumps(REGRESSORS["moments"][0])), source), REFERENCES["moments"]
        )
        with pytest.raises(ValueError, match="name the features"):
            TableSource(tables, target="life", n_rows=N)

    def test_classes_beyond_2_to_the_53(self):
        with pytest.raises(ValueError, match=r"2\^53"):
            DPTreeClassifier(bounds=(0, 1), classes=[2**53, 2**53 + 1]).fit(
                [[0.0], [1.0]], [2**53, 2**53 + 1]
            )


class TestOddTables:
    """What `fit` takes, a source takes."""

    def test_lists_with_odd_cells_in_strict_mode(self):
        X, y = ROWS[NAMES].to_numpy(), ROWS["life"].to_numpy()
        odd = X[100:].tolist()
        odd[3][1], odd[4][2] = None, "1.5"
        with config_context(strict=True, allow_seeds=True):
            model = DPSEVRegressor(2.0, **LIFE)
            want = model.fit(X[:100].tolist() + odd, y).coef_
            got = fit_rounds(DPSEVRegressor(2.0, **LIFE), [(X[:100], y[:100]), (odd, y[100:])]).coef_
            np.testing.assert_array_equal(got, want)
            source = TableSource(
                [ROWS[:100], ROWS[100:].astype({"age": object})], target="life", features=NAMES
            )
            with pytest.raises(
                TypeError,
                match=r'domain=TableDomain\({"load": \(low, high\), "heat": \(low, high\), "age": \["',
            ):
                fit_rounds(DPSEVRegressor(2.0, **LIFE), source)

    def test_columns_of_targets(self):
        X, y = ROWS[NAMES].to_numpy(), ROWS["life"].to_numpy()
        got = fit_rounds(DPSEVRegressor(2.0, **LIFE), [(X, y[:, None])]).coef_
        np.testing.assert_array_equal(got, DPSEVRegressor(2.0, **LIFE).fit(X, y).coef_)
        tree = DPTreeClassifier(1.0, bounds=(-3, 3), classes=["no", "yes"], max_depth=2, random_state=3)
        labels = ROWS[["ill"]].to_numpy()
        got = fit_rounds(tree, [(X, labels)]).report_counts_.copy()
        np.testing.assert_array_equal(got, tree.fit(X, labels[:, 0]).report_counts_)

    def test_events_after_the_bound_are_censored_there_in_strict_mode_too(self):
        late = np.array([(True, 100.0)] * 5000 + [(True, 2.0)] * 5000, dtype=CENSORED.dtype)
        X = np.zeros((10_000, 1))
        counts = []
        for strict in (False, True):
            with config_context(strict=strict, allow_seeds=True):
                model = DPSEVRegressor(1e6, bounds_X=(-1, 1), bounds_y=(1, 5), random_state=0).fit(X, late)
            counts.append(model.release_.histogram.counts.sum(axis=1))
        np.testing.assert_array_equal(*counts)
        np.testing.assert_allclose(counts[0], [5000, 5000], atol=200)

    def test_empty_tables_among_others(self):
        table = pa.Table.from_pandas(ROWS, preserve_index=False)
        for name in ("persons", "moments", "tree of persons"):
            rows = private_rows(name)
            whole = table.slice(N - len(rows))
            assert_same(fit_to(name, [table.slice(0, 0), whole, table.slice(0, 0)]), REFERENCES[name])

    def test_labels_that_two_classes_equal(self):
        classes = np.array([5, 2**53, 2**53 + 1])
        assert number_labels(np.array([2.0**53, 5.0]), classes).max() < len(classes)

    def test_persons_named_by_durations(self):
        names = pd.to_timedelta([1, 1, 2], unit="D")
        assert number_units(names, np.ones(3, dtype=bool)).n_units == 2
        assert number_units(list(names.to_numpy()), np.ones(3, dtype=bool), strict=True).n_units == 2


class TestLeafCounts:
    def accumulator(self, n_rows, tree=None, **options):
        tree = TREES["public rows"][0] if tree is None else tree
        public = (KNOWN[NAMES], KNOWN["ill"])
        return LeafCountAccumulator(tree, n_rows, public=public, target="ill", **options)

    def test_gives_the_bits_of_fit(self, tmp_path):
        rows = ROWS[len(KNOWN) :]
        first, second = self.accumulator(len(rows)), self.accumulator(len(rows))
        first.update(rows[:100][[*NAMES, "ill"]], batch_id=1)
        second.update(rows[100:][NAMES], rows[100:]["ill"], batch_id=2)
        ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=5)
        tree = pickle.loads(pickle.dumps(TREES["public rows"][0])).set_params(ledger=ledger)
        merged = LeafCountAccumulator.from_bytes(first.to_bytes()).merge(second)
        fitted = merged.release(tree, public=(KNOWN[NAMES], KNOWN["ill"]))
        assert_same(fitted, REFERENCES["public rows"])
        assert len(ledger.entries()) == 1
        assert merged.released

    def test_batches_are_read_by_name(self):
        rows = ROWS[len(KNOWN) :][[*NAMES, "ill"]]
        counts = self.accumulator(len(rows)).update(rows[:100]).update(rows[100:][["ill", *NAMES[::-1]]])
        assert_same(counts.release(TREES["public rows"][0]), REFERENCES["public rows"])
        with pytest.raises(ValueError, match="name the features"):
            BoundsAccumulator(3).update(rows[NAMES])

    def test_refusals_lose_nothing(self):
        rows = ROWS[len(KNOWN) :][[*NAMES, "ill"]]
        counts = self.accumulator(len(rows)).update(rows[:100], batch_id=1)
        tree = TREES["public rows"][0]
        with pytest.raises(ValueError, match="n_rows"):
            counts.release(tree)
        with pytest.raises(ValueError, match="added before"):
            counts.update(rows[100:], batch_id=1)
        with pytest.raises(ValueError, match="more than was declared"):
            counts.update(pd.concat([rows, rows]))
        with pytest.raises(ValueError, match="different parameters"):
            counts.merge(self.accumulator(len(rows) + 1))
        with pytest.raises(ValueError, match="both accumulators hold the batch 1"):
            counts.merge(pickle.loads(pickle.dumps(counts)))
        counts.update(rows[100:])
        with pytest.raises(ValueError, match="another plan"):
            counts.release(DPTreeClassifier(1.0, bounds=(-3, 3), max_depth=1))
        for changed in ({"classes": ["no", "yes", "zz"]}, {"bounds": (-4, 4)}):
            with pytest.raises(ValueError, match=r"not that of the accumulator|another plan"):
                counts.release(pickle.loads(pickle.dumps(tree)).set_params(**changed))
        assert counts.release(tree).n_reports_ == len(rows)
