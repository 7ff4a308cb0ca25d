# SPDX-License-Identifier: BSD-3-Clause
"""class_weight of the classifiers: post-processing by Bayes' rule, against a calculation by hand."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_class_weight_classifiers

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.exceptions import PrivacyLeakWarning, UtilityWarning

KINDS = [DPTreeClassifier, LocallyPrivateTreeClassifier]
N = 3000
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
Y = np.array(["no", "yes"])[(RNG.random(N) < 0.05 + 0.2 * X[:, 0]).astype(int)]
PUBLIC = np.arange(N) < 300
OPTIONS = {"bounds": (0, 1), "classes": ["no", "yes"], "random_state": 1, "split_share": 0, "max_depth": 2}


def fitted(kind, class_weight, **options):
    return kind(8.0, class_weight=class_weight, **OPTIONS, **options).fit(X, Y, is_public=PUBLIC)


def by_hand(shares, weights):
    parts = shares * weights
    return parts / parts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
class TestWeights:
    def test_a_dict_is_bayes_rule(self, kind):
        plain, weighted = fitted(kind, None), fitted(kind, {"yes": 4.0})
        np.testing.assert_array_equal(plain.report_counts_, weighted.report_counts_)
        np.testing.assert_allclose(weighted.leaf_proba_, by_hand(plain.leaf_proba_, [1.0, 4.0]), rtol=1e-12)
        np.testing.assert_allclose(weighted.predict_proba(X), weighted.leaf_proba_[weighted.apply(X)])

    def test_balanced_makes_the_released_base_rates_equal(self, kind):
        plain, weighted = fitted(kind, None), fitted(kind, "balanced")
        np.testing.assert_allclose(weighted.base_proba_, [0.5, 0.5], rtol=1e-12)
        np.testing.assert_allclose(
            weighted.leaf_proba_, by_hand(plain.leaf_proba_, 1 / plain.base_proba_), rtol=1e-12
        )
        assert (weighted.predict(X) == "yes").mean() > (plain.predict(X) == "yes").mean()

    def test_repruned_takes_it_back(self, kind):
        plain, weighted = fitted(kind, None), fitted(kind, "balanced")
        for tree in (weighted.repruned(class_weight=None), plain.repruned()):
            np.testing.assert_array_equal(tree.predict_proba(X), plain.predict_proba(X))
            np.testing.assert_array_equal(tree.leaf_errors_, plain.leaf_errors_)
        again = plain.repruned(class_weight="balanced")
        np.testing.assert_array_equal(again.predict_proba(X), weighted.predict_proba(X))
        np.testing.assert_array_equal(weighted.repruned(prune=False).leaf_proba_, weighted.leaf_proba_)

    def test_with_a_public_model(self, kind):
        model = LogisticRegression()
        plain = fitted(kind, None, public_model=model)
        weighted = fitted(kind, {"no": 1, "yes": 3}, public_model=model)
        assert weighted._offsets is not None
        found = weighted.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(found, by_hand(plain.predict_proba(X), [1.0, 3.0]), rtol=1e-9)

    def test_errors_stretch_with_the_probabilities(self, kind):
        plain, weighted = fitted(kind, None), fitted(kind, {"yes": 4.0})
        p, step = plain.leaf_proba_, 1e-6
        moved = by_hand(p + [-step, step], [1.0, 4.0])
        slope = (moved - weighted.leaf_proba_)[:, 1] / step
        np.testing.assert_allclose(weighted.leaf_errors_, plain.leaf_errors_ * slope, rtol=1e-4)

    @pytest.mark.parametrize("wrong", [{"perhaps": 2.0}, {"yes": 0.0}, {"yes": -1.0}, {"yes": np.nan}])
    def test_unusable_weights_are_refused(self, kind, wrong):
        with pytest.raises(ValueError, match="class_weight"):
            fitted(kind, wrong)
        with pytest.raises(ValueError, match="class_weight"):
            fitted(kind, None).repruned(class_weight=wrong)
        with pytest.raises(ValueError, match="class_weight"):
            fitted(kind, "even")

    def test_what_is_said_of_utility_does_not_depend_on_it(self, kind):
        noise = np.random.default_rng(5).permutation(Y)
        for class_weight in (None, "balanced", {"yes": 30.0}):
            tree = kind(0.5, class_weight=class_weight, **OPTIONS)
            with pytest.warns(UtilityWarning):
                tree.fit(X, noise)
            with warnings.catch_warnings():
                warnings.simplefilter("error", UtilityWarning)
                fitted(kind, class_weight)

    @pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
    def test_several_classes(self, kind):
        y = np.where(X[:, 1] < 0.2, "maybe", Y)
        options = {**OPTIONS, "classes": ["maybe", "no", "yes"]}
        plain = kind(8.0, **options).fit(X, y, is_public=PUBLIC)
        weighted = plain.repruned(class_weight={"maybe": 0.5, "yes": 7})
        np.testing.assert_allclose(weighted.leaf_proba_, by_hand(plain.leaf_proba_, [0.5, 1.0, 7.0]))
        np.testing.assert_allclose(weighted.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_the_check_of_scikit_learn(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        check_class_weight_classifiers(kind.__name__, kind(100.0))


def test_a_weight_that_is_no_number_is_named():
    X, y = np.random.default_rng(9).uniform(size=(50, 1)), np.arange(50) % 2
    with pytest.raises(TypeError, match="class_weight must hold a number"):
        DPTreeClassifier(bounds=(0, 1), classes=[0, 1], class_weight={0: "a"}).fit(X, y)
