# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative classification, class by class, and the preset, whose parameters reach their parts."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from skprivate import (
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.datasets import make_parties
from skprivate.exceptions import SiteError, SiteWarning, UtilityWarning

M = 10
RNG = np.random.default_rng(0)
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
X_TRAIN, X_TEST, Y_TRAIN, Y_TEST = train_test_split(X, NAMES, test_size=0.3, random_state=0, stratify=Y)
SITES = RNG.integers(M, size=len(X_TRAIN))


def by_hand(platform, X):
    """Mean of the local probabilities, weighted by rows; a class that a site never saw counts as 0."""
    total = np.zeros((len(X), len(platform.classes_)))
    for site, size in zip(platform.sites_, platform.site_sizes_, strict=True):
        model = platform.estimators_[site]
        total[:, np.searchsorted(platform.classes_, model.classes_)] += size * model.predict_proba(X)
    return total / platform.site_sizes_.sum()


@pytest.mark.parametrize("estimator", [None, LogisticRegression(max_iter=500)], ids=["default", "logistic"])
def test_probabilities_are_the_weighted_mean(estimator):
    platform = CollaborativeClassifier(estimator).fit(X_TRAIN, Y_TRAIN, sites=SITES)
    found = platform.predict_proba(X_TEST)
    np.testing.assert_allclose(found, by_hand(platform, X_TEST), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(platform.predict(X_TEST), platform.classes_[found.argmax(axis=1)])
    assert platform.score(X_TEST, Y_TEST) > 0.85


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(3), LogisticRegression(max_iter=500)])
def test_sites_that_know_some_classes_only(estimator):
    order = np.argsort(Y_TRAIN, kind="stable")
    sites = np.empty(len(order), dtype=int)
    sites[order] = np.arange(len(order)) * M // len(order)
    platform = CollaborativeClassifier(estimator).fit(X_TRAIN, Y_TRAIN, sites=sites)
    assert {len(model.classes_) for model in platform.estimators_.values()} == {1, 2}
    np.testing.assert_allclose(platform.predict_proba(X_TEST), by_hand(platform, X_TEST), atol=1e-12)


def test_a_zero_is_an_answer():
    # Nine sites rule a class out and one is sure of it: with inactive zeros the one would decide alone.
    sites = np.repeat(np.arange(10), 4)
    labels = np.where(sites == 0, 1, 0)
    rows = np.tile([[0.0], [1.0], [2.0], [3.0]], (10, 1))
    platform = CollaborativeClassifier().fit(rows, labels, sites=sites)
    np.testing.assert_allclose(platform.predict_proba([[1.0]]), [[0.9, 0.1]])


def test_secure_sum_gives_the_same():
    swapped = CollaborativeClassifier().fit(X_TRAIN, Y_TRAIN, sites=SITES)
    summed = CollaborativeClassifier(aggregator=SecureSumAggregator(active_rule=None))
    summed.fit(X_TRAIN, Y_TRAIN, sites=SITES)
    np.testing.assert_allclose(summed.predict_proba(X_TEST), swapped.predict_proba(X_TEST), atol=1e-9)


def test_parts_and_failures():
    class Broken(LogisticRegression):
        def predict_proba(self, X):
            raise RuntimeError("secret")

    models = {site: Broken() if site == 3 else LogisticRegression(max_iter=500) for site in range(M)}
    perturber = TQMATransformer(6, (0, 8))
    platform = CollaborativeClassifier(models, perturber).fit(X_TRAIN, Y_TRAIN, sites=SITES)
    with pytest.raises(SiteError, match=r"site 3 \(RuntimeError\)"):
        platform.predict(X_TEST)
    platform.set_params(on_site_error="drop")
    with pytest.warns(SiteWarning, match="site 3"):
        found = platform.predict_proba(X_TEST)
    rest = CollaborativeClassifier(LogisticRegression(max_iter=500), perturber)
    rest.fit(X_TRAIN[SITES != 3], Y_TRAIN[SITES != 3], sites=SITES[SITES != 3])
    np.testing.assert_allclose(found, rest.predict_proba(X_TEST), atol=1e-12)


@pytest.mark.parametrize(
    ("synthesis", "expected"),
    [([[0.0, 0.0, 0.0]], [[1 / 3] * 3]), ([[-0.5, 0.5, 1.5]], [[0, 0.25, 0.75]])],
    ids=["nothing active is undecided", "below zero is no probability"],
)
def test_a_synthesis_becomes_probabilities(synthesis, expected):
    platform = CollaborativeClassifier().fit(X_TRAIN, Y_TRAIN, sites=SITES)
    platform._synthesise = lambda answers: np.array(synthesis)
    np.testing.assert_allclose(platform.predict_proba(X_TEST[:1]), expected)


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are too small to count under the box rule."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1e-9)


def test_few_active_sites_are_announced_once_for_all_classes():
    platform = CollaborativeClassifier(Silent(), aggregator=BSTDAggregator(active_rule="box"))
    platform.fit(X_TRAIN, Y_TRAIN, sites=SITES)
    with pytest.warns(UtilityWarning, match="rests on few") as caught:
        platform.predict_proba(X_TEST)
    assert len(caught) == 1


def test_messages_give_what_the_process_gives_where_probabilities_must_be_normalised():
    # A zero is no answer here, so that the syntheses of the classes have different members.
    platform = CollaborativeClassifier(KNeighborsClassifier(3), aggregator=BSTDAggregator(active_rule="box"))
    platform.fit(X_TRAIN, Y_TRAIN, sites=SITES)
    query = platform.ask(X_TEST)
    answers = [platform.site(name).answer(query) for name in platform.sites_]
    found = platform.combine(*answers, query=query)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(found - by_hand(platform, X_TEST)).max() > 0.01
    np.testing.assert_array_equal(found, platform.predict_proba(X_TEST))


def test_default_models_are_refined_to_all_rows():
    platform = CollaborativeClassifier().fit(X_TRAIN, Y_TRAIN, sites=SITES)
    models = [model for own in platform.estimators_.values() for model in own.models_]
    assert {model.refine_to for model in models} == {len(X_TRAIN)}


def test_missing_values_reach_models_that_take_them():
    holes = np.where(RNG.uniform(size=X_TRAIN.shape) < 0.1, np.nan, X_TRAIN)
    trees = HistGradientBoostingClassifier(max_iter=2)
    platform = CollaborativeClassifier(trees).fit(holes, Y_TRAIN, sites=SITES)
    np.testing.assert_allclose(platform.predict_proba(holes), by_hand(platform, holes), atol=1e-12)


def test_a_class_that_the_collaboration_does_not_know_is_a_failure():
    # It stands between two others in order, and must not be counted as one of them.
    labels = np.where(Y_TRAIN == "versicolor", "unknown", Y_TRAIN)
    models = {site: KNeighborsClassifier(3) for site in range(M)}
    models[3] = FrozenEstimator(KNeighborsClassifier(3).fit(X_TRAIN, labels))
    platform = CollaborativeClassifier(models).fit(X_TRAIN, Y_TRAIN, sites=SITES)
    with pytest.raises(SiteError, match=r"site 3 \(ValueError\)"):
        platform.predict(X_TEST)


def test_a_fitted_model_stays_where_a_site_has_one_class_only():
    model = FrozenEstimator(KNeighborsClassifier(3).fit(X_TRAIN, Y_TRAIN))
    labels = np.where(SITES == 3, "setosa", Y_TRAIN)
    platform = CollaborativeClassifier(model).fit(X_TRAIN, labels, sites=SITES)
    assert isinstance(platform.estimators_[3], FrozenEstimator)


def test_an_operator_observes_every_class():
    platform = CollaborativeClassifier(random_state=0).fit(X_TRAIN, Y_TRAIN, sites=SITES)
    answers, seen = platform.site_responses(X_TEST), platform.observe(X_TEST)
    assert seen.shape == (len(X_TEST), M, 3)
    submitted = answers * (platform.site_sizes_ / platform.site_sizes_.mean())[:, None]
    np.testing.assert_allclose(np.sort(seen, axis=1), np.sort(submitted, axis=1), rtol=1e-14)
    assert (seen[:, :, 0] != submitted[:, :, 0]).any()


NUMBERS = make_parties(600, 14, n_features=3, random_state=0)


@pytest.mark.parametrize(
    ("part", "parameters", "own"),
    [
        ("query_perturber_", {"depth": 3, "bounds": (0, 1), "quasi_identifiers": [1]}, {}),
        ("aggregator_", {"p_lower": 3, "p_upper": 7, "order": "random", "active_rule": None}, {}),
        ("estimators_", {"kernel": "laplace", "bandwidth": 0.3, "bounds": (0, 2)}, {"refine_to": 600}),
        ("estimators_", {"kernel": "knn", "n_neighbors": 3}, {"bandwidth": "cv", "n_jobs": None}),
    ],
)
def test_parameters_reach_their_part(part, parameters, own):
    platform = CollaborativeLARRegressor(**{"bounds": (0, 1), **parameters}).fit(*NUMBERS)
    found = getattr(platform, part)
    found = found[0] if part == "estimators_" else found
    assert {**parameters, **own}.items() <= found.get_params().items()


def test_only_quasi_identifiers_are_coarsened():
    platform = CollaborativeLARRegressor(2, bounds=(0, 1), quasi_identifiers=[1]).fit(*NUMBERS)
    asked = platform.query_perturber_.transform(NUMBERS[0])
    np.testing.assert_array_equal(asked[:, [0, 2]], NUMBERS[0][:, [0, 2]])
    assert len(np.unique(asked[:, 1])) == 4
