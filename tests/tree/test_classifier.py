# SPDX-License-Identifier: BSD-3-Clause
"""Trees of labels: learning, several classes, weights of classes, privacy, searches, the ledger."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from skprivate import (
    BoundsScaler,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    PublicPrivateSplit,
    config_context,
)
from skprivate.datasets import make_posterior_drift
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError
from skprivate.randomizers import HadamardRandomizer
from skprivate.randomizers._factory import MECHANISMS

X, Y, IS_PUBLIC = make_posterior_drift(4000, 200, random_state=0)
X5, Y5, _ = make_posterior_drift(4000, 200, n_features=5, random_state=4)
BINARY = {"bounds": (0.0, 1.0), "classes": [0, 1]}
KINDS = [DPTreeClassifier, LocallyPrivateTreeClassifier]


def private_tree(epsilon=1.0, **parameters):
    return LocallyPrivateTreeClassifier(epsilon, **{**BINARY, **parameters})


def fitted(epsilon=1.0, **parameters):
    return private_tree(epsilon, **parameters).fit(X, Y, is_public=IS_PUBLIC)


class TestLearning:
    def test_beats_its_public_rows_and_chance(self):
        # At epsilon 4 and 10,000 reports the spec's figure is .727 +- .003; .69 is beyond 10 standard errors.
        scores = []
        for seed in range(10):
            data = make_posterior_drift(10_000, 50, gamma=0.5, random_state=seed)
            X_test, y_test, _ = make_posterior_drift(2000, 0, random_state=1000 + seed)
            scores.append(private_tree(4.0).fit(*data[:2], is_public=data[2]).score(X_test, y_test))
        assert np.mean(scores) > 0.69

    def test_a_huge_epsilon_recovers_the_leaf_majorities(self):
        tree = fitted(1e6, mechanism="laplace", max_depth=3, public_weight=0.0)
        leaves = tree.apply(X)
        signed = np.bincount(leaves[~IS_PUBLIC], 2.0 * Y[~IS_PUBLIC] - 1, minlength=tree.n_leaves_)
        np.testing.assert_array_equal(tree.predict(X), (signed > 0).astype(int)[leaves])


class TestPrivacy:
    def test_what_is_claimed(self):
        spent = fitted(Fraction(1, 3)).privacy_spent_
        assert (spent.epsilon, spent.delta, spent.relation) == (Fraction(1, 3), 0, "local")
        assert (spent.unit, spent.deployment, spent.noise_source) == ("row", "simulated", "os-entropy")
        assert spent.private
        assert spent.unprotected["reports"] == 4000
        assert spent.unprotected["bounds"] == "declared"
        undeclared = LocallyPrivateTreeClassifier().fit(X, Y, is_public=IS_PUBLIC).privacy_spent_
        assert undeclared.unprotected["classes"] == "those of the public rows"
        assert "persons with several rows" in str(spent) or "groups" in str(spent)

    def test_pickle_and_repr_hold_no_row(self):
        marked = X.copy()
        marked[5] = [0.123456789123, 0.987654321987]
        tree = private_tree().fit(marked, Y, is_public=IS_PUBLIC)
        stored = pickle.dumps(tree)
        assert marked[5].tobytes() not in stored
        assert marked[5, 0].tobytes() not in stored
        assert len(stored) < 20_000
        np.testing.assert_array_equal(pickle.loads(stored).predict(X), tree.predict(X))

    @pytest.mark.parametrize("classes", [[0, 1], None])
    @pytest.mark.parametrize("odd", ["?", None.__class__, 7])
    def test_one_odd_private_label_changes_no_other(self, classes, odd):
        plain = [0, *Y[1:].tolist()]
        first = private_tree(random_state=0, classes=classes).fit(X, plain, is_public=IS_PUBLIC)
        second = private_tree(random_state=0, classes=classes).fit(X, [odd, *plain[1:]], is_public=IS_PUBLIC)
        np.testing.assert_array_equal(first.public_counts_, second.public_counts_)
        np.testing.assert_array_equal(first.report_counts_, second.report_counts_)
        assert first.classes_.dtype == second.classes_.dtype

    def test_a_long_private_label_leaves_no_trace(self):
        names = np.array(["no", "yes"])[Y].astype("<U20")
        names[0] = "no, and HIV-positive"
        tree = private_tree(classes=None).fit(X, names, is_public=IS_PUBLIC)
        assert tree.classes_.dtype == "<U3"

    def test_the_default_path_draws_no_laplace_noise(self, monkeypatch):
        def refuse(*arguments):
            raise AssertionError("Laplace noise was drawn")

        for name in ("fill_discrete_laplace", "fill_laplace_sum"):
            monkeypatch.setattr(f"skprivate.noise._mechanisms.{name}", refuse)
        assert fitted().mechanism_ == "hadamard"
        with pytest.raises(AssertionError, match="was drawn"):
            fitted(mechanism="laplace")


class TestSearch:
    def search(self, ledger, **options):
        pipe = Pipeline(
            [("scale", BoundsScaler((0, 1))), ("tree", LocallyPrivateTreeClassifier(**BINARY, ledger=ledger))]
        )
        grid = {"tree__epsilon": [0.5, 1.0, 2.0], "tree__max_depth": [2]}
        search = GridSearchCV(pipe, grid, cv=PublicPrivateSplit(3), n_jobs=2, **options)
        with sklearn.config_context(enable_metadata_routing=True):
            return search.fit(X, Y, is_public=IS_PUBLIC)

    @pytest.mark.slow
    def test_strict_mode_raises_in_the_workers(self):
        search = GridSearchCV(
            LocallyPrivateTreeClassifier(), {"epsilon": [1.0, 2.0]}, cv=2, n_jobs=2, error_score="raise"
        )
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            search.fit(X, Y)


class TestLedger:
    def test_is_charged_before_any_noise_is_drawn(self, tmp_path, monkeypatch):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        entries_at_noise = []
        simulate = HadamardRandomizer.simulate

        def watched(self, categories, random_state=None):
            entries_at_noise.append(len(ledger.entries()))
            return simulate(self, categories, random_state)

        monkeypatch.setattr(HadamardRandomizer, "simulate", watched)
        tree = fitted(1.0, mechanism="hadamard", ledger=ledger)
        assert entries_at_noise == [1]
        with pytest.raises(BudgetExceededError):
            tree.fit(X, Y, is_public=IS_PUBLIC)
        assert entries_at_noise == [1], "a refused fit draws nothing"

    def test_a_refusal_keeps_the_previous_fit(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        tree = fitted(0.75, ledger=ledger)
        before = tree.leaf_proba_.copy()
        with pytest.raises(BudgetExceededError):
            tree.fit(X, Y, is_public=IS_PUBLIC)
        np.testing.assert_array_equal(tree.leaf_proba_, before)
        assert ledger.spent()[0] == Fraction(3, 4)
        (entry,) = ledger.entries()
        assert (entry.estimator, entry.relation, entry.unit) == (
            "LocallyPrivateTreeClassifier",
            "local",
            "row",
        )


RNG = np.random.default_rng(0)
POINTS = RNG.uniform(size=(6000, 2))
BANDS = np.minimum((POINTS[:, 0] * 4).astype(int), 3)
SOME_PUBLIC = np.arange(6000) < 200
SEVERAL = sorted(name for name, kind in MECHANISMS.items() if not kind.binary_only)
FOUR = {"bounds": (0, 1), "classes": [0, 1, 2, 3]}


class TestSeveralClasses:
    @pytest.mark.parametrize("mechanism", SEVERAL)
    def test_a_huge_epsilon_recovers_the_leaf_majorities(self, mechanism):
        tree = LocallyPrivateTreeClassifier(
            1e6, mechanism=mechanism, max_depth=3, public_weight=0.0, random_state=0, **FOUR
        )
        labels = np.random.default_rng(1).choice(4, size=6000, p=[0.4, 0.1, 0.3, 0.2])
        tree.fit(POINTS, labels, is_public=SOME_PUBLIC)
        leaves = tree.apply(POINTS)
        counts = np.zeros((tree.n_leaves_, 4))
        np.add.at(counts, (leaves[~SOME_PUBLIC], labels[~SOME_PUBLIC]), 1)
        if mechanism == "unary":
            # Half of the true bits stay silent at any epsilon: close, not exact.
            np.testing.assert_allclose(tree.leaf_proba_, counts / counts.sum(axis=1, keepdims=True), atol=0.1)
        else:
            np.testing.assert_array_equal(tree.predict(POINTS), counts.argmax(axis=1)[leaves])


class TestLabelsAlone:
    def test_far_less_noise_at_one_epsilon(self):
        X2, y2, public = make_posterior_drift(10_000, 50, gamma=0.5, random_state=0)
        X_test, y_test, _ = make_posterior_drift(5000, 0, random_state=1)
        means = {}
        for protect in ("record", "label"):
            tree = LocallyPrivateTreeClassifier(0.5, protect=protect, bounds=(0, 1), classes=[0, 1])
            fits = (tree.set_params(random_state=seed).fit(X2, y2, is_public=public) for seed in range(8))
            means[protect] = np.mean([fit.score(X_test, y_test) for fit in fits])
        # .73 against .67, each mean to .006.
        assert means["label"] > means["record"] + 0.02

    def test_what_is_claimed(self):
        tree = LocallyPrivateTreeClassifier(1.0, protect="label", **FOUR).fit(POINTS, BANDS)
        spent = tree.privacy_spent_
        assert (spent.relation, spent.private, spent.epsilon) == ("label", True, 1)
        assert "only their labels" in spent.unprotected["features"]
        assert "features are NOT protected" in str(spent)
        assert tree.mechanism_ == "label-rr"

    def test_bounds_of_features_that_are_not_protected_are_no_leak(self):
        with config_context(strict=True):
            tree = LocallyPrivateTreeClassifier(1.0, protect="label", classes=[0, 1, 2, 3]).fit(POINTS, BANDS)
            assert tree.privacy_spent_.private
            assert tree.privacy_spent_.unprotected["bounds"] == "those of the rows"


RNG = np.random.default_rng(0)
RARE_ROWS = RNG.uniform(size=(3000, 2))
RARE_LABELS = np.array(["no", "yes"])[(RNG.random(3000) < 0.05 + 0.2 * RARE_ROWS[:, 0]).astype(int)]
RARE_PUBLIC = np.arange(3000) < 300
WEIGHED = {"bounds": (0, 1), "classes": ["no", "yes"], "random_state": 1, "split_share": 0, "max_depth": 2}


def weighted_fit(kind, class_weight, **options):
    return kind(8.0, class_weight=class_weight, **WEIGHED, **options).fit(
        RARE_ROWS, RARE_LABELS, is_public=RARE_PUBLIC
    )


def by_hand(shares, weights):
    parts = shares * weights
    return parts / parts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
class TestWeights:
    def test_a_dict_is_bayes_rule(self, kind):
        plain, weighted = weighted_fit(kind, None), weighted_fit(kind, {"yes": 4.0})
        np.testing.assert_array_equal(plain.report_counts_, weighted.report_counts_)
        np.testing.assert_allclose(weighted.leaf_proba_, by_hand(plain.leaf_proba_, [1.0, 4.0]), rtol=1e-12)
        np.testing.assert_allclose(
            weighted.predict_proba(RARE_ROWS), weighted.leaf_proba_[weighted.apply(RARE_ROWS)]
        )

    def test_balanced_makes_the_released_base_rates_equal(self, kind):
        plain, weighted = weighted_fit(kind, None), weighted_fit(kind, "balanced")
        np.testing.assert_allclose(weighted.base_proba_, [0.5, 0.5], rtol=1e-12)
        np.testing.assert_allclose(
            weighted.leaf_proba_, by_hand(plain.leaf_proba_, 1 / plain.base_proba_), rtol=1e-12
        )
        assert (weighted.predict(RARE_ROWS) == "yes").mean() > (plain.predict(RARE_ROWS) == "yes").mean()

    def test_with_a_public_model(self, kind):
        model = LogisticRegression()
        plain = weighted_fit(kind, None, public_model=model)
        weighted = weighted_fit(kind, {"no": 1, "yes": 3}, public_model=model)
        assert weighted._offsets is not None
        found = weighted.predict_proba(RARE_ROWS)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(found, by_hand(plain.predict_proba(RARE_ROWS), [1.0, 3.0]), rtol=1e-9)

    def test_errors_stretch_with_the_probabilities(self, kind):
        plain, weighted = weighted_fit(kind, None), weighted_fit(kind, {"yes": 4.0})
        p, step = plain.leaf_proba_, 1e-6
        moved = by_hand(p + [-step, step], [1.0, 4.0])
        slope = (moved - weighted.leaf_proba_)[:, 1] / step
        np.testing.assert_allclose(weighted.leaf_errors_, plain.leaf_errors_ * slope, rtol=1e-4)

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
    def test_several_classes(self, kind):
        y = np.where(RARE_ROWS[:, 1] < 0.2, "maybe", RARE_LABELS)
        options = {**WEIGHED, "classes": ["maybe", "no", "yes"]}
        plain = kind(8.0, **options).fit(RARE_ROWS, y, is_public=RARE_PUBLIC)
        weighted = plain.repruned(class_weight={"maybe": 0.5, "yes": 7})
        np.testing.assert_allclose(weighted.leaf_proba_, by_hand(plain.leaf_proba_, [0.5, 1.0, 7.0]))
        np.testing.assert_allclose(weighted.predict_proba(RARE_ROWS).sum(axis=1), 1.0, rtol=1e-12)


def blobs(n_classes):
    """The rows on which scikit-learn's check wants a score above 0.83."""
    X, y = shuffle(*make_blobs(n_samples=300, random_state=0), random_state=7)
    X = StandardScaler().fit_transform(X)
    return X[y < n_classes], y[y < n_classes]


def scores(tree, n_classes):
    X, y = blobs(n_classes)
    return np.array([clone(tree).set_params(random_state=seed).fit(X, y).score(X, y) for seed in range(40)])
