# SPDX-License-Identifier: BSD-3-Clause
"""Communication weights: which are taken, what they average, and which are refused."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from skprivate.games._communication_weights import check_weights

RING = (np.eye(6, k=1) + np.eye(6, k=-1) + np.eye(6, k=5) + np.eye(6, k=-5) + np.eye(6)) / 3
VALUES = np.random.default_rng(0).normal(size=(6, 2))


def test_none_is_the_mean_of_all():
    assert np.allclose(
        check_weights(None, 6, symmetric=True).average(VALUES), VALUES.mean(axis=0), atol=1e-15
    )


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


def test_a_graph_of_another_library_will_do():
    graph = SimpleNamespace(nodes=[0, 1, 2], edges=[(0, 1), (1, 2)])
    average = check_weights(graph, 3, symmetric=True).average(np.eye(3))
    assert np.allclose(average.sum(axis=0), 1)
    assert average[0, 2] == 0


def test_a_doubly_stochastic_matrix_need_not_be_symmetric_where_it_may_not():
    cycle = (np.eye(6) + np.eye(6, k=1) + np.eye(6, k=-5)) / 2
    assert np.allclose(check_weights(cycle, 6, symmetric=False).average(VALUES), cycle @ VALUES)
    with pytest.raises(ValueError, match="symmetric"):
        check_weights(cycle, 6, symmetric=True)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (2 * RING, "doubly stochastic: a row"),
        (np.outer(np.ones(6), np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])), "doubly stochastic: a column"),
        (np.kron(np.eye(2), np.full((3, 3), 1 / 3)), "connect all players"),
        (np.eye(6), "connect all players"),
        (RING[:5, :5], "shape"),
        (np.where(RING > 0, np.nan, RING), "finite"),
        (RING * 3 - np.roll(RING, 3, axis=1) * 2, "at least 0"),
        (nx.path_graph(5), "6 nodes"),
        (nx.disjoint_union(nx.path_graph(3), nx.path_graph(3)), "connect all players"),
        (nx.DiGraph([(i, i + 1) for i in range(5)]), "undirected"),
    ],
)
def test_bad_weights_are_refused(weights, match):
    with pytest.raises(ValueError, match=match):
        check_weights(weights, 6, symmetric=True)


def test_text_is_no_matrix():
    with pytest.raises(TypeError, match="matrix of numbers"):
        check_weights("ring", 6, symmetric=True)


def test_a_dense_matrix_of_many_players_is_refused_before_it_is_read():
    class Lazy:
        shape = (20_000, 20_000)
        dtype = np.dtype(float)

        def __array__(self, dtype=None, copy=None):
            return np.broadcast_to(np.array(1 / 20_000), self.shape)

    with pytest.raises(ValueError, match="sparse matrix or a graph"):
        check_weights(Lazy(), 20_000, symmetric=True)
