# SPDX-License-Identifier: BSD-3-Clause
"""With a domain, a public model that chooses columns by name, or encodes levels, gets the table."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

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
from skprivate.metrics._model_outputs import is_same_in_any_table

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
RNG = np.random.default_rng(0)
N, JOBS = 600, ["clerk", "smith", "cook"]
PUBLIC = np.arange(N) < 200
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
        fitted = model.fit(TABLE, target_of(model), is_public=PUBLIC)
        assert fitted.privacy_spent_.private
        found = fitted.predict(TABLE)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(TABLE), found)
        shuffled = TABLE[["day", "ill", "job", "age"]].iloc[::-1]
        np.testing.assert_array_equal(fitted.predict(shuffled)[::-1], found)


@pytest.mark.parametrize("name", MODELS)
def test_in_strict_mode_no_cell_makes_it_fail(name):
    model = MODELS[name].set_params(domain=DOMAIN)
    rows = TABLE.astype(object)
    rows.iloc[-3:, 0] = ["secret-4711", None, 7]
    rows.iloc[-3:, 1] = ["secret-4711", None, np.inf]
    with skprivate.config_context(strict=True):
        assert model.fit(rows, target_of(model), is_public=PUBLIC).privacy_spent_.private


@pytest.mark.parametrize("name", MODELS)
def test_a_declared_level_that_it_cannot_predict_costs_nothing(name, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=100)
    domain = TableDomain({**DOMAIN.columns, "job": [*JOBS, "nun"]})
    model = MODELS[name].set_params(domain=domain, ledger=ledger)
    with pytest.raises(ValueError, match=r"public_model.*handle_unknown='ignore'"):
        model.fit(TABLE, target_of(model), is_public=PUBLIC)
    assert not ledger.entries()
    last = model.public_model[-1]
    for encoder in (OneHotEncoder(handle_unknown="ignore"), OneHotEncoder(categories=[[*JOBS, "nun"]])):
        assert model.set_params(public_model=pipeline(last, encoder)).fit(
            TABLE, target_of(model), is_public=PUBLIC
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


def test_columns_may_be_chosen_by_type():
    chosen = ColumnTransformer(
        [
            ("c", OneHotEncoder(), make_column_selector(dtype_include=["object", "string"])),
            ("n", StandardScaler(), make_column_selector(dtype_include="number")),
        ]
    )
    model = DPTreeClassifier(
        5.0, classes=[0, 1], domain=DOMAIN, public_model=make_pipeline(chosen, RandomForestClassifier(5))
    )
    assert model.fit(TABLE, LABELS, is_public=PUBLIC).score(TABLE, LABELS) > 0.8
