# SPDX-License-Identifier: BSD-3-Clause
"""Several classes, every mechanism, labels alone, and another post-processing of one release."""

import numpy as np
import pytest

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier, PrivacyLedger, config_context
from skprivate.datasets import make_posterior_drift
from skprivate.exceptions import PrivacyLeakError
from skprivate.randomizers import KRRRandomizer
from skprivate.randomizers._factory import MECHANISMS
from skprivate.tree._pruning_and_intervals import paper_depth
from skprivate.tree._release import choose_depth

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(6000, 2))
BANDS = np.minimum((X[:, 0] * 4).astype(int), 3)
IS_PUBLIC = np.arange(6000) < 200
SEVERAL = sorted(name for name, kind in MECHANISMS.items() if not kind.binary_only)
FOUR = {"bounds": (0, 1), "classes": [0, 1, 2, 3]}


class TestSeveralClasses:
    @pytest.mark.parametrize("mechanism", ["auto", *SEVERAL])
    def test_learns_four_bands(self, mechanism):
        # 20 seeds gave .95 to 1 at epsilon 4; the majority is .25.
        tree = LocallyPrivateTreeClassifier(4.0, mechanism=mechanism, random_state=1, **FOUR)
        tree.fit(X, BANDS, is_public=IS_PUBLIC)
        assert tree.score(X, BANDS) > 0.9
        assert tree.leaf_proba_.shape == (tree.n_leaves_, 4)
        np.testing.assert_allclose(tree.leaf_proba_.sum(axis=1), 1)
        assert tree.leaf_proba_.min() >= 0

    def test_the_central_tree_learns_them_at_a_small_epsilon(self):
        tree = DPTreeClassifier(0.2, random_state=1, **FOUR).fit(X, BANDS, is_public=IS_PUBLIC)
        assert tree.score(X, BANDS) > 0.95
        assert tree.report_counts_.shape == (tree.n_leaves_, 4)

    @pytest.mark.parametrize("mechanism", SEVERAL)
    def test_a_huge_epsilon_recovers_the_leaf_majorities(self, mechanism):
        tree = LocallyPrivateTreeClassifier(
            1e6, mechanism=mechanism, max_depth=3, public_weight=0.0, random_state=0, **FOUR
        )
        labels = np.random.default_rng(1).choice(4, size=6000, p=[0.4, 0.1, 0.3, 0.2])
        tree.fit(X, labels, is_public=IS_PUBLIC)
        leaves = tree.apply(X)
        counts = np.zeros((tree.n_leaves_, 4))
        np.add.at(counts, (leaves[~IS_PUBLIC], labels[~IS_PUBLIC]), 1)
        if mechanism == "unary":
            # Half of the true bits stay silent at any epsilon: close, not exact.
            np.testing.assert_allclose(tree.leaf_proba_, counts / counts.sum(axis=1, keepdims=True), atol=0.1)
        else:
            np.testing.assert_array_equal(tree.predict(X), counts.argmax(axis=1)[leaves])

    def test_classes_come_from_public_rows_and_others_count_as_the_first(self):
        labels = BANDS.copy()
        labels[-1] = 9
        plain = BANDS.copy()
        plain[-1] = 0
        with config_context(strict=True, allow_seeds=True):
            trees = [
                DPTreeClassifier(1.0, bounds=(0, 1), random_state=0).fit(X, y, is_public=IS_PUBLIC)
                for y in (labels, plain)
            ]
        assert trees[0].classes_.tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(trees[0].report_counts_, trees[1].report_counts_)

    @pytest.mark.parametrize("rule", ["max-edge", "cart"])
    def test_automatic_depth_allows_for_the_classes(self, rule):
        X8 = np.random.default_rng(2).uniform(size=(6000, 8))
        labels = np.random.default_rng(3).integers(16, size=6000)
        options = {"mechanism": "krr", "rule": rule, "bounds": (0, 1), "classes": range(16)}
        deep, tree = (
            LocallyPrivateTreeClassifier(5.0, max_depth=depth, **options).fit(X8, labels, is_public=IS_PUBLIC)
            for depth in (12, "auto")
        )

        def depth(n_labels, n_features=2):
            return choose_depth(
                5800,
                deep.partition_.leaf_counts_by_depth(),
                lambda n_leaves: KRRRandomizer(5.0, n_leaves, n_labels).variance(1)[0],
                n_features,
            )

        # Smoothing over the tree lets splits that matter less cost little: features do not count.
        assert tree.max_depth_ == depth(16)
        assert depth(2) != tree.max_depth_

    @pytest.mark.parametrize("kind", [LocallyPrivateTreeClassifier, DPTreeClassifier])
    def test_classes_are_used_in_sorted_order(self, kind):
        trees = [
            kind(1.0, bounds=(0, 1), classes=classes, random_state=0).fit(X, BANDS, is_public=IS_PUBLIC)
            for classes in ([0, 1, 2, 3], [2, 0, 3, 1])
        ]
        assert trees[1].classes_.tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(trees[0].report_counts_, trees[1].report_counts_)
        np.testing.assert_array_equal(trees[0].leaf_proba_, trees[1].leaf_proba_)

    def test_names_of_any_length(self):
        names = np.array(["a", "bb", "ccc", "dddd"])
        tree = LocallyPrivateTreeClassifier(8.0, bounds=(0, 1), classes=names, random_state=0)
        tree.fit(X, names[BANDS], is_public=IS_PUBLIC)
        assert set(tree.predict(X)) <= set(names)
        assert tree.score(X, names[BANDS]) > 0.9


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
        tree = LocallyPrivateTreeClassifier(1.0, protect="label", **FOUR).fit(X, BANDS)
        spent = tree.privacy_spent_
        assert (spent.relation, spent.private, spent.epsilon) == ("label", True, 1)
        assert "only their labels" in spent.unprotected["features"]
        assert "features are NOT protected" in str(spent)
        assert tree.mechanism_ == "label-rr"

    def test_bounds_of_features_that_are_not_protected_are_no_leak(self):
        with config_context(strict=True):
            tree = LocallyPrivateTreeClassifier(1.0, protect="label", classes=[0, 1, 2, 3]).fit(X, BANDS)
            assert tree.privacy_spent_.private
            assert tree.privacy_spent_.unprotected["bounds"] == "those of the rows"
            with pytest.raises(PrivacyLeakError, match="classes"):
                LocallyPrivateTreeClassifier(1.0, protect="label", bounds=(0, 1)).fit(X, BANDS)

    def test_the_cells_are_exact(self):
        tree = LocallyPrivateTreeClassifier(1.0, protect="label", max_depth=3, **FOUR).fit(X, BANDS)
        np.testing.assert_array_equal(
            tree.randomizer_.estimate_cells(tree.report_counts_, tree.n_reports_),
            np.bincount(tree.apply(X), minlength=tree.n_leaves_),
        )


class TestRepruned:
    @pytest.mark.parametrize(
        "tree", [LocallyPrivateTreeClassifier(1.0, **FOUR), DPTreeClassifier(1.0, **FOUR)]
    )
    @pytest.mark.parametrize("prune", [True, False])
    def test_is_what_fit_gives_on_the_same_release(self, tree, prune):
        tree = tree.set_params(random_state=0, max_depth=5, prune=False).fit(X, BANDS, is_public=IS_PUBLIC)
        again = type(tree)(**{**tree.get_params(), "prune": prune}).fit(X, BANDS, is_public=IS_PUBLIC)
        free = tree.repruned(prune=prune)
        np.testing.assert_array_equal(free.leaf_proba_, again.leaf_proba_)
        assert free.prune == prune
        assert tree.prune is False
        assert free.privacy_spent_ == tree.privacy_spent_

    def test_false_and_zero_are_values(self):
        options = {**FOUR, "random_state": 0, "max_depth": 5}
        pruned = DPTreeClassifier(1.0, prune=True, public_weight=3.0, **options)
        pruned.fit(X, BANDS, is_public=IS_PUBLIC)
        plain = DPTreeClassifier(1.0, public_weight=0.0, **options).fit(X, BANDS, is_public=IS_PUBLIC)
        assert (pruned.leaf_proba_ != plain.leaf_proba_).any()
        free = pruned.repruned(prune=False, public_weight=0)
        np.testing.assert_array_equal(free.leaf_proba_, plain.leaf_proba_)
        np.testing.assert_array_equal(free.public_weight_, 0)

    def test_costs_nothing_and_needs_no_data(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        tree = DPTreeClassifier(1.0, ledger=ledger, split_share=0, **FOUR)
        tree = tree.fit(X, BANDS, is_public=IS_PUBLIC)
        before = tree.leaf_proba_.copy()
        heavy = tree.repruned(public_weight=1e9)
        np.testing.assert_array_equal(tree.leaf_proba_, before)
        votes = heavy.public_counts_
        # A leaf of one or two public rows goes by its ancestors' too.
        ordered = np.sort(votes, axis=1)
        clear = ordered[:, -1] > ordered[:, -2] + 2
        assert clear.sum() > 5
        np.testing.assert_array_equal(heavy.leaf_proba_.argmax(axis=1)[clear], votes.argmax(axis=1)[clear])
        assert len(ledger.entries()) == 1

    def test_the_paper_prunes_two_classes_only(self):
        two = {"bounds": (0, 1), "classes": [0, 1]}
        tree = LocallyPrivateTreeClassifier(1.0, max_depth=5, random_state=0, **two)
        tree.fit(X, BANDS % 2, is_public=IS_PUBLIC)
        assert tree.repruned(prune="paper").leaf_depth_.min() < 5
        for kind in (LocallyPrivateTreeClassifier, DPTreeClassifier):
            with pytest.raises(ValueError, match="Only binary"):
                kind(1.0, prune="paper", **FOUR).fit(X, BANDS, is_public=IS_PUBLIC)
            with pytest.raises(ValueError, match="Only binary"):
                kind(1.0, **FOUR).fit(X, BANDS, is_public=IS_PUBLIC).repruned(prune="paper")

    def test_the_paper_has_a_depth_of_its_own(self):
        two = {"bounds": (0, 1), "classes": [0, 1], "max_depth": "auto"}
        for epsilon in (0.5, 4.0):
            paper, plain = (
                LocallyPrivateTreeClassifier(epsilon, prune=prune, **two).fit(
                    X, BANDS % 2, is_public=IS_PUBLIC
                )
                for prune in ("paper", False)
            )
            assert paper.max_depth_ == paper_depth(5800, 200, 2, epsilon) != plain.max_depth_

    @pytest.mark.parametrize("wrong", [{"prune": "hard"}, {"public_weight": -1.0}, {"prune": 0.5}])
    def test_bad_input(self, wrong):
        tree = DPTreeClassifier(1.0, **FOUR).fit(X, BANDS, is_public=IS_PUBLIC)
        with pytest.raises(ValueError, match=next(iter(wrong))):
            tree.repruned(**wrong)
        assert tree.prune is False
