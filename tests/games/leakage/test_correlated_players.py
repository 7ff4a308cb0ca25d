# SPDX-License-Identifier: BSD-3-Clause
"""Correlated players: sums over profiles by contraction, pair by pair, and written out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.games import JointPrior, TwoTypePrior
from skprivate.games._leakage import correlated_players
from skprivate.games._leakage.broadcast_sensitivity import player_distances
from skprivate.games._leakage.correlated_players import JointChannel, TwoTypeChannel, as_joint_prior
from skprivate.games._leakage.guarantees import privacy_guarantee
from tests.games.conftest import make_mechanism


def players_of_rates(rates, **changes):
    """Players with D_i(r, r') = rate_i |r - r'|: a step, then another that depends on P_i."""
    # E_1 = -1, E_2 = -1 - (1 - P) = P - 2.
    fields = {"P": (2.0 - np.asarray(rates, dtype=float)).reshape(-1, 1, 1), "Q": np.zeros((1, 1))}
    fields |= {"noise_scales": np.array([1.0, 1e13, 1.0]), "steps": np.ones(3), "algorithm": "wang_nedic"}
    return make_mechanism(**fields | {"n_players": len(rates), **changes})


def per_player(rates):
    distances, kinds = player_distances(players_of_rates(rates))
    return [distances[kind] for kind in kinds]


def random_prior(rng, n_players, n_types):
    every = np.array(list(itertools.product(rng.normal(size=n_types), repeat=n_players)))
    some = every[rng.permutation(len(every))[: rng.integers(1, len(every) + 1)]]
    return JointPrior(some, rng.dirichlet(np.full(len(some), 0.5)))


def by_writing_out(prior, rates):
    """Theorem 1, the largest leakage about one player at combinations of types, and at profiles."""
    f, p = prior.profiles[:, :, 0], prior.probabilities
    combinations = np.array(list(itertools.product(*[np.unique(column) for column in f.T])))

    def kernel(at):
        return np.exp(-(np.abs(f[:, None] - at[None]) * rates).sum(axis=2))

    def one(at):
        K, found = kernel(at), [0.0]
        for player in range(f.shape[1]):
            for value in np.unique(f[:, player]):
                of_it = f[:, player] == value
                found.append(np.log(p[of_it] @ K[of_it] / p[of_it].sum() / (p @ K)).max())
        return float(max(found))

    return float(-np.log(p @ kernel(f)).min()), one(combinations), one(f)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
def test_contraction_equals_writing_out(seed, n_players, n_types):
    rng = np.random.default_rng(seed)
    prior, rates = random_prior(rng, n_players, n_types), rng.uniform(0.1, 3, size=n_players)
    channel, (whole, one, _) = JointChannel(prior, per_player(rates)), by_writing_out(prior, rates)
    assert channel.entire().value == pytest.approx(max(0.0, whole), abs=1e-9)
    found = channel.individual()
    if n_types <= 2:
        assert found.exact
        assert found.value == pytest.approx(one, abs=1e-8)
    else:
        assert found.value <= channel.entire().value + 1e-9
        assert found.value <= channel.rarest_type_bound() + 1e-9
        lower = found.value if found.exact else found.lower
        assert lower == pytest.approx(one, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_give_the_same_as_the_grid(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    prior, rates = random_prior(rng, 3, 4), rng.uniform(0.1, 3, size=3)
    distances, (whole, _, at_profiles) = per_player(rates), by_writing_out(prior, rates)
    monkeypatch.setattr(correlated_players, "_MOST_CELLS", 3)
    monkeypatch.setattr(correlated_players, "_PAIRS_AT_ONCE", 100)
    channel = JointChannel(prior, distances)
    assert not channel.gridded
    assert channel.entire().value == pytest.approx(max(0.0, whole), abs=1e-9)
    found = channel.individual()
    assert not found.exact
    assert found.lower == pytest.approx(at_profiles, abs=1e-8)


def test_many_profiles_off_a_grid():
    rng = np.random.default_rng(0)
    prior = JointPrior(rng.normal(size=(500, 5)), np.full(500, 1 / 500))
    found = privacy_guarantee(players_of_rates(np.full(5, 0.5)), prior)
    assert found.status == "exact"
    assert 1 < found.epsilon < math.log(500)


@pytest.mark.parametrize("view", ["entire", "individual"])
def test_two_types_of_different_players(view):
    prior, rates = TwoTypePrior([0, 1], 0.3, 0.4), np.linspace(0.1, 0.5, 13)
    few = privacy_guarantee(players_of_rates(rates[:4]), prior, view)
    every = np.array(list(itertools.product([0, 1], repeat=4)))
    alike = (every == every[:, :1]).all(axis=1)
    p = np.where(every[:, 0] == 0, 0.3, 0.7) * np.where(alike, 0.4, 0.6 / 7)
    whole, one, _ = by_writing_out(JointPrior(every, p), rates[:4])
    assert few.status == "exact"
    assert few.epsilon == pytest.approx(whole if view == "entire" else one, abs=1e-9)
    many = privacy_guarantee(players_of_rates(rates), prior, view)
    assert many.status == "upper_bound"
    assert many.lower is not None
    ends = [TwoTypeChannel(prior, 13, rate) for rate in (0.1, 0.5)]
    low, high = (p.entire() if view == "entire" else max(p.first(), p.others()) for p in ends)
    assert (many.lower, many.epsilon) == pytest.approx((low, high))
    equal = privacy_guarantee(players_of_rates(np.full(13, 0.3)), prior, view)
    assert equal.status == "exact"
    assert many.lower < equal.epsilon < many.epsilon


SIZES = (2, 5, 10, 20, 50)


def followed(n_players, distance, alpha=0.3, beta=0.6):
    return TwoTypeChannel(TwoTypePrior([0, 1], alpha, beta), n_players, distance)


def corrected_bound(n_players, distance, alpha, beta):
    """Eq. (9) of the paper with c = beta 2^(N-1) - 1, as it stands: overflows for many players."""
    x, others = math.exp(-distance), n_players - 1
    c, loose = beta * 2.0**others - 1, (1 - beta) * (1 + x) ** others
    ratio = x * (c * x**others + loose) / (c + loose)
    return -math.log((1 - alpha) * ratio + alpha)


def all_vertices(n_players, distances, alpha, beta):
    """Largest leakage about all players, and about each, over all 2^N vertices."""
    profiles = np.array(list(itertools.product([0, 1], repeat=n_players)))
    alike = (profiles[:, 1:] == profiles[:, :1]).all(axis=1)
    p = np.where(profiles[:, 0] == 0, alpha, 1 - alpha)
    p = p * np.where(alike, beta, (1 - beta) / (2 ** (n_players - 1) - 1))
    K = np.exp(-(np.abs(profiles[:, None] - profiles[None]) * distances).sum(axis=2))
    whole = -math.log((p @ K)[p > 0].min())
    each = []
    for player in range(n_players):
        masks = [profiles[:, player] == kind for kind in (0, 1)]
        each.append(max(np.log((p[m] @ K[m]) / p[m].sum() / (p @ K)).max() for m in masks))
    return whole, each


@pytest.mark.parametrize(
    ("beta", "figures"), [(0.6, "0.162 0.410 0.692 0.999 1.192"), (0.5, "0.136 0.362 0.620 0.937 1.186")]
)
def test_figures_of_the_corrected_lower_bound(beta, figures):
    found = [followed(n, 0.2, beta=beta).first() for n in SIZES]
    assert " ".join(f"{value:.3f}" for value in found) == figures
    assert np.allclose(found, [corrected_bound(n, 0.2, 0.3, beta) for n in SIZES], rtol=1e-12)


@given(
    st.integers(2, 7), st.floats(0, 5), st.floats(0.01, 0.99),
    # Not below 1e-300: writing out takes products that are 0 in floating point for impossible.
    st.one_of(st.floats(1e-300, 1), st.sampled_from([0.0, 1.0, 1e-12, 1 - 1e-12])),
)  # fmt: skip
def test_counting_equals_writing_out(n_players, distance, alpha, beta):
    players = followed(n_players, distance, alpha, beta)
    whole, each = all_vertices(n_players, np.full(n_players, distance), alpha, beta)
    assert players.entire() == pytest.approx(whole, abs=1e-9)
    assert players.first() == pytest.approx(each[0], abs=1e-9)
    assert players.others() == pytest.approx(max(each[1:]), abs=1e-9)


@given(st.integers(2, 12), st.floats(0, 8), st.floats(0.01, 0.99), st.floats(0, 1))
def test_no_other_player_is_worse_than_the_first(n, distance, alpha, beta):
    """Seen, not proven: guarantees take the larger of both."""
    players = followed(n, distance, alpha, beta)
    assert players.others() <= players.first() + 1e-9


def test_very_many_players_do_not_overflow():
    for beta in (0.0, 1e-300, 0.01, 0.6, 1.0):
        players = followed(5000, 0.2, beta=beta)
        values = (players.entire(), players.first(), players.others())
        assert np.isfinite(values).all()
        assert players.first() <= math.log(1 / 0.3) + 1e-9
        assert players.others() <= players.rarest_type_bound() + 1e-9
    assert followed(1000, 0.2).first() == pytest.approx(math.log(1 / 0.3), abs=1e-6)
    # beta = 2^-(N-1) makes player 1 independent of all others: Lemma 5(3) of the paper leaves it out.
    alone = -math.log(0.3 + 0.7 * math.exp(-0.2))
    assert followed(1000, 0.2, beta=2.0**-999).first() == pytest.approx(alone, abs=1e-9)


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_written_out_priors_are_the_same_distribution(beta):
    joint = as_joint_prior(TwoTypePrior([[0, 0], [1, 2]], 0.3, beta), 3)
    assert joint.probabilities.sum() == pytest.approx(1)
    first = (joint.profiles[:, 0] == 0).all(axis=1)
    assert joint.probabilities[first].sum() == pytest.approx(0.3)
    alike = (joint.profiles == joint.profiles[:, :1]).all(axis=(1, 2))
    assert joint.probabilities[alike].sum() == pytest.approx(beta)
