# SPDX-License-Identifier: BSD-3-Clause
"""Released tables of counts: the noise fits the sensitivity, the charge comes first."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from skprivate import PrivacyLedger
from skprivate.audit import audit_epsilon
from skprivate.evaluation._counts import DIGITS, plan_noise, release_counts
from skprivate.exceptions import BudgetExceededError
from skprivate.noise import DiscreteLaplaceMechanism, zcdp_to_epsilon
from skprivate.utils._arguments import number_units

KINDS = [("laplace", 0), ("gaussian", 1e-6)]


def release(codes, sizes, noise, **options):
    codes = [np.asarray(column) for column in codes]
    return release_counts(codes, sizes, noise, name="count", what="cells", **options)


def tables_of(rows, sizes):
    """Return the counts of rows, a tuple of cells each."""
    return np.concatenate(
        [np.bincount([row[t] for row in rows], minlength=size) for t, size in enumerate(sizes)]
    )


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows_per_unit", [1, 2])
def test_no_neighbours_differ_by_more_than_the_noise_is_planned_for(relation, rows_per_unit):
    sizes = (2, 3)
    cells = list(itertools.product(*map(range, sizes)))
    persons = [
        person
        for count in range(rows_per_unit + 1)
        for person in itertools.combinations_with_replacement(cells, count)
        if relation == "add-remove" or count
    ]
    others = [()] if relation == "add-remove" else persons
    moved = [tables_of(a, sizes) - tables_of(b, sizes) for a in persons for b in others if a or b]
    laplace = plan_noise(2, 1.0, relation=relation, rows_per_unit=rows_per_unit)
    assert laplace.mechanism.sensitivity == max(int(np.abs(move).sum()) for move in moved) * 2**DIGITS
    gaussian = plan_noise(2, 1.0, 1e-6, "gaussian", relation, rows_per_unit)
    worst = max(int((move.astype(int) ** 2).sum()) for move in moved)
    assert gaussian.mechanism.squared_sensitivity == worst * 4**DIGITS


@pytest.mark.parametrize(("mechanism", "delta"), KINDS)
def test_statement_is_what_the_noise_spends(mechanism, delta):
    noise = plan_noise(3, Fraction(1, 2), delta, mechanism)
    spent = release([[0], [1], [0]], [2, 2, 2], noise).spent
    assert spent.epsilon <= Fraction(1, 2)
    if mechanism == "laplace":
        assert (spent.sensitivity, spent.noise_scale, spent.delta) == (6 * 2**DIGITS, 12 * 2**DIGITS, 0)
    else:
        assert spent.epsilon == zcdp_to_epsilon(spent.rho, spent.delta)
        assert spent.rho == Fraction(6 * 4**DIGITS, 2 * noise.mechanism.sigma**2)


def test_auto_takes_the_smaller_noise():
    assert plan_noise(1, 1.0, 1e-6).name == "laplace"
    assert plan_noise(100, 1.0, 1e-6).name == "gaussian"
    assert plan_noise(100, 1.0).name == "laplace"
    for n_tables in (1, 8, 9, 10, 11, 30):
        both = [plan_noise(n_tables, 1.0, delta, kind).std for kind, delta in KINDS]
        assert plan_noise(n_tables, 1.0, 1e-6).std == min(both)


@pytest.mark.parametrize(("mechanism", "delta"), KINDS)
def test_noise_has_the_stated_spread_and_no_bias(mechanism, delta):
    noise = plan_noise(2, 1.0, delta, mechanism)
    drawn = noise.draw((20_000,), 0)
    # Of a mean of 20,000, six standard errors: false alarms below 1e-8. The fourth moment of Laplace noise
    # is 6 std^4, so the relative error of the variance has the standard deviation sqrt(5 / 20,000) = .016.
    assert abs(drawn.mean()) < 6 * noise.std / math.sqrt(20_000)
    assert abs(drawn.var() / noise.std**2 - 1) < 6 * 0.016


def test_charge_comes_before_the_noise_and_a_refusal_draws_none(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(DiscreteLaplaceMechanism, "randomize", refuse)
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=1)
    with pytest.raises(BudgetExceededError):
        release([[0, 1]], [2], plan_noise(1, 1.5), ledger=ledger)
    assert ledger.entries() == []
    with pytest.raises(AssertionError, match="noise was drawn"):
        release([[0, 1]], [2], plan_noise(1, 0.5), ledger=ledger)
    assert [entry.estimator for entry in ledger.entries()] == ["count"]


def test_persons_count_with_as_many_rows_as_declared():
    units = number_units(np.repeat([1, 2], 500), np.ones(1000, dtype=bool))
    codes = np.repeat([0, 1], 500)
    released = release([codes], [2], plan_noise(1, 1000.0, rows_per_unit=3), units=units)
    # Scale 6 / 1000: noise of half a row has a probability below 1e-35.
    assert np.round(released.tables[0]).tolist() == [3.0, 3.0]
    assert released.spent.unit == "group"
    assert released.spent.max_rows_per_unit == 3


def test_an_audit_finds_half_of_the_noise_and_not_all_of_it():
    honest, halved = plan_noise(1, 1.5), plan_noise(1, 3.0)

    def outputs(noise, row, seed):
        rng = np.random.default_rng(seed)
        drawn = [release([[0, row]], [2], noise, random_state=rng).tables[0] for _ in range(4000)]
        # Most telling where the first count is above 2 and the second below 0.
        return np.array([min(noisy[0] - 2, -noisy[1]) for noisy in drawn])

    # The confidence is 1 - 1e-9 a side: an honest release passes its epsilon with a smaller probability.
    bounds = [
        audit_epsilon(outputs(noise, 0, 1), outputs(noise, 1, 2), confidence=1 - 1e-9)
        for noise in (honest, halved)
    ]
    assert bounds[0].epsilon <= 1.5 < bounds[1].epsilon
