# SPDX-License-Identifier: BSD-3-Clause
"""An interrupted fit leaves the fit before or a new one that is paid for, each in whole."""

import os
import warnings
from fractions import Fraction
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from skprivate import (
    BSTDAggregator,
    CollaborativeRegressor,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    LocalAverageRegressor,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.model_selection import PrivateGridSearch, PrivateRandomizedSearch

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(size=(24, 2)), RNG.uniform(0.1, 0.9, size=24)
LABELS = (X[:, 0] > 0.5).astype(int)
GAME = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[[-0.6], [0.1], [0.4]], r_bounds=(-1, 1))
TREE = DPTreeClassifier(
    epsilon=1.0, bounds=(0, 1), classes=[0, 1], max_depth=1, rule="random", random_state=0
)
SITES = np.arange(24) % 4
HOME = ("utils/_private_fit.py",)

# Every estimator with the arguments of a fit; the search's candidates are seeded by the search.
CASES = {
    "DPTreeClassifier": (TREE, (X, LABELS), {}),
    "LocallyPrivateTreeClassifier": (
        LocallyPrivateTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], max_depth=1, random_state=0),
        (X, LABELS),
        {},
    ),
    "DPNormalLLSRegressor": (
        DPNormalLLSRegressor(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), random_state=0),
        (X, Y),
        {},
    ),
    "PrivateGridSearch": (
        PrivateGridSearch(clone(TREE).set_params(random_state=None), {"max_depth": [1]}, random_state=0),
        (X, LABELS),
        {},
    ),
    "PrivateRandomizedSearch": (
        PrivateRandomizedSearch(
            clone(TREE).set_params(random_state=None), {"max_depth": [1]}, 1, random_state=0
        ),
        (X, LABELS),
        {},
    ),
    "CollaborativeRegressor": (
        CollaborativeRegressor(
            LocalAverageRegressor(bandwidth=0.5), aggregator=BSTDAggregator(random_state=0), random_state=0
        ),
        (X, Y),
        {"sites": SITES},
    ),
    "LocalAverageRegressor": (LocalAverageRegressor(bandwidth=0.5), (X, Y), {}),
    "SecureSumAggregator": (SecureSumAggregator(), (X.repeat(2, 1),), {}),
    "TQMATransformer": (TQMATransformer(bounds=(0, 1)), (X,), {}),
}


def state_of(estimator):
    """Hash every attribute but parameters and keys, which are drawn anew."""
    parameters = estimator.get_params(deep=False)
    hidden = {*parameters, "_session"}
    return {name: joblib.hash(value) for name, value in sorted(vars(estimator).items()) if name not in hidden}


@pytest.fixture
def quiet():
    """Without warnings of tiny data and seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def start_with(template, arguments, options):
    """Return a function that makes an estimator with a fit, which is to be fitted anew to other rows."""

    def fit_anew(objects):
        objects.estimator.fit(*arguments, **options)

    def start(folder):
        estimator = clone(template).fit(arguments[0][::-1], *arguments[1:], **options)
        objects = SimpleNamespace(estimator=estimator, old=state_of(estimator), new=None, ledger=None)
        if "ledger" in estimator.get_params(deep=False):
            objects.ledger = PrivacyLedger(folder / "study.ledger", epsilon=100)
            estimator.set_params(ledger=objects.ledger)
        if "epsilon" in estimator.get_params(deep=False):
            estimator.set_params(epsilon=Fraction(2))
        return objects

    return start, fit_anew


# One home makes all of them change in whole; the suite tries a few.
@pytest.mark.parametrize("name", CASES if "SKPRIVATE_INTERRUPTS" in os.environ else [*CASES][::6])
def test_a_fit(interrupted, operation, quiet, name, tmp_path):
    start, fit_anew = start_with(*CASES[name])
    (tmp_path / "reference").mkdir()
    reference = start(tmp_path / "reference")
    fit_anew(reference)
    new = state_of(reference.estimator)

    def check(objects):
        found = state_of(objects.estimator)
        assert found in (objects.old, new), "a mixture of two fits"
        if objects.ledger is not None and found != objects.old:
            assert objects.ledger.entries(), "released uncovered"

    interrupted(
        operation(
            f"{name}.fit",
            start,
            fit_anew,
            check,
            fit_anew,
            lambda objects: state_of(objects.estimator) == new,
            about=HOME,
        )
    )


def test_a_fit_that_the_ledger_refuses(interrupted, operation, quiet):
    start, fit_anew = start_with(*CASES["DPTreeClassifier"])

    def poor(folder):
        objects = start(folder)
        objects.estimator.set_params(ledger=PrivacyLedger(folder / "poor.ledger", epsilon=Fraction(1, 9)))
        return objects

    def refused(objects):
        with pytest.raises(Exception, match="ceiling"):
            fit_anew(objects)

    def check(objects):
        assert state_of(objects.estimator) == objects.old

    interrupted(operation("DPTreeClassifier.fit, refused", poor, refused, check, refused, about=HOME))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_rounds_of_a_game(interrupted, operation, quiet, method):
    # What was broadcast stays: an interrupt between two rounds ends the run with those before.
    def start(folder):
        solver = PrivateNashSolver(max_iter=3, store="all", random_state=0).fit(GAME)
        ledger = PrivacyLedger(folder / "study.ledger", epsilon=100)
        return SimpleNamespace(estimator=solver.set_params(ledger=ledger), ledger=ledger)

    def play(objects):
        getattr(objects.estimator, method)(GAME)

    def check(objects):
        one = objects.estimator
        assert one.n_iter_ in range(1, 7 if method == "partial_fit" else 4)
        assert len(one.observations_) == one.n_iter_ == one.mechanism_.n_rounds == len(one.noise_scales_)
        assert len(one.history_["strategies"]) == one.n_iter_ + 1
        assert np.array_equal(one.history_["strategies"][-1], one.strategies_)
        assert np.array_equal(one.aggregate_, one.strategies_.mean(axis=0))
        if one._charged_ledger is not None:
            paid = sum(entry.epsilon for entry in objects.ledger.entries())
            assert paid >= one.privacy_spent_.epsilon, "released uncovered"

    def retry(objects):
        if objects.estimator._charged_ledger is None:
            play(objects)

    interrupted(operation(f"PrivateNashSolver.{method}", start, play, check, retry))
