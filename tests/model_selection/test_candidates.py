# SPDX-License-Identifier: BSD-3-Clause
"""Candidates: what each of them costs together with all of its steps, wherever these stand."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Binarizer

from skprivate import DPSEVRegressor, DPTreeClassifier, LocallyPrivateTreeClassifier, privacy_report
from skprivate.audit import record_releases
from skprivate.base import PlannedCost, PrivateEstimatorMixin, private_fit
from skprivate.model_selection import PrivateGridSearch
from skprivate.model_selection._candidates import Plan, make_candidates
from skprivate.model_selection._scoring import SCORE_STEPS
from tests.accounting.records import spend

X = np.random.default_rng(0).uniform(size=(300, 2))
Y = (X[:, 0] > 0.5).astype(int)
DEPTHS = {"dptreeclassifier__max_depth": [1, 2]}


class Paid(PrivateEstimatorMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that pays for something and changes nothing."""

    _parameter_constraints = {}

    def __init__(self, ledger=None):
        self.ledger = ledger

    def planned_cost(self, any_public):
        return PlannedCost(epsilon=Fraction(1, 2), relation="replace-one")

    @private_fit
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.privacy_spent_ = spend(Fraction(1, 2), mechanism="nothing", noise_scale=None)
        return self

    def transform(self, X):
        return X


def tree(epsilon=1.0):
    return DPTreeClassifier(epsilon, bounds=(0, 1), classes=[0, 1])


@pytest.mark.parametrize(
    "front",
    [
        make_pipeline(Paid()),
        FeatureUnion([("all", Paid())]),
        ColumnTransformer([("first", Paid(), [0])], remainder="passthrough", sparse_threshold=0),
        ColumnTransformer([("first", "passthrough", [0])], remainder=Paid(), sparse_threshold=0),
    ],
)
def test_a_private_step_in_a_container_is_paid_and_states_the_search(front):
    search = PrivateGridSearch(make_pipeline(front, tree()), DEPTHS).fit(X, Y)
    assert search.privacy_spent_.epsilon == 3 * (1 + Fraction(1, 2))
    stated = privacy_report(search.best_estimator_).covered
    assert len(stated) == 2
    assert all(spent == search.privacy_spent_ for spent in stated)


@pytest.mark.parametrize(
    ("relations", "whole"),
    [
        (("label", "replace-one"), "label"),
        (("local", "label"), "label"),
        (("local", "add-remove"), "replace-one"),
    ],
)
def test_a_step_that_hides_labels_alone_leaves_the_features_open(relations, whole):
    costs = tuple(PlannedCost(epsilon=Fraction(1), relation=relation) for relation in relations)
    assert Plan(costs, {}, 1).cost.relation == whole


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_one_candidate_that_hides_labels_alone_makes_that_the_claim():
    labels_or_rows = LocallyPrivateTreeClassifier(0.5, max_depth=1, bounds=(-1, 1), classes=[0, 1])
    search = PrivateGridSearch(labels_or_rows, {"protect": ["label", "record"]}).fit(X, Y)
    assert search.privacy_spent_.relation == "label"


def test_one_seeded_candidate_takes_the_claim_away():
    search = PrivateGridSearch(tree(), {"random_state": [None, 0]}).fit(X, Y)
    assert search.privacy_spent_.noise_source == "seeded"
    assert not search.privacy_spent_.private


def test_scores_are_noisy_at_the_dearest_candidates_epsilon():
    with record_releases() as recording:
        PrivateGridSearch(tree(), {"epsilon": [0.5, 2.0]}).fit(X, Y)
    # The noise of the trees and their splits has a scale of some 1e4 steps at most.
    of_scores = {release.scale for release in recording.releases if release.scale > 100_000}
    assert of_scores == {Fraction(SCORE_STEPS, 2)}


# Everything public is checked before the charge.

TREE, LIFE = DPTreeClassifier(bounds=(0, 1), classes=[0, 1]), DPSEVRegressor(bounds_X=(0, 1), bounds_y=(0, 1))


# What scorers and candidates do to what they are given stays with them.


def test_candidates_do_not_change_the_rows_of_the_next_run():
    front = make_pipeline(Binarizer(copy=False), TREE)
    (one,) = make_candidates(front, [{}], Y, free_choice=False, any_public=False, grouped=False)
    assert one.estimator["binarizer"].copy is True
    best = PrivateGridSearch(front, {"binarizer__threshold": [0.5, 5.0]}).fit(X, Y).best_estimator_
    assert best["binarizer"].copy is False
