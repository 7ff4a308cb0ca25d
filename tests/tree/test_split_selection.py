# SPDX-License-Identifier: BSD-3-Clause
"""Splits that private rows choose: exact scores, their sensitivity, the law of the choice, and the rounds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skprivate.noise import check_entropy
from skprivate.partition import Partition
from skprivate.rounds import TableSource
from skprivate.rounds._driver import RowsInMemory, drive, open_record
from skprivate.rounds._plans.masses import MOST_COUNTS, HistogramsPlan
from skprivate.rounds._rows import PreparedRows
from skprivate.rounds._schema import RowSchema
from skprivate.rounds._sources import SourceRun
from skprivate.rounds._tables import TableColumns
from skprivate.tree._splits import (
    IMPURITY_BITS,
    SplitSelection,
    chosen_splits,
    grow_private_partition,
    impurity,
    most_levels,
    selection_noise,
    split_scores,
)

ONE_ROW = 2**IMPURITY_BITS
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(4000, 3))
LABELS = ((X[:, 0] > 0.6) ^ (X[:, 2] > 0.4)).astype(np.int32)


def exact_impurity(counts):
    n = sum(counts)
    half_gini = (n - Fraction(sum(c * c for c in counts), n)) / 2 if n else Fraction(0)
    return math.floor(ONE_ROW * half_gini)


class TestScores:
    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.integers(0, 2**36), min_size=2, max_size=10), st.integers(0, 36))
    @example([2**39, 2**39], 0)
    @example([2**31 - 1, 0], 0)
    @example([2**30, 2**30 - 1], 0)
    @example([0] * 10, 0)
    def test_impurity_is_exact(self, counts, shift):
        counts = [count >> shift for count in counts]
        assert impurity(np.array([counts])).tolist() == [exact_impurity(counts)]

    @pytest.mark.parametrize("n_labels", [2, 3, 10])
    def test_a_score_is_minus_the_impurity_of_both_sides(self, n_labels):
        table = RNG.integers(50, size=(3, n_labels, 6))
        for node, k in itertools.product(range(3), range(5)):
            sides = table[node, :, : k + 1].sum(axis=1), table[node, :, k + 1 :].sum(axis=1)
            expected = -sum(exact_impurity(side.tolist()) for side in sides)
            assert split_scores(table)[node, k] == expected

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.integers(0, 2**36), min_size=2, max_size=10), st.integers(0, 36), st.data())
    @example([0, 10**6], 0, None)
    def test_a_row_adds_between_nothing_and_one_to_an_impurity(self, counts, shift, data):
        counts = [count >> shift for count in counts]
        more = counts.copy()
        more[0 if data is None else data.draw(st.integers(0, len(counts) - 1))] += 1
        rise = impurity(np.array([more])) - impurity(np.array([counts]))
        assert 0 <= rise[0] <= ONE_ROW

    @pytest.mark.parametrize(("n_labels", "n_rows"), [(2, 0), (2, 1), (2, 4), (3, 3)])
    def test_a_row_lowers_all_scores_by_at_most_one_in_all_small_tables(self, n_labels, n_rows):
        """Two columns of three and two bins: 6 places for a row of each label."""
        plan = plan_of((3, 2), n_labels)
        places = itertools.product([0.1, 0.5, 0.9], [0.1, 0.9], range(n_labels))
        rows = [plan.sums(rows_of([x], [label])) for *x, label in places]
        tables = [sum(table, np.zeros(plan.n_sums, dtype=np.int64)) for table in multisets(rows, n_rows)]
        after = [table + row for table in tables for row in rows]
        falls = np.repeat(scores_of(plan, tables), len(rows), axis=0) - scores_of(plan, after)
        assert falls.min() == 0
        # Of n rows of one label and one of another it is n / (n + 1).
        assert falls.max() == ONE_ROW * n_rows // (n_rows + 1)

    def test_the_greatest_fall_is_almost_one(self):
        pure, mixed = np.array([[10**6, 0]]), np.array([[10**6, 1]])
        assert impurity(mixed)[0] - impurity(pure)[0] == ONE_ROW - 1


def plan_of(n_bins, n_labels, n_nodes=1):
    """Nodes are slices of one more column, of two bins."""
    d = len(n_bins)
    depth = (n_nodes - 1).bit_length()
    feature = np.repeat([d, -1], [2**depth - 1, 2**depth]) if depth else [-1]
    cuts = [(2 * k + 1) / 2 ** (level + 1) for level in range(depth) for k in range(2**level)]
    bins = (*n_bins, 2) if depth else n_bins
    size = len(bins)
    return HistogramsPlan(Partition.from_splits(feature, cuts, [0.0] * size, [1.0] * size), bins, n_labels)


def rows_of(places, labels):
    return PreparedRows(np.array(places, dtype=np.float64), labels=np.array(labels, dtype=np.int32))


def multisets(rows, size):
    return itertools.combinations_with_replacement(rows, size)


def scores_of(plan, tables):
    """Return the scores of many tables of one node, or of one table of many nodes."""
    counts = np.concatenate(tables).reshape(-1, plan.n_labels, sum(plan.n_bins))
    parts = np.split(counts, np.cumsum(plan.n_bins)[:-1], axis=2)
    return np.concatenate([split_scores(part) for part in parts], axis=1)


def law_of_choice(scores, scale):
    """Exact probabilities of report-noisy-max with geometric noise, first of equals, to some 1e-13."""
    scores = np.array(scores)
    # From the highest score on: a noise below leaves the candidate behind it.
    x = np.arange(int(40 * scale))
    law = []
    for i, score in enumerate(scores):
        start = max(scores.max() - score, 0)
        noise = start + x
        mass = np.exp(-noise / scale) * -np.expm1(-1 / scale)
        for j, other in enumerate(scores):
            if j != i:
                # The other's noise is at most so much; before it in the list, less by one.
                most = score + noise - other - (j < i)
                mass = mass * np.where(most < 0, 0.0, -np.expm1(-(np.maximum(most, 0) + 1) / scale))
        law.append(mass.sum())
    return np.array(law)


class TestLaw:
    """One node of two candidates or three, and neighbours that differ in one row or two."""

    def test_of_the_exact_enumeration(self):
        for scores in ([0, 0], [-5, -9, -7], [-1000, -1, -3000]):
            law = law_of_choice(scores, 20.0)
            assert abs(law.sum() - 1) < 1e-12
        # By hand: the second wins if its noise is the larger, and r is the ratio of the geometric law.
        r = math.exp(-1 / 20)
        np.testing.assert_allclose(law_of_choice([0, 0], 20.0)[1], r / (1 + r), atol=1e-12)

    @pytest.mark.statistical
    @pytest.mark.parametrize(
        ("epsilon", "where"),
        [
            (0.5, [[0.1, 0.1], [0.5, 0.9], [0.9, 0.9], [0.5, 0.1]]),
            (4.0, [[0.1, 0.1], [0.5, 0.9], [0.9, 0.9], [0.5, 0.1]]),
            # Three equal scores, and noise of a few steps: zero, and which of equals is the first, count.
            (3000.0, [[0.1, 0.1], [0.9, 0.9], [0.9, 0.9], [0.1, 0.1]]),
        ],
    )
    def test_the_choice_has_this_law(self, epsilon, where):
        """Seeded. Of 12,288 choices no share is 6.2 standard errors off, but for one seed in 10^8."""
        plan = plan_of((3, 2), 2, n_nodes=4096)
        labels = np.array([0, 1, 1, 0], dtype=np.int32)
        rows = np.column_stack([np.tile(where, (4096, 1)), np.repeat((np.arange(4096) + 0.25) / 4096, 4)])
        sums = plan.sums(PreparedRows(rows, labels=np.tile(labels, 4096)))
        scores = scores_of(plan, [sums])
        assert (scores == scores[0]).all()
        selection = SplitSelection(plan, selection_noise(epsilon))
        law = law_of_choice(scores[0], float(selection_noise(epsilon).scale))
        entropy = check_entropy(7)
        chosen = np.concatenate([selection.randomize(sums, entropy) for _ in range(3)])
        found = np.bincount(chosen, minlength=len(law)) / len(chosen)
        assert (np.abs(found - law) <= 6.2 * np.sqrt(law * (1 - law) / len(chosen))).all()

    def neighbours(self):
        """Scores before and after a row, which lowers the first candidate by almost one, the second by 0."""
        plan = plan_of((2, 2), 2)
        places, labels = [[0.1, 0.1]] * 200 + [[0.9, 0.1]] * 3, [0] * 200 + [1] * 3
        tables = rows_of(places, labels), rows_of([*places, [0.1, 0.9]], [*labels, 1])
        return scores_of(plan, [plan.sums(rows) for rows in tables])

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
    def test_of_neighbours_is_within_the_claim_and_reaches_it_nearly(self, epsilon):
        before, after = self.neighbours()
        assert ONE_ROW - (before - after)[0] < 10
        assert (before - after)[1] == 0
        scale = float(selection_noise(epsilon).scale)
        # One row that is added is half of what replacing one is.
        loss = epsilon / 2
        for gap in (-4 * ONE_ROW, -ONE_ROW, 0, ONE_ROW, 4 * ONE_ROW):
            shift = np.array([0, before[0] - before[1] + gap])
            ratios = np.log(law_of_choice(before + shift, scale) / law_of_choice(after + shift, scale))
            assert (np.abs(ratios) <= loss + 1e-12).all()
            if gap == 4 * ONE_ROW:
                assert np.abs(ratios).max() > 0.98 * loss
                # Half of the noise is not enough.
                short = [law_of_choice(scores + shift, scale / 2) for scores in (before, after)]
                assert np.abs(np.log(short[0] / short[1])).max() > 1.5 * loss

    @settings(max_examples=15, deadline=None)
    @given(st.data())
    def test_replacing_a_row_costs_at_most_epsilon(self, data):
        """Two nodes choose independently: the law of both is the product."""
        n_labels = data.draw(st.sampled_from([2, 3, 10]))
        plan, scale = plan_of((3, 2), n_labels, n_nodes=2), float(selection_noise(2.0).scale)
        row = st.tuples(*[st.sampled_from([0.1, 0.5, 0.9])] * 3, st.integers(0, n_labels - 1))
        rest = data.draw(st.lists(row, max_size=6))
        laws = []
        for one in (data.draw(row), data.draw(row)):
            table = [*rest * 5, one]
            rows = rows_of([x for *x, _ in table], [label for *_, label in table])
            first, second = (law_of_choice(scores, scale) for scores in scores_of(plan, [plan.sums(rows)]))
            laws.append(np.outer(first, second))
        assert np.abs(np.log(laws[0] / laws[1])).max() <= 2.0 + 1e-9


class TestNoise:
    @settings(max_examples=100, deadline=None)
    @given(st.floats(1e-9, 1e6), st.integers(1, 50))
    @example(0.1, 1)
    @example(1 / 3, 7)
    def test_costs_what_is_asked_at_most(self, epsilon, rows_per_unit):
        mechanism = selection_noise(epsilon, rows_per_unit)
        assert mechanism.sensitivity == 2 * rows_per_unit * ONE_ROW
        assert mechanism.epsilon == mechanism.sensitivity / Fraction(mechanism.scale)
        assert Fraction(epsilon) * Fraction(999, 1000) < mechanism.epsilon <= Fraction(epsilon)

    def test_fractions_are_spent_exactly(self):
        assert selection_noise(Fraction(1, 30), 3).epsilon == Fraction(1, 30)

    def test_too_small_an_epsilon_is_refused(self):
        with pytest.raises(ValueError, match="epsilon is too small"):
            selection_noise(1e-13)


def grow(source, entropy, n_labels=2, epsilons=(8, 8, 8), n_bins=(32, 2, 5), record=None):
    width = len(n_bins)
    rounds = grow_private_partition(
        np.zeros(width), np.ones(width), n_labels, [Fraction(e) for e in epsilons], 1, n_bins, None
    )
    return drive(rounds, source, check_entropy(entropy), record=record)


class TestRounds:
    def test_an_interaction_is_found(self):
        partition = grow(RowsInMemory(PreparedRows(X, labels=LABELS)), 1, epsilons=(2, 2))
        assert partition.max_depth == 2
        leaf = partition.apply(X)
        counts = np.zeros((partition.n_leaves, 2))
        np.add.at(counts, (leaf, LABELS), 1)
        # The largest label of a leaf is right about 60 % without splits.
        assert counts.max(axis=1).sum() > 0.9 * len(X)

    @pytest.mark.parametrize("n_labels", [2, 3, 10])
    def test_thresholds_are_those_of_the_boxes(self, n_labels):
        labels = RNG.integers(n_labels, size=len(X)).astype(np.int32)
        partition = grow(RowsInMemory(PreparedRows(X, labels=labels)), 0, n_labels, n_bins=(8, 2, 4))
        assert partition.n_leaves == 8
        for depth in range(3):
            plan = HistogramsPlan(partition.truncate(depth), (8, 2, 4), n_labels)
            inner = np.flatnonzero(partition.depth == depth)
            for node, (feature, cut) in enumerate(zip(partition.feature, partition.threshold, strict=True)):
                if node in inner:
                    place = np.repeat(np.arange(3), [7, 1, 3]) == feature
                    assert cut in plan.thresholds[node - inner[0]][place]

    def test_tables_of_a_source_give_the_same_splits(self):
        tables = [(X[2500:], LABELS[2500:]), (X[:100], LABELS[:100]), (X[100:2500], LABELS[100:2500])]
        schema = RowSchema(columns=TableColumns(), n_features=3, classes=np.array([0, 1]))
        source = TableSource(tables)
        run = SourceRun(source, schema, source.inspect(), "run")
        in_memory = grow(RowsInMemory(PreparedRows(X, labels=LABELS)), 3)
        assert grow(run, 3) == in_memory
        assert grow(run, 4) != in_memory

    @pytest.mark.parametrize("dies_at", [1, 2])
    def test_a_run_that_was_stopped_goes_on(self, tmp_path, dies_at):
        rows = PreparedRows(X, labels=LABELS)

        class Mortal(RowsInMemory):
            def sums(self, number, plan):
                if number == dies_at:
                    raise InterruptedError
                return super().sums(number, plan)

        with pytest.raises(InterruptedError), open_record(tmp_path / "run", "fit") as record:
            grow(Mortal(rows), 5, record=record)
        with open_record(tmp_path / "run", "fit") as record:
            assert grow(RowsInMemory(rows), 5, record=record) == grow(RowsInMemory(rows), 5)

    def test_the_first_round_is_charged(self):
        rounds = grow_private_partition([0.0], [1.0], 2, [Fraction(1)] * 2, 1, (4,), "cost")
        first = next(rounds)
        second = rounds.send(np.array([2]))
        assert (first.spent, second.spent) == ("cost", None)
        with pytest.raises(StopIteration) as end:
            rounds.send(np.array([0, 1]))
        assert end.value.value.threshold[:3].tolist() == [0.75, 0.1875, 0.875]

    def test_nodes_without_width_stay_leaves(self):
        point = grow_private_partition([1.0, 2.0], [1.0, 2.0], 2, [Fraction(1)], 1, (4, 4), None)
        with pytest.raises(StopIteration) as end:
            next(point)
        assert end.value.value.n_leaves == 1
        # A box of two numbers: the right side of its one split is a point.
        box = [1.0], [math.nextafter(1, 2)]
        rounds = grow_private_partition(*box, 2, [Fraction(1)] * 3, 1, (4,), None)
        rows = RowsInMemory(rows_of(np.ones((5, 1)), np.zeros(5)))
        partition = drive(rounds, rows, check_entropy(0))
        assert partition.depth[partition.leaf_index >= 0].tolist() == [1, 2, 3, 3]

    def test_a_node_without_candidates_says_so(self):
        plan = HistogramsPlan(Partition.from_splits([0, -1, -1], [1.0], [0.0], [1.0]), (3,), 2)
        chosen = SplitSelection(plan, selection_noise(1)).randomize(np.zeros(plan.n_sums, dtype=np.int64), 0)
        assert chosen.dtype == np.int64
        assert (chosen[0] in (0, 1), chosen[1]) == (True, -1)
        feature, threshold = chosen_splits(plan, chosen)
        assert feature.tolist() == [0, -1]
        assert threshold[0] == (chosen[0] + 1) / 3
        assert np.isnan(threshold[1])

    def test_columns_without_width_are_never_chosen(self):
        rounds = grow_private_partition([0.0, 5.0], [1.0, 5.0], 2, [Fraction(1, 100)] * 5, 1, (2, 32), None)
        rows = RowsInMemory(rows_of(X[:, :2], LABELS))
        assert set(drive(rounds, rows, check_entropy(0)).feature.tolist()) == {0}

    def test_what_cannot_be_done_is_refused_before_the_first_round(self):
        for epsilons, n_bins, match in (
            ([Fraction(1)] * 30, (32, 32), "1 GiB"),
            ([Fraction(1), Fraction(1, 10**14)], (4, 4), "epsilon is too small"),
        ):
            with pytest.raises(ValueError, match=match):
                next(grow_private_partition(np.zeros(2), np.ones(2), 2, epsilons, 1, n_bins, None))

    @pytest.mark.parametrize(
        ("n_bins", "n_labels"), [((32,) * 10, 2), ((2,), 2), ((3, 5), 10), ((2**24,), 10)]
    )
    def test_there_is_room_for_the_last_level(self, n_bins, n_labels):
        levels = most_levels(n_bins, n_labels)
        assert levels == 0 or 2 ** (levels - 1) * sum(n_bins) * n_labels <= MOST_COUNTS
        assert 2**levels * sum(n_bins) * n_labels > MOST_COUNTS
