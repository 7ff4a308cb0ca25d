# SPDX-License-Identifier: BSD-3-Clause
"""Order of declared levels that private rows pay for: counts, budget, places, columns, growth, privacy."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline

from skprivate import DPTreeClassifier, PrivacyLedger, config_context
from skprivate.audit import sensitivity_fuzz
from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain
from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.partition import Partition
from skprivate.preprocessing import DomainEncoder
from skprivate.rounds import TableSource, fit_rounds
from skprivate.rounds._plans.masses import HistogramsPlan, LabelMasses
from skprivate.rounds._rows import PreparedRows
from skprivate.tree import export_text
from skprivate.tree._rows import NoisyHistogram
from skprivate.tree._splits import (
    ORDER_SHARE,
    ComparedColumns,
    NoisyLevelCounts,
    PaidTreeMechanism,
    SplitBudget,
    columns_to_order,
    level_places,
    selection_noise,
)

DOMAIN = TableDomain(
    {
        "job": CategoricalColumn(["clerk", "smith", "farmer"], missing="indicator"),
        "age": NumberColumn(10, 80, missing="indicator"),
        "town": list("abcde"),
        "married": bool,
        "sex": ["f", "m"],
    }
)
JOBS = ["clerk", "smith", "farmer", None]


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "job": np.array(JOBS, dtype=object)[rng.integers(4, size=n)],
            "age": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.uniform(10, 80, n)),
            "town": np.array(list("abcde"), dtype=object)[rng.integers(5, size=n)],
            "married": rng.uniform(size=n) < 0.5,
            "sex": np.array(["f", "m"], dtype=object)[rng.integers(2, size=n)],
        }
    )
    likely = np.where(table["job"].isin(["smith"]) | table["job"].isna(), 0.8, 0.2)
    return table, (rng.uniform(size=n) < likely).astype(int)


TABLE, Y = rows_of(3000, 0)


def tree_of(epsilon=1.0, **options):
    return DPTreeClassifier(epsilon, domain=DOMAIN, classes=[0, 1], **options)


def nominal(n, seed):
    """12 levels without an order, of which four say one class, and the others the other one."""
    rng = np.random.default_rng(seed)
    names = np.array([f"level {i}" for i in range(12)], dtype=object)
    level = rng.integers(12, size=n)
    y = (rng.uniform(size=n) < np.where(np.isin(level, (1, 4, 6, 9)), 0.9, 0.1)).astype(int)
    return TableDomain({"kind": list(names)}), pd.DataFrame({"kind": names[level]}), y


class TestCounts:
    def test_a_row_counts_once_in_every_table(self):
        plan = ComparedColumns(DOMAIN.groups, (0, 2), 2).plan(LabelMasses(2))
        counts = plan.sums(PreparedRows(DOMAIN.encode(TABLE), labels=Y.astype(np.int32)))
        of_jobs = [
            [
                ((TABLE["job"].isna() if job is None else TABLE["job"] == job) & (label == Y)).sum()
                for label in (0, 1)
            ]
            for job in JOBS
        ]
        np.testing.assert_array_equal(counts[:8].reshape(4, 2), of_jobs)
        # Five towns, and a cell for none, which is empty here.
        assert len(counts) == 8 + 12
        assert counts[8:].sum() == 3000
        assert counts[-2:].sum() == 0

    def test_replacing_a_row_moves_them_by_twice_the_tables(self):
        """All pairs of rows, by counting; the most that is allowed is reached."""
        plan = ComparedColumns(DOMAIN.groups, (0, 2), 2).plan(LabelMasses(2))
        kinds = [[job, 20.0, town, True, "f"] for job, town in product(JOBS, "abcde")]
        single = [
            plan.sums(PreparedRows(DOMAIN.encode([kind]), labels=np.array([label], dtype=np.int32)))
            for kind in kinds
            for label in (0, 1)
        ]
        moved = {int(np.abs(one - other).sum()) for one in single for other in single}
        assert moved == {0, 2, 4}
        for rows_per_unit in (1, 3):
            assert NoisyLevelCounts(Fraction(1), 2, rows_per_unit).sensitivity == max(moved) * rows_per_unit

    @pytest.mark.parametrize("n_tables", [1, 5])
    def test_the_noise_has_the_scale_of_the_sensitivity(self, n_tables):
        noise = NoisyLevelCounts(Fraction(1, 2), n_tables, 1)
        assert noise.epsilon == Fraction(1, 2)
        draws = noise.randomize(np.zeros(40_000, dtype=np.int64), 0)
        # Seeded; the mean of absolute values of discrete Laplace noise is nearly its scale, 4 n_tables.
        assert abs(np.abs(draws).mean() / (4 * n_tables) - 1) < 0.05


class TestRule:
    @pytest.mark.parametrize(("n_rows", "expected"), [(10, ()), (50, (0,)), (100, (0, 2)), (10**6, (0, 2))])
    def test_an_order_is_bought_where_there_are_rows_for_it(self, n_rows, expected):
        # One table has noise of scale 4, and 4 places: 24 rows; two have 8, and 5 places at most: 60.
        epsilon = Fraction(1, 2)
        assert columns_to_order(DOMAIN.groups, epsilon, n_rows, 1) == expected

    def test_persons_with_several_rows_need_more(self):
        epsilon = Fraction(1, 2)
        assert columns_to_order(DOMAIN.groups, epsilon, 95, 4) == ()

    def test_two_levels_need_no_order(self):
        domain = TableDomain({"sex": ["f", "m"], "married": bool, "age": (0, 9)})
        assert columns_to_order(domain.groups, Fraction(100), 10**6, 1) == ()


class TestBudget:
    @settings(max_examples=60, deadline=None)
    @given(
        st.fractions(Fraction(1, 10**4), 10**4),
        st.floats(0.01, 0.99),
        st.integers(0, 12),
        st.integers(1, 20),
        st.sampled_from([(), (0,), (0, 2)]),
    )
    def test_adds_up_to_epsilon_at_most(self, epsilon, share, n_levels, rows_per_unit, ordered):
        columns = ComparedColumns(DOMAIN.groups, ordered, 2)
        budget = SplitBudget.divide(epsilon, Fraction(share), n_levels, rows_per_unit, columns)
        costs = [selection_noise(one, rows_per_unit).epsilon for one in budget.level_epsilons]
        assert (budget.order is not None) == bool(ordered and n_levels)
        if budget.order is not None:
            assert budget.order.sensitivity == 2 * len(ordered) * rows_per_unit
            assert budget.order.epsilon <= epsilon * Fraction(share) * ORDER_SHARE
            costs.append(budget.order.epsilon)
        assert sum(costs) <= epsilon * Fraction(share)
        leaves = NoisyHistogram(budget.leaf_epsilon, 4, 2, rows_per_unit)
        total = sum(costs, leaves.epsilon)
        assert epsilon * (1 - Fraction(1, 2**30)) < total <= epsilon
        assert PaidTreeMechanism(budget, leaves).epsilon == total

    def test_the_whole_is_charged_once_and_stated(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger")
        with config_context(strict=True):
            spent = tree_of(Fraction(3, 4), ledger=ledger).fit(TABLE, Y).privacy_spent_
        (entry,) = ledger.entries()
        assert entry.epsilon == spent.epsilon <= Fraction(3, 4)
        assert spent.private
        # .3 of .7 of .75, and two tables.
        assert (
            "level x label counts at epsilon 0.1575, sensitivity 4; then report-noisy-max" in spent.mechanism
        )

    def test_nothing_is_bought_with_random_splits(self):
        tree = tree_of(split_share=0).fit(TABLE, Y)
        assert "level x label" not in tree.privacy_spent_.mechanism


class TestPlaces:
    def test_exact_counts_give_the_order_of_the_shares(self):
        counts = np.array([[50.0, 50], [10, 90], [90, 10], [70, 30]])
        assert level_places(counts, 0.0, 1).ravel().tolist() == [2, 3, 0, 1]

    def test_levels_that_noise_hides_stand_among_the_ordinary_ones(self):
        counts = np.array([[400.0, 600], [600, 400], [0, 8], [8, 0], [500, 500]])
        assert level_places(counts, 0.0, 1).ravel().tolist() == [3, 1, 4, 0, 2]
        assert level_places(counts, 200.0, 1).ravel().tolist() == [4, 0, 3, 1, 2]

    def test_negative_counts_are_taken(self):
        places = level_places(np.array([[-30.0, 4], [100, 200], [-5, -9], [200, 100]]), 400.0, 1).ravel()
        assert sorted(places) == [0, 1, 2, 3]
        assert places[1] > places[3]

    def test_three_classes_have_two_directions(self):
        counts = np.repeat(np.array([[90.0, 5, 5], [5, 90, 5], [5, 5, 90]]), 2, axis=0)
        places = level_places(counts, 1.0, 2)
        assert places.shape == (6, 2)
        for direction in places.T:
            assert sorted(direction) == list(range(6))
        # The two levels of a class stand side by side in one direction or the other.
        pairs = np.abs(places[::2] - places[1::2]).min(axis=1)
        np.testing.assert_array_equal(pairs, 1)

    def test_public_rows_are_added(self):
        columns = ComparedColumns(DOMAIN.groups, (0,), 2)
        noisy = np.array([5, 5, 5, 5, 5, 5, 5, 5])
        public = np.array([0, 90, 90, 0, 50, 50, 30, 60])
        assert columns.places(noisy, 10.0, public)[0].ravel().tolist() == [3, 0, 1, 2]


class TestColumns:
    @pytest.mark.parametrize("ordered", [(), (0,), (2,), (0, 2)])
    def test_what_is_compared_has_its_bins(self, ordered):
        columns = ComparedColumns(DOMAIN.groups, ordered, 2)
        places = {number: np.arange(4 if number == 0 else 6)[:, np.newaxis] for number in ordered}
        derived, lower, upper = columns.derive(*DOMAIN.bounds, places)
        assert derived.n_columns == len(columns.n_bins) == len(lower) == len(upper)
        Z = derived.apply(DOMAIN.encode(TABLE))
        assert (lower <= Z).all()
        assert (upper >= Z).all()

    @settings(max_examples=50, deadline=None)
    @given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
    def test_the_root_parts_missing_numbers_and_every_two_places(self, low, width):
        high = low + width
        domain = TableDomain(
            {
                "x": NumberColumn(low, high, missing="indicator"),
                "kind": [f"{i}" for i in range(17)],
                "rank": CategoricalColumn(list("abcde"), ordered=True, missing="indicator"),
                "flag": bool,
            }
        )
        columns = ComparedColumns(domain.groups, (1,), 2)
        derived, lower, upper = columns.derive(*domain.bounds, {1: np.arange(18)[:, np.newaxis]})
        plan = HistogramsPlan(Partition.from_splits([-1], [], lower, upper, derived), columns.n_bins, 2)
        cuts = np.split(plan.thresholds[0], np.cumsum(np.array(columns.n_bins) - 1)[:-1])
        below, above, kind, rank_below, rank_above, flag = cuts
        places = [column.place for column in derived.columns[:2]]
        assert places[0] < below[0] <= low < below[1]
        assert above[-2] < high < above[-1] <= places[1]
        values = np.arange(5.0)
        for found, cut in (
            (np.arange(18.0), kind),
            (values, rank_below),
            (values, rank_above),
            ([0, 1], flag),
        ):
            assert (np.diff(np.searchsorted(cut, found, side="right")) > 0).all()
        assert rank_below[0] <= 0
        assert rank_above[-1] > 4

    def test_few_values_have_a_bin_each(self):
        domain = TableDomain(
            {
                "age": (17, 90),
                "share": NumberColumn(0, 1),
                "job": ["clerk", "smith", "none"],
                "rank": CategoricalColumn(["a", "b", "c"], ordered=True),
                "married": bool,
                "day": ("2001-01-01", "2001-01-02"),
            }
        )
        assert ComparedColumns(domain.groups, (2,), 2).n_bins == (32, 32, 4, 3, 2, 32)
        assert ComparedColumns(domain.groups, (), 2).n_bins == (32, 32, 2, 2, 2, 3, 2, 32)
        assert ComparedColumns(domain.groups, (2,), 5).n_bins == (32, 32, 4, 4, 4, 3, 2, 32)

    def test_a_plan_of_derived_columns_travels(self):
        columns = ComparedColumns(DOMAIN.groups, (0,), 2)
        derived, lower, upper = columns.derive(*DOMAIN.bounds, {0: np.array([[2], [0], [3], [1]])})
        plan = HistogramsPlan(Partition.from_splits([-1], [], lower, upper, derived), columns.n_bins, 2)
        rows = PreparedRows(DOMAIN.encode(TABLE), labels=Y.astype(np.int32))
        again = HistogramsPlan.from_dict(plan.to_dict())
        np.testing.assert_array_equal(again.sums(rows), plan.sums(rows))


class TestGrowth:
    def test_finds_the_subset_without_public_rows(self):
        """The rule itself is right in 90 of 100 rows; seeded."""
        scores, subsets = [], set()
        for seed in range(5):
            domain, table, y = nominal(8000, seed)
            tree = DPTreeClassifier(1.0, domain=domain, classes=[0, 1], random_state=seed + 100, max_depth=1)
            tree.fit(table[:4000], y[:4000])
            scores.append(tree.score(table[4000:], y[4000:]))
            left = tree.partition_.levels_left(0)
            subsets.add(frozenset(np.flatnonzero(left if left.sum() < 6 else ~left).tolist()))
        assert min(scores) > 0.88
        assert subsets == {frozenset({1, 4, 6, 9})}

    def test_levels_that_tell_nothing_cost_little(self):
        """Against one column a level, which pays for no order; seeded."""
        names = [f"{i:02d}" for i in range(20)]
        domain = TableDomain({"a": names, "b": names, "x": (0, 1)})
        encode = DomainEncoder(domain)
        scores = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            levels = np.array(names, dtype=object)[rng.integers(20, size=(9000, 2))]
            x = rng.uniform(size=9000)
            y = (rng.uniform(size=9000) < np.where(x > 0.6, 0.85, 0.15)).astype(int)
            table = pd.DataFrame({"a": levels[:, 0], "b": levels[:, 1], "x": x})
            known = {"classes": [0, 1], "random_state": seed + 50}
            native = DPTreeClassifier(1.0, domain=domain, **known)
            one_hot = make_pipeline(encode, DPTreeClassifier(1.0, bounds=domain.bounds, **known))
            models = [model.fit(table[:5000], y[:5000]) for model in (native, one_hot)]
            scores.append([model.score(table[5000:], y[5000:]) for model in models])
        native, one_hot = np.mean(scores, axis=0)
        assert native > one_hot - 0.01
        assert native > 0.83

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

    def test_a_few_public_rows_help_to_order(self):
        domain, table, y = nominal(6000, 9)
        public = np.arange(6000) < 100
        tree = DPTreeClassifier(1.0, domain=domain, classes=[0, 1], random_state=0)
        tree.fit(table, y, is_public=public)
        assert tree.rule_ == "private"
        assert tree.public_counts_.sum() == 100
        assert tree.score(table, y) > 0.88

    def test_levels_without_an_order_are_compared_by_themselves(self):
        tree = tree_of(0.05, max_depth=2, random_state=1).fit(TABLE[:400], Y[:400])
        assert "level x label" not in tree.privacy_spent_.mechanism
        levels = [column for column in tree.partition_.derived.columns if column.kind == "levels"]
        # In an order there would be a place for every level.
        assert levels
        assert all(set(column.places) == {0, 1} for column in levels)
        assert tree.feature_importances_.shape == (5,)


class TestSources:
    @pytest.mark.parametrize("public", [None, np.arange(3000) < 30])
    def test_a_source_gives_the_bits_of_fit(self, public):
        tree = tree_of(random_state=3)
        fitted = tree_of(random_state=3).fit(TABLE, Y, is_public=public)
        frame = TABLE.assign(ill=Y)
        private = frame if public is None else frame[~public]
        source = TableSource([private[:1100], private[1100:]], features=DOMAIN.names, target="ill")
        known = None if public is None else (TABLE[public], Y[public])
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


class TestAudit:
    rng = np.random.default_rng(0)
    rows = {"X": rng.uniform(size=(60, 3)), "y": rng.integers(2, size=60)}

    def test_neighbours_lose_no_more_than_is_claimed(self):
        fuzz = sensitivity_fuzz(OfNumbers(), self.rows)
        assert fuzz.passed
        # The order's part is reached, and most of the leaves'.
        assert float(fuzz.loss) > 1.26 + 1.8

    def test_an_eighth_of_the_noise_is_refuted(self, monkeypatch):
        honest = NoisyLevelCounts.__init__

        def less(self, *arguments):
            honest(self, *arguments)
            self._mechanism = DiscreteLaplaceMechanism.from_scale(self._mechanism.scale / 8, 1)

        monkeypatch.setattr(NoisyLevelCounts, "__init__", less)
        assert not sensitivity_fuzz(OfNumbers(), self.rows).passed
