# SPDX-License-Identifier: BSD-3-Clause
"""Estimators that read tables through a domain: raw frames in, a claim of privacy out."""

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


@pytest.mark.parametrize("estimator", [TREES[0], REGRESSORS[0]], ids=lambda one: type(one).__name__)
def test_strict_mode_takes_any_cell_and_otherwise_the_column_is_named(estimator):
    y, strange = targets(estimator), TABLE.copy()
    strange.loc[3, "job"] = strange.loc[4, "age"] = "secret"
    model = variant(estimator, domain=DOMAIN, random_state=None)
    with pytest.raises(ValueError, match="column 'age' holds") as refused:
        model.fit(strange, y)
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match="column 'age' holds"):
        model.fit(TABLE, y).predict(strange)
    with skprivate.config_context(strict=True):
        travelled = pickle.loads(pickle.dumps(model))
    fitted = travelled.fit(strange, y)
    assert len(fitted.predict(strange)) == N
    spent = fitted.privacy_spent_
    assert spent.claim == privacy_report(fitted).claim == "dp"
    assert "domain" in spent.public_inputs
    assert "declared by the domain" in spent.unprotected.values()


def test_bounds_and_a_domain_contradict_each_other():
    with pytest.raises(ValueError, match="pass domain or bounds"):
        variant(bounded(REGRESSORS[0]), domain=DOMAIN).fit(TABLE, NUMBERS)
    with pytest.raises(NotFittedError):
        DPTreeClassifier(domain=DOMAIN).predict(TABLE)


def test_a_fit_without_a_domain_forgets_it():
    model = variant(REGRESSORS[0], domain=DOMAIN).fit(TABLE, NUMBERS)
    model.set_params(domain=None, bounds_X=(LOWER, UPPER)).fit(ENCODED, NUMBERS)
    assert model.n_features_in_ == 5
    assert not hasattr(model, "domain_")
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("estimator", [TREES[0], *REGRESSORS], ids=lambda one: type(one).__name__)
def test_sources_hold_raw_tables_whose_columns_may_differ_in_type(estimator):
    model, y = variant(estimator, domain=DOMAIN), targets(estimator)
    first, second, third = (TABLE.assign(y=y)[i::3].reset_index(drop=True) for i in range(3))
    parts = [first.astype({"age": int}), pl.from_pandas(second), pa.Table.from_pandas(third)]
    fitted = fit_rounds(variant(model), TableSource(parts, target="y"))
    np.testing.assert_array_equal(fitted.predict(TABLE), model.fit(TABLE, y).predict(TABLE))
    assert fitted.feature_names_in_.tolist() == list(DOMAIN.names)


def accumulated(**options):
    return MomentAccumulator(bounds_y=(0, 12), max_rows=10_000, distribution="normal", **options)


def test_an_accumulator_of_moments_takes_raw_batches():
    moments, whole = accumulated(bounds_X=None, domain=DOMAIN, target="y"), TABLE.assign(y=NUMBERS)
    moments.update(whole[:200], batch_id=1).update(pl.from_pandas(whole[200:400]), batch_id=2)
    moments = MomentAccumulator.from_bytes(moments.to_bytes())
    moments.update(TABLE[400:].to_numpy(), NUMBERS[400:], batch_id=4)
    fitted = moments.release(variant(REGRESSORS[0]))
    plain = accumulated(bounds_X=(LOWER, UPPER)).update(ENCODED, NUMBERS)
    # Slopes of the levels are about their mean where they are known to be levels.
    np.testing.assert_allclose(fitted.predict(TABLE), plain.release(variant(REGRESSORS[0])).predict(ENCODED))
    assert fitted.domain == DOMAIN
    assert fitted.privacy_spent_.public_inputs[0] == "domain"
    assert fitted.predict(TABLE).shape == (N,)


def test_an_accumulator_has_one_domain():
    moments = accumulated(bounds_X=None, domain=DOMAIN).update(TABLE, NUMBERS)
    other = TableDomain({**DOMAIN.columns, "job": ["clerk", "king"]})
    with pytest.raises(ValueError, match="different parameters"):
        moments.merge(accumulated(bounds_X=None, domain=other))
    for wrong in ({"domain": other}, {"bounds_X": np.array([LOWER, UPPER])}):
        with pytest.raises(ValueError, match="domain of the estimator"):
            moments.release(variant(REGRESSORS[0], **wrong))
    with pytest.raises(ValueError, match="leave bounds_X"):
        accumulated(bounds_X=(0, 1), domain=DOMAIN)


def test_an_accumulator_of_counts_takes_raw_batches():
    tree = variant(TREES[0], domain=DOMAIN, split_share=0)
    counts = LeafCountAccumulator(tree, N, target="y")
    counts.update(TABLE.assign(y=LABELS)[:200], batch_id=1)
    counts = LeafCountAccumulator.from_bytes(counts.to_bytes())
    counts.update(TABLE.assign(y=LABELS)[200:], batch_id=2)
    np.testing.assert_array_equal(counts.release(tree).report_counts_, tree.fit(TABLE, LABELS).report_counts_)


@pytest.mark.parametrize("strict", [False, True])
def test_a_search_takes_raw_frames_and_refuses_other_columns_before_it_pays(strict, tmp_path):
    ledger = skprivate.PrivacyLedger(tmp_path / "ledger", epsilon=100)
    tree = DPTreeClassifier(2.0, domain=DOMAIN, classes=[0, 1])
    search = PrivateGridSearch(tree, {"max_depth": [1, 2]}, ledger=ledger)
    with skprivate.config_context(strict=strict):
        with pytest.raises(ValueError, match="not those of domain"):
            search.fit(TABLE.rename(columns={"age": "Age"}), LABELS)
        assert not ledger.entries()
        dates = TABLE.assign(since=pd.to_datetime(TABLE["since"].replace("?", None)))
        search.fit(dates, LABELS)
    assert privacy_report(search).claim == "dp"
    assert search.predict(dates).shape == (N,)


def test_a_picture_and_the_battery_know_the_declared_columns():
    tree = DPTreeClassifier(max_depth=1, domain=DOMAIN, classes=[0, 1])
    assert check_private_pipeline(tree).passed
    display = PartitionDisplay.from_estimator(tree.fit(TABLE, LABELS), features=("age", "job"))
    assert (display.xlabel, display.ylabel) == ("age", "job")
    plt.close("all")
