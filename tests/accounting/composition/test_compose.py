# SPDX-License-Identifier: BSD-3-Clause
"""What runs cost together: exact sums, kinds and groups, and the tighter methods against exact ones."""

import itertools
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from skprivate.accounting import compose
from skprivate.accounting._composition.compose import _ORDERS, Amount, _divergence, round_up
from skprivate.accounting._statements.spent import from_row, to_row
from tests.accounting import records

LAPLACE = {"sensitivity": 2**20, "noise_scale": 2**20}


def spend(epsilon=1, delta=0, **changes):
    return records.spend(epsilon, delta, **({"noise_scale": None} | changes))


def entry(data=None, **changes):
    spent = spend(**changes)
    return from_row(*to_row(spent, Fraction(spent.epsilon), "Tree", None, data))


def response_epsilon(count, epsilon, delta):
    """Exact epsilon of randomised response, count times (Kairouz, Oh, Viswanath)."""
    wins = np.arange(count + 1)
    losses = (2 * wins - count) * epsilon
    masses = binom.pmf(wins, count, 1 / (1 + math.exp(-epsilon)))
    low, high = 0.0, count * epsilon
    for _ in range(80):
        middle = (low + high) / 2
        excess = masses @ np.maximum(0.0, -np.expm1(middle - losses))
        low, high = (low, middle) if excess <= delta else (middle, high)
    return high


def test_sums_are_exact():
    composition = compose(
        [spend(Fraction(1, 3)), entry(epsilon=Fraction(1, 7), delta=Fraction(1, 10**6))] * 2
    )
    assert (composition.epsilon, composition.delta) == (Fraction(20, 21), Fraction(2, 10**6))
    assert composition.n_runs == 4
    assert composition.parts[0].holds
    assert "epsilon = 0.952381, delta = 2e-06 (4 runs)" in str(composition)


def test_without_runs():
    for arguments in ({}, {"method": "rdp", "delta": 1e-6}):
        composition = compose([], **arguments)
        assert (composition.epsilon, composition.delta, composition.parts) == (0, 0, ())
        assert "0 runs" in str(composition)


def test_runs_that_are_not_private():
    composition = compose([spend(), spend(**records.SEEDED)])
    assert composition.epsilon == math.inf
    assert composition.parts[0].epsilon == 2
    assert "NO BOUND: 1 run not private" in str(composition)
    assert compose([spend(), spend(math.inf, **records.SEEDED)], "rdp", 1e-6).epsilon == math.inf


@pytest.mark.parametrize(("count", "epsilon"), [(81, 1.0), (1000, 0.05), (20, 0.5)])
def test_rdp_is_above_the_exact_composition_and_near_it(count, epsilon):
    exact = response_epsilon(count, epsilon, 1e-6)
    bound = compose([spend(epsilon)] * count, "rdp", 1e-6).epsilon
    assert exact <= bound <= min(1.15 * exact, count * epsilon)


def test_laplace_noise_costs_less():
    response = compose([spend()] * 81, "rdp", 1e-6).epsilon
    laplace = compose([spend(**LAPLACE)] * 81, "rdp", 1e-6).epsilon
    assert 60.638 < laplace < 63
    assert 70.46 < response < 73
    # On a grid of one step it is randomised response.
    assert compose([spend(sensitivity=1, noise_scale=1)] * 81, "rdp", 1e-6).epsilon > 70.46
    # Not all of the run: other noise, several releases, a delta, another mechanism.
    for changes in ({"epsilon": 2}, {"delta": 1e-9}, {"mechanism": "Laplace-like"}, {"noise_scale": None}):
        runs = [spend(**{**LAPLACE, **changes})] * 81
        assert compose(runs, "rdp", 1e-6).epsilon > response * (1 - 1e-6)


def test_moments_have_several_scales():
    text = "discrete Laplace noise on moments"
    fine, coarse = ({"sensitivity": size, "noise_scale": size, "mechanism": text} for size in (2**40, 288))
    plain = compose([spend()] * 81, "rdp", 1e-6).epsilon
    assert compose([spend(**coarse)] * 81, "rdp", 1e-6).epsilon == plain
    one_scale = {**fine, "sensitivity": 2**29, "noise_scale": 2**29, "mechanism": "discrete Laplace"}
    least, bound = (compose([spend(**one)] * 81, "rdp", 1e-6).epsilon for one in (one_scale, fine))
    # 1 / 2^14 more for the weights.
    assert least * (1 + 2**-14) < bound < least * (1 + 2**-12) < plain


def test_rdp_pays_for_deltas():
    runs = [spend(0.1, 1e-8)] * 50
    assert compose(runs, "rdp", 1e-6).epsilon > compose([spend(0.1)] * 50, "rdp", 1e-6).epsilon
    with pytest.raises(ValueError, match="use up delta"):
        compose(runs, "rdp", 1e-7)


def test_the_sum_is_no_bound_where_its_deltas_are_above_the_results():
    # Of a run with a rho the delta is free: it is no part of the divergence.
    run = spend(0.001, 0.1, rho=Fraction(1, 50))
    bound = compose([run], "rdp", 1e-9).epsilon
    assert bound > math.sqrt(2 * 0.02 * math.log(1e9))
    assert compose([run], "rdp", 0.1).epsilon == pytest.approx(0.001)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(ImportError, match=r"skprivate\[accounting\]"):
        compose([spend()], "pld", 1e-6)


class TestPrivacyLossDistributions:
    @pytest.fixture(autouse=True)
    def _extra(self):
        pytest.importorskip("dp_accounting")

    @pytest.mark.parametrize(("count", "epsilon"), [(81, 1.0), (1000, 0.05), (20, 0.5)])
    def test_response_is_exact(self, count, epsilon):
        bound = compose([spend(epsilon)] * count, "pld", 1e-6).epsilon
        exact = response_epsilon(count, epsilon, 1e-6)
        assert exact <= bound <= 1.001 * exact

    def test_the_search_of_five_folds_and_twenty_candidates(self):
        laplace = [spend(**LAPLACE)] * 81
        assert compose(laplace).epsilon == 81
        assert compose(laplace, "pld", 1e-6).epsilon == pytest.approx(60.64, abs=0.01)

    def test_a_delta_below_those_of_the_runs_gives_no_bound(self):
        assert compose([spend(0.1, 1e-3)], "pld", 1e-6).epsilon == math.inf


def discrete_laplace_divergence(shift, scale, order):
    """Rényi divergence of discrete Laplace noise around 0 from the same around `shift`."""
    k = np.arange(-60 * scale, 60 * scale + shift + 1)
    normaliser = np.log(np.tanh(1 / (2 * scale)))
    logs = [normaliser - np.abs(k - centre) / scale for centre in (0, shift)]
    return logsumexp(order * logs[0] - (order - 1) * logs[1]) / (order - 1)


@pytest.mark.parametrize(("shift", "scale"), [(1, 1), (2, 2), (1, 4), (8, 8), (100, 100), (150, 100)])
def test_no_divergence_of_laplace_noise_is_understated(shift, scale):
    amount = Amount(Fraction(shift, scale), Fraction(0), shift=shift, scale=Fraction(scale))
    stated = _divergence(amount)
    for order in (1.01, 1.5, 2.0, 8.0, 64.0):
        place = int(np.searchsorted(_ORDERS, order))
        exact = discrete_laplace_divergence(shift, scale, _ORDERS[place])
        # On fine grids little is lost, too.
        assert exact <= stated[place] <= (1.1 if shift >= 100 else 3) * exact


@pytest.mark.parametrize("amount", [Fraction(k, 7 * 10**6) for k in range(1, 40)] + [Fraction(1, 2)])
def test_a_float_is_the_next_one_that_is_not_below(amount):
    number = round_up(amount)
    assert np.nextafter(number, 0.0) < amount <= number


@pytest.mark.parametrize(
    ("runs", "first", "epsilon"),
    [
        ([spend(relation="local"), spend()], ("replace-one", "row"), 2),
        ([spend(relation="label"), spend(relation="local"), spend()], ("label", "row"), 3),
        ([spend(unit="group"), spend()], ("replace-one", "row"), 2),
        ([spend(relation="add-remove"), spend()], None, math.inf),
        ([spend(relation="add-remove", unit="group"), spend(relation="add-remove")], None, math.inf),
        ([spend(unit="player", relation="local"), spend(relation="local")], None, math.inf),
    ],
)
def test_kinds(runs, first, epsilon):
    for order in itertools.permutations(runs):
        composition = compose(order)
        assert composition.epsilon == epsilon
        holding = [part for part in composition.parts if part.holds]
        assert [(part.relation, part.unit) for part in holding] == ([first] if first else [])
        assert ("NO BOUND" in str(composition)) == (len(holding) < len(composition.parts))
