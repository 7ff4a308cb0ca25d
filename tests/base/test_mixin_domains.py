# SPDX-License-Identifier: BSD-3-Clause
"""Estimators that read tables through a domain: raw frames in, a claim of privacy out."""

import io
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import skprivate
from skprivate import (
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    MomentAccumulator,
    PrivateGridSearch,
    TableDomain,
    privacy_report,
)
from skprivate.audit import check_private_pipeline
from skprivate.exceptions import PrivacyLeakError
from skprivate.inspection import PartitionDisplay
from skprivate.rounds import TableSource, fit_rounds
from skprivate.tree import LeafCountAccumulator

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
N = 600
RNG = np.random.default_rng(11)
DOMAIN = TableDomain(
    {"age": (17, 90), "job": ["clerk", "smith"], "since": ("2001-01-01", "2020-12-31")}, missing_values=["?"]
)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(17, 91, N).astype(str),
        "job": RNG.choice([" clerk", " smith", " ?"], N),
        "since": RNG.choice(["2001-01-01", "2012-05-06", "?"], N),
    }
)
LABELS = (TABLE["age"].astype(int) > 50).to_numpy().astype(int)
NUMBERS = TABLE["age"].astype(float).to_numpy() / 10 + (TABLE["job"] == " smith").to_numpy()
ENCODED = DOMAIN.encode(TABLE)
LOWER, UPPER = DOMAIN.bounds

TREES = [
    DPTreeClassifier(classes=[0, 1], max_depth=3, random_state=0),
    LocallyPrivateTreeClassifier(classes=[0, 1], max_depth=3, random_state=0),
]
REGRESSORS = [
    DPNormalLLSRegressor(5.0, bounds_y=(0, 12), random_state=0),
    DPLogLocationScaleRegressor(5.0, bounds_y=(0.5, 12), random_state=0),
]


def bounded(estimator):
    name = "bounds_X" if "bounds_X" in estimator.get_params() else "bounds"
    return variant(estimator, **{name: (LOWER, UPPER)})


def variant(estimator, **parameters):
    return clone(estimator).set_params(**parameters)


def targets(estimator):
    return LABELS if estimator in TREES else NUMBERS + 0.5


@pytest.mark.parametrize("estimator", [*TREES, *REGRESSORS], ids=lambda one: type(one).__name__)
def test_a_fit_to_a_raw_table_is_that_to_the_encoded_rows(estimator):
    y = targets(estimator)
    raw = variant(estimator, domain=DOMAIN).fit(TABLE, y)
    if estimator in TREES:
        # It splits columns that it derives of the encoded ones.
        leaves = raw.partition_.apply(ENCODED)
        np.testing.assert_array_equal(raw.predict(TABLE), raw.leaf_proba_.argmax(axis=1)[leaves])
    else:
        encoded = bounded(estimator).fit(ENCODED, y)
        np.testing.assert_array_equal(raw.predict(TABLE), encoded.predict(ENCODED))
        assert raw.score(TABLE, y) == encoded.score(ENCODED, y)
    assert raw.n_features_in_ == 3
    assert raw.feature_names_in_.tolist() == ["age", "job", "since"]
    assert raw.domain_ is DOMAIN
    for library in (pl.from_pandas(TABLE), pa.Table.from_pandas(TABLE), TABLE.to_dict("records")):
        np.testing.assert_array_equal(raw.predict(library), raw.predict(TABLE))
    again = pickle.loads(pickle.dumps(raw))
    np.testing.assert_array_equal(again.predict(TABLE), raw.predict(TABLE))


@pytest.mark.parametrize("estimator", [*TREES, *REGRESSORS], ids=lambda one: type(one).__name__)
def test_declared_columns_are_public_inputs_and_no_leak(estimator):
    y = targets(estimator)
    with skprivate.config_context(strict=True):
        fitted = variant(estimator, domain=DOMAIN, random_state=None).fit(TABLE, y)
    spent = fitted.privacy_spent_
    assert spent.claim == "dp"
    assert "domain" in spent.public_inputs
    assert "declared by the domain" in spent.unprotected.values()
    assert privacy_report(fitted).claim == "dp"
    with skprivate.config_context(strict=True), pytest.raises(PrivacyLeakError):
        variant(estimator, random_state=None).fit(ENCODED, y)


@pytest.mark.parametrize("estimator", [*TREES, *REGRESSORS], ids=lambda one: type(one).__name__)
def test_bounds_and_a_domain_contradict_each_other(estimator):
    both = variant(bounded(estimator), domain=DOMAIN)
    with pytest.raises(ValueError, match="pass domain or bounds"):
        both.fit(TABLE, targets(estimator))


@pytest.mark.parametrize("estimator", [TREES[0], REGRESSORS[0]], ids=lambda one: type(one).__name__)
def test_strict_mode_takes_any_cell_and_otherwise_the_column_is_named(estimator):
    y, strange = targets(estimator), TABLE.copy()
    strange.loc[3, "job"] = "secret"
    strange.loc[4, "age"] = "secret"
    model = variant(estimator, domain=DOMAIN, random_state=None)
    with skprivate.config_context(strict=True):
        fitted = model.fit(strange, y)
        assert len(fitted.predict(strange)) == N
    with pytest.raises(ValueError, match="column 'age' holds") as refused:
        variant(model).fit(strange, y)
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match="column 'age' holds"):
        variant(model).fit(TABLE, y).predict(strange)


def test_censored_times_of_a_raw_table():
    y = np.empty(N, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = np.arange(N) % 3 > 0, NUMBERS + 0.5
    model = variant(REGRESSORS[1], max_iter=3)
    raw = variant(model, domain=DOMAIN).fit(TABLE, y)
    np.testing.assert_array_equal(raw.coef_, variant(model, bounds_X=(LOWER, UPPER)).fit(ENCODED, y).coef_)


def test_a_model_that_was_pickled_in_strict_mode_stays_strict():
    model = variant(REGRESSORS[0], domain=DOMAIN, random_state=None)
    with skprivate.config_context(strict=True):
        model = pickle.loads(pickle.dumps(model))
    strange = TABLE.assign(age="secret")
    assert model.fit(strange, NUMBERS).predict(strange).shape == (N,)


def test_a_fit_without_a_domain_forgets_it():
    model = variant(REGRESSORS[0], domain=DOMAIN).fit(TABLE, NUMBERS)
    model.set_params(domain=None, bounds_X=(LOWER, UPPER)).fit(ENCODED, NUMBERS)
    assert model.n_features_in_ == 5
    assert not hasattr(model, "domain_")
    assert not hasattr(model, "feature_names_in_")
    model.predict(ENCODED)


def test_a_domain_that_is_changed_after_the_fit_changes_no_prediction():
    model = variant(REGRESSORS[0], domain=DOMAIN).fit(TABLE, NUMBERS)
    before = model.predict(TABLE)
    model.set_params(domain=TableDomain({"other": (0, 1)}))
    np.testing.assert_array_equal(model.predict(TABLE), before)


def test_public_rows_come_raw_too():
    public = np.arange(N) < 100
    raw = variant(TREES[0], domain=DOMAIN).fit(TABLE, LABELS, is_public=public)
    counts = np.zeros_like(raw.public_counts_)
    np.add.at(counts, (raw.partition_.apply(ENCODED[public]), LABELS[public]), 1)
    np.testing.assert_array_equal(raw.public_counts_, counts)
    assert raw.score(TABLE, LABELS) > 0.9


def with_target(y):
    return TABLE.assign(y=y)


@pytest.mark.parametrize("library", [lambda table: table, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("estimator", [TREES[0], *REGRESSORS], ids=lambda one: type(one).__name__)
def test_sources_hold_raw_tables(estimator, library):
    model, y = variant(estimator, domain=DOMAIN), targets(estimator)
    whole = with_target(y)
    parts = [library(whole[i::3].reset_index(drop=True)) for i in range(3)]
    fitted = fit_rounds(variant(model), TableSource(parts, target="y"))
    np.testing.assert_array_equal(fitted.predict(TABLE), model.fit(TABLE, y).predict(TABLE))
    assert fitted.feature_names_in_.tolist() == list(DOMAIN.names)


def test_tables_of_a_source_may_have_columns_of_different_types():
    whole = with_target(LABELS)
    parts = [whole[:300].astype({"age": int}), whole[300:]]
    tree = variant(TREES[0], domain=DOMAIN)
    fitted = fit_rounds(variant(tree), TableSource(parts, target="y"))
    np.testing.assert_array_equal(fitted.report_counts_, tree.fit(TABLE, LABELS).report_counts_)


def test_an_accumulator_of_moments_takes_raw_batches():
    moments = MomentAccumulator(None, (0, 12), 10_000, distribution="normal", domain=DOMAIN, target="y")
    plain = MomentAccumulator((LOWER, UPPER), (0, 12), 10_000, distribution="normal")
    whole = with_target(NUMBERS)
    moments.update(whole[:200], batch_id=1).update(pl.from_pandas(whole[200:400]), batch_id=2)
    moments = MomentAccumulator.from_bytes(moments.to_bytes())
    moments.update(pa.Table.from_pandas(whole[400:500]), batch_id=3)
    moments.update(TABLE[500:].to_numpy(), NUMBERS[500:], batch_id=4)
    plain.update(ENCODED, NUMBERS)
    model = variant(REGRESSORS[0])
    fitted = moments.release(model)
    np.testing.assert_array_equal(fitted.coef_, plain.release(model).coef_)
    assert fitted.domain == DOMAIN
    assert fitted.privacy_spent_.public_inputs[0] == "domain"
    assert fitted.predict(TABLE).shape == (N,)


def test_an_accumulator_has_one_domain():
    moments = MomentAccumulator(None, (0, 12), 10_000, distribution="normal", domain=DOMAIN)
    moments.update(TABLE, NUMBERS)
    other = TableDomain({**DOMAIN.columns, "job": ["clerk", "king"]})
    with pytest.raises(ValueError, match="different parameters"):
        moments.merge(MomentAccumulator(None, (0, 12), 10_000, distribution="normal", domain=other))
    for wrong in ({"domain": other}, {"bounds_X": np.array([LOWER, UPPER])}):
        with pytest.raises(ValueError, match="domain of the estimator"):
            moments.release(variant(REGRESSORS[0], **wrong))
    with pytest.raises(ValueError, match="leave bounds_X"):
        MomentAccumulator((0, 1), (0, 12), 10_000, domain=DOMAIN)


def test_an_accumulator_of_counts_takes_raw_batches():
    tree = variant(TREES[0], domain=DOMAIN, split_share=0)
    counts = LeafCountAccumulator(tree, N, target="y")
    counts.update(with_target(LABELS)[:200], batch_id=1)
    counts = LeafCountAccumulator.from_bytes(counts.to_bytes())
    counts.update(with_target(LABELS)[200:], batch_id=2)
    np.testing.assert_array_equal(counts.release(tree).report_counts_, tree.fit(TABLE, LABELS).report_counts_)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "table", [TABLE, TABLE.assign(since=pd.to_datetime(TABLE["since"].replace("?", None)))]
)
def test_a_search_takes_raw_frames(strict, table):
    tree = DPTreeClassifier(2.0, domain=DOMAIN, classes=[0, 1])
    search = PrivateGridSearch(tree, {"max_depth": [1, 2]})
    with skprivate.config_context(strict=strict):
        search.fit(table, LABELS)
    assert privacy_report(search).claim == "dp"
    assert search.predict(table).shape == (N,)


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (DPTreeClassifier(2.0, domain=DOMAIN, classes=[0, 1]), {"max_depth": [1, 2]}),
        (DPNormalLLSRegressor(2.0, domain=DOMAIN, bounds_y=(0, 2)), {"epsilon": [1.0, 2.0]}),
    ],
    ids=["tree", "regressor"],
)
def test_a_search_refuses_other_columns_before_it_pays(tmp_path, model, grid):
    ledger = skprivate.PrivacyLedger(tmp_path / "ledger", epsilon=100)
    search = PrivateGridSearch(model, grid, ledger=ledger)
    with pytest.raises(ValueError, match="not those of domain"):
        search.fit(TABLE.rename(columns={"age": "Age"}), LABELS)
    assert not ledger.entries()


def test_a_picture_of_cells_names_the_declared_columns():
    tree = variant(TREES[0], domain=DOMAIN).fit(TABLE, LABELS)
    display = PartitionDisplay.from_estimator(tree, features=("age", "job"))
    assert (display.xlabel, display.ylabel) == ("age", "job")
    plt.close("all")


def test_the_battery_makes_rows_of_declared_columns():
    tree = DPTreeClassifier(max_depth=1, domain=DOMAIN, classes=[0, 1])
    assert check_private_pipeline(tree).passed


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        DPTreeClassifier(domain=DOMAIN).predict(TABLE)


# Columns and spelling of the census data of 1994 ("Adult"); the rows are made up.
CSV = "\n".join(
    f"{17 + i % 70}, {('Private', '?', 'State-gov')[i % 3]}, {10_000 + 997 * i}, "
    f"{('HS-grad', '11th')[i % 2]}, {9 - 2 * (i % 2)}, {('Male', 'Female')[i // 7 % 2]}, {20 + i % 50}, "
    f"{('United-States', 'Cuba', '?')[i % 5 % 3]}, {('<=50K', '>50K')[17 + i % 70 > 50]}"
    for i in range(400)
)


def test_from_raw_text_to_a_private_tree_in_ten_lines():
    names = ["age", "workclass", "fnlwgt", "education", "grade", "sex", "hours", "country", "income"]
    table = pd.read_csv(io.StringIO(CSV), header=None, names=names)
    income = table.pop("income").str.strip()
    domain = TableDomain(
        {"age": (17, 90), "workclass": ["Private", "State-gov"], "fnlwgt": (10_000, 1_500_000)}
        | {"education": ["HS-grad", "11th"], "grade": (1, 16), "sex": ["Male", "Female"]}
        | {"hours": (1, 99), "country": ["United-States", "Cuba"]},
        missing_values=["?"],
    )
    tree = DPTreeClassifier(4.0, domain=domain, classes=["<=50K", ">50K"]).fit(
        table, income, is_public=np.arange(400) < 100
    )
    assert privacy_report(tree).claim == "dp"
    assert tree.score(table, income) > 0.6
