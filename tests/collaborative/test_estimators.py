# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative classification, class by class, and the preset, whose parameters reach their parts."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from skprivate import (
    BSTDAggregator,
    CollaborativeClassifier,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.exceptions import SiteError, SiteWarning

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
