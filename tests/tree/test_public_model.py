# SPDX-License-Identifier: BSD-3-Clause
"""A public model inside a tree: corrected, given up where it is wrong, refused where it is unusable."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier, PrivacyLedger, PublicPrivateSplit
from skprivate.exceptions import UtilityWarning
from skprivate.rounds import TableSource, fit_rounds

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(6000, 4))
# A line, which boxes follow badly.
Y = (X.sum(axis=1) + 0.2 * RNG.standard_normal(6000) > 2).astype(int)
PUBLIC = np.arange(6000) < 300
BOX = {"bounds": (0, 1), "classes": [0, 1]}
KINDS = [DPTreeClassifier, LocallyPrivateTreeClassifier]
WRONG = np.where(PUBLIC, np.random.default_rng(5).permutation(Y), Y)


def tree_of(kind, model=None, epsilon=1.0, **parameters):
    model = LogisticRegression() if model is None else model
    return kind(epsilon, public_model=model, **{"random_state": 0, **BOX, **parameters})


class Broken(ClassifierMixin, BaseEstimator):
    """Predicts what no classifier should, or nothing."""

    def __init__(self, how="raises"):
        self.how = how

    def fit(self, X, y):
        if self.how == "raises":
            raise RuntimeError("no memory")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        if self.how == "cannot predict":
            raise RuntimeError("no table")
        shares = np.column_stack([1 - X[:, 0], X[:, 0]])
        return {"nan": shares * np.nan, "negative": -shares, "three columns": shares[:, [0, 0, 1]]}[self.how]


@pytest.mark.parametrize("kind", KINDS)
class TestLearning:
    def test_a_right_model_is_kept_and_helps(self, kind):
        tree = tree_of(kind, split_share=0).fit(X, Y, is_public=PUBLIC)
        plain = kind(1.0, random_state=0, split_share=0, **BOX).fit(X, Y, is_public=PUBLIC)
        private = ~PUBLIC
        assert tree.score(X[private], Y[private]) > plain.score(X[private], Y[private]) + 0.03
        assert "a model fitted to the public rows" in tree.privacy_spent_.public_inputs
        assert tree.privacy_spent_.epsilon == plain.privacy_spent_.epsilon

    def test_probabilities_are_those_of_rows(self, kind):
        tree = tree_of(kind, split_share=0).fit(X, Y, is_public=PUBLIC)
        found = tree.predict_proba(X)
        assert len(np.unique(found, axis=0)) > 20 * tree.n_leaves_
        assert 0 < found.min() < found.max() < 1
        np.testing.assert_allclose(found.sum(axis=1), 1)
        logarithms = np.vectorize(math.log)(found)
        np.testing.assert_array_equal(tree.predict_log_proba(X), logarithms)
        np.testing.assert_array_equal(tree.predict(X), tree.classes_[found.argmax(axis=1)])

    def test_predictions_average_to_those_of_the_leaves(self, kind):
        tree = tree_of(kind, split_share=0).fit(X, Y, is_public=PUBLIC)
        offsets, model = tree._offsets, tree._leaf_model
        logits = np.log(offsets.mixture.of(model.shares)) + offsets.shifts[model.leaf]
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        for leaf in np.unique(model.leaf):
            here = model.leaf == leaf
            mean = np.average(shares[here], axis=0, weights=model.weights[here])
            np.testing.assert_allclose(mean, tree.leaf_proba_[leaf], atol=1e-6)

    def test_a_model_of_permuted_labels_warns_and_falls_back(self, kind):
        tree = tree_of(kind, max_depth=3, split_share=0)
        with pytest.warns(UtilityWarning, match="no better than their base rate"):
            tree.fit(X, WRONG, is_public=PUBLIC)
        plain = kind(1.0, max_depth=3, random_state=0, split_share=0, **BOX).fit(X, WRONG, is_public=PUBLIC)
        np.testing.assert_array_equal(tree.predict_proba(X), plain.predict_proba(X))

    def test_a_model_that_private_rows_contradict_is_given_up(self, kind):
        # Right for public rows, and the opposite of private ones.
        labels = np.where(PUBLIC, Y, 1 - Y)
        tree = tree_of(kind, epsilon=4.0, split_share=0).fit(X, labels, is_public=PUBLIC)
        assert tree._offsets is None
        assert tree.score(X[~PUBLIC], labels[~PUBLIC]) > 0.6

    def test_clone_pickle_and_parameters(self, kind):
        tree = tree_of(kind, DecisionTreeClassifier(max_depth=3, random_state=0), split_share=0)
        tree.fit(X, Y, is_public=PUBLIC)
        loaded = pickle.loads(pickle.dumps(tree))
        np.testing.assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))
        copy = clone(tree).set_params(public_model__max_depth=1)
        assert tree.get_params()["public_model__max_depth"] == 3
        assert copy.public_model.max_depth == 1
        assert not hasattr(tree.public_model, "tree_"), "a clone of the model is fitted"

    def test_a_search_over_the_model(self, kind):
        tree = tree_of(kind, DecisionTreeClassifier(random_state=0), split_share=0)
        search = GridSearchCV(tree, {"public_model__max_depth": [1, 4]}, cv=PublicPrivateSplit(2))
        with sklearn.config_context(enable_metadata_routing=True):
            search.fit(X, Y, is_public=PUBLIC)
        assert search.best_params_["public_model__max_depth"] in (1, 4)
        assert search.best_score_ > 0.7

    @pytest.mark.parametrize(
        ("model", "match"),
        [
            (DummyClassifier(), "the same for all public rows"),
            (Broken("raises"), "could not be fitted"),
            (Broken("cannot predict"), "cannot predict probabilities"),
            (Broken("nan"), "predicts no probabilities"),
            (Broken("negative"), "predicts no probabilities"),
            (Broken("three columns"), "one column for each class"),
            (LinearSVC(), "public_model"),
            (Ridge(), "public_model"),
            ("forest", "public_model"),
        ],
    )
    def test_a_model_that_cannot_be_used(self, kind, model, match, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger")
        tree = tree_of(kind, model, ledger=ledger)
        with pytest.raises(ValueError, match=match):
            tree.fit(X, Y, is_public=PUBLIC)
        assert ledger.entries() == []
        assert not [name for name in vars(tree) if name.endswith("_")]

    def test_public_rows_that_cannot_train_a_model(self, kind, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger")
        tree = tree_of(kind, ledger=ledger)
        with pytest.raises(ValueError, match="there are none"):
            tree.fit(X, Y)
        with pytest.raises(ValueError, match="two classes"):
            tree.fit(X, np.where(PUBLIC, 0, Y), is_public=PUBLIC)
        assert ledger.entries() == []

    def test_a_class_that_public_rows_lack(self, kind):
        labels = np.where((X[:, 3] > 0.8) & ~PUBLIC, 2, Y)
        tree = tree_of(kind, epsilon=8.0, classes=[0, 1, 2], split_share=0).fit(X, labels, is_public=PUBLIC)
        found = tree.predict_proba(X)
        assert found.shape == (6000, 3)
        assert found.min() > 0
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert found[X[:, 3] > 0.8, 2].mean() > found[X[:, 3] < 0.8, 2].mean()


@pytest.mark.parametrize("share", ["auto", 0])
def test_a_source_gives_the_bits_of_fit(share):
    few = np.arange(6000) < 60
    frame = pd.DataFrame(X, columns=list("abcd")).assign(ill=Y)
    tree = tree_of(DPTreeClassifier, split_share=share)
    fitted = clone(tree).fit(frame[list("abcd")], Y, is_public=few)
    private = frame[~few]
    source = TableSource([private[:1000], private[1000:]], features=list("abcd"), target="ill")
    other = fit_rounds(tree, source, public=(frame[few][list("abcd")], Y[few]))
    assert fitted.rule_ == ("private" if share == "auto" else "cart")
    np.testing.assert_array_equal(fitted.report_counts_, other.report_counts_)
    np.testing.assert_array_equal(
        fitted.predict_proba(frame[list("abcd")]), other.predict_proba(frame[list("abcd")])
    )
    assert fitted.privacy_spent_ == other.privacy_spent_
