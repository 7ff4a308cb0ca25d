# SPDX-License-Identifier: BSD-3-Clause
"""Every reader of labels follows one rule, and refuses types of the other kind before a charge."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import skprivate
from skprivate.collaborative import CollaborativeSite
from skprivate.collection import TreeCurator
from skprivate.collection._csv_tables import CsvTable
from skprivate.evaluation import plan_study
from skprivate.label_privacy import ClassReporter
from skprivate.rounds import fit_rounds
from skprivate.tree import LeafCountAccumulator

N = 400
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
CODES = (X[:, 0] > 0.5).astype(int)
TEXT = np.array(["no", "yes"])[CODES]
PUBLIC = np.arange(N) < 100
COMMON = {"bounds": ([0, 0], [1, 1]), "epsilon": 200.0}
CLASSIFIERS = {
    "tree": skprivate.DPTreeClassifier(max_depth=3, **COMMON),
    "local": skprivate.LocallyPrivateTreeClassifier(max_depth=3, **COMMON),
    "boosting": skprivate.DPBoostingClassifier(**COMMON),
    "logistic": skprivate.DPLogisticRegression(**COMMON),
    "label": skprivate.LabelPrivateClassifier(LinearRegression(), epsilon=200.0, cv=None),
}
WITH_PUBLIC_ROWS = ("tree", "local", "boosting", "label")
pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")


@pytest.fixture
def ledger(tmp_path):
    return skprivate.PrivacyLedger(tmp_path / "ledger", epsilon=1e6, max_failures=0)


def model_of(name, classes, ledger=None, **others):
    return CLASSIFIERS[name].__sklearn_clone__().set_params(classes=classes, ledger=ledger, **others)


def tree(classes, ledger):
    return model_of("tree", classes, ledger)


def search(y, classes, ledger):
    skprivate.PrivateGridSearch(tree(classes, None), {"max_depth": [1, 2]}, ledger=ledger).fit(X, y)


def accumulate(y, classes, ledger):
    LeafCountAccumulator(tree(classes, ledger), n_rows=N).update(X, y)


def evaluate(y, classes, ledger):
    model = DummyClassifier().fit(X, np.array(classes)[CODES])
    skprivate.private_evaluate(model, X, y, 1.0, ledger=ledger)


def collect(y, classes, ledger):
    plan = model_of("local", classes)
    list(TreeCurator(plan, n_clients=N, features=["a", "b"]).specification.randomize_many(X, y))


def plan(y, classes, ledger):
    plan_study(tree(classes, None), (0, 1), 1000, [1.0], public=(X, y), n_repeats=4, random_state=0)


def source(frame):
    def fit(y, classes, ledger):
        columns = {"a": X[:, 0], "b": X[:, 1], "y": y}
        fit_rounds(tree(classes, ledger), skprivate.rounds.TableSource([frame(columns)], target="y"))

    return fit


def ask_clients(frame):
    def randomize(y, classes, ledger):
        plan = TreeCurator(model_of("local", classes), n_clients=N, features=["a", "b"], label="y")
        list(plan.specification.randomize_many(frame({"a": X[:, 0], "b": X[:, 1], "y": y})))

    return randomize


READERS = {
    **{
        name: lambda y, classes, ledger, n=name: model_of(n, classes, ledger).fit(X, y)
        for name in CLASSIFIERS
    },
    "search": search,
    "pairs": lambda y, classes, ledger: fit_rounds(tree(classes, ledger), [(X, y)]),
    "pandas": source(pd.DataFrame),
    "polars": source(pl.DataFrame),
    "arrow": source(pa.table),
    "accumulator": accumulate,
    "evaluation": evaluate,
    "reporter": lambda y, classes, ledger: ClassReporter(1.0, classes).randomize(y),
    "clients": collect,
    "clients of pandas": ask_clients(pd.DataFrame),
    "clients of arrow": ask_clients(pa.table),
    "curator": lambda y, classes, ledger: TreeCurator(model_of("local", classes), X, y, n_clients=N),
    "plan": plan,
}


NO_SERIES = ("polars", "arrow", "clients of arrow")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("y", "classes"), [(CODES, ["no", "yes"]), (TEXT, [0, 1])], ids=["numbers for text", "text for numbers"]
)
@pytest.mark.parametrize("name", READERS)
def test_types_of_the_other_kind_are_refused_before_a_charge(name, y, classes, strict, ledger):
    with skprivate.config_context(strict=strict):
        for labels in (y, pd.Series(y)) if name not in NO_SERIES else (y,):
            with pytest.raises(TypeError, match="but classes="):
                READERS[name](labels, classes, ledger)
    assert not ledger.entries()
    assert not ledger.n_failures


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_white_space_and_containers_do_not_matter(name, strict):
    spaced = np.char.add(" ", TEXT)
    others = [spaced.astype(kind) for kind in ("S", object, np.dtypes.StringDType())]
    containers = [spaced, spaced.tolist(), pd.Series(spaced), pl.Series(spaced), *others]
    with skprivate.config_context(strict=strict):
        for y in containers:
            model = model_of(name, ["no ", "yes"]).fit(X, y)
            assert model.classes_.tolist() == ["no ", "yes"]
            assert model.score(X, y) > 0.9
            assert model.score(X, TEXT.tolist()) == model.score(X, y)
            assert model.score(X, ["never"] * N) == 0
            with pytest.raises(TypeError, match="but classes="):
                model.score(X, CODES)


@pytest.mark.parametrize("name", [*WITH_PUBLIC_ROWS, "search", "validation", "pairs", "curator", "plan"])
def test_public_labels_outside_the_classes_are_refused(name, ledger):
    classes = ["no", "yes"]
    y = np.where(PUBLIC & (TEXT == "yes"), "yes.", TEXT)
    fits = {
        "search": lambda: skprivate.PrivateGridSearch(
            tree(classes, None), {"max_depth": [1, 2]}, ledger=ledger
        ).fit(X, y, is_public=PUBLIC),
        "validation": lambda: skprivate.PrivateGridSearch(
            tree(classes, None), {"max_depth": [1, 2]}, ledger=ledger
        ).fit(X, y, is_public_validation=PUBLIC),
        "pairs": lambda: fit_rounds(
            tree(classes, ledger), [(X[~PUBLIC], y[~PUBLIC])], public=(X[PUBLIC], y[PUBLIC])
        ),
    }
    others = {one: lambda one=one: READERS[one](y, classes, ledger) for one in ("curator", "plan")}
    others |= {
        one: lambda one=one: model_of(one, classes, ledger).fit(X, y, is_public=PUBLIC)
        for one in WITH_PUBLIC_ROWS
    }
    with pytest.raises(ValueError, match=r"outside classes=\['no', 'yes'\]: \['yes\.'\]"):
        (fits | others)[name]()
    assert not ledger.entries()
    assert not ledger.n_failures


@pytest.mark.parametrize("name", ["tree", "boosting"])
def test_sources_with_public_rows_read_both_alike(name):
    y = np.char.add(TEXT, " ")
    model = model_of(name, ["no", "yes"])
    public = X[PUBLIC], y[PUBLIC].tolist()
    assert fit_rounds(model, [(X[~PUBLIC], y[~PUBLIC])], public=public).score(X, y) > 0.9


def test_scores_of_a_search_and_of_an_evaluation_read_labels_alike():
    spaced = np.char.add(TEXT, " ")
    model = tree(["no", "yes"], None)
    found = skprivate.PrivateGridSearch(model, {"max_depth": [3]}, score_epsilon=200.0).fit(X, spaced)
    assert found.best_score_ > 0.9
    assert found.score(X, spaced) > 0.9
    assert skprivate.private_evaluate(found, X, spaced, 200.0).accuracy.lower > 0.9


@pytest.mark.slow
def test_a_plan_reads_labels_as_the_estimator_declares_them():
    spaced = np.char.add(TEXT, " ")
    found = [
        plan_study(tree(["no", "yes"], None), (0, 1), 1000, [5.0], public=(X, y), n_repeats=4, random_state=0)
        for y in (TEXT, spaced)
    ]
    assert found[0].table[0].score == pytest.approx(found[1].table[0].score, abs=0.05)


def test_sites_agree_on_classes_with_and_without_white_space():
    y = np.where(PUBLIC, np.char.add(" ", TEXT), TEXT)
    platform = skprivate.CollaborativeClassifier().fit(X, y, sites=np.arange(N) % 12)
    assert platform.classes_.tolist() == ["no", "yes"]
    assert platform.score(X, y) > 0.8
    cards = {
        CollaborativeSite("a", DecisionTreeClassifier().fit(X, labels), N).announce()
        for labels in (TEXT, np.char.add(" ", TEXT))
    }
    assert len(cards) == 1
    site = CollaborativeSite("a", DecisionTreeClassifier().fit(X, np.char.add(" ", TEXT)), N, ["no", "yes"])
    assert site.respond(X)[:, 1].tolist() == CODES.tolist()


@pytest.mark.parametrize("cell", ["yes", " yes "])
def test_cells_of_a_file_have_no_white_space(cell, tmp_path):
    (tmp_path / "rows.csv").write_text(f"a,y\n1,{cell}\n")
    with CsvTable(tmp_path / "rows.csv") as table:
        assert [table.labels(chunk, "y", ("no", "yes ")).tolist() for chunk in table.chunks()] == [[1]]
