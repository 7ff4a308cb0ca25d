# SPDX-License-Identifier: BSD-3-Clause
"""A public model inside a tree: corrected, given up where it is wrong, and given a table."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import skprivate
from skprivate import (
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
)
from skprivate.base._public_model import TableModel, of_encoded_rows
from skprivate.domain import CategoricalColumn, NumberColumn, StressColumn, TableDomain
from skprivate.exceptions import UtilityWarning
from skprivate.metrics._model_outputs import is_same_in_any_table
from tests.marks import slow_unless

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(6000, 4))
# A line, which boxes follow badly.
Y = (X.sum(axis=1) + 0.2 * RNG.standard_normal(6000) > 2).astype(int)
PUBLIC = np.arange(6000) < 300
BOX = {"bounds": (0, 1), "classes": [0, 1]}
KINDS = [DPTreeClassifier, LocallyPrivateTreeClassifier]
WRONG = np.where(PUBLIC, np.random.default_rng(5).permutation(Y), Y)


def tree_of(kind, model=None, epsilon=1.0, **parameters):
    model = LogisticRegression() if model is None else model
    return kind(epsilon, public_model=model, **{"random_state": 0, **BOX, **parameters})


@pytest.mark.parametrize("kind", KINDS)
class TestLearning:
    def test_a_model_of_permuted_labels_warns_and_falls_back(self, kind):
        tree = tree_of(kind, max_depth=3, split_share=0)
        with pytest.warns(UtilityWarning, match="no better than their base rate"):
            tree.fit(X, WRONG, is_public=PUBLIC)
        plain = kind(1.0, max_depth=3, random_state=0, split_share=0, **BOX).fit(X, WRONG, is_public=PUBLIC)
        np.testing.assert_array_equal(tree.predict_proba(X), plain.predict_proba(X))

    def test_a_model_that_private_rows_contradict_is_given_up(self, kind):
        # Right for public rows, and the opposite of private ones.
        labels = np.where(PUBLIC, Y, 1 - Y)
        tree = tree_of(kind, epsilon=4.0, split_share=0).fit(X, labels, is_public=PUBLIC)
        assert tree._offsets is None
        assert tree.score(X[~PUBLIC], labels[~PUBLIC]) > 0.6

    def test_clone_pickle_and_parameters(self, kind):
        tree = tree_of(kind, DecisionTreeClassifier(max_depth=3, random_state=0), split_share=0)
        tree.fit(X, Y, is_public=PUBLIC)
        loaded = pickle.loads(pickle.dumps(tree))
        np.testing.assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))
        copy = clone(tree).set_params(public_model__max_depth=1)
        assert tree.get_params()["public_model__max_depth"] == 3
        assert copy.public_model.max_depth == 1
        assert not hasattr(tree.public_model, "tree_"), "a clone of the model is fitted"


# Models that choose columns by name, or encode levels

RNG = np.random.default_rng(0)
N, JOBS = 450, ["clerk", "smith", "cook"]
PUBLIC_ROWS = np.arange(N) < 150
TABLE = pd.DataFrame(
    {
        "job": RNG.choice(JOBS, N),
        "age": RNG.uniform(20, 80, N),
        "ill": RNG.random(N) < 0.5,
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 300, N), "D"),
    }
)
LABELS = ((TABLE.age > 50) ^ (TABLE.job == "cook")).astype(int).to_numpy()
NUMBERS = TABLE.age.to_numpy() / 2 + 20 * LABELS
DOMAIN = TableDomain({"age": (20, 80), "job": JOBS, "ill": bool, "day": ("2020-01-01", "2020-12-31")})


def pipeline(last, encoder=None):
    encoder = OneHotEncoder() if encoder is None else encoder
    return make_pipeline(ColumnTransformer([("c", encoder, ["job"]), ("n", StandardScaler(), ["age"])]), last)


MODELS = {
    "tree": DPTreeClassifier(5.0, classes=[0, 1], public_model=pipeline(RandomForestClassifier(5))),
    "local": LocallyPrivateTreeClassifier(5.0, classes=[0, 1], public_model=pipeline(LogisticRegression())),
    "numbers": DPTreeRegressor(5.0, bounds_y=(0, 60), public_model=pipeline(RandomForestRegressor(5))),
    "boosting": DPBoostingClassifier(5.0, classes=[0, 1], public_model=pipeline(RandomForestClassifier(5))),
    "boosting, numbers": DPBoostingRegressor(5.0, bounds_y=(0, 60), public_model=pipeline(Ridge())),
}


def target_of(model):
    return NUMBERS if hasattr(model, "bounds_y") else LABELS


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_pipeline_on_columns_by_name_works(name, strict):
    model = MODELS[name].set_params(domain=DOMAIN)
    with skprivate.config_context(strict=strict):
        fitted = model.fit(TABLE, target_of(model), is_public=PUBLIC_ROWS)
        assert fitted.privacy_spent_.private
        found = fitted.predict(TABLE)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(TABLE), found)
        shuffled = TABLE[["day", "ill", "job", "age"]].iloc[::-1]
        np.testing.assert_array_equal(fitted.predict(shuffled)[::-1], found)


@pytest.mark.parametrize("name", slow_unless(list(MODELS)[:2], MODELS))
def test_in_strict_mode_no_cell_makes_it_fail(name):
    model = MODELS[name].set_params(domain=DOMAIN)
    rows = TABLE.astype(object)
    rows.iloc[-3:, 0] = ["secret-4711", None, 7]
    rows.iloc[-3:, 1] = ["secret-4711", None, np.inf]
    with skprivate.config_context(strict=True):
        assert model.fit(rows, target_of(model), is_public=PUBLIC_ROWS).privacy_spent_.private


@pytest.mark.parametrize("name", MODELS)
def test_a_declared_level_that_it_cannot_predict_costs_nothing(name, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=100)
    domain = TableDomain({**DOMAIN.columns, "job": [*JOBS, "nun"]})
    model = MODELS[name].set_params(domain=domain, ledger=ledger)
    with pytest.raises(ValueError, match=r"public_model.*handle_unknown='ignore'"):
        model.fit(TABLE, target_of(model), is_public=PUBLIC_ROWS)
    assert not ledger.entries()
    last = model.public_model[-1]
    for encoder in (OneHotEncoder(handle_unknown="ignore"), OneHotEncoder(categories=[[*JOBS, "nun"]])):
        assert model.set_params(public_model=pipeline(last, encoder)).fit(
            TABLE, target_of(model), is_public=PUBLIC_ROWS
        )
    model.set_params(ledger=None, public_model=pipeline(last))


@pytest.mark.parametrize(
    ("model", "wants"),
    [
        (LogisticRegression(), False),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
        (make_pipeline(OneHotEncoder(), LogisticRegression()), True),
        (make_pipeline(make_pipeline(OrdinalEncoder()), Ridge()), True),
        (pipeline(Ridge()), True),
    ],
)
def test_who_gets_the_table(model, wants):
    assert isinstance(of_encoded_rows(model, DOMAIN), TableModel) == wants
    assert of_encoded_rows(model, None) is model


def test_the_table_is_a_function_of_the_row_bit_for_bit():
    domain = TableDomain(
        {
            "job": CategoricalColumn(JOBS, missing="indicator"),
            "grade": CategoricalColumn([1, 2.5], missing="fill"),
            "age": NumberColumn(20, 80, missing="indicator"),
            "ill": bool,
            "volt": StressColumn(1, 1000, "inverse-power"),
            "day": ("2020-01-01", "2020-12-31"),
        }
    )
    rows = TABLE.assign(grade=np.where(LABELS, 2.5, 1), volt=RNG.uniform(1, 1000, N)).astype(object)
    rows.loc[5, ["job", "age", "grade", "ill"]] = None
    encoded = domain.encode(rows, strict=True)
    model = TableModel(make_pipeline(ColumnTransformer([("c", OneHotEncoder(), ["job"])]), Ridge()), domain)
    table = model._table(encoded)
    assert list(table.columns) == list(domain.names)
    assert table.loc[5, ["job", "age", "grade"]].isna().all()
    assert table.loc[5, "ill"] == 0.5
    assert table.loc[0, ["job", "day"]].tolist() == TABLE.loc[0, ["job", "day"]].tolist()
    for row in range(0, N, 7):
        alone = model._table(encoded[row : row + 1])
        pd.testing.assert_frame_equal(alone, table[row : row + 1].reset_index(drop=True), check_exact=True)
    assert is_same_in_any_table(TableModel(pipeline(RandomForestClassifier()), domain))
    assert not is_same_in_any_table(TableModel(pipeline(LogisticRegression()), domain))
