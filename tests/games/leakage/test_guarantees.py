# SPDX-License-Identifier: BSD-3-Clause
"""Guarantees: the published figures, likelihoods of replayed broadcasts, and the order of the criteria."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from skprivate.games import Box, ContinuousPrior, JointPrior, SampledPrior, TwoTypePrior, TypePrior
from skprivate.games._leakage.broadcast_sensitivity import player_distances
from skprivate.games._leakage.guarantees import privacy_guarantee
from skprivate.games._leakage.priors import _INTERVALS
from tests.games.conftest import HIDDEN, make_mechanism, mechanism_of_rate
from tests.marks import slow

CRITERIA = ("pml", "corollary1", "dp")


def epsilon(*arguments, **options):
    return float(privacy_guarantee(*arguments, **options))


# ------------------------------------------------------------------ replays of the paper's updates
def estimates(mechanism, profiles, observed, start, weights):
    """v^k of shape (n_rounds, n_profiles, N), for given broadcasts or the noiseless ones."""
    P, Q = (np.ravel(matrix) for matrix in (mechanism.P, mechanism.Q))
    x = v = np.broadcast_to(start, profiles.shape)
    path = []
    for k, step in enumerate(mechanism.steps):
        path.append(v)
        o = v if observed is None else observed[k]
        moved = x - step * (P * x + Q * v + profiles)
        if mechanism.algorithm == "ye":
            v = o @ weights.T + moved - x
        else:
            v = v + 0.3 * (o @ weights.T - weights.sum(axis=1) * o) + moved - x
        x = moved
    return np.array(path)


def log_likelihoods(mechanism, profiles, observed, start, weights):
    scales = mechanism.noise_scales[:, None, None]
    paths = estimates(mechanism, profiles, observed, start, weights)
    return -(np.abs(observed[:, None] - paths) / scales + np.log(2 * scales)).sum(axis=(0, 2))


def random_broadcasts(mechanism, profiles, start, weights, rng):
    """Noisy around a path of a profile, noiseless, or anywhere: what is likely, and what is not."""
    shape = (mechanism.n_rounds, mechanism.n_players)
    if rng.uniform() < 0.3:
        return rng.normal(size=shape) * 10 ** rng.uniform(-1, 2)
    path = estimates(mechanism, profiles[[rng.integers(len(profiles))]], None, start, weights)[:, 0]
    return path + rng.laplace(size=shape) * mechanism.noise_scales[:, None] * rng.choice([0.01, 1.0])


def leakage_about_all(logs, prior):
    return float(logs.max() - np.logaddexp.reduce(logs + np.log(prior.probabilities)))


def leakage_about_one(logs, prior):
    secrets, found = prior.profiles[:, :, 0], []
    joint = logs + np.log(prior.probabilities)
    for player, value in itertools.product(range(secrets.shape[1]), np.unique(secrets)):
        of_it = secrets[:, player] == value
        given_it = np.logaddexp.reduce(joint[of_it]) - np.log(prior.probabilities[of_it].sum())
        found.append(given_it - np.logaddexp.reduce(joint))
    return max(found)


def search(leakage, mechanism, prior, start, weights, rng, n_random):
    """Return the largest leakage of the noiseless broadcasts, and of random ones."""
    profiles = prior.profiles[:, :, 0]

    def at(observed):
        return leakage(log_likelihoods(mechanism, profiles, observed, start, weights), prior)

    attained = max(map(at, estimates(mechanism, profiles, None, start, weights).swapaxes(0, 1)))
    random = (random_broadcasts(mechanism, profiles, start, weights, rng) for _ in range(n_random))
    return attained, max(map(at, random))


@pytest.mark.parametrize("algorithm", [slow("ye"), "wang_nedic"])
def test_enumeration_of_a_correlated_game_equals_theorem_1(algorithm):
    rng = np.random.default_rng(5)
    mechanism = make_mechanism(
        n_players=2, algorithm=algorithm, P=np.array([1.0, 0.4]).reshape(2, 1, 1),
        Q=np.array([0.5, -0.3]).reshape(2, 1, 1), noise_scales=np.array([0.7, 0.9, 1.1, 1.6]),
        steps=np.array([0.8, 0.5, 0.4, 0.3]),
    )  # fmt: skip
    prior = JointPrior(list(itertools.product([-1.0, 0.2, 1.5], repeat=2)), rng.dirichlet(np.full(9, 0.5)))
    guarantee = privacy_guarantee(mechanism, prior)
    assert guarantee.status == "exact"
    start, weights = np.array([0.3, -0.8]), np.array([[0.7, 0.3], [0.3, 0.7]])
    # 8,000 for each of the two algorithms; no chance is involved: the bound holds for all.
    attained, seen = search(leakage_about_all, mechanism, prior, start, weights, rng, 8000)
    assert guarantee.epsilon == pytest.approx(attained, abs=1e-9)
    assert 0.9 * guarantee.epsilon < seen <= guarantee.epsilon + 1e-9


@pytest.mark.parametrize("algorithm", ["ye", "wang_nedic"])
def test_enumeration_of_single_players_stays_within_their_guarantee(algorithm):
    """Two types: attained at one of the 2^N vertices. Three types: between the certified bounds."""
    rng = np.random.default_rng(2)
    for types in ([0.0, 2.0], [-1.0, 0.2, 1.5]):
        mechanism = make_mechanism(
            algorithm=algorithm, noise_scales=np.array([0.7, 0.9, 1.1]),
            steps=np.array([0.8, 0.5, 0.4]), P=np.array([1.0, 0.4, 0.1]).reshape(3, 1, 1),
        )  # fmt: skip
        profiles = np.array(list(itertools.product(types, repeat=3)))
        prior = JointPrior(profiles, rng.dirichlet(np.full(len(profiles), 0.4)))
        guarantee = privacy_guarantee(mechanism, prior, view="individual")
        start, weights = np.array([0.3, -0.8, 0.0]), np.full((3, 3), 1 / 3)
        attained, seen = search(leakage_about_one, mechanism, prior, start, weights, rng, 1500)
        assert seen <= guarantee.epsilon + 1e-9
        assert guarantee.epsilon <= epsilon(mechanism, prior)
        exact = len(types) == 2
        assert guarantee.status == ("exact" if exact else "upper_bound")
        assert (guarantee.epsilon if exact else guarantee.lower) == pytest.approx(attained, abs=1e-9)


# ------------------------------------------------------------------ published figures
@pytest.mark.parametrize("n_rounds", [200, 201])
@pytest.mark.parametrize(
    ("p2", "figures"), [(0.5, "7.44 12.67 17.31"), (1, "5.63 9.26 12.56"), (1.5, "4.54 7.32 9.90")]
)
def test_uniform_scalars_give_the_figures_of_the_closed_forms(n_rounds, p2, figures):
    k = np.arange(n_rounds)
    mechanism = make_mechanism(n_players=10, n_rounds=n_rounds, noise_scales=1 + p2 * k, steps=1 / (1 + k))
    uniform = stats.uniform(-1, 2)
    found = [privacy_guarantee(mechanism, uniform, "entire", criterion) for criterion in CRITERIA]
    assert " ".join(f"{item.epsilon:.2f}" for item in found) == figures
    assert [item.status for item in found] == ["exact", "upper_bound", "exact"]
    one = [privacy_guarantee(mechanism, uniform, "individual", item.criterion).epsilon * 10 for item in found]
    assert np.allclose(one, [item.epsilon for item in found], rtol=1e-12)
    assert found[0].prior == "10 independent players, each uniform on [-1, 1]"
    assert found[2].prior == ""


def test_the_worst_point_of_a_u_shaped_prior_is_inside():
    """Solving Beta(.2, .2) at the vertices alone would claim 1.20 nats where 2.82 leak."""
    mechanism, prior = mechanism_of_rate(11.65, n_players=1), stats.beta(0.2, 0.2)

    def at(point):
        kink = float(prior.cdf(point))
        pieces = [
            integrate.quad(lambda u: np.exp(-11.65 * abs(prior.ppf(u) - point)), *ends)[0]
            for ends in ((0, kink), (kink, 1))
        ]
        return -math.log(sum(pieces))

    guarantee = privacy_guarantee(mechanism, prior)
    assert guarantee.status == "exact"
    assert guarantee.epsilon == pytest.approx(at(0.5), abs=1e-7)
    assert f"{guarantee.epsilon:.2f}" == "2.82"
    assert f"{at(0.0):.2f}" == "1.20"
    assert guarantee.epsilon <= epsilon(mechanism, prior, criterion="corollary1")
    # On the way in: the worst distance from x is max(x, 1 - x).
    mean = 2 * integrate.quad(lambda u: np.exp(-11.65 * (1 - prior.ppf(u))), 0, 0.5)[0]
    assert epsilon(mechanism, prior, criterion="corollary1") == pytest.approx(-math.log(mean), abs=1e-7)


# ------------------------------------------------------------------ order and limits
def random_case(seed):
    rng = np.random.default_rng(seed)
    n, n_players, m = int(rng.integers(1, 3)), int(rng.integers(2, 5)), int(rng.integers(2, 5))
    shape = (n_players, n, n) if rng.uniform() < 0.5 else (n, n)
    kinds = [
        {"algorithm": "ye"},
        {"algorithm": "wang_nedic"},
        {"algorithm": "wang_nedic", "constraint": Box(-1.0, 1.0)},
        {"algorithm": "ye", "clip_norm": 1.0},
        {"algorithm": "wang_nedic", "constraint": Box(-1.0, 1.0), "private": HIDDEN, "P": None, "Q": None},
    ]
    mechanism = make_mechanism(**{
        "n_players": n_players, "n_dims": n, "P": rng.normal(size=shape), "Q": rng.normal(size=shape),
        "allowance": rng.choice([0.0, 1e-3]), "noise_scales": 10 ** rng.uniform(-1, 1) * np.arange(1, 9),
        **kinds[rng.integers(len(kinds))],
    })  # fmt: skip
    types, weights = rng.normal(size=(m, n)), rng.dirichlet(np.full(m, 0.7))
    priors = [
        TypePrior(types, weights),
        TypePrior(rng.normal(size=(n_players, m, n)), rng.dirichlet(np.ones(m), size=n_players)),
        JointPrior(types[rng.integers(m, size=(6, n_players))], rng.dirichlet(np.ones(6))),
        TwoTypePrior(types[:2], *rng.uniform(0.05, 0.95, size=2)),
        ContinuousPrior(stats.uniform(-1, 2)),
    ]
    return mechanism, priors[rng.integers(len(priors))]


def information(prior, n_players):
    """log 1 / p of the rarest profile."""
    if isinstance(prior, TypePrior):
        rows = np.broadcast_to(prior.probabilities, (n_players, prior.probabilities.shape[-1]))
        return float(-np.log(rows.min(axis=1)).sum())
    if isinstance(prior, JointPrior):
        return float(-np.log(prior.probabilities.min()))
    return math.inf


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_each_criterion_is_at_most_the_next(seed):
    mechanism, prior = random_case(seed)
    for view in ("entire", "individual"):
        found = [privacy_guarantee(mechanism, prior, view, criterion) for criterion in CRITERIA]
        pml, corollary, dp = (item.epsilon for item in found)
        if view == "entire" or not isinstance(prior, JointPrior | TwoTypePrior):
            # What correlated players tell about one of them is not bounded by its own differential privacy.
            assert corollary <= dp + 1e-9
        assert 0 <= pml <= corollary + 1e-9
        assert pml <= information(prior, mechanism.n_players) + 1e-9
        assert all(item.allowance <= item.epsilon for item in found)
        assert all(item.lower is None or item.lower <= item.epsilon for item in found)
    assert pml <= epsilon(mechanism, prior) + 1e-9
    assert dp <= epsilon(mechanism, prior, criterion="dp") + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_much_noise_tells_nothing(seed):
    mechanism, prior = random_case(seed)
    loud = replace(mechanism, noise_scales=mechanism.noise_scales * 1e12)
    for view, criterion in itertools.product(("entire", "individual"), CRITERIA):
        assert epsilon(loud, prior, view, criterion) < 1e-8


@pytest.mark.parametrize(
    "prior",
    [
        TypePrior([0.0, 1.0], [1.0, 0.0]),
        JointPrior([[0.0, 1.0, 0.0]], [1.0]),
        SampledPrior(lambda n, rng: np.full(n, 0.25), (0, 0.5)),
    ],
)
def test_what_is_known_beforehand_does_not_leak(prior):
    limit = 0.05 if isinstance(prior, SampledPrior) else 0.0
    mechanism = make_mechanism(allowance=1e-3 if limit == 0 else 0.0)
    if isinstance(prior, SampledPrior):
        # Nothing but the samples says that it is a point: what is left is the price of their number.
        mechanism = replace(mechanism, noise_scales=mechanism.noise_scales * 1e3)
    for view in ("entire", "individual"):
        assert epsilon(mechanism, prior, view) <= limit


def test_players_without_a_difference_leak_nothing_under_any_prior():
    mechanism = make_mechanism(n_rounds=1)
    for prior in (stats.norm(), stats.uniform(), TypePrior([0.0, 1e9], [0.5, 0.5])):
        assert epsilon(mechanism, prior) == 0
        assert epsilon(mechanism, prior, criterion="dp") == 0


# ------------------------------------------------------------------ several dimensions


def test_mixed_coordinates_give_a_bound_above_the_exact_value():
    rng = np.random.default_rng(0)
    mechanism = make_mechanism(n_players=1, n_dims=2, P=np.array([[1.0, 0.4], [0.4, 1.0]]), Q=np.eye(2) * 0.3)
    guarantee = privacy_guarantee(mechanism, stats.uniform(-1, 2))
    assert guarantee.status == "upper_bound"
    distance, samples = player_distances(mechanism)[0][0], rng.uniform(-1, 1, size=(20000, 2))
    exact = max(
        -math.log(np.exp(-distance.of(samples - corner)).mean()) for corner in ([1, 1], [1, -1], [0, 0])
    )
    assert exact < guarantee.epsilon < 1.5 * exact
    assert guarantee.epsilon <= epsilon(mechanism, stats.uniform(-1, 2), criterion="dp")
    assert privacy_guarantee(mechanism, stats.uniform(-1, 2), criterion="dp").status == "exact"


# ------------------------------------------------------------------ bounds by clipping and projection
@pytest.mark.parametrize(
    "changes",
    [
        {"clip_norm": 0.4},
        {"algorithm": "wang_nedic", "constraint": Box(-0.5, 0.5)},
        {"algorithm": "wang_nedic", "constraint": Box(-0.5, 0.5), "clip_norm": 0.4},
    ],
)
def test_bounds_profit_from_the_prior_and_from_the_ceiling(changes):
    mechanism, ceiling = make_mechanism(**changes), player_distances(make_mechanism(**changes))[0][0].ceiling
    near, far = (privacy_guarantee(mechanism, stats.uniform(0, width)) for width in (0.01, 100.0))
    assert near.status == far.status == "upper_bound"
    assert near.lower is None
    assert near.epsilon < 0.1 < far.epsilon <= 3 * ceiling + 1e-12
    assert near.epsilon < epsilon(mechanism, stats.uniform(0, 0.01), criterion="dp")
    assert epsilon(mechanism, stats.norm()) == pytest.approx(3 * ceiling)
    assert epsilon(mechanism, criterion="dp") == pytest.approx(3 * ceiling)
    # Types: never more than log 1 / p, whatever the bound.
    assert epsilon(mechanism, TypePrior([-1e6, 1e6], [0.3, 0.7])) < 3 * math.log(1 / 0.3)


# ------------------------------------------------------------------ differential privacy, allowance, errors
def test_differential_privacy_over_declared_bounds():
    bounds = (np.full((3, 1), -1.0), np.array([[0.0], [1.0], [1.0]]))
    mechanism = mechanism_of_rate(0.5, private_bounds=bounds)
    whole, one = (privacy_guarantee(mechanism, None, view, "dp") for view in ("entire", "individual"))
    assert (whole.epsilon, one.epsilon) == pytest.approx((2.5, 1.0))
    assert whole.status == one.status == "exact"
    assert epsilon(mechanism, TypePrior([-0.5, 0.0], [0.5, 0.5]), "entire", "dp") == pytest.approx(0.75)
    assert epsilon(mechanism_of_rate(0.5), stats.norm(), criterion="dp") == math.inf


def test_an_unbounded_support_has_no_guarantee():
    guarantee = privacy_guarantee(make_mechanism(allowance=1e-3), stats.norm())
    assert guarantee.epsilon == math.inf
    assert guarantee.statement().startswith("No bound holds")


def test_guarantees_speak_of_the_run():
    mechanism, prior = make_mechanism(n_players=10), TypePrior([0.0, 1.0], [0.3, 0.7])
    whole, one = (privacy_guarantee(mechanism, prior, view) for view in ("entire", "individual"))
    assert whole.subject == "this run (the values of all 10 players as one)"
    assert one.subject == "this run (any single player's value)"
    assert "10 independent players, each of one of 2 types" in one.statement()
    # The largest distance is one of what the prior holds possible, and says so.
    assert (
        "possible for 10 independent players" in privacy_guarantee(mechanism, prior, criterion="dp").subject
    )
    assert "recursion" in whole.method
    assert "clipping" in privacy_guarantee(replace(mechanism, clip_norm=1.0), prior).method


def test_what_is_told_about_one_player_does_not_move_to_another_prior():
    # Seven players show a fair coin each, the first one hides a rare type. Under half of the other prior that
    # type goes with one outcome of the coins.
    types = np.array(list(itertools.product([0.0, 1.0], repeat=8)))
    odds = np.where(types[:, 0] == 1, 0.01, 0.99) / 2**7
    together = np.where(types.any(axis=1), 0.0, 0.99) + np.where(types.all(axis=1), 0.01, 0.0)
    other = (odds + together) / 2
    mechanism, profiles = mechanism_of_rate(1.0, n_players=8), types * np.array([1e-3, *[100.0] * 7])
    before, after = (
        privacy_guarantee(mechanism, JointPrior(profiles, p), view="individual") for p in (odds, other)
    )
    assert before.epsilon < 0.7
    assert after.epsilon > before.epsilon + math.log(2) + 1
    with pytest.raises(ValueError, match="another prior"):
        before.under_prior(0.5)
    whole = [privacy_guarantee(mechanism, JointPrior(profiles, p)) for p in (odds, other)]
    assert whole[1].epsilon <= whole[0].under_prior(0.5).epsilon


_SHAPES = {
    "beta": [(0.2, 0.2), (5, 2), (1, 1)],
    "bradford": [(3.0,)],
    "irwinhall": [(4,)],
    "johnsonsb": [(0.5, 2.0), (4.0, 0.3)],
    "loguniform": [(0.01, 2.0)],
    "powerlaw": [(0.3,), (4.0,)],
    "rdist": [(0.9,), (3.0,)],
    "reciprocal": [(0.01, 2.0)],
    "trapezoid": [(0.2, 0.7), (0.0, 1.0), (0.5, 0.5)],
    "triang": [(0.0,), (0.3,), (1.0,)],
    "truncexpon": [(2.0,)],
    "truncnorm": [(-1.0, 2.0), (3.0, 9.0)],
    "truncpareto": [(2.0, 5.0)],
    "truncweibull_min": [(2.0, 0.1, 1.5), (0.5, 0.1, 1.5)],
    "vonmises_line": [(4.0,)],
    "wrapcauchy": [(0.3,), (0.9,)],
}


class _Gap(stats.rv_continuous):
    """Uniform on [0, 0.1] and [0.9, 1]."""

    def _cdf(self, x):
        return np.interp(x, [0, 0.1, 0.9, 1], [0, 0.5, 0.5, 1])

    def _ppf(self, q):
        return np.interp(q, [0, 0.5, 0.5 + 1e-15, 1], [0, 0.1, 0.9, 1])


class _Narrow(stats.rv_continuous):
    """Uniform on [0, 0.1], with a support that is named wider."""

    def _cdf(self, x):
        return np.clip(10 * x, 0, 1)

    def _ppf(self, q):
        return q / 10


class _Beta(type(stats.beta)):  # type: ignore[misc]
    """A subclass of a known family may do anything."""


@pytest.mark.parametrize("criterion", ["pml", "dp"])
@pytest.mark.parametrize(
    "prior",
    [
        _Gap(a=0, b=1)(),
        _Gap(a=0, b=1, name="uniform")(),
        _Narrow(a=0, b=1)(),
        _Beta(a=0, b=1)(2, 2),
        type(stats.triang)(a=0, b=2, name="triang")(0.5),
        stats.rv_histogram((np.array([1, 1]), np.array([0.0, 0.5, 1.0])))(),
    ],
    ids=["gap", "gap named uniform", "named wider", "subclass", "other ends", "histogram"],
)
def test_nothing_is_exact_where_the_support_is_not_known_to_be_an_interval(prior, criterion):
    mechanism = mechanism_of_rate(8.0, n_players=1)
    found = privacy_guarantee(mechanism, prior, criterion=criterion)
    assert found.status == "upper_bound"
    assert found.lower is None
    if criterion == "pml":
        # Against the truth: the worst point at which the density is positive.
        levels = (np.arange(4000) + 0.5) / 4000
        values = prior.ppf(levels)
        truth = max(-np.log(np.exp(-8 * np.abs(values - a)).mean()) for a in values[::37])
        assert found.epsilon > truth - 1e-3
    # What cannot move a broadcast need not be known.
    still = privacy_guarantee(make_mechanism(n_rounds=1), prior, criterion=criterion)
    assert (still.status, still.epsilon) == ("exact", 0.0)


@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        slow(*case) if case in (("irwinhall", "pml"), ("vonmises_line", "pml")) else case
        for case in itertools.product(_INTERVALS, ("pml", "dp"))
    ],
)
def test_known_families_are_positive_between_their_ends_and_exact(name, criterion):
    family = getattr(stats, name, None)
    if family is None:
        pytest.skip(f"this SciPy has no {name}")
    for shapes in _SHAPES.get(name, [()]):
        prior = family(*shapes, loc=-1, scale=2)
        low, high = prior.support()
        assert np.isfinite([low, high]).all()
        # A gap of a thousandth of the support would leave the probability of some part at 0; in far tails
        # probabilities are below the smallest double, and their logarithms tell.
        edges = np.linspace(low, high, 1001)
        assert (prior.logpdf((edges[1:] + edges[:-1]) / 2) > -np.inf).all()
        found = privacy_guarantee(mechanism_of_rate(1.0, n_players=1), prior, criterion=criterion)
        assert found.status == "exact"
        assert found.epsilon <= high - low + 1e-9
