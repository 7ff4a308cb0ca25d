# SPDX-License-Identifier: BSD-3-Clause
"""Threads, forked and spawned processes, joblib and scikit-learn's searches share one ledger."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skprivate.accounting import PrivacyLedger
from tests.accounting.records import spend, try_to_charge

pytestmark = pytest.mark.process

N = 20  # charges of 1/10 that the ceiling allows
ROWS, LABELS = np.zeros((60, 1)), np.arange(60) % 2
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


class ToyClassifier(ClassifierMixin, BaseEstimator):
    """Charge a ledger in fit, and predict the first class."""

    def __init__(self, epsilon=0.1, ledger=None):
        self.epsilon = epsilon
        self.ledger = ledger

    def fit(self, X, y):
        self.ledger.charge(spend(self.epsilon), "ToyClassifier")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def try_several_times(ledger, times):
    return sum(try_to_charge(ledger) for _ in range(times))


def create_and_charge(path):
    return PrivacyLedger(path, epsilon=Fraction(N, 10)), try_to_charge(PrivacyLedger(path, Fraction(N, 10)))


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "study.ledger", epsilon=Fraction(N, 10))


def assert_exactly_used_up(ledger, succeeded):
    assert succeeded == N
    assert ledger.spent() == (Fraction(N, 10), 0)
    assert len(ledger.entries()) == N
    assert ledger.remaining() == (0, 0)
    names = {file.name for file in ledger.path.parent.iterdir()}
    assert names == {"study.ledger", "study.ledger.lock", "study.ledger.mark"}


def test_threads_never_overspend(ledger):
    with ThreadPoolExecutor(8) as pool:
        succeeded = sum(pool.map(lambda _: try_to_charge(ledger), range(N + 10)))
    assert_exactly_used_up(ledger, succeeded)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@needs_fork
def test_forked_processes_never_overspend(ledger):
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        succeeded = sum(pool.map(try_several_times, [ledger] * 3, [N // 3 + 4] * 3))
    assert_exactly_used_up(ledger, succeeded)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_fork_while_another_thread_charges(tmp_path):
    # A child that inherits an open transaction believes that it holds its locks, and waits or overwrites.
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    stop = threading.Event()

    def charge_on():
        while not stop.is_set():
            try_to_charge(ledger)

    thread = threading.Thread(target=charge_on)
    thread.start()
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=try_several_times, args=(ledger, 2)) for _ in range(10)]
    try:
        for child in children:
            child.start()
        deadline = time.monotonic() + 30
        for child in children:
            child.join(max(0, deadline - time.monotonic()))
        codes = [child.exitcode for child in children]
    finally:
        stop.set()
        thread.join()
        for child in children:
            child.kill()
    assert codes == [0] * 10
    assert ledger.spent()[0] == Fraction(len(ledger.entries()), 10)


def test_processes_that_create_the_same_ledger_at_once_share_it(tmp_path):
    path = tmp_path / "study.ledger"
    results = Parallel(n_jobs=2, backend="loky")(delayed(create_and_charge)(path) for _ in range(N))
    ledgers = {ledger for ledger, _ in results}
    assert ledgers == {PrivacyLedger(path, epsilon=Fraction(N, 10))}
    assert_exactly_used_up(ledgers.pop(), sum(taken for _, taken in results))


def test_threads_that_create_the_same_ledger_at_once_share_it(tmp_path):
    path = tmp_path / "study.ledger"
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(create_and_charge, [path] * N))
    assert len({ledger for ledger, _ in results}) == 1
    assert_exactly_used_up(results[0][0], sum(taken for _, taken in results))


def grid_search(ledger, **options):
    pipeline = make_pipeline(FunctionTransformer(), ToyClassifier(ledger=ledger))
    return GridSearchCV(pipeline, {"toyclassifier__epsilon": [0.25, 0.5]}, cv=3, n_jobs=2, **options)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_every_fit_of_a_search_is_counted(tmp_path, backend):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=3)
    search = grid_search(ledger)
    with parallel_config(backend=backend), ledger.label("search"):
        search.fit(ROWS, LABELS)
    entries = ledger.entries()
    assert len(entries) == 3 * 2 + 1
    assert {(entry.label, entry.estimator) for entry in entries} == {("search", "ToyClassifier")}
    refit = search.best_params_["toyclassifier__epsilon"]
    assert ledger.spent() == (Fraction(3 * 0.25 + 3 * 0.5 + refit), 0)
    assert search.best_estimator_[-1].ledger is ledger


def test_search_beyond_the_ceiling_has_missing_scores_and_does_not_overspend(tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=1)
    search = grid_search(ledger, refit=False).set_params(param_grid={"toyclassifier__epsilon": [0.25]}, cv=5)
    with parallel_config(backend="threading"), pytest.warns((FitFailedWarning, UserWarning)) as warned:
        search.fit(ROWS, LABELS)
    assert any("BudgetExceededError" in str(warning.message) for warning in warned)
    scores = [search.cv_results_[f"split{fold}_test_score"][0] for fold in range(5)]
    assert np.isnan(scores).sum() == 1
    assert len(ledger.entries()) == 4
    assert ledger.spent() == (1, 0)
