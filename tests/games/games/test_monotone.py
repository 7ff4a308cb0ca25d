# SPDX-License-Identifier: BSD-3-Clause
"""The sign of the quadratic form, against the eigenvalues of the dense matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.games._games.equilibrium import is_nonnegative_form, trace_weights


def least_dense_eigenvalue(P, Q, n_players):
    size = P.shape[-1]
    P, Q = (np.broadcast_to(M, (n_players, size, size)) for M in (P, Q))
    matrix = np.zeros((n_players, size, n_players, size))
    for i in range(n_players):
        matrix[i, :, i] += P[i]
        matrix[i] += Q[i][:, None, :] / n_players
    flat = matrix.reshape(n_players * size, n_players * size)
    return np.linalg.eigvalsh((flat + flat.T) / 2)[0]


@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from("cp"),
    st.sampled_from("cp"),
)
def test_agrees_with_the_dense_matrix(seed, n_players, size, kind_P, kind_Q):
    generator = np.random.default_rng(seed)
    shapes = {"c": (size, size), "p": (n_players, size, size)}
    P = generator.normal(size=shapes[kind_P]) + generator.uniform(0, 3) * np.eye(size)
    Q = generator.normal(size=shapes[kind_Q]) + generator.uniform(0, 3) * np.eye(size)
    least = least_dense_eigenvalue(P, Q, n_players)
    # The random least eigenvalue is moved to known ones, just below and just above 0.
    for wanted in (-1e-6, 1e-6):
        assert is_nonnegative_form(P + (wanted - least) * np.eye(size), Q, n_players) == (wanted > 0)


def test_a_single_player_has_no_one_to_move_apart_from():
    assert is_nonnegative_form(np.array([[-1.0]]), np.array([[1.5]]), 1)
    assert not is_nonnegative_form(np.array([[-1.0]]), np.array([[1.5]]), 2)
    assert is_nonnegative_form(np.array([[[-1.0]]]), np.array([[1.5]]), 1)


def test_rounding_does_not_make_a_flat_game_non_monotone():
    same = np.broadcast_to(np.array([[0.3]]), (1000, 1, 1))
    assert is_nonnegative_form(np.zeros((1, 1)), same, 1000)
    assert is_nonnegative_form(np.zeros((1, 1)), np.array([[0.0]]), 1000)


def test_couplings_of_different_strength_alone_are_not_monotone():
    Q = np.array([0.5, 2.0]).reshape(2, 1, 1)
    assert not is_nonnegative_form(np.zeros((1, 1)), Q, 2)
    weights = trace_weights(Q)
    np.testing.assert_allclose(weights * Q[:, 0, 0], weights[0] * 0.5)
    assert is_nonnegative_form(np.zeros((1, 1)), weights[:, None, None] * Q, 2)


@pytest.mark.parametrize("Q", [np.eye(2), np.zeros((3, 1, 1)), np.ones((3, 1, 1)), np.ones((3, 0, 0))])
def test_weights_only_where_they_change_something(Q):
    assert trace_weights(Q) is None
