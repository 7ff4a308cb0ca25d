# SPDX-License-Identifier: BSD-3-Clause
"""Splits that private rows choose: exact scores, their sensitivity, the law of the choice, rounds."""

import itertools
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain
from skprivate.noise import check_entropy
from skprivate.partition import Partition
from skprivate.rounds._driver import RowsInMemory, drive
from skprivate.rounds._plans.masses import (
    MOST_COUNTS,
    WEIGHT_STEPS,
    HistogramsPlan,
    LabelMasses,
    MassHistogramsPlan,
    NumberMasses,
)
from skprivate.rounds._rows import PreparedRows
from skprivate.tree._rows import NoisyHistogram
from skprivate.tree._splits import (
    IMPURITY_BITS,
    N_BINS,
    ComparedColumns,
    NoisyLevelCounts,
    SplitSelection,
    columns_to_order,
    contrast_scores,
    grow_private_partition,
    impurity,
    level_places,
    most_levels,
    narrow_bounds,
    selection_noise,
    split_scores,
)
from tests.tree.levels import DOMAIN, ILL, JOBS, TABLE

ONE_ROW = 2**IMPURITY_BITS
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(4000, 3))


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


def grow(source, entropy, n_labels=2, epsilons=(8, 8, 8), n_bins=(32, 2, 5), record=None):
    width = len(n_bins)
    rounds = grow_private_partition(
        np.zeros(width), np.ones(width), n_labels, [Fraction(e) for e in epsilons], 1, n_bins, None
    )
    return drive(rounds, source, check_entropy(entropy), record=record)


class TestRounds:
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

    def test_the_first_round_is_charged(self):
        rounds = grow_private_partition([0.0], [1.0], 2, [Fraction(1)] * 2, 1, (4,), "cost")
        first = next(rounds)
        second = rounds.send(np.array([2]))
        assert (first.spent, second.spent) == ("cost", None)
        with pytest.raises(StopIteration) as end:
            rounds.send(np.array([0, 1]))
        assert end.value.value.threshold[:3].tolist() == [0.75, 0.1875, 0.875]

    @pytest.mark.parametrize(
        ("n_bins", "n_labels"), [((32,) * 10, 2), ((2,), 2), ((3, 5), 10), ((2**24,), 10)]
    )
    def test_there_is_room_for_the_last_level(self, n_bins, n_labels):
        levels = most_levels(n_bins, n_labels)
        assert levels == 0 or 2 ** (levels - 1) * sum(n_bins) * n_labels <= MOST_COUNTS
        assert 2**levels * sum(n_bins) * n_labels > MOST_COUNTS


# Numbers, and rows with weights

ROOT = Partition.from_splits([-1], [], [0.0, 0.0], [1.0, 1.0])
# The numbers of two columns that are in the bins of (3, 2), and those of a target at and between its bounds.
PLACES = list(itertools.product([0.1, 0.5, 0.9], [0.1, 0.9]))
TARGETS = [-1e9, 0.0, 0.3, 1.0]


def exact_contrast(left, right, one):
    """Return the score of two lists of (weight, sum in units of one)."""
    (n, total), (more, other) = sorted([left, right])
    if not n:
        return 0
    mean, node = Fraction(other, more * one), Fraction(total + other, (n + more) * one)
    gaps = [abs(Fraction(total, one) - n * value) for value in (mean, node)]
    return math.floor(3 * ONE_ROW * gaps[0] / 8) + math.floor(ONE_ROW * gaps[1] / 8)


def mass_scores(plan, tables):
    """Return the scores of many tables of one node, of shape (n_tables, n_candidates)."""
    parts = np.split(np.reshape(tables, (-1, plan.n_labels, sum(plan.n_bins))), plan.first_bins[1:], axis=2)
    if plan.masses.kind == "labels":
        return np.concatenate([split_scores(part) for part in parts], axis=1)
    return np.concatenate([contrast_scores(part, plan.masses.bits) for part in parts], axis=1)


def contributions(plan, targets, steps):
    """Return what rows of all places, targets and weights add to the sums, of shape (n_rows, n_sums)."""
    rows = [
        plan.sums(
            PreparedRows(np.array([x]), np.array([float(y)]), labels=np.array([int(y) % 3]), steps=step)
        )
        for x, y in itertools.product(PLACES, targets)
        for step in (np.array([float(one)]) for one in steps)
    ]
    return np.array(rows)


def all_tables(rows, size):
    """Return the sums of all choices of so many of the rows."""
    choices = list(itertools.combinations_with_replacement(range(len(rows)), size))
    return rows[np.array(choices, dtype=np.int64).reshape(len(choices), size)].sum(axis=1)


class TestContrast:
    @settings(max_examples=300, deadline=None)
    @given(
        bits=st.integers(1, 20),
        sides=st.lists(st.tuples(st.integers(0, 2**40), st.fractions(0, 1)), min_size=2, max_size=6),
        shift=st.integers(0, 40),
    )
    @example(bits=10, sides=[(2**30, Fraction(1)), (2**30 - 1, Fraction(0))], shift=0)
    @example(bits=20, sides=[(2**30, Fraction(1, 3)), (2**30, Fraction(1, 7))], shift=0)
    @example(bits=1, sides=[(0, Fraction(0)), (0, Fraction(0))], shift=0)
    @example(bits=10, sides=[(5, Fraction(1, 3)), (0, Fraction(0)), (7, Fraction(2, 3))], shift=0)
    def test_is_exact(self, bits, sides, shift):
        one = 2**bits
        bins = [(n >> shift, math.floor((n >> shift) * one * share)) for n, share in sides]
        table = np.array([[[n * one - total for n, total in bins], [total for _, total in bins]]])
        for k, score in enumerate(contrast_scores(table, bits)[0].tolist(), start=1):
            left, right = (
                [sum(column) for column in zip(*part, strict=True)] for part in (bins[:k], bins[k:])
            )
            assert score == exact_contrast(left, right, one)

    @pytest.mark.parametrize(("bits", "n_rows"), [(2, 0), (2, 1), (1, 3), (2, 2)])
    def test_a_row_moves_all_scores_by_at_most_a_half_in_all_small_tables(self, bits, n_rows):
        plan = MassHistogramsPlan.of(ROOT, (3, 2), NumberMasses(0.5, 0.5, bits).for_splits())
        rows = contributions(plan, TARGETS, [1])
        tables = all_tables(rows, n_rows)
        for row in rows:
            assert abs(mass_scores(plan, tables + row) - mass_scores(plan, tables)).max() <= ONE_ROW // 2

    @settings(max_examples=200, deadline=None)
    @given(st.data())
    def test_a_weight_moves_all_scores_by_at_most_its_half_in_large_tables(self, data):
        """Rows of two or three kinds, up to thousands of each: sides that are pure, empty or equal."""
        masses = NumberMasses(0.5, 0.5, 10, 1, WEIGHT_STEPS)
        plan = MassHistogramsPlan.of(ROOT, (3, 2), masses)
        rows = contributions(plan, TARGETS, [WEIGHT_STEPS])
        some = st.tuples(st.sampled_from(list(rows)), st.sampled_from([1, 2, 7, 1000, 1001, 10**6]))
        table = sum((count * row for row, count in data.draw(st.lists(some, max_size=3))), 0 * rows[0])
        steps = data.draw(st.sampled_from([1, 3, WEIGHT_STEPS]))
        moves = mass_scores(plan, table + rows * steps // WEIGHT_STEPS) - mass_scores(plan, table)
        assert abs(moves).max() <= steps * ONE_ROW // 2

    def test_the_range_is_nearly_reached(self):
        before, after = self.far_neighbours()
        fall, rise = after - before
        assert rise - fall > 0.98 * ONE_ROW

    def far_neighbours(self):
        """Return scores of two small sides, zeros and ones, among zeros, without and with a one in both."""
        plan = MassHistogramsPlan.of(ROOT, (2, 2), NumberMasses(0.5, 0.5).for_splits())
        X = [[0.1, 0.9], [0.9, 0.1], [0.9, 0.9], [0.1, 0.1]]
        targets, counts = [0.0, 1.0, 0.0, 1.0], [10**4, 10**4, 10**7, 1]
        rows = [
            count * plan.sums(PreparedRows(np.array([x]), np.array([y])))
            for x, y, count in zip(X, targets, counts, strict=True)
        ]
        return mass_scores(plan, np.array([sum(rows[:3]), sum(rows)]))


class TestWeights:
    def test_the_greatest_fall_is_almost_the_largest_weight(self):
        pure, mixed = np.array([[10**9, 0]]), np.array([[10**9, WEIGHT_STEPS]])
        fall = impurity(mixed) - impurity(pure)
        assert ONE_ROW * (WEIGHT_STEPS - 1) < fall[0] <= ONE_ROW * WEIGHT_STEPS

    @pytest.mark.parametrize("masses", [LabelMasses(2, 8), NumberMasses(0.5, 0.5, largest=8)])
    def test_noise_is_that_of_the_largest_weight(self, masses):
        mechanism = selection_noise(Fraction(1, 3), 2, masses.largest)
        assert mechanism.sensitivity == 2 * 2 * 8 * ONE_ROW
        assert mechanism.epsilon == Fraction(1, 3)
        rounds = grow_private_partition([0.0], [1.0], masses, [Fraction(1, 3)], 2, (4,), None)
        assert next(rounds).noise._mechanism.scale == mechanism.scale


def grow_masses(masses, source, entropy=0, epsilons=(20, 20)):
    epsilons = [Fraction(one) for one in epsilons]
    rounds = grow_private_partition(np.zeros(2), np.ones(2), masses, epsilons, 1, (32, 32), None)
    return drive(rounds, source, check_entropy(entropy))


class TestMasses:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    y = np.where(X[:, 0] < 0.25, 0.2, np.where(X[:, 1] < 0.5, 0.5, 0.9)) + rng.uniform(-0.1, 0.1, size=4000)

    def test_steps_of_a_function_are_found(self):
        partition = grow_masses(NumberMasses(0.5, 0.5), RowsInMemory(PreparedRows(self.X, self.y)))
        leaf = partition.apply(self.X)
        means = np.bincount(leaf, self.y) / np.bincount(leaf)
        # The best tree of two levels leaves 1 / 60 of the variance, the uniform noise.
        assert np.mean((self.y - means[leaf]) ** 2) < 0.25 * np.var(self.y)

    @pytest.mark.parametrize("masses", [LabelMasses(2, 8), NumberMasses(0.5, 0.5, largest=8)])
    def test_rows_count_by_their_weights(self, masses):
        """A row of weight 0 is as one that is not there, a row of weight 2 as one that comes twice."""
        labels, steps = (self.y > 0.5).astype(np.int32), np.arange(4000) % 3.0
        rows = PreparedRows(self.X, self.y, labels=labels, steps=steps)
        again = np.repeat(np.arange(4000), steps.astype(int))
        same = PreparedRows(self.X[again], self.y[again], labels=labels[again], steps=np.ones(len(again)))
        other = PreparedRows(self.X, self.y, labels=labels, steps=8.0 * (self.X[:, 1] >= 0.5))
        found, expected, others = (grow_masses(masses, RowsInMemory(some)) for some in (rows, same, other))
        assert found == expected
        assert found != others

    def test_labels_without_weights_are_counted_as_before(self):
        rows = RowsInMemory(PreparedRows(self.X, labels=(self.y > 0.5).astype(np.int32)))
        assert grow_masses(LabelMasses(2), rows) == grow_masses(2, rows)

    def test_choices_of_neighbours_are_as_likely_as_epsilon_allows(self):
        """By the law of two candidates whose scores a row moves far; to add it is half of replacing."""
        epsilon = Fraction(1)
        ratio = math.exp(-1 / selection_noise(epsilon).scale)
        before, after = TestContrast().far_neighbours()
        for shift in (-5 * ONE_ROW, -ONE_ROW, 0, ONE_ROW, 5 * ONE_ROW):
            odds = []
            for first, second in (before, after):
                lead = int(first - second) - int(before[0] - before[1]) + shift
                # The one behind wins if its geometric noise is so much larger; of equals the first wins.
                behind = ratio ** (lead + 1 if lead >= 0 else -lead) / (1 + ratio)
                odds.append((1 - behind, behind) if lead >= 0 else (behind, 1 - behind))
            losses = [abs(math.log(old / new)) for old, new in zip(*odds, strict=True)]
            assert max(losses) <= epsilon / 2
            if abs(shift) == 5 * ONE_ROW:
                assert max(losses) > 0.95 * epsilon / 2


# Narrower bounds of numbers

NOISE = NoisyHistogram(1.0, N_BINS, 1, 1)
DECLARED = np.array([-16.0, 16.0])


def counts_of(filled):
    """Exact counts: 1,000 rows in every bin from the first number to the second, and none elsewhere."""
    counts = np.zeros((N_BINS, 1), dtype=np.int64)
    counts[slice(*filled)] = 1000
    return counts


class TestBounds:
    @pytest.mark.parametrize("filled", [(0, 32), (14, 18), (0, 3), (31, 32), (5, 32)])
    def test_are_the_edges_of_the_bins_that_hold_rows(self, filled):
        expected = [filled[0] - 16, filled[1] - 16]
        np.testing.assert_allclose(narrow_bounds(counts_of(filled), NOISE, DECLARED), expected)

    def test_are_the_declared_ones_where_noise_hides_a_fifth_of_the_rows(self):
        counts = counts_of((14, 18))
        # Two standard deviations of the noise of one bin: 800 of 4,000 rows, just above and below.
        for scale, kept in ((300, [-16, 16]), (2, [-2, 2])):
            noise = NoisyHistogram(Fraction(2, scale), N_BINS, 1, 1)
            np.testing.assert_allclose(narrow_bounds(counts, noise, DECLARED), kept)

    def test_are_the_declared_ones_where_no_bin_is_left(self):
        np.testing.assert_array_equal(narrow_bounds(counts_of((0, 0)), NOISE, DECLARED), DECLARED)


# Order of declared levels


class TestLevelCounts:
    def test_a_row_counts_once_in_every_table(self):
        plan = ComparedColumns(DOMAIN.groups, (0, 2), 2).plan(LabelMasses(2))
        counts = plan.sums(PreparedRows(DOMAIN.encode(TABLE), labels=ILL.astype(np.int32)))
        of_jobs = [
            [
                ((TABLE["job"].isna() if job is None else TABLE["job"] == job) & (label == ILL)).sum()
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


class TestColumnsToOrder:
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


class TestPlacesOfLevels:
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


class TestComparedColumns:
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
