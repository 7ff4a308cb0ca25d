# SPDX-License-Identifier: BSD-3-Clause
"""What trees refuse: nothing is charged, and a tree that was not fitted stays so."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skprivate import (
    DPTreeClassifier,
    DPTreeRegressor,
    LocallyPrivateTreeClassifier,
    LocallyPrivateTreeRegressor,
    PrivacyLedger,
    config_context,
)
from skprivate.domain import BooleanColumn, CategoricalColumn, NumberColumn, TableDomain
from skprivate.exceptions import LedgerError, PrivacyLeakError
from skprivate.tree import LeafCountAccumulator, export_text
from skprivate.tree._splits import grow_private_partition, selection_noise
from skprivate.tree._splits_by_clients import FirstPhase

N = 400
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
Y, NUMBERS = (X[:, 0] > 0.5).astype(int), 10 * X[:, 0]
PUBLIC = np.arange(N) < 60
LOCAL, CENTRAL = LocallyPrivateTreeClassifier, DPTreeClassifier
LOCAL_NUMBERS, CENTRAL_NUMBERS = LocallyPrivateTreeRegressor, DPTreeRegressor
BOX = {"bounds": (0, 1), "classes": [0, 1]}
BOX_NUMBERS = {"bounds_X": (0, 1), "bounds_y": (-5, 15)}
INVALID = (TypeError, ValueError)


class Broken(ClassifierMixin, BaseEstimator):
    """Predicts what no classifier should, or nothing."""

    def __init__(self, how="raises"):
        self.how = how

    def fit(self, X, y):
        if self.how == "raises":
            raise RuntimeError("no memory")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        if self.how == "cannot predict":
            raise RuntimeError("no table")
        shares = np.column_stack([1 - X[:, 0], X[:, 0]])
        return {"nan": shares * np.nan, "negative": -shares, "three columns": shares[:, [0, 0, 1]]}[self.how]


class BrokenNumbers(RegressorMixin, BaseEstimator):
    """Cannot be fitted, or predicts the same for every row."""

    def __init__(self, how="raises"):
        self.how = how

    def fit(self, X, y):
        if self.how == "raises":
            raise RuntimeError("no")
        return self

    def predict(self, X):
        return np.full(len(X), 3.0)


DOMAIN = TableDomain(
    {
        "job": CategoricalColumn(["clerk", "smith"], missing="indicator"),
        "age": NumberColumn(0, 100, missing="indicator"),
        "married": BooleanColumn(missing="indicator"),
        "size": (0, 1),
    }
)


def table_with(column, cell):
    columns = {"job": "clerk", "age": 30.0, "married": True, "size": 0.5}
    frame = pd.DataFrame([columns] * N).astype(object)
    frame.loc[321, column] = cell
    return frame


def rows(**changes):
    """Arguments of a fit with public rows, some of them changed."""
    return {"X": X, "y": Y, "is_public": PUBLIC} | changes


def numbers(**changes):
    return {"X": X, "y": NUMBERS, "is_public": PUBLIC} | changes


EVENTS = np.zeros(N, dtype=[("event", bool), ("time", float)])
NO_NUMBER = np.where(np.arange(N) == 5, np.nan, NUMBERS)
FITS = [
    # Epsilon
    *((LOCAL, {"epsilon": epsilon}, rows(), "epsilon") for epsilon in (0, -1.0, np.inf, np.nan)),
    *((LOCAL, {"epsilon": epsilon}, rows(), "epsilon") for epsilon in (Fraction(-1, 2), "1", None, True)),
    *(
        (LOCAL, {"epsilon": epsilon, "mechanism": mechanism}, rows(), "too small")
        for epsilon in (1e-300, Fraction(1, 10**400))
        for mechanism in ("hadamard", "laplace")
    ),
    (LOCAL, {"epsilon": Fraction(10) ** 400}, rows(), "epsilon must be at most"),
    (CENTRAL, {"epsilon": 1e-300}, rows(), "too small"),
    (CENTRAL, {"epsilon": 1e-13, "max_depth": 3}, rows(is_public=None), "too small"),
    # Parameters
    *((LOCAL, {"max_depth": depth}, rows(), "max_depth") for depth in (0, 31, "deep")),
    (LOCAL, {"max_depth": 17}, rows(is_public=None), "at most 16 without public rows"),
    *((LOCAL, {"public_weight": weight}, rows(), "public_weight") for weight in (-1.0, 1e308)),
    *(
        (LOCAL, {name: wrong}, rows(), name)
        for name, wrong in (
            *(("mechanism", "rappor"), ("rule", "id3"), ("criterion", "log"), ("prune", "hard")),
            *(("protect", "features"), ("ledger", "file"), ("random_state", "seed"), ("random_state", -1)),
        )
    ),
    (LOCAL, {"protect": "label", "mechanism": "hadamard"}, rows(), "randomised response"),
    *(
        (kind, {"max_rows_per_group": 2}, arguments, "max_rows_per_group must be 1")
        for kind, arguments in ((LOCAL, rows()), (LOCAL_NUMBERS, numbers()))
    ),
    *(
        (LOCAL, {"classes": [0, 1, 2], "mechanism": mechanism}, rows(), "Only binary")
        for mechanism in ("laplace", "signed-laplace")
    ),
    *((kind, {"classes": [0, 1, 2], "prune": "paper"}, rows(), "Only binary") for kind in (LOCAL, CENTRAL)),
    *((LOCAL, {"classes": classes}, rows(), "two labels or more") for classes in ([0], [[0, 1], [2, 3]])),
    *(
        (LOCAL, {"classes": classes}, rows(), "different labels")
        for classes in ([0, 0], [0, 1, 1], [0, "yes"], [None, "yes"], [0, np.nan])
    ),
    (LOCAL, {"bounds": (1, 0)}, rows(), "lower must be below upper"),
    *(
        (kind, {"class_weight": wrong}, rows(), "class_weight")
        for kind in (LOCAL, CENTRAL)
        for wrong in ({"perhaps": 2.0}, {1: 0.0}, {1: -1.0}, {1: np.nan}, "even")
    ),
    (CENTRAL, {"class_weight": {0: "a"}}, rows(), "class_weight must hold a number"),
    *(
        (kind, {"bounds_y": bounds}, numbers(), "bounds_y")
        for kind in (LOCAL_NUMBERS, CENTRAL_NUMBERS)
        for bounds in ((1, 0), (0, 0), (0, np.inf), (0, np.nan), (0, 1, 2), (-1e308, 1e308))
    ),
    # Rows and targets
    (LOCAL, {}, rows(X=np.full_like(X, np.nan)), "NaN"),
    (LOCAL, {}, rows(is_public=np.ones(N, dtype=int)), "is_public"),
    (LOCAL, {}, rows(is_public=np.ones(N, dtype=bool)), "nothing to protect"),
    (LOCAL, {}, rows(groups=[1, 2]), "groups"),
    (LOCAL, {"classes": None}, rows(y=np.zeros(N, dtype=int)), "one class only"),
    (CENTRAL, {"public_model": LogisticRegression()}, rows(y=np.where(PUBLIC, 0, Y)), "two classes"),
    *(
        (kind, {}, arguments, match)
        for kind in (LOCAL_NUMBERS, CENTRAL_NUMBERS)
        for arguments, match in (
            (numbers(y=NO_NUMBER), "NaN"),
            (numbers(y=EVENTS, is_public=None), "no times with events"),
        )
    ),
    *(
        (kind, {"bounds": None, "domain": DOMAIN}, rows(X=table_with(column, cell)), match)
        for kind in (LOCAL, CENTRAL)
        for column, cell, match in (
            ("age", "fifty", "column 'age' holds a value that is no finite number"),
            ("job", "pilot", "column 'job' holds a value that is none of the declared levels"),
            ("married", "maybe", "column 'married' holds a value that is neither true nor false"),
            ("size", None, "column 'size' holds a missing value"),
        )
    ),
    # Models of public rows
    *(
        (kind, {"public_model": model}, rows(), match)
        for kind in (LOCAL, CENTRAL)
        for model, match in (
            (DummyClassifier(), "the same for all public rows"),
            (Broken("raises"), "could not be fitted"),
            (Broken("cannot predict"), "cannot predict probabilities"),
            (Broken("nan"), "does not predict probabilities"),
            (Broken("negative"), "does not predict probabilities"),
            (Broken("three columns"), "one column for each class"),
            *((wrong, "public_model") for wrong in (LinearSVC(), Ridge(), "forest")),
        )
    ),
    (CENTRAL, {"public_model": LogisticRegression()}, rows(is_public=None), "there are none"),
    *(
        (CENTRAL_NUMBERS, {"public_model": BrokenNumbers(how)}, numbers(), "public_model")
        for how in ("raises", "predicts one number")
    ),
]


@pytest.mark.parametrize(("kind", "parameters", "arguments", "match"), FITS)
def test_fits(tmp_path, kind, parameters, arguments, match):
    ledger = PrivacyLedger(tmp_path / "one.ledger")
    box = BOX_NUMBERS if kind in (LOCAL_NUMBERS, CENTRAL_NUMBERS) else BOX
    tree = kind(**{"ledger": ledger, **box, **parameters})
    with pytest.raises(INVALID, match=match) as caught:
        tree.fit(**arguments)
    assert ledger.entries() == []
    assert not [name for name in vars(tree) if name.endswith("_")]
    # Cells of columns that are declared do not show.
    assert "fifty" not in str(caught.value)
    assert "pilot" not in str(caught.value)


@pytest.mark.parametrize(
    ("tree", "arguments", "missing"),
    [
        (LOCAL(classes=[0, 1]), rows(is_public=None), "bounds"),
        (LOCAL(classes=[0, 1]), rows(is_public=np.zeros(N, dtype=bool)), "bounds"),
        (CENTRAL(classes=[0, 1]), rows(is_public=None), "bounds"),
        (LOCAL(bounds=(0, 1), protect="label"), rows(is_public=None), "classes"),
        (LOCAL_NUMBERS(bounds_X=(0, 1)), numbers(is_public=None), "bounds of y"),
        (CENTRAL_NUMBERS(bounds_X=(0, 1)), numbers(is_public=None), "bounds of y"),
        (LOCAL(**BOX, random_state=0), rows(), "seed"),
    ],
)
def test_leaks_in_strict_mode(tree, arguments, missing):
    with config_context(strict=True), pytest.raises(PrivacyLeakError, match=missing):
        tree.fit(**arguments)


def test_a_missing_ledger_stops_the_fit(tmp_path):
    ledger = PrivacyLedger(tmp_path / "one.ledger")
    (tmp_path / "one.ledger").unlink()
    with pytest.raises(LedgerError):
        LOCAL(**BOX, ledger=ledger).fit(**rows())


def test_times_with_events_in_strict_mode():
    with config_context(strict=True), pytest.raises(ValueError, match="no times with events"):
        CENTRAL_NUMBERS(**BOX_NUMBERS).fit(X, EVENTS)


# Fitted trees

TREE = CENTRAL(8.0, max_depth=1, split_share=0, **BOX).fit(**rows())
REGRESSOR = CENTRAL_NUMBERS(8.0, max_depth=1, split_share=0, **BOX_NUMBERS).fit(**numbers())
BANDS = np.minimum((3 * X[:, 0]).astype(int), 2)
SEVERAL = CENTRAL(8.0, bounds=(0, 1), classes=[0, 1, 2], max_depth=2, split_share=0)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        *(
            (lambda wrong=wrong: TREE.repruned(**wrong), ValueError, next(iter(wrong)))
            for wrong in (
                {"prune": "hard"},
                {"public_weight": -1.0},
                {"prune": 0.5},
                {"class_weight": {2: 1}},
            )
        ),
        (lambda: SEVERAL.fit(**rows(y=BANDS)).repruned(prune="paper"), ValueError, "Only binary"),
        *(
            (lambda wrong=wrong: REGRESSOR.leaf_intervals(wrong), ValueError, "confidence must be a number")
            for wrong in (0, 1, -0.5, np.nan, "0.9", None)
        ),
        (lambda: export_text(DecisionTreeClassifier().fit(X, Y)), TypeError, "not DecisionTreeClassifier"),
        *(
            (lambda wrong=wrong: export_text(TREE, **wrong), ValueError, next(iter(wrong)))
            for wrong in ({"max_depth": -1}, {"spacing": 0}, {"decimals": -1}, {"feature_names": ["a"]})
        ),
        *(
            (call, NotFittedError, "not fitted")
            for call in (
                lambda: CENTRAL().get_depth(),
                lambda: CENTRAL().get_n_leaves(),
                lambda: CENTRAL().decision_path(X),
                lambda: export_text(CENTRAL()),
                lambda: CENTRAL().repruned(),
            )
        ),
    ],
)
def test_questions_about_a_tree(call, error, match):
    with pytest.raises(error, match=match):
        call()
    assert TREE.prune is False
    assert not hasattr(CENTRAL(), "feature_importances_")


@pytest.mark.parametrize("kind", [LOCAL, CENTRAL])
def test_cells_of_a_prediction(kind):
    tree = kind(8.0, domain=DOMAIN, classes=[0, 1], max_depth=1, split_share=0)
    tree.fit(**rows(X=table_with("age", 3.0)))
    with pytest.raises(ValueError, match="column 'job' holds a value that is none of the declared levels"):
        tree.predict(table_with("job", "pilot"))


# Accumulators

ACCUMULATED = CENTRAL(1.0, bounds=([0, 0], [1, 1]), classes=[0, 1], max_depth=2)
WEIGHTS = np.ones(N)


def accumulator(tree=ACCUMULATED, **options):
    return LeafCountAccumulator(tree, N, **options)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: accumulator(LOCAL_NUMBERS(1.0)), TypeError, "DPTreeRegressor"),
        *(
            (lambda cap=cap: accumulator(max_sample_weight=cap), error, "max_sample_weight")
            for cap, error in ((0, ValueError), (np.inf, ValueError), ("2", TypeError))
        ),
        (lambda: accumulator().update(X, Y, sample_weight=WEIGHTS), ValueError, "public cap"),
        (
            lambda: accumulator(max_sample_weight=2).merge(accumulator(max_sample_weight=3)),
            ValueError,
            "different parameters",
        ),
        (lambda: accumulator(max_sample_weight=2).to_bytes(), NotImplementedError, "pickle"),
        (
            lambda: accumulator().update(X, Y).release(CENTRAL(2.0, bounds=([0, 0], [1, 1]), classes=[0, 1])),
            ValueError,
            "not those of the accumulator",
        ),
    ],
)
def test_accumulators(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (WEIGHTS[:-1], "one number per row"),
        (np.append(WEIGHTS, 1.0), "one number per row"),
        (np.where(np.arange(N) == 5, np.nan, 1.0), "finite"),
    ],
)
def test_weights_of_rows(weights, match):
    counts = accumulator(max_sample_weight=2)
    with pytest.raises(ValueError, match=match):
        counts.update(X, Y, sample_weight=weights)
    assert counts.batch_ids == ()
    assert not counts._sums.any()


# Splits

FEW = FirstPhase.plan(1, 0.5, 2000, 2, (np.zeros(6), np.ones(6)))
LEVELS = FirstPhase.plan(1, 0.6, 500, 2, DOMAIN.bounds, DOMAIN.groups).to_dict()


def changed_randomizer(state, **changes):
    return state | {"randomizer": state["randomizer"] | changes}


@pytest.mark.parametrize(
    ("call", "match"),
    [
        *(
            (lambda change=change: FirstPhase.from_dict(FEW.to_dict() | change), r"first phase|its shape")
            for change in (
                *({"n_reports": 0}, {"counts": ""}),
                {"bins": {"lower": [0], "upper": [1], "n_bins": 4}},
            )
        ),
        (lambda: FirstPhase.from_dict(changed_randomizer(LEVELS, n_cells=99)), "not for its columns"),
        (lambda: FEW.fit_model(0), "not arrived yet"),
        (lambda: selection_noise(1e-13), "epsilon is too small"),
        *(
            (
                lambda epsilons=epsilons, bins=bins: next(
                    grow_private_partition(np.zeros(2), np.ones(2), 2, epsilons, 1, bins, None)
                ),
                match,
            )
            for epsilons, bins, match in (
                ([Fraction(1)] * 30, (32, 32), "1 GiB"),
                ([Fraction(1), Fraction(1, 10**14)], (4, 4), "epsilon is too small"),
            )
        ),
    ],
)
def test_plans_of_splits(call, match):
    with pytest.raises(ValueError, match=match):
        call()
