# SPDX-License-Identifier: BSD-3-Clause
"""Distances between secrets: equal to replays where exact, above all replays where bounds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.games._games.sets import Box, Simplex, Unconstrained
from skprivate.games._leakage.broadcast_sensitivity import (
    ConstantDistance,
    L1Distance,
    NormDistance,
    phi_matrices,
    player_distances,
)
from tests.games.conftest import HIDDEN
from tests.games.conftest import make_mechanism as make_broadcasts

ALGORITHMS = ["ye", "wang_nedic"]
N_ROUNDS = 8


def make_mechanism(**changes):
    return make_broadcasts(**{"algorithm": "wang_nedic", **changes})


def replay(mechanism, gradient, observed, start, weights):
    """Estimates v^k of all players, of shape (n_rounds, N, n), by the paper's updates from broadcasts."""
    x, v, path = start, start, []
    for o, step in zip(observed, mechanism.steps, strict=True):
        path.append(v)
        F = gradient(x, v)
        if mechanism.clip_norm is not None:
            F = F * np.minimum(
                1, mechanism.clip_norm / np.maximum(np.abs(F).sum(axis=1, keepdims=True), 1e-300)
            )
        if mechanism.algorithm == "ye":
            moved = x - step * F
            v = weights @ o + moved - x
        else:
            moved = mechanism.constraint.project(x - step * F)
            v = v + 0.4 * (weights @ o - weights.sum(axis=1, keepdims=True) * o) + moved - x
        x = moved
    return np.array(path)


def affine(P, Q, r):
    return lambda x, v: (P @ x[..., None] + Q @ v[..., None])[..., 0] + r


def ring(n_players):
    identity = np.eye(n_players)
    return (identity + np.roll(identity, 1, axis=1) + np.roll(identity, -1, axis=1)) / 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("n_dims", "shared"), [(1, True), (1, False), (3, True), (3, False)])
def test_replays_differ_as_the_recursion_says(algorithm, n_dims, shared):
    rng = np.random.default_rng(n_dims + 7 * shared)
    shape = (n_dims, n_dims) if shared else (4, n_dims, n_dims)
    P, Q = rng.normal(size=shape), rng.normal(size=shape)
    r, other = rng.normal(size=(2, 4, n_dims))
    for n_players, start_scale, weights in [(4, 0.0, ring(4)), (4, 5.0, np.full((4, 4), 0.25))]:
        mechanism = make_mechanism(n_players=n_players, n_dims=n_dims, algorithm=algorithm, P=P, Q=Q)
        observed = rng.normal(scale=100, size=(N_ROUNDS, n_players, n_dims))
        start = rng.normal(scale=start_scale, size=(n_players, n_dims))
        first, second = (
            replay(mechanism, affine(P, Q, secret), observed, start, weights) for secret in (r, other)
        )
        phi = np.array(list(phi_matrices(P, Q, mechanism.steps, mechanism.algorithm)))
        phi = phi[:, None] if shared else phi
        assert phi.shape[0] == N_ROUNDS
        assert np.abs((first - second) - (phi @ (r - other)[..., None])[..., 0]).max() < 1e-10
        totals = (np.abs(first - second).sum(axis=2) / mechanism.noise_scales[:, None]).sum(axis=0)
        distances, kinds = player_distances(mechanism)
        values = [distances[kind].of((r - other)[i : i + 1])[0] for i, kind in enumerate(kinds)]
        assert np.allclose(values, totals, rtol=0, atol=1e-10)
        assert all(isinstance(distance, NormDistance) and distance.exact for distance in distances)
        assert len(distances) == (1 if shared else 4)


@pytest.mark.parametrize("seed", range(5))
def test_norms_are_bounded_by_rates_and_largest_at_corners(seed):
    rng = np.random.default_rng(seed)
    mechanism = make_mechanism(n_dims=3, P=rng.normal(size=(3, 3)), Q=rng.normal(size=(3, 3)))
    distance = player_distances(mechanism)[0][0]
    assert not distance.separable
    widths = np.array([1.0, 2.0, 0.5])
    inside = rng.uniform(-1, 1, size=(4000, 3)) * widths
    corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T * widths
    value, attained = distance.largest(widths)
    assert attained
    assert value == pytest.approx(distance.of(corners).max(), abs=1e-12)
    assert distance.of(inside).max() <= value
    assert (distance.of(inside) <= np.abs(inside) @ distance.rates + 1e-12).all()
    assert np.allclose(distance.of(np.eye(3)), distance.rates)
    many = make_mechanism(n_dims=14, P=rng.normal(size=(14, 14)))
    value, attained = player_distances(many)[0][0].largest(np.ones(14))
    assert not attained
    assert value >= player_distances(many)[0][0].of(np.ones((1, 14)))[0]


def test_allowances_are_paid_in_every_round_for_different_secrets_only():
    mechanism = make_mechanism(n_dims=2, allowance=0.01)
    paid = 2 * 0.01 * (1 / mechanism.noise_scales).sum()
    plain, distance = (
        player_distances(replace(mechanism, allowance=0.0))[0][0],
        player_distances(mechanism)[0][0],
    )
    types = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 0.0]])
    assert np.allclose(distance.between(types) - plain.between(types), paid * (1 - np.eye(3)))
    assert distance.largest(np.ones(2))[0] == pytest.approx(plain.largest(np.ones(2))[0] + paid)
    assert distance.without_allowance().largest(np.ones(2)) == plain.largest(np.ones(2))


# Clipped or projected runs, whether P and Q are public, and the kind of bound that follows.
LIMITED = {
    "ye, clipped": ({"algorithm": "ye", "clip_norm": 1.5}, L1Distance),
    "ye, clipped, all private": ({"algorithm": "ye", "clip_norm": 1.5, "private": HIDDEN}, ConstantDistance),
    "clipped": ({"clip_norm": 1.5}, L1Distance),
    "clipped seldom": ({"clip_norm": 40.0}, L1Distance),
    "clipped, all private": ({"clip_norm": 1.5, "private": HIDDEN}, ConstantDistance),
    "box": ({"constraint": Box(-1.0, 1.0)}, L1Distance),
    "box, all private": ({"constraint": Box(-1.0, 1.0), "private": HIDDEN}, ConstantDistance),
    "box, clipped": ({"constraint": Box(-1.0, 1.0), "clip_norm": 0.7}, L1Distance),
    "box, clipped, all private": (
        {"constraint": Box(-1.0, 1.0), "clip_norm": 0.7, "private": HIDDEN},
        ConstantDistance,
    ),
    "half line": ({"constraint": Box(-1.0, np.inf)}, L1Distance),
    "simplex": ({"constraint": Simplex()}, L1Distance),
    "simplex, clipped": ({"constraint": Simplex(), "clip_norm": 0.7}, L1Distance),
    "simplex, all private": ({"constraint": Simplex(), "private": HIDDEN}, ConstantDistance),
}


def extreme_observations(rng, shape):
    scale = 10 ** rng.uniform(-2, 3, size=(shape[0], 1, 1)) * rng.choice([0.0, 1.0], size=(shape[0], 1, 1))
    return scale * rng.choice([-1.0, 1.0], size=shape) * rng.uniform(size=shape)


@pytest.mark.parametrize("n_dims", [1, 2, 5])
@pytest.mark.parametrize("name", list(LIMITED))
def test_no_replay_exceeds_a_bound(name, n_dims):
    changes, kind = LIMITED[name]
    rng = np.random.default_rng(n_dims)
    used = 0.0
    constraint = changes.get("constraint", Unconstrained()).fit_to(40, n_dims)
    for trial in range(25):
        public = changes.get("private") != HIDDEN
        P, Q = rng.normal(size=(2, n_dims, n_dims)) * (1 if trial % 2 else 0.3)
        P = P + rng.uniform(0, 3) * np.eye(n_dims)
        steps = rng.uniform(0, 1.5) / (1 + rng.uniform(0, 1) * np.arange(N_ROUNDS))
        scales = 10 ** rng.uniform(-1, 2, size=N_ROUNDS)
        mechanism = make_mechanism(**{
            **changes, "n_players": 40, "n_dims": n_dims, "P": P if public else None,
            "Q": Q if public else None, "steps": steps, "noise_scales": scales, "constraint": constraint,
        })  # fmt: skip
        distance = player_distances(mechanism)[0][0]
        assert isinstance(distance, kind)
        assert not distance.exact
        r = rng.normal(size=(40, n_dims)) * 3
        other = r + rng.normal(size=(40, n_dims)) * 10 ** rng.uniform(-3, 1.5, size=(40, 1))
        hidden = (P, Q) if public else rng.normal(size=(2, 40, n_dims, n_dims)) * 5
        start = constraint.project(rng.normal(size=(40, n_dims)))
        observed = extreme_observations(rng, (N_ROUNDS, 40, n_dims))
        first, second = (
            replay(mechanism, affine(*matrices, secret), observed, start, ring(40))
            for matrices, secret in (((P, Q), r), (hidden, other))
        )
        seen = (np.abs(first - second).sum(axis=2) / scales[:, None]).sum(axis=0)
        bounds = distance.of(r - other)
        assert (seen <= bounds + 1e-8).all()  # broadcasts of 1e3 round to 1e-13, over scales of 0.1
        assert (bounds <= np.abs(r - other) @ distance.rates * (1 + 1e-12)).all()
        assert (bounds <= distance.ceiling * (1 + 1e-12)).all()
        used = max(used, float((seen / np.maximum(bounds, 1e-300)).max()))
    simplex_of_one_point = constraint.diameter == 0
    assert used > 0.2 or simplex_of_one_point  # a bound that nothing comes near would pass above


@pytest.mark.parametrize("name", ["clipped", "box", "box, clipped", "half line", "ye, clipped"])
def test_scalar_bounds_are_attained_where_steps_are_plain(name):
    """Far inside the set and below the clipping norm nothing is lost: the bound is the exact distance."""
    changes = {**LIMITED[name][0], "P": np.zeros((1, 1)), "Q": np.zeros((1, 1))}
    difference = np.array([[0.01]])
    bound = player_distances(make_mechanism(**changes))[0][0].of(difference)
    exact = player_distances(make_mechanism(**{**changes, "clip_norm": None, "constraint": Unconstrained()}))[
        0
    ][0]
    assert bound == pytest.approx(exact.of(difference))


def test_the_bound_of_clipped_rounds_is_attained_where_every_move_adds_to_the_last():
    """P and Q are negative and differ: own moves and estimates of others grow, and are not to be mixed up."""
    game = {"P": np.full((1, 1), -1.5), "Q": np.full((1, 1), -0.25), "algorithm": "ye"}
    clipped, free = (
        player_distances(make_mechanism(**game, clip_norm=clip))[0][0].of(np.array([[0.01]]))
        for clip in (1.5, None)
    )
    assert clipped == pytest.approx(free, rel=1e-12)


def test_contraction_is_not_claimed_where_clipping_hides_it():
    """Broadcasts that drive both pseudo-gradients into clipping keep apart what would come closer."""
    mechanism = make_mechanism(
        n_players=2, P=np.zeros((1, 1)), Q=np.array([[2.0]]), steps=np.array([0.9] + [0.25] * 7),
        noise_scales=np.ones(8), clip_norm=1.0,
    )  # fmt: skip
    observed = np.zeros((8, 2, 1))
    observed[0] = [[-1e4], [1e4]]
    first, second = (
        replay(
            mechanism,
            affine(mechanism.P, mechanism.Q, np.array([[r], [0]])),
            observed,
            np.zeros((2, 1)),
            np.ones((2, 2)) / 2,
        )
        for r in (-0.5, 0.5)
    )
    seen = np.abs(first - second).sum()
    assert seen > player_distances(replace(mechanism, clip_norm=None))[0][0].of(np.ones((1, 1)))[0] + 1
    assert seen <= player_distances(mechanism)[0][0].of(np.ones((1, 1)))[0]


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(LIMITED)), st.sampled_from([1, 3]))
def test_bounds_increase_with_the_difference(seed, name, n_dims):
    rng = np.random.default_rng(seed)
    P, Q = rng.normal(size=(2, n_dims, n_dims))
    constraint = LIMITED[name][0].get("constraint", Unconstrained()).fit_to(3, n_dims)
    mechanism = make_mechanism(
        **{**LIMITED[name][0], "n_dims": n_dims, "P": P, "Q": Q, "constraint": constraint}
    )
    lengths = np.sort(10 ** rng.uniform(-3, 3, size=30))
    differences = np.zeros((30, n_dims))
    differences[:, 0] = lengths
    values = player_distances(mechanism)[0][0].of(differences)
    assert (np.diff(values) >= -1e-12 * values[1:]).all()
    assert player_distances(mechanism)[0][0].of(np.zeros((1, n_dims))) == 0


def test_one_bound_stands_for_very_many_kinds_of_players():
    P = np.linspace(0.5, 2.0, 1200).reshape(-1, 1, 1)
    mechanism = make_mechanism(n_players=1200, P=P, constraint=Box(-1.0, 1.0))
    (shared,), kinds = player_distances(mechanism)
    assert (kinds == 0).all()
    for player in (0, 600, 1199):
        own = player_distances(replace(mechanism, n_players=1, P=P[player]))[0][0]
        for length in (0.1, 10.0):
            assert own.of(np.array([[length]])) <= shared.of(np.array([[length]]))


def test_a_half_bounded_box_is_a_projection():
    """Its diameter is infinite and it does not expand, but what it lets through depends on the broadcasts."""
    assert not player_distances(make_mechanism(constraint=Box(0.0, np.inf)))[0][0].exact
    assert player_distances(make_mechanism(constraint=Box(0.0, np.inf), algorithm="ye"))[0][0].exact


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_first_broadcast_tells_nothing(algorithm):
    mechanism = make_mechanism(algorithm=algorithm)
    assert player_distances(mechanism.first_rounds(1))[0][0].rates == 0
    assert player_distances(mechanism.first_rounds(2))[0][0].rates == pytest.approx(1 / 1.5)
    clipped = player_distances(
        replace(mechanism, clip_norm=3.0, private=frozenset({"pseudo_gradient"})).first_rounds(2)
    )
    assert clipped[0][0].ceiling == pytest.approx(2 * 3 / 1.5)
