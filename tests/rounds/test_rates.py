# SPDX-License-Identifier: BSD-3-Clause
"""Counts of classes and sums of probabilities: sensitivities, spending, and shifts that meet the rates."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.noise import check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._driver import RowsInMemory, drive
from skprivate.rounds._plans.probabilities import LinearModel, ProbabilitiesPlan, class_probabilities
from skprivate.rounds._rates import NoiseShares, Sensitivity, class_rate_rounds, shift_rounds, shift_to
from skprivate.rounds._rows import PreparedRows

ONE = 2**12
LATTICE = np.array(np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])).reshape(2, -1).T


def steep(n_labels, most=1.0, but=0):
    """Probabilities of 0 and 1 in the corners."""
    slopes = np.array([[900.0, 0.0]] if n_labels == 2 else [[0, 0], [900, 0], [-900.0, 900.0]])
    model = LinearModel(np.empty(0), np.empty(0), np.full(len(slopes), -1.0), slopes.ravel())
    return ProbabilitiesPlan(model, but, most, 12)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("most", [1.0, 0.01])
def test_neighbours_move_probabilities_as_far_as_is_stated(relation, n_labels, most):
    values = [steep(n_labels, most).sums(PreparedRows(row[None])) for row in LATTICE]
    others = [np.zeros_like(values[0])] if relation == "add-remove" else values
    moved = np.array(values)[:, None] - np.array(others)
    stated = Sensitivity.of_shares(n_labels, relation)
    assert np.abs(moved).sum(axis=2).max() == stated.l1 * ONE
    assert (moved**2).sum(axis=2).max() == stated.squared_l2 * ONE**2


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    slopes=st.lists(st.sampled_from([0.0, -1.0, 1e-300, 40.0, 1e300, -1e300]), min_size=6, max_size=6),
    row=st.lists(st.sampled_from([0.0, -1.0, 1e308, np.inf, np.nan, 0.3]), min_size=2, max_size=2),
    several=st.booleans(),
    most=st.sampled_from([1.0, 0.3, 1e-9]),
)
def test_a_row_adds_no_more_than_one_whatever_the_model(slopes, row, several, most):
    slopes = np.array(slopes)[: 6 if several else 2]
    model = LinearModel(np.empty(0), np.empty(0), np.zeros(len(slopes) // 2), slopes)
    values = ProbabilitiesPlan(model, 0, most, 12).sums(PreparedRows(np.array([row])))
    assert values.min() >= 0
    assert values.sum() <= ONE


def counted(n_events, n=100_000, epsilon=1.0, n_rows=100_000):
    """Release the counts of two classes."""
    labels = (np.arange(n) < n_events).astype(np.int32)
    noise = NoiseShares(FitBudget.of(epsilon, 0, "laplace"), "replace-one")
    rows, entropy = RowsInMemory(PreparedRows(np.zeros((n, 1)), labels=labels)), check_entropy(0)
    return noise, rows, entropy, drive(class_rate_rounds(noise, 2, n_rows, None), rows, entropy)


def test_a_rare_class_is_counted_again():
    assert counted(50_000)[-1].share == Fraction(2, 100)
    known = counted(200)[-1]
    assert known.share == Fraction(10, 100)
    # One count of sensitivity 1 gives both; two releases of 2 and 8 % are worth one of sqrt(68) %.
    assert known.std == pytest.approx(np.sqrt(2) / 0.0825, rel=0.01)
    assert known.counts.sum() == pytest.approx(100_000)
    assert counted(200, n_rows=None)[-1].std > known.std


def test_the_mean_prediction_is_moved_to_the_rate():
    noise, rows, entropy, known = counted(1000, epsilon=50.0)
    # All rows have the logit -3, and one in a hundred is an event.
    model = LinearModel(np.empty(0), np.empty(0), np.array([-3.0]), np.array([0.0]))
    spread = np.full(2, 0.1)
    shift = drive(shift_rounds(noise, model, np.full((9, 1), -3.0), known, spread), rows, entropy)
    assert class_probabilities(shift[None] - 3.0)[0, 1] == pytest.approx(0.01, rel=0.02)


def test_a_shift_meets_the_targets():
    scores = np.random.default_rng(0).normal(0, 2, (500, 3))
    targets = np.array([0.9, 0.09, 0.01])
    found = class_probabilities(scores + shift_to(scores, targets)).mean(axis=0)
    np.testing.assert_allclose(found, targets, rtol=1e-6)
