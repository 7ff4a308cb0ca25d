# SPDX-License-Identifier: BSD-3-Clause
"""Shuffled reports: check values, exact divergences of small shuffles, and wrong input."""

import itertools
import math
import pickle
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from skprivate.accounting import Blanket, shuffle_amplification
from skprivate.accounting._composition.shuffle import _LEAST, _lattice, least_epsilon
from skprivate.randomizers import (
    HadamardRandomizer,
    KRRRandomizer,
    LaplaceRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
)

ANY, CLONES, CLOSED = "blanket of any randomizer", "clones", "closed form"


def shuffled_distribution(rows):
    """Exact distribution of how often each answer comes, for clients with these distributions."""
    distribution = {(0,) * len(rows[0]): 1.0}
    for row in rows:
        grown = defaultdict(float)
        for counts, probability in distribution.items():
            for answer, share in enumerate(row):
                key = (*counts[:answer], counts[answer] + 1, *counts[answer + 1 :])
                grown[key] += probability * share
        distribution = grown
    return distribution


def divergence(first, second, epsilon):
    return sum(max(0.0, p - math.exp(epsilon) * second.get(key, 0.0)) for key, p in first.items())


def exact_delta(channel, epsilon, n):
    """Of the shuffled reports of n clients, over the worst values of all of them."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(len(channel)), n - 1):
        rest = [channel[value] for value in others]
        distributions = [shuffled_distribution([row, *rest]) for row in channel]
        worst = max(worst, *(divergence(a, b, epsilon) for a, b in itertools.permutations(distributions, 2)))
    return worst


def response_channel(randomizer):
    k, odds = randomizer.n_categories, float(randomizer.odds)
    return (np.ones((k, k)) + (odds - 1) * np.eye(k)) / (odds + k - 1)


def test_the_closed_form_is_silent_beyond_its_theorem():
    # It asks for epsilon0 <= log(n / (16 log(2 / delta))), here 1.461.
    inside, beyond = (shuffle_amplification(epsilon0, 1000, 1e-6) for epsilon0 in (1.46, 1.462))
    assert inside.bounds[CLOSED] < math.inf == beyond.bounds[CLOSED]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.5, 0.8])
def test_no_small_shuffle_exceeds_the_bounds(n, n_labels, epsilon):
    randomizer = KRRRandomizer(1.0, 1, n_labels)
    exact = exact_delta(response_channel(randomizer), epsilon, n)
    generic = Blanket.of_total_variation(randomizer.odds).delta(epsilon, n)
    assert exact <= randomizer.blanket().delta(epsilon, n) <= generic * (1 + 1e-9)
    result = shuffle_amplification(1.0, n, exact, randomizer)
    assert result.epsilon >= epsilon * (1 - 1e-9)


def exact_mean(odds, mass, epsilon, n, scale=1.0):
    """E[max(0, sum of Z)] / n for mass at scale (odds - e^epsilon) and scale (1 - odds e^epsilon)."""
    good, bad = scale * (odds - math.exp(epsilon)), scale * (1 - odds * math.exp(epsilon))
    total = 0.0
    window = binom.ppf([1e-40, 1 - 1e-16], n, 2 * mass)
    for m in range(int(window[0]), int(window[1]) + 200):
        # k good ones of m: k good + (m - k) bad > 0.
        k = np.arange(math.floor(-bad * m / (good - bad)) + 1, m + 1)
        inner = binom.pmf(k, m, 0.5) @ (k * good + (m - k) * bad) if k.size else 0.0
        total += binom.pmf(m, n, 2 * mass) * inner
    return total / n


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("odds", [Fraction(3), Fraction(20), Fraction(10**6 + 1, 7)])
def test_the_lattice_takes_no_mean_down(odds, epsilon):
    """Exactly: every value is split between two points of a mean that is no less."""
    values, masses = Blanket.of_total_variation(odds)._slots(epsilon)
    lattice, split, step, _ = _lattice(values, masses, 0.7 / values.max(), 1000)
    for j, (value, mass) in enumerate(zip(values, masses, strict=True)):
        pair = slice(j, None, len(values))
        mean = sum(int(k) * Fraction(share) for k, share in zip(lattice[pair], split[pair], strict=True))
        assert mean * Fraction(step) >= Fraction(mass) * Fraction(value)
        assert float(split[pair].sum()) == pytest.approx(mass, rel=1e-15)


@pytest.mark.parametrize(("n", "epsilon"), [(50, 1.5), (1000, 0.6), (20000, 0.12)])
def test_the_lattice_adds_less_than_it_may(n, epsilon):
    odds = Fraction(20)
    exact = exact_mean(20.0, 1 / 21, epsilon, n)
    bound = Blanket.of_total_variation(odds).delta(epsilon, n)
    assert exact * (1 - 1e-10) <= bound <= 1.03 * exact
    # A smaller blanket than the distribution allows scales all ratios up.
    exact = exact_mean(20.0, 1 / 40, epsilon, n, scale=40 / 21)
    bound = Blanket(odds, 1 / (2 * odds)).delta(epsilon, n)
    assert exact * (1 - 1e-10) <= bound <= 1.03 * exact


def test_monotone():
    def epsilon(epsilon0=2.0, n=1000, delta=1e-6):
        return shuffle_amplification(epsilon0, n, delta).epsilon

    slack = 1 - 2e-4  # what the search may stop short of
    by_n = [epsilon(n=n) for n in (1, 100, 10**4)]
    by_delta = [epsilon(delta=delta) for delta in (1e-12, 1e-6, 1e-4)]
    by_epsilon0 = [epsilon(epsilon0=epsilon0) for epsilon0 in (4.0, 1.0, 1e-3)]
    for values in (by_n, by_delta, by_epsilon0):
        assert all(later <= earlier / slack for earlier, later in itertools.pairwise(values))
        assert values[-1] < values[0] / 1.5


@pytest.mark.parametrize("epsilon0", [1e-3, 0.5, 1.0, 8.0, 60.0, 200.0, 1e6, Fraction(1, 3)])
@pytest.mark.parametrize("n", [1, 7, 10**4])
def test_never_above_one_report(epsilon0, n):
    result = shuffle_amplification(epsilon0, n, 1e-9)
    assert 0 < result.epsilon <= epsilon0
    if n == 1:
        assert result.epsilon == pytest.approx(float(epsilon0), rel=1e-3)


def test_a_delta_that_any_epsilon_meets_ends_the_search():
    assert 0 < least_epsilon(lambda epsilon: -1.0, 0.5, 1.0) <= 2 * _LEAST


def test_without_amplification_the_method_says_so():
    assert shuffle_amplification(5.0, 2, 1e-9).method.startswith("none")


def test_each_mechanism_is_at_least_as_good_as_any():
    for kind in (HadamardRandomizer, KRRRandomizer, SubsetRandomizer, UnaryRandomizer, LaplaceRandomizer):
        randomizer = kind(3.0, 32)
        result = shuffle_amplification(3.0, 10**3, 1e-6, randomizer)
        assert len(result.bounds) == 4
        assert result.epsilon < result.bounds[ANY] * 0.97
        assert result.method == f"blanket of {randomizer.describe()}"


def test_a_third_party_mechanism():
    class Coin:
        epsilon = Fraction(1)
        relation = "local"

        def blanket(self):
            return None

    assert shuffle_amplification(1.0, 1000, 1e-6, Coin()) == shuffle_amplification(1.0, 1000, 1e-6)


def test_a_result_survives_pickling_and_prints_its_epsilon_rounded_up():
    result = shuffle_amplification(1.0, 1000, 1e-6)
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(TypeError):
        result.bounds["mine"] = 0.0
    assert float(str(result).split("epsilon = ")[1].split(",")[0]) >= result.epsilon
