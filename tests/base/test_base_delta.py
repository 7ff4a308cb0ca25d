# SPDX-License-Identifier: BSD-3-Clause
"""Delta of every estimator and function that takes one: which noise it means, and where it is too large."""

import inspect
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import skprivate
from skprivate import (
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticLLSRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    MomentAccumulator,
    PrivacyLedger,
    PrivateGridSearch,
    TableDomain,
    private_describe,
    private_evaluate,
)
from skprivate.accounting import shuffle_amplification
from skprivate.evaluation import StatedLifetimes, plan_life_study, plan_study

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

N, N_PERSONS = 400, 80
X = np.random.default_rng(0).uniform(-1, 1, (N, 2))
LABELS, TIMES, PERSONS = (X[:, 0] > 0).astype(int), np.exp(X[:, 0]), np.arange(N) % N_PERSONS
LIVES = np.array([(time < 1.5, min(time, 1.5)) for time in TIMES], dtype=[("event", bool), ("time", float)])
KNOWN = {"bounds": (-1, 1), "classes": [0, 1]}
NUMBERS = {"bounds_X": (-1, 1), "bounds_y": (-1, 1)}
AFT = {"bounds_X": (-1, 1), "bounds_y": (0.3, 3)}
DOMAIN = TableDomain({"a": (-1, 1), "b": (-1, 1)})
FITTED = LogisticRegression().fit([[-1, 0], [1, 0]], [0, 1])


def fit(kind, y, **declared):
    def release(groups=None, **options):
        model = kind(epsilon=2.0, **declared, **options)
        return model.fit(X, y, groups=groups).privacy_spent_

    return release


# With "auto" so few tables have Laplace noise, which is smaller, and no delta is spent.
def describe(**options):
    return private_describe({"a": X[:, 0], "b": X[:, 1]}, DOMAIN, epsilon=2.0, **options).privacy_spent


def evaluate(**options):
    return private_evaluate(FITTED, X, LABELS, epsilon=2.0, **options).privacy_spent


#: Every release that takes a delta.
FITS = {
    "DPLogLocationScaleRegressor": fit(DPLogLocationScaleRegressor, TIMES, **AFT),
    "censored": fit(DPLogLocationScaleRegressor, LIVES, **AFT),
    "DPSEVRegressor": fit(DPSEVRegressor, X[:, 0], **NUMBERS),
    "DPLogisticLLSRegressor": fit(DPLogisticLLSRegressor, X[:, 0], **NUMBERS),
    "DPNormalLLSRegressor": fit(DPNormalLLSRegressor, X[:, 0], x_norm=2.0, bounds_y=(-1, 1)),
    "DPLogisticRegression": fit(DPLogisticRegression, LABELS, **KNOWN),
    "DPBoostingClassifier": fit(DPBoostingClassifier, LABELS, **KNOWN),
    "DPBoostingRegressor": fit(DPBoostingRegressor, X[:, 0], **NUMBERS),
}
COUNTS = {"private_describe": describe, "private_evaluate": evaluate}
RELEASES = {**FITS, **COUNTS}


def told_of(release, **options):
    """Return the messages about delta of a release with Gaussian noise."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release(**options)
    return [str(one.message) for one in caught if "1 / n" in str(one.message)]


def test_every_release_with_a_delta_is_here():
    found = {
        name
        for name in skprivate.__all__
        if callable(thing := getattr(skprivate, name))
        and {"epsilon", "delta", "mechanism", "random_state"} <= set(inspect.signature(thing).parameters)
    }
    assert found == set(RELEASES) - {"censored"}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(("delta", "noise"), [(0, "Laplace"), (1e-6, "Gaussian")])
def test_delta_alone_chooses_the_noise_and_is_what_is_spent(name, delta, noise):
    spent = FITS[name](delta=delta)
    assert (noise in spent.mechanism, spent.delta, spent.rho is None) == (True, Fraction(delta), delta == 0)


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": "laplace", "delta": 1e-6}, "pass delta=0, or leave mechanism='auto'"),
        ({"mechanism": "gaussian"}, "needs a delta above 0"),
    ],
)
def test_a_delta_that_does_not_fit_the_noise_is_an_error_before_the_charge(name, options, message, tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=9, delta=0.1)
    with pytest.raises(ValueError, match=message):
        RELEASES[name](ledger=ledger, **options)
    assert ledger.spent() == (0, 0)


@pytest.mark.parametrize("name", RELEASES)
def test_a_large_delta_warns_once_where_the_number_of_rows_is_public(name):
    assert told_of(RELEASES[name], mechanism="gaussian", delta=0.99 / N) == []
    (told,) = told_of(RELEASES[name], mechanism="gaussian", delta=Fraction(1, N))
    assert f"n = {N} rows" in told
    assert "such as 1e-05." in told
    assert told_of(RELEASES[name], mechanism="gaussian", delta=0.5, relation="add-remove") == []


@pytest.mark.parametrize("name", RELEASES)
def test_a_large_delta_is_told_by_persons_where_their_number_is_public(name):
    options = {"groups": PERSONS, "max_rows_per_group": 2, "mechanism": "gaussian"}
    assert told_of(RELEASES[name], delta=0.99 / N_PERSONS, **options) == []
    told = told_of(RELEASES[name], delta=1.01 / N_PERSONS, **options)
    # Evaluations and descriptions do not publish how many persons there are.
    assert [f"n = {N_PERSONS} groups" in one for one in told] == ([] if name in COUNTS else [True])


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("name", RELEASES)
def test_the_warning_comes_before_the_charge(name, tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=9, delta=0.1)
    with pytest.raises(UserWarning, match="1 / n"):
        RELEASES[name](mechanism="gaussian", delta=0.01, ledger=ledger)
    assert ledger.spent() == (0, 0)


def search(delta):
    model = DPLogisticRegression(delta=delta, **KNOWN)
    PrivateGridSearch(model, {"epsilon": [1.0]}, score_epsilon=1.0).fit(X, LABELS)


def accumulate(delta):
    accumulator = MomentAccumulator((-1, 1), (-1, 1), N, distribution="sev").update(X, X[:, 0])
    assert "Gaussian" in accumulator.release(DPSEVRegressor(delta=delta)).privacy_spent_.mechanism


def plan_scores(delta):
    model = DPLogisticRegression(delta=delta)
    plan_study(model, (-1, 1), N, [1.0], public=(X, LABELS), target=[0, 1], n_repeats=4)


def plan_lives(delta):
    stated = StatedLifetimes(coef=[0.5, 0.0], intercept=0.0, scale=0.5, X=X)
    model = DPLogLocationScaleRegressor(delta=delta, **AFT)
    plan = plan_life_study(model, N, [1.0], X_at=[[0, 0]], stated=stated, n_repeats=1)
    assert [row.variant for row in plan.table] == ["laplace", "gaussian"]


OTHERS = {
    "search": search,
    "accumulator": accumulate,
    "plan_study": plan_scores,
    "plan_life_study": plan_lives,
    "shuffle": lambda delta: shuffle_amplification(1.0, N, delta),
}


@pytest.mark.parametrize("name", OTHERS)
def test_searches_accumulators_plans_and_shuffles_warn_too(name):
    # A study of scores takes long: that it is silent of a small delta, tests of its room say.
    assert name == "plan_study" or told_of(OTHERS[name], delta=1e-6) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match=f"1 / n.*n = {N} |n = {N} .*1 / n"):
            OTHERS[name](delta=0.01)
