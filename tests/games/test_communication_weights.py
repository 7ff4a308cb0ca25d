# SPDX-License-Identifier: BSD-3-Clause
"""Communication weights: what they average, which rounds lose connection, what partial_fit goes on with."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from skprivate.games import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.games._communication_weights import check_weights, make_mixing
from skprivate.games._rounds import Dynamics, replay

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")

RING = (np.eye(6, k=1) + np.eye(6, k=-1) + np.eye(6, k=5) + np.eye(6, k=-5) + np.eye(6)) / 3
VALUES = np.random.default_rng(0).normal(size=(6, 2))
N = 4
R = np.array([-0.6, 0.1, 0.4, 0.9])


def link(i, j, n=N):
    """Two players who take the mean of their two values; nobody else talks."""
    weights = np.eye(n)
    weights[np.ix_([i, j], [i, j])] = 0.5
    return weights


TREE = [link(0, 1), link(1, 2), link(2, 3)]


def turn(k):
    """Take the links of a path in turns."""
    return TREE[k % 3]


@pytest.fixture
def game():
    return QuadraticAggregativeGame(1.0, 0.5, R, r_bounds=(-1, 1))


def solver(**parameters):
    return PrivateNashSolver(**{"max_iter": 12, "random_state": 0, **parameters})


def mixing(weights, n_rounds=12, n_players=N, *, symmetric=True, connected_within=None):
    return make_mixing(weights, n_players, n_rounds, symmetric=symmetric, connected_within=connected_within)


def test_none_is_the_mean_of_all():
    mean = check_weights(None, 6, symmetric=True).average(VALUES)
    assert np.allclose(mean, VALUES.mean(axis=0), atol=1e-15)


@pytest.mark.parametrize("form", [np.array, np.ndarray.tolist, sparse.csr_array, sparse.coo_matrix])
def test_every_form_of_a_matrix_averages_alike(form):
    mixing = check_weights(form(RING), 6, symmetric=True)
    assert np.allclose(mixing.average(VALUES), RING @ VALUES, atol=1e-15)


def test_a_graph_gets_metropolis_weights():
    graph = nx.Graph([("a", "b"), ("b", "c"), ("b", "d"), ("a", "a"), ("b", "a")])
    average = check_weights(graph, 4, symmetric=True).average(np.eye(4))
    # Degrees 1, 3, 1, 1: every edge has weight 1 / (1 + 3).
    expected = np.diag([0.75, 0.25, 0.75, 0.75])
    expected[0, 1] = expected[1, 0] = expected[1, 2] = expected[2, 1] = expected[1, 3] = expected[3, 1] = 0.25
    assert np.allclose(average, expected, atol=1e-15)


def test_a_doubly_stochastic_matrix_need_not_be_symmetric_where_it_may_not():
    cycle = (np.eye(6) + np.eye(6, k=1) + np.eye(6, k=-5)) / 2
    assert np.allclose(check_weights(cycle, 6, symmetric=False).average(VALUES), cycle @ VALUES)


def test_a_replay_takes_the_weights_of_each_round(game):
    fitted = solver(weights=turn, store="all").fit(game)
    dynamics = Dynamics(game, fitted.mixing_, "wang_nedic", None)
    paths = replay(dynamics, fitted.start_, fitted.observations_, fitted.steps_, fitted.consensus_steps_)
    for replayed, estimates in zip(paths, fitted.history_["estimates"], strict=False):
        assert np.allclose(replayed, estimates, atol=1e-12)


def test_the_guarantee_does_not_depend_on_the_weights(game):
    epsilons = [solver(weights=w).fit(game).privacy_spent_.epsilon for w in (None, turn)]
    assert epsilons[0] == epsilons[1]


@pytest.mark.parametrize(
    "before", [None, (np.ones((N, N)) + np.eye(N)) / 5, turn], ids=["none", "fixed", "changing"]
)
@pytest.mark.parametrize("changed", ["another", "later"])
def test_partial_fit_refuses_changed_weights(game, before, changed):
    def later(k):
        """Return other weights from round 7 on, which was run."""
        now = turn(k) if before is turn else before
        return link(0, 3) if k == 7 else now

    fitted = solver(weights=before).fit(game)
    strategies = fitted.strategies_
    other = (np.ones((N, N)) + 2 * np.eye(N)) / 6 if changed == "another" else later
    round_ = 0 if changed == "another" else 7
    with pytest.raises(ValueError, match=f"weights differ.* in round {round_}"):
        fitted.set_params(weights=other, connected_within=6).partial_fit(game)
    assert fitted.n_iter_ == 12
    assert fitted.strategies_ is strategies
    assert fitted.set_params(weights=before).partial_fit(game).n_iter_ == 24


def test_partial_fit_goes_on_with_the_rounds_to_come(game):
    parts, whole = (solver(noise_scale=1e-9, weights=turn, max_iter=rounds) for rounds in (5, 15))
    for _ in range(3):
        parts.partial_fit(game)
    assert np.allclose(parts.strategies_, whole.fit(game).strategies_, atol=1e-6)
    longer = solver(weights=[turn(k) for k in range(20)]).fit(game)
    with pytest.raises(ValueError, match="each of 24 rounds"):
        longer.partial_fit(game)
    assert longer.set_params(max_iter=8).partial_fit(game).n_iter_ == 20


def test_checking_leaves_the_users_matrix_as_it_is():
    ring = sparse.csr_array(np.full((3, 3), 1 / 3))
    ring.data[:] = [0.5, 0.5, 0, 0.5, 0, 0.5, 0, 0.5, 0.5]
    mixing(ring, n_players=3)
    assert ring.nnz == 9
    assert ring.data.tolist() == [0.5, 0.5, 0, 0.5, 0, 0.5, 0, 0.5, 0.5]
