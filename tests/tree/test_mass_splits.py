# SPDX-License-Identifier: BSD-3-Clause
"""Splits of numbers and of rows with weights: exact scores, and how far a row moves them."""

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
from skprivate.rounds._driver import RowsInMemory, drive
from skprivate.rounds._plans.masses import WEIGHT_STEPS, LabelMasses, MassHistogramsPlan, NumberMasses
from skprivate.rounds._rows import PreparedRows
from skprivate.rounds._schema import RowSchema
from skprivate.rounds._sources import SourceRun
from skprivate.rounds._tables import TableColumns
from skprivate.tree._splits import (
    IMPURITY_BITS,
    contrast_scores,
    grow_private_partition,
    impurity,
    selection_noise,
    split_scores,
)

ONE = 2**IMPURITY_BITS
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
    return math.floor(3 * ONE * gaps[0] / 8) + math.floor(ONE * gaps[1] / 8)


def scores_of(plan, tables):
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
            assert abs(scores_of(plan, tables + row) - scores_of(plan, tables)).max() <= ONE // 2

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
        moves = scores_of(plan, table + rows * steps // WEIGHT_STEPS) - scores_of(plan, table)
        assert abs(moves).max() <= steps * ONE // 2

    def test_the_range_is_nearly_reached(self):
        before, after = self.far_neighbours()
        fall, rise = after - before
        assert rise - fall > 0.98 * ONE

    def far_neighbours(self):
        """Return scores of two small sides, zeros and ones, among zeros, without and with a one in both."""
        plan = MassHistogramsPlan.of(ROOT, (2, 2), NumberMasses(0.5, 0.5).for_splits())
        X = [[0.1, 0.9], [0.9, 0.1], [0.9, 0.9], [0.1, 0.1]]
        targets, counts = [0.0, 1.0, 0.0, 1.0], [10**4, 10**4, 10**7, 1]
        rows = [
            count * plan.sums(PreparedRows(np.array([x]), np.array([y])))
            for x, y, count in zip(X, targets, counts, strict=True)
        ]
        return scores_of(plan, np.array([sum(rows[:3]), sum(rows)]))


class TestWeights:
    @pytest.mark.parametrize("n_rows", [0, 1, 2])
    def test_a_row_lowers_all_scores_of_labels_by_at_most_its_weight(self, n_rows):
        plan = MassHistogramsPlan.of(ROOT, (3, 2), LabelMasses(3, largest=5))
        rows = contributions(plan, range(3), [0, 2, 5])
        tables = all_tables(rows, n_rows)
        for row in rows:
            falls = scores_of(plan, tables) - scores_of(plan, tables + row)
            # The row is in a bin of both columns.
            assert (falls.min() >= 0, falls.max() <= ONE * row.sum() // 2) == (True, True)

    def test_the_greatest_fall_is_almost_the_largest_weight(self):
        pure, mixed = np.array([[10**9, 0]]), np.array([[10**9, WEIGHT_STEPS]])
        fall = impurity(mixed) - impurity(pure)
        assert ONE * (WEIGHT_STEPS - 1) < fall[0] <= ONE * WEIGHT_STEPS

    @pytest.mark.parametrize("masses", [LabelMasses(2, 8), NumberMasses(0.5, 0.5, largest=8)])
    def test_noise_is_that_of_the_largest_weight(self, masses):
        mechanism = selection_noise(Fraction(1, 3), 2, masses.largest)
        assert mechanism.sensitivity == 2 * 2 * 8 * ONE
        assert mechanism.epsilon == Fraction(1, 3)
        rounds = grow_private_partition([0.0], [1.0], masses, [Fraction(1, 3)], 2, (4,), None)
        assert next(rounds).noise._mechanism.scale == mechanism.scale


def grow(masses, source, entropy=0, epsilons=(20, 20)):
    epsilons = [Fraction(one) for one in epsilons]
    rounds = grow_private_partition(np.zeros(2), np.ones(2), masses, epsilons, 1, (32, 32), None)
    return drive(rounds, source, check_entropy(entropy))


class TestGrowth:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    y = np.where(X[:, 0] < 0.25, 0.2, np.where(X[:, 1] < 0.5, 0.5, 0.9)) + rng.uniform(-0.1, 0.1, size=4000)

    def test_steps_of_a_function_are_found(self):
        partition = grow(NumberMasses(0.5, 0.5), RowsInMemory(PreparedRows(self.X, self.y)))
        leaf = partition.apply(self.X)
        means = np.bincount(leaf, self.y) / np.bincount(leaf)
        # The best tree of two levels leaves 1 / 60 of the variance, the uniform noise.
        assert np.mean((self.y - means[leaf]) ** 2) < 0.25 * np.var(self.y)

    def test_tables_of_a_source_give_the_same_splits(self):
        tables = [(self.X[2500:], self.y[2500:]), (self.X[:2500], self.y[:2500])]
        schema = RowSchema(columns=TableColumns(), n_features=2, bounds_y=(-5.0, 5.0))
        source, masses = TableSource(tables), NumberMasses(0.5, 0.5)
        run = SourceRun(source, schema, source.inspect(), "run")
        assert grow(masses, run, 3) == grow(masses, RowsInMemory(PreparedRows(self.X, self.y)), 3)

    @pytest.mark.parametrize("masses", [LabelMasses(2, 8), NumberMasses(0.5, 0.5, largest=8)])
    def test_rows_count_by_their_weights(self, masses):
        """A row of weight 0 is as one that is not there, a row of weight 2 as one that comes twice."""
        labels, steps = (self.y > 0.5).astype(np.int32), np.arange(4000) % 3.0
        rows = PreparedRows(self.X, self.y, labels=labels, steps=steps)
        again = np.repeat(np.arange(4000), steps.astype(int))
        same = PreparedRows(self.X[again], self.y[again], labels=labels[again], steps=np.ones(len(again)))
        other = PreparedRows(self.X, self.y, labels=labels, steps=8.0 * (self.X[:, 1] >= 0.5))
        found, expected, others = (grow(masses, RowsInMemory(some)) for some in (rows, same, other))
        assert found == expected
        assert found != others

    def test_labels_without_weights_are_counted_as_before(self):
        rows = RowsInMemory(PreparedRows(self.X, labels=(self.y > 0.5).astype(np.int32)))
        assert grow(LabelMasses(2), rows) == grow(2, rows)

    def test_choices_of_neighbours_are_as_likely_as_epsilon_allows(self):
        """By the law of two candidates whose scores a row moves far; to add it is half of replacing."""
        epsilon = Fraction(1)
        ratio = math.exp(-1 / selection_noise(epsilon).scale)
        before, after = TestContrast().far_neighbours()
        for shift in (-5 * ONE, -ONE, 0, ONE, 5 * ONE):
            odds = []
            for first, second in (before, after):
                lead = int(first - second) - int(before[0] - before[1]) + shift
                # The one behind wins if its geometric noise is so much larger; of equals the first wins.
                behind = ratio ** (lead + 1 if lead >= 0 else -lead) / (1 + ratio)
                odds.append((1 - behind, behind) if lead >= 0 else (behind, 1 - behind))
            losses = [abs(math.log(old / new)) for old, new in zip(*odds, strict=True)]
            assert max(losses) <= epsilon / 2
            if abs(shift) == 5 * ONE:
                assert max(losses) > 0.95 * epsilon / 2
