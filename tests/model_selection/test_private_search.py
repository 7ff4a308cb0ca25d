# SPDX-License-Identifier: BSD-3-Clause
"""Private searches: one charge of (2 + eta) epsilon, one model released, nothing of the others."""

import pickle
from dataclasses import replace
from fractions import Fraction

import joblib
import numpy as np
import pytest
import sklearn
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from skprivate import (
    BoundsScaler,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    PrivacyLedger,
    config_context,
    privacy_report,
)
from skprivate.base import SHARED_CONSTRAINTS, PlannedCost, PrivateEstimatorMixin, private_fit
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning, PrivateSearchError
from skprivate.model_selection import PrivateGridSearch, PrivateRandomizedSearch
from skprivate.model_selection._candidates import make_candidates
from skprivate.model_selection._number_of_runs import NumberOfRuns
from tests.accounting.records import spend
from tests.marks import slow

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(600, 2))
Y = (X[:, 0] > 0.5).astype(int)
FEW = X[:200], Y[:200]
DEPTHS = {"max_depth": [1, 2, 3]}


def tree(epsilon=1.0, **parameters):
    return DPTreeClassifier(epsilon, **{"bounds": (0, 1), "classes": [0, 1], **parameters})


class Constant(PrivateEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Predicts one label; spends what it is told to; remembers all fits of the process."""

    _parameter_constraints = {"ledger": SHARED_CONSTRAINTS["ledger"]}
    __metadata_request__fit = {"groups": True}
    fits: list = []

    def __init__(
        self, label=0, epsilon=1, spends=1, fails=False, states=True, unit="row", delta=0, ledger=None
    ):
        self.label, self.epsilon, self.spends, self.fails = label, epsilon, spends, fails
        self.states, self.unit, self.delta, self.ledger = states, unit, delta, ledger

    def planned_cost(self, any_public):
        return PlannedCost(epsilon=Fraction(self.epsilon), delta=Fraction(self.delta), relation="replace-one")

    @private_fit
    def fit(self, X, y, groups=None):
        if self.fails:
            raise ValueError(f"secret {y[0]}")
        spent = spend(
            Fraction(self.epsilon) * self.spends,
            Fraction(self.delta),
            mechanism="none",
            unit=self.unit,
            noise_scale=None,
        )
        self.charge(spent)
        self.classes_ = np.array([0, 1])
        self.rows_ = np.asarray(X)[:, 0].tolist()
        self.groups_ = None if groups is None else np.asarray(groups).tolist()
        self.token_ = f"token {np.random.default_rng().integers(2**60)}"
        self.fits.append(self)
        if self.states:
            self.privacy_spent_ = spent
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


@pytest.fixture
def fits():
    Constant.fits.clear()
    return Constant.fits


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "study.ledger", epsilon=1000, delta=0.5)


# What it costs.


@pytest.mark.parametrize(
    ("eta", "factor"), [(0, 2), (1, 3), (0.5, Fraction(5, 2)), (Fraction(4, 3), Fraction(10, 3))]
)
def test_the_charge_is_two_plus_eta_times_the_dearest_candidate_in_one_entry(eta, factor, ledger):
    search = PrivateGridSearch(tree(), {"epsilon": [0.5, 1.0, 2.0]}, eta=eta, ledger=ledger).fit(X, Y)
    (entry,) = ledger.entries()
    assert entry.epsilon == search.privacy_spent_.epsilon == 2 * factor
    assert (entry.estimator, entry.private) == ("PrivateGridSearch", True)
    assert (entry.relation, entry.unit) == ("replace-one", "row")


# What is released.

RELEASED = {"best_estimator_", "best_params_", "best_score_", "privacy_spent_", "n_features_in_"}


def test_nothing_of_the_losers_is_on_the_object_or_in_its_pickle(fits, capfd, recwarn):
    search = PrivateGridSearch(Constant(), {"label": [0, 1]}).fit(X, Y)
    assert set(vars(search)) - set(search.get_params(deep=False)) == RELEASED
    text = pickle.dumps(search)
    tokens = [fit.token_ for fit in fits]
    assert search.best_estimator_.token_ in tokens
    assert [token for token in tokens if token.encode() in text] == [search.best_estimator_.token_]
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_ties_are_for_the_first_run(fits):
    tied = PrivateGridSearch(Constant(), {"label": [0, 1]}, scoring=lambda model, X, y: np.ones(len(y)))
    public = np.arange(600) < 100
    for _ in range(10):
        tied.fit(X, Y, is_public_validation=public)
        assert tied.best_estimator_.token_ == fits[0].token_
        fits.clear()


@pytest.mark.slow
def test_losers_warn_of_nothing(recwarn):
    model = DPNormalLLSRegressor(0.01, bounds_X=(0, 1), bounds_y=(-1, 1))
    for n_jobs in (None, 2):
        PrivateGridSearch(model, {"regularization": ["floor", "trim"]}, n_jobs=n_jobs).fit(
            FEW[0], FEW[0][:, 0]
        )
    assert not recwarn.list


# Runs.


def test_the_number_of_runs_has_its_distribution(fits, monkeypatch):
    monkeypatch.setattr(NumberOfRuns, "draw", lambda self, random_bytes: 7)
    PrivateGridSearch(Constant(), {"label": [0, 1]}).fit(X, Y)
    assert len(fits) == 7


def test_the_charge_comes_before_the_number_is_drawn(ledger, monkeypatch):
    def draw(self, random_bytes):
        assert len(ledger.entries()) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(NumberOfRuns, "draw", draw)
    with pytest.raises(KeyboardInterrupt):
        PrivateGridSearch(tree(), DEPTHS, ledger=ledger).fit(X, Y)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("backend", ["threading", slow("loky")])
def test_parallel_runs_charge_once(backend, ledger):
    search = PrivateGridSearch(tree(ledger=ledger), {"max_depth": [1, 2, 3, 4]}, n_jobs=2)
    with joblib.parallel_backend(backend):
        search.fit(X, Y)
    assert [entry.epsilon for entry in ledger.entries()] == [3]
    assert search.score(X, Y) > 0.5
    assert search.privacy_spent_.private


def test_a_search_in_a_pipeline_is_given_its_metadata():
    search = PrivateGridSearch(tree(), DEPTHS)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(BoundsScaler((0, 1)), search).fit(X, Y, is_public=np.arange(600) < 100)
    assert pipe[-1].best_estimator_.public_counts_.sum() == 100
    assert privacy_report(pipe).epsilon == 3


# Public validation rows.


def test_on_public_rows_scores_are_exact_and_post_processing_is_free(ledger):
    validation = np.arange(600) >= 500
    grid = {"prune": [False, True], "public_weight": [0.0, 1.0, 5.0]}
    search = PrivateGridSearch(tree(ledger=ledger), grid).fit(X, Y, is_public_validation=validation)
    # One release, so one run, at the cost of one.
    assert [entry.epsilon for entry in ledger.entries()] == [1]
    assert search.best_score_ == pytest.approx(np.mean(search.predict(X[500:]) == Y[500:]), abs=2**-20)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.get_params()["prune"] == search.best_params_["prune"]
    assert dict(search.privacy_spent_.unprotected)["private rows"] == 500


def test_on_public_rows_the_best_post_processing_is_taken():
    def scoring(model, rows, y):
        return np.full(len(y), model.public_weight / 10)

    validation = np.arange(600) >= 500
    for estimator, prefix in (
        (tree(), ""),
        (make_pipeline(BoundsScaler((0, 1)), tree()), "dptreeclassifier__"),
    ):
        grid = {f"{prefix}public_weight": [1.0, 7.0, 3.0], f"{prefix}max_depth": [1, 2]}
        search = PrivateGridSearch(
            estimator, grid, scoring=(lambda model, rows, y: scoring(last(model), rows, y))
        )
        search.fit(X, Y, is_public_validation=validation)
        assert search.best_params_[f"{prefix}public_weight"] == 7.0
        assert last(search.best_estimator_).public_weight == 7.0
        assert search.privacy_spent_.epsilon == 3
        assert dict(search.privacy_spent_.unprotected)["candidates"] == 2


def last(model):
    return model[-1] if hasattr(model, "steps") else model


# What is not private says so.


@pytest.mark.parametrize(
    "step", [StandardScaler(), SimpleImputer(), make_pipeline(KBinsDiscretizer(2, encode="ordinal"))]
)
def test_an_unpaid_step_is_named(step, ledger):
    pipe = make_pipeline(step, tree(bounds=(-5, 5), ledger=ledger))
    search = PrivateGridSearch(pipe, {"dptreeclassifier__max_depth": [1, 2]})
    with config_context(strict=True), pytest.raises(PrivacyLeakError, match="DomainEncoder"):
        clone(search).fit(X, Y)
    assert not ledger.entries()
    name = type(step[0] if isinstance(step, Pipeline) else step).__name__
    with pytest.warns(PrivacyLeakWarning, match=rf"{name.lower()} \({name}\) read private rows") as caught:
        search.fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not search.privacy_spent_.private
    assert not privacy_report(search).private
    assert any(name in reason for reason in search.privacy_spent_.reasons)


def test_leaks_of_any_candidate_are_announced_once(ledger):
    search = PrivateGridSearch(tree(ledger=ledger), {"bounds": [(0, 1), None]})
    with pytest.warns(PrivacyLeakWarning) as caught:
        search.fit(X, Y)
    assert len(caught) == 1
    assert not search.privacy_spent_.private
    assert not ledger.entries()[0].private


@pytest.mark.parametrize(("search_seed", "tree_seed"), [(0, None), (None, 0)])
def test_seeded_searches_and_candidates_say_so(search_seed, tree_seed, ledger):
    search = PrivateGridSearch(tree(random_state=tree_seed), DEPTHS, random_state=search_seed, ledger=ledger)
    spent = search.fit(X, Y).privacy_spent_
    assert (spent.private, spent.noise_source) == (False, "seeded")
    assert not ledger.entries()[0].private


def test_a_seeded_search_is_reproducible_and_another_is_not():
    noisy = tree(0.05, max_depth=4)
    grid = {"public_weight": [0.0, 1.0], "max_depth": [3, 4]}
    counts = [
        PrivateGridSearch(noisy, grid, random_state=seed).fit(*FEW).best_estimator_.report_counts_.tolist()
        for seed in (0, 0, None, None)
    ]
    assert counts[0] == counts[1]
    assert counts[2] != counts[3]


# Bad input.


def test_an_exhausted_ledger_spends_nothing_and_leaves_the_previous_fit(tmp_path, fits):
    ledger = PrivacyLedger(tmp_path / "small", epsilon=5)
    search = PrivateGridSearch(Constant(ledger=ledger), {"label": [0, 1]}).fit(X, Y)
    before, n_fits = dict(vars(search)), len(fits)
    with pytest.raises(BudgetExceededError):
        search.fit(X, Y)
    assert ledger.spent()[0] == 3
    assert vars(search) == before
    assert len(fits) == n_fits


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_failed_run_releases_nothing_and_tells_nothing(n_jobs, ledger, fits):
    search = PrivateGridSearch(Constant(ledger=ledger), {"label": [0, 1]}, n_jobs=n_jobs)
    with joblib.parallel_backend("threading"):
        before = dict(vars(search.fit(X, Y)))
        search.set_params(param_grid={"fails": [True, True]})
        with pytest.raises(PrivateSearchError) as caught:
            search.fit(X, Y)
    assert "secret" not in str(caught.value)
    assert "announced: ValueError. Nothing" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(ledger.entries()) == 2
    assert {name: value for name, value in vars(search).items() if name in RELEASED} == {
        name: value for name, value in before.items() if name in RELEASED
    }
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    "lie", [{"spends": 2}, {"states": False}], ids=["spends more", "has no privacy_spent_"]
)
def test_a_candidate_that_breaks_its_word_releases_nothing(lie):
    search = PrivateGridSearch(Constant(**lie), {"label": [0, 1]})
    with pytest.raises(PrivateSearchError, match="spent more than it had announced"):
        search.fit(X, Y)
    assert not hasattr(search, "best_estimator_")


def test_a_candidate_that_forgets_the_groups_releases_nothing():
    with pytest.raises(PrivateSearchError):
        PrivateGridSearch(Constant(unit="row"), {"label": [0, 1]}).fit(X, Y, groups=np.arange(600))


def test_several_ledgers_are_refused(tmp_path):
    one, other = (PrivacyLedger(tmp_path / name) for name in ("one", "other"))
    search = PrivateGridSearch(tree(ledger=one), DEPTHS, ledger=other)
    with pytest.raises(ValueError, match="several different ledgers"):
        search.fit(X, Y)
    assert not one.entries()
    assert not other.entries()
    search = PrivateGridSearch(tree(ledger=one), DEPTHS, ledger=PrivacyLedger(tmp_path / "one")).fit(X, Y)
    assert len(one.entries()) == 1


def test_a_run_of_several_private_scores_releases_nothing(monkeypatch):
    monkeypatch.setattr("skprivate.model_selection._private_search.make_candidates", twice)
    with pytest.raises(PrivateSearchError):
        PrivateGridSearch(tree(), {"max_depth": [2]}).fit(X, Y)


def twice(*given, **named):
    return [replace(one, options=2 * one.options) for one in make_candidates(*given, **named)]


# The randomised search.


def test_entries_are_drawn_from_distributions(ledger):
    search = PrivateRandomizedSearch(
        tree(), {"public_weight": uniform(0, 10), "max_depth": [1, 2]}, n_candidates=5, ledger=ledger
    )
    chosen = {search.fit(*FEW).best_params_["public_weight"] for _ in range(3)}
    assert len(chosen) == 3
    assert [entry.epsilon for entry in ledger.entries()] == [3, 3, 3]
    assert ledger.entries()[0].estimator == "PrivateRandomizedSearch"
    assert dict(search.privacy_spent_.unprotected)["candidates"] == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
def test_scikit_learns_checks_around_a_pipeline():
    pipe = make_pipeline(BoundsScaler((-100.0, 100.0)), DPTreeClassifier())
    search = PrivateGridSearch(pipe, {"dptreeclassifier__max_depth": [1, 3]})
    results = check_estimator(search, on_skip=None, on_fail=None)
    failed = [result["check_name"] for result in results if result["status"] == "failed"]
    assert not failed
