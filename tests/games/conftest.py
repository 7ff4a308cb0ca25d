# SPDX-License-Identifier: BSD-3-Clause
"""A game that is known on paper, and runs of known steps, whose leakage tests compute in other ways."""

import numpy as np
import pytest

from skprivate.games import ConstraintSet
from skprivate.games._games.sets import Unconstrained
from skprivate.games._plan import BroadcastMechanism

#: A quadratic game of six players in two coordinates.
N, n = 6, 2
P = np.array([[2.0, 0.5], [0.5, 1.0]])
Q = np.array([[0.5, 0.1], [0.0, 0.3]])
R = np.random.default_rng(1).normal(size=(N, n))


def cost(x, aggregate):
    return np.einsum("ij,ij->i", x, x @ P / 2 + aggregate @ Q.T + R)


def derivatives(x, aggregate):
    """Return the derivatives by the own strategy and by the aggregate, each with the other held fixed."""
    return x @ P.T + aggregate @ Q.T + R, x @ Q


def nash(x, aggregate):
    """Return the pseudo-gradient of the game with the own effect."""
    return x @ (P + Q.T / N).T + aggregate @ Q.T + R


class Disc(ConstraintSet):
    """The disc of radius 1 around 0, as a user writes it."""

    diameter, expansion = 2 * np.sqrt(2), np.sqrt(2)

    def project(self, points):
        return points / np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))

    def contains(self, points):
        return np.linalg.norm(points, axis=1) <= 1 + 1e-9

    def start(self, n_players, n_dims):
        return np.zeros((n_players, n_dims))


SETS = {
    "free": None,
    "box": (-0.2, 0.1),
    "boxes": (np.linspace(-2, -1, N)[:, None] * [1, 5], np.linspace(0.1, 3, N)[:, None] * [5, 1]),
    "half": (0, np.inf),
    "simplex": "simplex",
    "disc": Disc(),
}


@pytest.fixture(params=SETS, ids=str)
def bounds(request):
    return SETS[request.param]


#: Everything of the players' functions is private.
HIDDEN = frozenset({"P", "Q", "r"})


def make_mechanism(n_rounds=8, **changes):
    """Return three players in eight rounds of steps 1, 1/2, 1/3, ... under noise that grows."""
    n_dims, n_players = changes.get("n_dims", 1), changes.get("n_players", 3)
    constraint = changes.pop("constraint", Unconstrained()).fit_to(n_players, n_dims)
    fields = {
        "algorithm": "ye",
        "noise_scales": 1.0 + 0.5 * np.arange(n_rounds),
        "steps": 1 / (1.0 + np.arange(n_rounds)),
        "clip_norm": None,
        "private": frozenset({"r"}),
        "P": np.eye(n_dims),
        "Q": 0.5 * np.eye(n_dims),
        "private_bounds": None,
        "allowance": 0.0,
        **changes,
    }
    return BroadcastMechanism(**fields | {"n_players": n_players, "n_dims": n_dims, "constraint": constraint})


def mechanism_of_rate(rate, **changes):
    """Return one step of length 1 in the second of two rounds: D(r, r') = rate |r - r'|."""
    return make_mechanism(**{"noise_scales": np.array([1.0, 1 / rate]), "steps": np.ones(2), **changes})
