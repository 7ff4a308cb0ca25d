# SPDX-License-Identifier: BSD-3-Clause
"""What a tree releases: its depth, paid splits and their budget, statements, sources, audits."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier, PrivacyLedger, config_context
from skprivate.audit import audit_epsilon, sensitivity_fuzz
from skprivate.datasets import make_posterior_drift
from skprivate.domain import NumberColumn, TableDomain
from skprivate.exceptions import BudgetExceededError
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
from skprivate.noise._mechanisms import NoisyMax
from skprivate.randomizers import KRRRandomizer
from skprivate.rounds import TableSource, fit_rounds
from skprivate.tree import NoisyHistogram, export_text
from skprivate.tree._release import DEEPEST, choose_depth, deepest_to_grow
from skprivate.tree._splits import (
    MOST_LEVELS,
    ORDER_SHARE,
    ComparedColumns,
    NoisyLevelCounts,
    PrivateSplitsMechanism,
    SplitBudget,
    automatic_levels,
    selection_noise,
)
from tests.marks import slow
from tests.tree.levels import DOMAIN, ILL, TABLE, level_tree

X, Y, IS_PUBLIC = make_posterior_drift(4000, 200, random_state=0)
BINARY = {"bounds": (0.0, 1.0), "classes": [0, 1]}


class TestDepth:
    COUNTS = 2 ** np.arange(13)

    @pytest.mark.parametrize(
        ("n", "variance", "n_features", "depth"),
        [
            (10_000, 4.68, 2, 4),  # log2(10_000 / 4.68) / 3 = 3.69
            (10_000, 4.68, 1, 4),
            (10_000, 4.68, 5, 3),  # 3.25
            (10_000, 4.68, 20, 3),  # 2.58
            (10_000, 4.68, 40, 2),  # 2.25
            (10_000, 1e-6, 2, 9),  # 16 reports a leaf allow 625 leaves
            (40, 4.68, 2, 1),
            (1000, 15.0, 20, 2),  # 2.02, and .91 for 20 features
            (300, 15.0, 20, 1),  # 1.44
            (10**9, 1e-3, 2, 12),
        ],
    )
    def test_by_hand(self, n, variance, n_features, depth):
        assert choose_depth(n, self.COUNTS, lambda leaves: variance, n_features) == depth

    def test_a_tree_without_splits(self):
        assert choose_depth(1000, np.array([1]), lambda leaves: 1.0) == 0

    def test_the_variance_is_that_of_the_depth(self):
        asked = []
        choose_depth(10**9, self.COUNTS[:5], lambda leaves: asked.append(leaves) or 1.0)
        assert asked == [16]

    def test_no_tree_deeper_than_what_may_be_chosen_is_grown(self):
        for n_rows in [*range(1, 100), 127, 128, 3000, 2**15, 2**16, 2**17, 10**6]:
            # Without noise only the number of rows limits the depth.
            chosen = choose_depth(n_rows, 2 ** np.arange(DEEPEST + 1), lambda n_leaves: 1e-300)
            assert deepest_to_grow(n_rows) == chosen


def private_tree(epsilon=1.0, **parameters):
    return LocallyPrivateTreeClassifier(epsilon, **{**BINARY, **parameters})


def fitted(epsilon=1.0, **parameters):
    return private_tree(epsilon, **parameters).fit(X, Y, is_public=IS_PUBLIC)


class TestAutomaticDepth:
    @pytest.mark.parametrize("epsilon", [20.0, 50.0, 1e4])
    @pytest.mark.parametrize("n_public", [0, 60])
    def test_without_noise_sampling_limits(self, epsilon, n_public):
        rows = np.random.default_rng(0).uniform(size=(660, 2))
        labels = (rows[:, 0] > 0.5).astype(int)
        tree = private_tree(epsilon, split_share=0)
        tree.fit(rows, labels, is_public=np.arange(660) >= 660 - n_public)
        assert tree.score(rows, labels) > 0.98
        assert 4 <= tree.max_depth_ <= 6

    def test_automatic_depth_allows_for_the_noise_of_all_rows_of_a_person(self):
        depths = [
            DPTreeClassifier(0.2, max_rows_per_group=10, **BINARY)
            .fit(X, Y, is_public=IS_PUBLIC, groups=groups)
            .max_depth_
            for groups in (None, np.repeat(np.arange(420), 10))
        ]
        assert depths[1] < depths[0]

    def test_allows_for_the_classes(self):
        rows = np.random.default_rng(2).uniform(size=(6000, 8))
        labels = np.random.default_rng(3).integers(16, size=6000)
        options = {"mechanism": "krr", "bounds": (0, 1), "classes": range(16)}
        deep, tree = (
            LocallyPrivateTreeClassifier(5.0, max_depth=depth, **options).fit(
                rows, labels, is_public=np.arange(6000) < 200
            )
            for depth in (12, "auto")
        )

        def depth(n_labels):
            counts = deep.partition_.leaf_counts_by_depth()
            return choose_depth(5800, counts, lambda n: KRRRandomizer(5.0, n, n_labels).variance(1)[0])

        assert tree.max_depth_ == depth(16) != depth(2)

    @pytest.mark.parametrize("prune", [True, "paper"])
    def test_a_complete_tree_is_the_same_grown_in_full(self, prune, monkeypatch):
        X, y = np.random.default_rng(0).uniform(size=(700, 2)), np.arange(700) % 2
        tree = DPTreeClassifier(1000.0, bounds=(0, 1), classes=[0, 1], prune=prune, random_state=0)
        first = tree.fit(X, y).partition_, tree.leaf_proba_
        monkeypatch.setattr("skprivate.tree._estimator.deepest_to_grow", lambda n_rows: DEEPEST)
        full = tree.fit(X, y).partition_, tree.leaf_proba_
        assert first[0] == full[0]
        assert first[0].max_depth > 1
        np.testing.assert_array_equal(first[1], full[1])


# Splits that the budget covers

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(size=(4000, 3))
CROSSED = ((POINTS[:, 0] > 0.3) ^ (POINTS[:, 1] > 0.6)).astype(int)
PERSONS = np.repeat(np.arange(1000), 4)
FEW = np.arange(4000) < 40
BOX = {"bounds": (0, 1), "classes": [0, 1]}


def paid(epsilon=1.0, **parameters):
    return DPTreeClassifier(epsilon, **{**BOX, **parameters})


class TestBudget:
    @settings(max_examples=100, deadline=None)
    @given(
        st.one_of(st.floats(1e-6, 1e6), st.fractions(Fraction(1, 10**6), 10**6)),
        st.floats(0.01, 0.99),
        st.integers(0, 12),
        st.integers(1, 50),
        st.sampled_from([None, (), (0,), (0, 2)]),
    )
    @example(Fraction(1, 3), 0.7, 12, 7, None)
    @example(1e-6, 0.01, 12, 50, (0, 2))
    @example(1e6, 0.99, 12, 1, (0,))
    def test_adds_up_to_epsilon_at_most(self, epsilon, share, n_levels, rows_per_unit, ordered):
        epsilon, share = Fraction(epsilon), Fraction(share)
        columns = [] if ordered is None else [ComparedColumns(DOMAIN.groups, ordered, 2)]
        budget = SplitBudget.divide(epsilon, share, n_levels, rows_per_unit, *columns)
        assert len(budget.level_epsilons) == n_levels
        leaves = NoisyHistogram(budget.leaf_epsilon, 4, 2, rows_per_unit)
        # What the noise of every level and of the leaves costs really, as fractions.
        costs = [selection_noise(one, rows_per_unit).epsilon for one in budget.level_epsilons]
        assert costs == list(budget.level_epsilons)
        assert (budget.order is not None) == bool(ordered and n_levels)
        if budget.order is not None:
            assert budget.order.sensitivity == 2 * len(ordered) * rows_per_unit
            assert budget.order.epsilon <= epsilon * share * ORDER_SHARE
            costs.append(budget.order.epsilon)
        total = sum(costs, leaves.epsilon)
        assert epsilon * (1 - Fraction(1, 2**30)) < total <= epsilon
        assert sum(costs) <= epsilon * share
        whole = PrivateSplitsMechanism(budget, leaves)
        assert whole.epsilon == total
        assert (whole.sensitivity, whole.noise_scale) == (leaves.sensitivity, leaves.noise_scale)

    def test_levels_grow_with_information(self):
        epsilon = Fraction(1, 2)
        found = [
            automatic_levels(n, epsilon) for n in (1, 2, 50, 100, 10**3, 10**4, 10**5, 10**6, 10**9, 10**300)
        ]
        assert found == sorted(found)
        assert found[0] == 0
        assert found[-1] == MOST_LEVELS
        # .6 (log2(5000) - 5) = 4.37, and of five rows a person 2.98.
        assert (automatic_levels(10**4, epsilon), automatic_levels(10**4, epsilon, 5)) == (4, 3)
        assert automatic_levels(100, Fraction(1, 10**400)) == 0

    @pytest.mark.parametrize("parameters", [{"split_share": 0}, {"rule": "random"}, {"prune": "paper"}])
    def test_who_wants_no_paid_splits_gets_none(self, parameters):
        tree = paid(**parameters).fit(POINTS, CROSSED)
        assert tree.rule_ == "random"
        assert tree.privacy_spent_.epsilon == 1

    def test_a_share_is_paid_for_with_many_public_rows_too(self):
        tree = paid(split_share=0.5, max_depth=2).fit(POINTS, CROSSED, is_public=np.arange(4000) < 2000)
        assert tree.rule_ == "private"
        assert tree.public_counts_.sum() == 2000


class TestStatement:
    def test_what_is_claimed(self):
        spent = paid(Fraction(3, 4), max_depth=3).fit(POINTS, CROSSED).privacy_spent_
        assert (spent.relation, spent.deployment, spent.private) == ("replace-one", "curator", True)
        assert Fraction(3, 4) * (1 - Fraction(1, 2**30)) < spent.epsilon <= Fraction(3, 4)
        assert "report-noisy-max of splits, 3 levels at epsilon 0.525 together" in spent.mechanism
        assert (spent.unprotected["depth"], spent.unprotected["leaves"]) == ("at most 3", "at most 8")
        assert spent.unprotected["private rows"] == 4000
        # The leaves get .3 of it.
        assert float(spent.noise_scale) == pytest.approx(2 / 0.225)

    def test_persons_cost_as_many_times_the_noise(self):
        one = paid(max_depth=2, max_rows_per_group=4).fit(POINTS, CROSSED).privacy_spent_
        four = paid(max_depth=2, max_rows_per_group=4).fit(POINTS, CROSSED, groups=PERSONS).privacy_spent_
        assert (one.unit, four.unit, four.max_rows_per_unit) == ("row", "group", 4)
        assert (four.sensitivity, one.sensitivity) == (8, 2)
        assert float(four.noise_scale / one.noise_scale) == pytest.approx(4)

    @pytest.mark.parametrize("case", ["covered", "point", "no levels", "few public rows"])
    def test_the_whole_cost_is_charged_once(self, tmp_path, case):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        parameters, rows, labels, options = {}, POINTS, CROSSED, {}
        if case == "point":
            # The box is that of the public rows, which are all the same.
            parameters, options = {"bounds": None, "max_depth": 2}, {"is_public": FEW}
        elif case == "no levels":
            rows, labels = POINTS[:30], CROSSED[:30]
        elif case == "few public rows":
            options = {"is_public": FEW}
        tree = paid(0.75, ledger=ledger, random_state=None, **parameters)
        if case == "point":
            rows = np.where(FEW[:, np.newaxis], 0.5, POINTS)
        tree.fit(rows, labels, **options)
        (entry,) = ledger.entries()
        assert entry.epsilon == tree.privacy_spent_.epsilon <= Fraction(3, 4)
        assert tree.rule_ == "private"
        assert (tree.n_leaves_ == 1) == (case in ("point", "no levels"))
        with pytest.raises(BudgetExceededError):
            tree.fit(rows, labels, **options)
        assert len(ledger.entries()) == 1


class TestAudit:
    @pytest.mark.usefixtures("short_searches")
    def test_the_fuzz_sees_the_selection_and_the_leaves(self):
        # Both parts within what they may cost: .7 and .3 of epsilon.
        fuzz = sensitivity_fuzz(paid(1.5, max_depth=2))
        assert fuzz.passed
        assert 0.45 + 0.4 < float(fuzz.loss) <= 1.5

    @pytest.mark.usefixtures("short_searches")
    @pytest.mark.parametrize("place", ["the selection", slow("the leaves")])
    def test_too_little_noise_is_refuted(self, place, monkeypatch):
        right = DiscreteLaplaceMechanism.from_scale

        def less(scale, sensitivity):
            return right(scale / 4, sensitivity // 4 if place == "the selection" else sensitivity)

        if place == "the selection":
            honest = NoisyMax.__init__
            monkeypatch.setattr(
                NoisyMax,
                "__init__",
                lambda self, mechanism: honest(self, less(mechanism.scale, mechanism.sensitivity)),
            )
        else:
            from skprivate.tree import NoisyHistogram

            randomize = NoisyHistogram.randomize

            def too_little(self, values, entropy):
                self._mechanism = less(self.noise_scale, self.sensitivity)
                return randomize(self, values, entropy)

            monkeypatch.setattr(NoisyHistogram, "randomize", too_little)
        assert not sensitivity_fuzz(paid(1.5, max_depth=2)).passed

    def test_half_the_noise_of_choices_is_counted(self):
        """Two tables that differ in one row: it spoils one candidate, or the other, by nearly a row."""
        epsilon, n = 1.5, 60_000
        honest = selection_noise(epsilon)
        scores = np.array([[-1023, 0], [0, -1023]])
        bounds = []
        for mechanism in (honest, DiscreteLaplaceMechanism.from_scale(honest.scale / 2, honest.sensitivity)):
            chosen = [
                NoisyMax(mechanism).randomize(np.tile(row, (n, 1)), check_entropy(k))
                for k, row in enumerate(scores)
            ]
            # Seeded. The bound holds for 99.9 of 100 pairs of draws.
            bounds.append(audit_epsilon(chosen[1], chosen[0], event=lambda draws: draws == 0).epsilon)
        assert 1.0 < bounds[0] <= epsilon < bounds[1]


# An order of levels that the budget covers


def nominal(n, seed):
    """12 levels without an order, of which four say one class, and the others the other one."""
    rng = np.random.default_rng(seed)
    names = np.array([f"level {i}" for i in range(12)], dtype=object)
    level = rng.integers(12, size=n)
    y = (rng.uniform(size=n) < np.where(np.isin(level, (1, 4, 6, 9)), 0.9, 0.1)).astype(int)
    return TableDomain({"kind": list(names)}), pd.DataFrame({"kind": names[level]}), y


class TestOrderOfLevels:
    def test_the_whole_is_charged_once_and_stated(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger")
        with config_context(strict=True):
            spent = level_tree(Fraction(3, 4), ledger=ledger).fit(TABLE, ILL).privacy_spent_
        (entry,) = ledger.entries()
        assert entry.epsilon == spent.epsilon <= Fraction(3, 4)
        assert spent.private
        # .3 of .7 of .75, and two tables.
        assert (
            "level x label counts at epsilon 0.1575, sensitivity 4; then report-noisy-max" in spent.mechanism
        )

    def test_finds_the_subset_without_public_rows(self):
        """The rule itself is right in 90 of 100 rows; seeded."""
        scores, subsets = [], set()
        for seed in range(3):
            domain, table, y = nominal(8000, seed)
            tree = DPTreeClassifier(1.0, domain=domain, classes=[0, 1], random_state=seed + 100, max_depth=1)
            tree.fit(table[:4000], y[:4000])
            scores.append(tree.score(table[4000:], y[4000:]))
            left = tree.partition_.levels_left(0)
            subsets.add(frozenset(np.flatnonzero(left if left.sum() < 6 else ~left).tolist()))
        assert min(scores) > 0.88
        assert subsets == {frozenset({1, 4, 6, 9})}

    def test_missing_numbers_take_their_own_side(self):
        rng = np.random.default_rng(3)
        x = rng.uniform(size=4000)
        gone = rng.uniform(size=4000) < 0.3
        y = (rng.uniform(size=4000) < np.where(gone, 0.9, 0.1)).astype(int)
        domain = TableDomain({"x": NumberColumn(0, 1, missing="indicator")})
        tree = DPTreeClassifier(1.0, domain=domain, classes=[0, 1], max_depth=1, random_state=0)
        tree.fit({"x": np.where(gone, np.nan, x)}, y)
        assert "x is missing" in export_text(tree)
        assert tree.score({"x": np.where(gone, np.nan, x)}, y) > 0.88

    def test_levels_without_an_order_are_compared_by_themselves(self):
        tree = level_tree(0.05, max_depth=2, random_state=1).fit(TABLE[:400], ILL[:400])
        assert "level x label" not in tree.privacy_spent_.mechanism
        levels = [column for column in tree.partition_.derived.columns if column.kind == "levels"]
        # In an order there would be a place for every level.
        assert levels
        assert all(set(column.places) == {0, 1} for column in levels)
        assert tree.feature_importances_.shape == (5,)

    @pytest.mark.parametrize("public", [None, np.arange(3000) < 30])
    def test_a_source_gives_the_bits_of_fit(self, public):
        tree = level_tree(random_state=3)
        fitted = level_tree(random_state=3).fit(TABLE, ILL, is_public=public)
        frame = TABLE.assign(ill=ILL)
        private = frame if public is None else frame[~public]
        source = TableSource([private[:1100], private[1100:]], features=DOMAIN.names, target="ill")
        known = None if public is None else (TABLE[public], ILL[public])
        of_source = fit_rounds(tree, source, public=known)
        assert "level x label" in fitted.privacy_spent_.mechanism
        assert fitted.partition_ == of_source.partition_
        assert fitted.privacy_spent_ == of_source.privacy_spent_
        np.testing.assert_array_equal(fitted.report_counts_, of_source.report_counts_)


class OfNumbers(ClassifierMixin, BaseEstimator):
    """The tree on a table that is made of numbers from 0 to 1, so that the audit can look for neighbours."""

    domain = TableDomain({"a": list("pqr"), "b": list("klm"), "x": (0, 1)}, missing_values=["?"])

    def __init__(self, epsilon=6.0, bounds=(0, 1), classes=(0, 1)):
        self.epsilon, self.bounds, self.classes = epsilon, bounds, classes

    def fit(self, X, y):
        X = np.clip(X, 0, 1)
        first, second = np.minimum(4 * X[:, :2], 3).astype(int).T
        rows = [["pqr?"[i], "klm?"[j], x] for i, j, x in zip(first, second, X[:, 2], strict=True)]
        known = {"domain": self.domain, "classes": list(self.classes)}
        self.tree_ = DPTreeClassifier(self.epsilon, max_depth=2, **known).fit(rows, y)
        self.privacy_spent_ = self.tree_.privacy_spent_
        self.classes_, self.n_features_in_ = self.tree_.classes_, 3
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.usefixtures("short_searches")
class TestAuditOfAnOrder:
    rng = np.random.default_rng(0)
    rows = {"X": rng.uniform(size=(60, 3)), "y": rng.integers(2, size=60)}

    def test_neighbours_lose_no_more_than_is_claimed(self):
        fuzz = sensitivity_fuzz(OfNumbers(), self.rows)
        assert fuzz.passed
        # The order's part is reached, and most of the leaves'.
        assert float(fuzz.loss) > 1.26 + 1.8

    @pytest.mark.slow
    def test_an_eighth_of_the_noise_is_refuted(self, monkeypatch):
        honest = NoisyLevelCounts.__init__

        def less(self, *arguments):
            honest(self, *arguments)
            self._mechanism = DiscreteLaplaceMechanism.from_scale(self._mechanism.scale / 8, 1)

        monkeypatch.setattr(NoisyLevelCounts, "__init__", less)
        assert not sensitivity_fuzz(OfNumbers(), self.rows).passed
