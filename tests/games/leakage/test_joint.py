# SPDX-License-Identifier: BSD-3-Clause
"""Correlated players: sums over profiles by contraction, pair by pair, and written out."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.games import JointPrior, TwoTypePrior
from skprivate.games._games.sets import Unconstrained
from skprivate.games._leakage import correlated_players
from skprivate.games._leakage.broadcast_sensitivity import Distance, player_distances
from skprivate.games._leakage.correlated_players import JointChannel, TwoTypeChannel
from skprivate.games._leakage.guarantees import privacy_guarantee
from skprivate.games._plan import BroadcastMechanism


def make_mechanism(rates: Any, **changes: Any) -> BroadcastMechanism:
    """Players with D_i(r, r') = rate_i |r - r'|: a step, then another that depends on P_i."""
    rates = np.asarray(rates, dtype=float)
    fields: dict[str, Any] = {
        "n_players": len(rates),
        "n_dims": 1,
        "algorithm": "wang_nedic",
        "noise_scales": np.array([1.0, 1e13, 1.0]),
        "steps": np.ones(3),
        "constraint": Unconstrained(),
        "clip_norm": None,
        "private": frozenset({"r"}),
        # E_1 = -1, E_2 = -1 - (1 - P) = P - 2.
        "P": (2.0 - rates).reshape(-1, 1, 1),
        "Q": np.zeros((1, 1)),
        "private_bounds": None,
        "allowance": 0.0,
    }
    return BroadcastMechanism(**{**fields, **changes})


def per_player(rates: Any) -> list[Distance]:
    distances, kinds = player_distances(make_mechanism(rates))
    return [distances[kind] for kind in kinds]


def random_prior(rng: np.random.Generator, n_players: int, n_types: int) -> JointPrior:
    every = np.array(list(itertools.product(rng.normal(size=n_types), repeat=n_players)))
    some = every[rng.permutation(len(every))[: rng.integers(1, len(every) + 1)]]
    return JointPrior(some, rng.dirichlet(np.full(len(some), 0.5)))


def by_writing_out(prior: JointPrior, rates: Any) -> tuple[float, float, float]:
    """Theorem 1, the largest leakage about one player at combinations of types, and at profiles."""
    f, p = prior.profiles[:, :, 0], prior.probabilities
    combinations = np.array(list(itertools.product(*[np.unique(column) for column in f.T])))

    def kernel(at: Any) -> Any:
        return np.exp(-(np.abs(f[:, None] - at[None]) * rates).sum(axis=2))

    def one(at: Any) -> float:
        K, found = kernel(at), [0.0]
        for player in range(f.shape[1]):
            for value in np.unique(f[:, player]):
                of_it = f[:, player] == value
                found.append(np.log(p[of_it] @ K[of_it] / p[of_it].sum() / (p @ K)).max())
        return float(max(found))

    return float(-np.log(p @ kernel(f)).min()), one(combinations), one(f)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
def test_contraction_equals_writing_out(seed: int, n_players: int, n_types: int) -> None:
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
def test_pairs_give_the_same_as_the_grid(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.slow
def test_many_profiles_off_a_grid() -> None:
    rng = np.random.default_rng(0)
    prior = JointPrior(rng.normal(size=(2000, 5)), np.full(2000, 1 / 2000))
    found = privacy_guarantee(make_mechanism(np.full(5, 0.5)), prior)
    assert found.status == "exact"
    assert 1 < found.epsilon < math.log(2000)


def test_many_profiles_on_a_grid() -> None:
    """100,000 profiles of 17 players: by comparison of pairs these were 10^10 distances."""
    rng = np.random.default_rng(0)
    bits = rng.permutation(2**17)[:100_000, None] >> np.arange(17) & 1
    mechanism = make_mechanism(np.full(17, 0.3))
    found = privacy_guarantee(mechanism, JointPrior(bits, np.full(100_000, 1e-5)))
    independent = -17 * math.log((1 + math.exp(-0.3)) / 2)
    assert found.epsilon == pytest.approx(independent, rel=0.05)


def test_huge_distances_reach_the_information_of_the_prior() -> None:
    prior = JointPrior([[0, 0], [1, 1], [0, 1]], [0.5, 0.3, 0.2])
    for rate in (1e5, 1e250):
        mechanism = make_mechanism([rate, rate], P=np.zeros((1, 1)), noise_scales=np.array([1, 1 / rate, 1]))
        assert privacy_guarantee(mechanism, prior).epsilon == pytest.approx(math.log(5))
        one = privacy_guarantee(mechanism, prior, "individual")
        assert one.epsilon == pytest.approx(math.log(1 / 0.3))
        simple = privacy_guarantee(mechanism, prior, "individual", "corollary1")
        assert simple.epsilon == pytest.approx(math.log(1 / 0.3))
    diverging = (
        make_mechanism([1, 1], n_rounds=None)
        if False
        else make_mechanism(
            [1.0, 1.0], P=np.full((1, 1), 1e3), steps=np.full(200, 1e3), noise_scales=np.ones(200)
        )
    )
    assert privacy_guarantee(diverging, prior).epsilon == pytest.approx(math.log(5))
    assert privacy_guarantee(diverging, prior, "individual").epsilon == pytest.approx(math.log(1 / 0.3))


@pytest.mark.parametrize("view", ["entire", "individual"])
def test_two_types_of_different_players(view: Any) -> None:
    prior, rates = TwoTypePrior([0, 1], 0.3, 0.4), np.linspace(0.1, 0.5, 13)
    few = privacy_guarantee(make_mechanism(rates[:4]), prior, view)
    every = np.array(list(itertools.product([0, 1], repeat=4)))
    alike = (every == every[:, :1]).all(axis=1)
    p = np.where(every[:, 0] == 0, 0.3, 0.7) * np.where(alike, 0.4, 0.6 / 7)
    whole, one, _ = by_writing_out(JointPrior(every, p), rates[:4])
    assert few.status == "exact"
    assert few.epsilon == pytest.approx(whole if view == "entire" else one, abs=1e-9)
    many = privacy_guarantee(make_mechanism(rates), prior, view)
    assert many.status == "upper_bound"
    assert many.lower is not None
    ends = [TwoTypeChannel(prior, 13, rate) for rate in (0.1, 0.5)]
    low, high = (p.entire() if view == "entire" else max(p.first(), p.others()) for p in ends)
    assert (many.lower, many.epsilon) == pytest.approx((low, high))
    equal = privacy_guarantee(make_mechanism(np.full(13, 0.3)), prior, view)
    assert equal.status == "exact"
    assert many.lower < equal.epsilon < many.epsilon
