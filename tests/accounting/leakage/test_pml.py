# SPDX-License-Identifier: BSD-3-Clause
"""Pointwise maximal leakage: the published figures, an independent oracle, brute force, and bad input."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import qif
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from skprivate.accounting import (
    joint_channel,
    max_information,
    maximal_leakage,
    pml_from_ldp,
    pml_guarantee,
    pointwise_maximal_leakage,
    prior_ratio,
)

PRIOR = [0.44, 0.44, 0.12]
FIRST = [[0, 1], [0.5, 0.5], [0.5, 0.5]]
SECOND = [[0.5, 0.5], [0, 1], [0.5, 0.5]]


def random_case(seed, n_inputs=4, n_outputs=5):
    """A channel with zeros, and a prior."""
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.full(n_outputs, 0.7), n_inputs) * (rng.random((n_inputs, n_outputs)) > 0.2)
    channel[:, 0] += 1e-3
    prior = rng.dirichlet(np.ones(n_inputs)) * (rng.random(n_inputs) > 0.2) + 1e-3 * (np.arange(n_inputs) < 2)
    return channel / channel.sum(axis=1, keepdims=True), prior / prior.sum()


def response(epsilon, n):
    others = 1 / (math.exp(epsilon) + n - 1)
    return np.full((n, n), others) + np.eye(n) * (math.exp(epsilon) - 1) * others


# The table of c(epsilon, p_min).
TABLE = {
    (0.5, 0.5): [0.219, 0.380, 0.566, 0.675, 0.693],
    (0.7, 0.3): [0.322, 0.584, 0.930, 1.162, 1.203],
    (0.1,) * 10: [0.437, 0.841, 1.506, 2.150, 2.300],
    (0.99, 0.01): [0.494, 0.983, 1.938, 3.571, 4.572],
}


@pytest.mark.parametrize("prior", TABLE)
def test_bound_of_local_privacy_is_the_published_table_and_attained(prior):
    epsilons = (0.5, 1, 2, 4, 8)
    assert [round(pml_from_ldp(epsilon, min(prior)), 3) for epsilon in epsilons] == TABLE[prior]
    for epsilon in epsilons:
        told = pml_guarantee(response(epsilon, len(prior)), prior)
        assert told == pytest.approx(pml_from_ldp(epsilon, min(prior)), abs=1e-12)


@pytest.mark.parametrize("p_min", [0.3, Fraction(3, 10), 1e-12, Fraction(1, 10**400), 1, 5e-324])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 0.69, 0.7, 1, 700, 1e4, 1e299, Fraction(1, 3)])
def test_bound_of_local_privacy_keeps_its_digits(epsilon, p_min):
    bound = pml_from_ldp(epsilon, p_min)
    e, p = Fraction(epsilon), Fraction(p_min)
    if p == 1:
        assert bound == 0
    elif e < Fraction(1, 10**10):
        assert bound == pytest.approx(float((1 - p) * e), rel=1e-9)
    elif e >= 700 and p > Fraction(1, 10**300):
        assert bound == pytest.approx(-math.log(p), rel=1e-12)
    else:
        assert 0 < bound <= float(e)


def test_bound_of_local_privacy_at_its_limits():
    assert pml_from_ldp(0, 0.3) == 0
    assert pml_from_ldp(math.inf, 0.25) == math.log(4)
    assert pml_from_ldp(math.inf, Fraction(1, 10**400)) == math.inf


@pytest.mark.parametrize(
    ("epsilon", "p_min", "error"),
    [
        (-1, 0.5, ValueError),
        (math.nan, 0.5, ValueError),
        ("1", 0.5, TypeError),
        (True, 0.5, TypeError),
        (1, 0, ValueError),
        (1, 1.5, ValueError),
        (1, math.nan, ValueError),
        (1, None, TypeError),
    ],
)
def test_bound_of_local_privacy_refuses_other_numbers(epsilon, p_min, error):
    with pytest.raises(error, match=r"epsilon|p_min"):
        pml_from_ldp(epsilon, p_min)


@pytest.mark.parametrize("seed", range(20))
def test_leakage_agrees_with_an_independent_oracle(seed):
    channel, prior = random_case(seed)
    leakage = pointwise_maximal_leakage(channel, prior)
    possible = prior > 0
    for column, value in enumerate(leakage):
        if not (prior @ channel)[column]:
            assert math.isnan(value)
            continue
        posterior = qif.channel.posterior(channel, prior, column).ravel()
        assert value == pytest.approx(np.log((posterior[possible] / prior[possible]).max()), abs=1e-6)
    capacity = qif.measure.bayes_vuln.mult_capacity(channel)
    assert maximal_leakage(channel) == pytest.approx(math.log(capacity), abs=1e-6)
    # Of a uniform prior it is the mean of e to the leakage, and the gain of the best guess.
    uniform = np.full(len(prior), 1 / len(prior))
    gain = qif.measure.bayes_vuln.mult_leakage(uniform, channel)
    assert maximal_leakage(channel, uniform) == pytest.approx(math.log(gain), abs=1e-6)


@given(seed=st.integers(0, 10**6))
def test_invariants_of_leakage(seed):
    channel, prior = random_case(seed)
    almost_sure = pml_guarantee(channel, prior)
    assert 0 <= almost_sure <= max_information(prior) + 1e-12
    masses, leakage = prior @ channel, pointwise_maximal_leakage(channel, prior)
    seen = masses > 0
    average = pml_guarantee(channel, prior, "average")
    assert average == pytest.approx(math.log(masses[seen] @ np.exp(leakage[seen])), abs=1e-12)
    assert 0 <= average <= almost_sure + 1e-12
    # Data processing: any further randomisation of the output.
    rng = np.random.default_rng(seed)
    after = channel @ rng.dirichlet(np.full(3, 0.5), channel.shape[1])
    after /= after.sum(axis=1, keepdims=True)
    assert pml_guarantee(after, prior) <= almost_sure + 1e-12
    inputs, outputs = rng.permutation(4), rng.permutation(5)
    assert pml_guarantee(channel[inputs][:, outputs], prior[inputs]) == pytest.approx(almost_sure, abs=1e-12)


@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.01, 5))
def test_local_privacy_bounds_every_channel(seed, epsilon):
    rng = np.random.default_rng(seed)
    # Rows are mixtures of rows of randomised response, which have its epsilon.
    channel = rng.dirichlet(np.full(4, 0.3), 5) @ response(epsilon, 4)
    prior = rng.dirichlet(np.ones(5))
    channel /= channel.sum(axis=1, keepdims=True)
    assert pml_guarantee(channel, prior) <= pml_from_ldp(epsilon, prior.min()) + 1e-9


def test_only_possible_inputs_count():
    channel = [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    leakage = pointwise_maximal_leakage(channel, [0.5, 0.5, 0])
    np.testing.assert_allclose(leakage, [math.log(4 / 3), math.log(2), math.nan])
    assert maximal_leakage(channel, [0.5, 0.5, 0]) == pytest.approx(math.log(1.5))
    assert maximal_leakage(channel) == pytest.approx(math.log(2.5))


def test_leakage_is_not_negative_by_rounding():
    row = np.random.default_rng(0).dirichlet(np.ones(50))
    leakage = pointwise_maximal_leakage(np.tile(row, (3, 1)), [0.1, 0.2, 0.7])
    assert (leakage == 0).all()
    assert maximal_leakage(np.tile(row, (3, 1))) == 0


def test_tiny_probabilities_do_not_underflow():
    channel = [[1e-200, 1 - 1e-200], [0, 1]]
    assert pointwise_maximal_leakage(channel, [1e-200, 1 - 1e-200])[0] == pytest.approx(200 * math.log(10))


def test_leakages_do_not_add_up():
    first, second = pml_guarantee(FIRST, PRIOR), pml_guarantee(SECOND, PRIOR)
    joint = pml_guarantee(joint_channel(FIRST, SECOND), PRIOR)
    assert (round(first, 3), round(second, 3), round(joint, 3)) == (0.580, 0.580, 2.120)
    assert joint > first + second


def test_joint_channel_is_the_product_of_its_parts():
    rng = np.random.default_rng(0)
    parts = [rng.dirichlet(np.ones(k), 3) for k in (2, 3, 4)]
    joint = joint_channel(*parts)
    assert joint.shape == (3, 24)
    for x, (i, j, k) in itertools.product(range(3), np.ndindex(2, 3, 4)):
        product = parts[0][x, i] * parts[1][x, j] * parts[2][x, k]
        assert joint[x, (i * 3 + j) * 4 + k] == pytest.approx(product)


def test_joint_channel_of_local_reports_obeys_the_sum_of_their_epsilons():
    joint = joint_channel(response(1, 3), response(0.5, 3), response(2, 3))
    prior = [0.2, 0.3, 0.5]
    assert pml_guarantee(joint, prior) <= pml_from_ldp(3.5, 0.2)
    assert pml_guarantee(joint, prior) == pytest.approx(pml_from_ldp(3.5, 0.2), abs=1e-12)


def test_joint_channel_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="at least one"):
        joint_channel()
    with pytest.raises(ValueError, match="same number of inputs"):
        joint_channel(FIRST, [[1.0], [1.0]])
    with pytest.raises(ValueError, match="10\\^7"):
        joint_channel(*([np.full((2, 100), 0.01)] * 4))


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for partition in partitions(rest):
        yield [[first], *partition]
        for i in range(len(partition)):
            yield [*partition[:i], [first, *partition[i]], *partition[i + 1 :]]


def tail(channel, prior, delta):
    """Smallest eps with P(leakage > eps) <= delta, of the channel as it is."""
    masses, leakage = prior @ channel, pointwise_maximal_leakage(channel, prior)
    return min(eps for eps in [0.0, *leakage] if masses[leakage > eps + 1e-12].sum() <= delta)


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("seed", range(8))
def test_envelope_dominates_every_merge_of_outputs(seed, delta):
    rng = np.random.default_rng(seed)
    channel, prior = rng.dirichlet(np.full(6, 0.7), 3), rng.dirichlet(np.ones(3))
    bound = pml_guarantee(channel, prior, "envelope", delta)
    assert bound <= pml_guarantee(channel, prior) + 1e-9
    for blocks in partitions(list(range(6))):
        merged = np.stack([channel[:, block].sum(axis=1) for block in blocks], axis=1)
        assert tail(merged, prior, delta) <= bound + 1e-9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_envelope_dominates_random_post_processing_and_is_closed(seed, delta):
    rng = np.random.default_rng(100 + seed)
    channel, prior = rng.dirichlet(np.full(5, 0.5), 3), rng.dirichlet(np.ones(3))
    bound = pml_guarantee(channel, prior, "envelope", delta)
    for _ in range(20):
        after = channel @ rng.dirichlet(np.full(6, 0.3), 5)
        after /= after.sum(axis=1, keepdims=True)
        assert tail(after, prior, delta) <= bound + 1e-9
    assert pml_guarantee(after, prior, "envelope", delta) <= bound + 1e-8


def test_merging_raises_the_tail_up_to_the_envelope():
    # Output 0 leaks much with probability .1, output 1 nothing with .9; merging 0 with a part of 1 spreads
    # the leakage over more mass.
    channel, prior = np.array([[0.2, 0.8], [0.0, 1.0]]), np.array([0.5, 0.5])
    delta = 0.15
    assert tail(channel, prior, delta) == pytest.approx(math.log(1 / 0.9 * 1.0))
    bound = pml_guarantee(channel, prior, "envelope", delta)
    # Mass .15 with the most that the first value can have of it: all of output 0 and .04 of output 1.
    share = (0.2 + 0.05 / 0.9 * 0.8) / 0.15
    assert bound == pytest.approx(math.log(share), abs=1e-9)
    assert bound > tail(channel, prior, delta) + 0.3


def most_bad_mass(channel, prior, eps):
    """The largest mass of merged outputs that leak eps: the primal programme."""
    masses, n = prior @ channel, len(prior)
    gain = channel - math.exp(eps) * masses
    constraints = np.vstack(
        [-np.kron(np.eye(n)[x], gain[x]) for x in range(n)] + [np.tile(np.eye(len(masses)), n)]
    )
    limits = np.concatenate([np.zeros(n), np.ones(len(masses))])
    return -optimize.linprog(-np.tile(masses, n), A_ub=constraints, b_ub=limits).fun


@pytest.mark.parametrize("delta", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_envelope_is_tight(seed, delta):
    channel, prior = random_case(seed)
    possible = prior > 0
    bound = pml_guarantee(channel, prior, "envelope", delta)
    assert most_bad_mass(channel[possible], prior[possible], bound + 1e-7) <= delta + 1e-6
    assert most_bad_mass(channel[possible], prior[possible], bound - 1e-7) >= delta - 1e-9


def test_envelope_at_a_jump_and_of_a_channel_that_tells_nothing():
    identity, uniform = np.eye(4), np.full(4, 0.25)
    for delta in (0.01, 0.5, 0.99):
        assert pml_guarantee(identity, uniform, "envelope", delta) == pytest.approx(math.log(4), abs=1e-9)
    assert pml_guarantee(np.full((3, 2), 0.5), [0.2, 0.3, 0.5], "envelope", 0.1) == pytest.approx(0, abs=1e-9)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**4))
@pytest.mark.slow
def test_envelope_falls_with_delta_and_starts_at_almost_sure(seed):
    channel, prior = random_case(seed, 3, 4)
    levels = [pml_guarantee(channel, prior, "envelope", delta) for delta in (1e-9, 0.2, 0.7)]
    assert levels[0] <= pml_guarantee(channel, prior) + 1e-9
    assert levels[0] + 1e-9 >= levels[1]
    assert levels[1] + 1e-9 >= levels[2]


@pytest.mark.parametrize(
    ("kind", "delta", "message"),
    [
        ("tail", 0.1, "not closed under post-processing.*envelope"),
        ("tail", None, "envelope"),
        ("worst", None, "kind"),
        ("envelope", None, "delta"),
        ("almost_sure", 0.1, "delta"),
        ("average", 0.1, "delta"),
        ("envelope", 0.0, "delta"),
        ("envelope", 1.0, "delta"),
        ("envelope", math.nan, "delta"),
    ],
)
def test_kinds_and_their_delta(kind, delta, message):
    with pytest.raises(ValueError, match=message):
        pml_guarantee(FIRST, PRIOR, kind, delta)


@pytest.mark.parametrize(
    ("channel", "prior", "error", "message"),
    [
        ([0.5, 0.5], [0.5, 0.5], ValueError, "channel"),
        ([[]], [1], ValueError, "channel"),
        ([[0.5, 0.6]], [1], ValueError, "row of channel must sum"),
        ([[1.5, -0.5]], [1], ValueError, "channel"),
        ([[math.nan, 1]], [1], ValueError, "channel"),
        ([["a", "b"]], [1], TypeError, "channel"),
        (np.eye(2), [0.5, 0.5, 0], ValueError, "prior must have shape"),
        (np.eye(2), [[0.5, 0.5]], ValueError, "prior must have shape"),
        (np.eye(2), [0.5, 0.6], ValueError, "prior must sum"),
        (np.eye(2), [0, 0], ValueError, "prior must sum"),
        (np.eye(2), [-0.5, 1.5], ValueError, "prior"),
        (np.eye(2), [math.inf, 0.5], ValueError, "prior"),
        (np.eye(2), [True, False], TypeError, "prior"),
    ],
)
def test_wrong_channels_and_priors_are_refused(channel, prior, error, message):
    for function in (pointwise_maximal_leakage, pml_guarantee, maximal_leakage):
        with pytest.raises(error, match=message):
            function(channel, prior)


def test_no_prior_is_no_uniform_prior():
    for function in (pointwise_maximal_leakage, pml_guarantee):
        with pytest.raises(ValueError, match="prior must have shape"):
            function(np.eye(2), None)
    assert maximal_leakage(np.eye(2), None) == pytest.approx(math.log(2))


def test_max_information():
    assert max_information([0.5, 0.25, 0.25, 0]) == pytest.approx(math.log(4))
    assert max_information([1.0]) == 0
    with pytest.raises(ValueError, match="prior"):
        max_information([])


def test_fractions_are_numbers():
    prior = [Fraction(1, 4), Fraction(3, 4)]
    assert pml_guarantee([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], prior) == math.log(4)


def test_prior_ratio_is_the_clopper_pearson_bound():
    counts, confidence = [10, 40, 50], 0.95
    level = 0.05 / 3
    ratios = []
    for count in counts:
        least = prior_ratio_of_one(count, 100, level)
        ratios.append(least / (count / 100))
    assert prior_ratio(counts, confidence) == pytest.approx(min(ratios), rel=1e-9)
    assert prior_ratio([7], 0.99) == 1


def prior_ratio_of_one(count, n, level):
    """The p with P(at least so many of n) = level, by bisection."""
    low, high = 0.0, count / n
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if stats.binom.sf(count - 1, n, middle) < level else (low, middle)
    return low


def test_prior_ratio_covers_the_truth():
    # Of 2,000 samples at confidence .95 at most 100 fail on average, and 150 with probability below 1e-6.
    rng, truth = np.random.default_rng(5), np.array([0.05, 0.25, 0.3, 0.4])
    samples = rng.multinomial(200, truth, size=2000)
    samples = samples[(samples > 0).all(axis=1)]
    failed = sum((truth < prior_ratio(counts, 0.95) * counts / 200).any() for counts in samples)
    assert 0 < failed <= 150


def test_leakage_under_the_true_prior_is_within_the_ratio():
    channel, counts = response(2.0, 3), np.array([30, 50, 120])
    estimated = counts / counts.sum()
    rho = prior_ratio(counts, 0.9)
    for seed in range(50):
        other = estimated * rho + (1 - rho) * np.random.default_rng(seed).dirichlet(np.ones(3))
        assert pml_guarantee(channel, other) <= pml_guarantee(channel, estimated) - math.log(rho) + 1e-12


@pytest.mark.parametrize(
    ("counts", "confidence", "error", "message"),
    [
        ([3, 0], 0.9, ValueError, "never seen"),
        ([3, -1], 0.9, ValueError, "never seen"),
        ([0.5, 0.5], 0.9, TypeError, "counts"),
        ([[1, 2]], 0.9, TypeError, "counts"),
        ([], 0.9, TypeError, "counts"),
        ([3, 4], 1.0, ValueError, "confidence"),
        ([3, 4], 0.0, ValueError, "confidence"),
        ([3, 4], "high", TypeError, "confidence"),
    ],
)
def test_prior_ratio_refuses_other_counts(counts, confidence, error, message):
    with pytest.raises(error, match=message):
        prior_ratio(counts, confidence)


def test_envelope_of_a_tiny_delta_is_not_below_what_a_rarer_output_leaks():
    # Output 1 has probability 5e-14 and leaks log 2.
    channel = [[1 - 1e-13, 1e-13], [1.0, 0.0]]
    assert pml_guarantee(channel, [0.5, 0.5], "envelope", delta=1e-15) >= math.log(2) * (1 - 1e-9)
