# SPDX-License-Identifier: BSD-3-Clause
"""Plans: nothing is charged, what they recommend, every kind of estimator, bad input."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import (
    BoundsScaler,
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    LabelPrivateClassifier,
    LabelPrivateRegressor,
    PrivacyLedger,
    plan_study,
)
from tests.marks import slow_unless

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, size=(200, 3))
NOISE = RNG.normal(size=200)
LABELS = (2 * X[:, 0] + NOISE > 0).astype(int)
NUMBERS = np.exp(0.5 * X[:, 0] + 0.2 * NOISE)
QUICK = {"n_repeats": 4, "random_state": 0}
LOGISTIC = DPLogisticRegression(delta=1e-6)


def linear(n, rng, weight=3.0):
    """Rows of which a line tells the label."""
    rows = rng.uniform(-1, 1, size=(n, 3))
    return rows, (weight * rows[:, 0] + rng.normal(size=n) > 0).astype(int)


def folded(n, rng):
    """Rows of which no line tells the label."""
    rows = rng.uniform(-1, 1, size=(n, 3))
    return rows, (np.abs(rows[:, 0]) > 0.5).astype(int)


def plan(estimator=LOGISTIC, n=500, epsilons=(1.0,), public=(X, LABELS), **options):
    options = {"target": [0, 1], **QUICK, **options}
    return plan_study(estimator, (-1, 1), n, epsilons, public, **options)


REGRESSORS = [
    DPBoostingRegressor(),
    DPNormalLLSRegressor(),
    DPLogLocationScaleRegressor(),
    LabelPrivateRegressor(),
]


@pytest.mark.parametrize(
    "estimator", slow_unless(REGRESSORS[1:2], REGRESSORS), ids=lambda one: type(one).__name__
)
def test_every_regressor_is_planned(estimator):
    found = plan(estimator, n=2000, epsilons=(100.0,), public=(X, NUMBERS), target=(0.2, 4.0))
    assert found.score_name == "r2"
    assert 0.2 < found.table[0].score < 1
    assert found.split is None


@pytest.mark.slow
def test_score_of_another_name():
    errors = plan(
        DPBoostingRegressor(), public=(X, NUMBERS), target=(0.2, 4.0), scoring="neg_mean_absolute_error"
    )
    assert errors.table[0].score < 0
    assert plan(scoring="accuracy").base_rate == pytest.approx(max(LABELS.mean(), 1 - LABELS.mean()))
    assert plan(scoring="neg_log_loss").split is None


@pytest.mark.slow
def test_nothing_is_charged_and_nothing_is_changed(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=1.0)
    label = LabelPrivateClassifier(ledger=ledger)
    inner = make_pipeline(BoundsScaler(bounds=(-1, 1)), DPLogisticRegression(bounds=(0, 1), ledger=ledger))
    for estimator in (DPBoostingClassifier(ledger=ledger), label, inner):
        before = repr(clone(estimator).get_params())
        plan(estimator, epsilons=(5.0, 50.0))
        assert len(ledger.entries()) == 0
        assert repr(estimator.get_params()) == before
        assert estimator.get_params(deep=True).get("classes") is None


@pytest.mark.slow
def test_same_seed_same_plan_also_in_processes():
    first = plan()
    assert first == plan(n_jobs=2)
    assert first.table != plan(random_state=1).table


@pytest.mark.slow
def test_strict_mode_and_its_seeds():
    with skprivate.config_context(strict=True):
        assert plan() == plan()


def test_go_names_the_least_epsilon():
    found = plan(
        DPBoostingClassifier(), n=5_000, epsilons=(1e-5, 3.0), public=(X[:30], LABELS[:30]), simulate=folded
    )
    assert found.decision == "go"
    assert found.recommendation.startswith("go at epsilon >= 3: expected roc_auc 0.9")
    assert found.table[0].gain_lower < 0 < found.table[1].gain_lower
    assert "of public rows alone" in found.recommendation
    assert "delta=1e-6" in found.recommendation
    assert found.source == "simulated"
    assert found.mark == "computed from simulated rows: nothing was spent"


@pytest.mark.slow
def test_no_go_where_public_rows_do_better():
    found = plan(DPTreeClassifier(), n=30, epsilons=(0.01,))
    assert found.decision == "no-go"
    assert found.recommendation.startswith("no-go: at no epsilon")


def test_cannot_say_where_the_band_holds_both():
    found = plan(n=200, epsilons=(0.01,), public=None, simulate=linear)
    assert found.public_alone is None
    assert found.table[0].gain is None
    assert found.decision == "cannot say"
    assert found.recommendation.startswith("cannot say: the band holds the score of the base rate")
    assert "0.5 of the base rate" in found.recommendation


def test_no_signal_is_no_go_or_unsaid():
    assert plan(n=5000, epsilons=(5.0,), public=(X, RNG.permutation(LABELS))).decision != "go"


@pytest.mark.slow
def test_public_rows_in_the_fit():
    tree = DPTreeClassifier(rule="cart")
    alone, both = (plan(tree, n=100, epsilons=(0.05,), public_in_fit=given) for given in (False, True))
    assert both.table[0].score > alone.table[0].score + 0.05


def test_result_as_text_frame_dict_html_and_pickle():
    found = plan(epsilons=(0.5, 2.0))
    assert pickle.loads(pickle.dumps(found)) == found
    text = str(found)
    assert "nothing was spent" in text
    assert all(unknown in text for unknown in found.unknowns)
    assert "200 public rows" in text
    assert list(found.to_frame()["epsilon"]) == [0.5, 2.0]
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["decision"] == found.decision
    assert plain["split"]["total"] == "2"
    assert plain["table"][1]["score"] == found.table[1].score
    with pytest.raises(AttributeError):
        found.n = 3


def test_html_is_escaped():
    def evil(estimator, rows, y):
        return float((estimator.predict(rows) == y).mean())

    evil.__name__ = "<script>alert(1)</script>"
    html = plan(scoring=evil).to_html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "nothing was spent" in html
