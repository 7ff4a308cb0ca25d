# SPDX-License-Identifier: BSD-3-Clause
"""Every cheap way to apply matrices, against the plain one."""

import pickle

import numpy as np
import pytest

from skprivate.games._games.equilibrium import LinearMap


@pytest.fixture
def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize("n_dims", [1, 2, 3, 12])
@pytest.mark.parametrize("kind", ["identity", "diagonal", "full", "diagonals", "stack"])
def test_applies_matrices_to_rows_and_to_one_vector(kind, n_dims, generator):
    n_players = 5
    matrices = {
        "identity": 1.5 * np.eye(n_dims),
        "diagonal": np.diag(np.arange(n_dims) + 0.5),
        "full": generator.normal(size=(n_dims, n_dims)),
        "diagonals": generator.normal(size=(n_players, n_dims, 1)) * np.eye(n_dims),
        "stack": generator.normal(size=(n_players, n_dims, n_dims)),
    }[kind]
    each = np.broadcast_to(matrices, (n_players, n_dims, n_dims))
    apply = pickle.loads(pickle.dumps(LinearMap(matrices)))
    rows, vector = generator.normal(size=(n_players, n_dims)), generator.normal(size=n_dims)
    np.testing.assert_allclose(apply(rows), [M @ z for M, z in zip(each, rows, strict=True)], atol=1e-12)
    np.testing.assert_allclose(
        np.broadcast_to(apply(vector), (n_players, n_dims)), [M @ vector for M in each], atol=1e-12
    )
