# SPDX-License-Identifier: BSD-3-Clause
"""The number of runs has the law that the proof is about."""

import math
from fractions import Fraction

import numpy as np
import pytest

from skprivate.model_selection._number_of_runs import NumberOfRuns, draw_below
from skprivate.noise import check_entropy
from tests.marks import slow

pytestmark = pytest.mark.statistical

LAWS = [(0, "1/5"), ("1/3", "1/7"), (1, "1/4"), ("3/2", "1/3"), (2, "2/5"), ("7/2", "1/2")]


def closed_form(eta, gamma, most):
    """P(K = k) for k = 1..most, as the paper has it."""
    if eta == 0:
        return np.array([(1 - gamma) ** k / (k * math.log(1 / gamma)) for k in range(1, most + 1)])
    weights = np.cumprod([(1 - gamma) * (k - 1 + eta) / k for k in range(1, most + 1)])
    return weights / (gamma**-eta - 1)


@pytest.mark.parametrize(("eta", "gamma"), [LAWS[2], *(slow(*law) for law in LAWS if law != LAWS[2])])
def test_draws_follow_the_closed_form(eta, gamma, assert_fits):
    law = NumberOfRuns(Fraction(eta), Fraction(gamma))
    random_bytes = check_entropy(11).random_bytes
    draws = np.array([law.draw(random_bytes) for _ in range(20_000)])
    assert draws.min() == 1
    chances = closed_form(float(law.eta), float(law.gamma), 1000)
    assert math.isclose(chances.sum(), 1, rel_tol=1e-9)
    most = int(np.flatnonzero(chances * len(draws) > 20).max()) + 1
    counts = np.bincount(np.minimum(draws, most + 1))[1:]
    together = np.append(chances[:most], chances[most:].sum())
    if together[-1] * len(draws) < 10:
        counts, together = (
            np.append(counts[: most - 1], counts[most - 1 :].sum()),
            np.append(together[: most - 1], together[most - 1 :].sum()),
        )
    assert_fits(f"eta = {eta}", counts, together)


@pytest.mark.parametrize(("eta", "gamma"), LAWS)
def test_the_mean_is_bounded_from_above_and_closely(eta, gamma):
    law = NumberOfRuns(Fraction(eta), Fraction(gamma))
    chances = closed_form(float(law.eta), float(law.gamma), 2000)
    exact = float(np.arange(1, 2001) @ chances)
    assert exact * (1 - 1e-12) <= float(law.mean) <= exact * (1 + 2e-6)


@pytest.mark.parametrize("eta", [Fraction(5e-324), Fraction(1, 10**400)])
def test_the_mean_of_a_tiny_eta_is_that_of_0(eta):
    exact = NumberOfRuns(Fraction(0), Fraction(1, 20)).mean
    assert exact <= NumberOfRuns(eta, Fraction(1, 20)).mean < exact * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("eta", [0, Fraction(1, 10), Fraction(1, 2), 1, Fraction(5, 2), 40])
@pytest.mark.parametrize("mean", [2, 10, 100, 3000])
def test_gamma_is_found_from_the_mean(eta, mean):
    law = NumberOfRuns.of_mean(Fraction(eta), mean)
    assert 0 < law.gamma < 1
    assert math.isclose(law.mean, mean, rel_tol=1e-3)


def test_one_run_is_one_run():
    law = NumberOfRuns.of_mean(Fraction(1), 1)
    assert law.mean == 1
    assert {law.draw(check_entropy(None).random_bytes) for _ in range(100)} == {1}


def test_geometric_gamma_is_exact():
    assert NumberOfRuns.of_mean(Fraction(1), 100).gamma == Fraction(1, 100)


@pytest.mark.parametrize("n", [1, 2, 7, 256, 257])
def test_draws_below_are_uniform(n, assert_fits):
    random_bytes = check_entropy(3).random_bytes
    draws = [draw_below(n, random_bytes) for _ in range(100 * n)]
    if n == 1:
        assert set(draws) == {0}
    else:
        assert_fits(f"below {n}", np.bincount(draws, minlength=n), np.full(n, 1 / n))


@pytest.mark.parametrize("eta", [0, Fraction(1, 2), 1, 2])
def test_the_best_of_so_many_runs_loses_two_and_eta_times_as_much_as_one(eta):
    """Of a neighbour an outcome is rarer and better ones are more frequent; a larger eta is caught."""
    epsilon, rare, better, runs = 0.25, 1e-7, 0.05, np.arange(1, 40_001)

    def loss(eta):
        chances = closed_form(float(eta), 5e-4, len(runs))

        def chosen(rare, better):
            return chances @ ((1 - better) ** runs - (1 - better - rare) ** runs)

        factor = math.exp(epsilon)
        return math.log(chosen(rare, better) / chosen(rare / factor, better * factor))

    assert 0.98 * (2 + eta) * epsilon < loss(eta) <= (2 + eta) * epsilon < loss(eta + Fraction(1, 5))
