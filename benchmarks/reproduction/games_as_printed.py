# SPDX-License-Identifier: BSD-3-Clause
"""Leakage bounds of the paper on private Nash equilibria as printed (they bound NOTHING), and corrected.

By Cheng, Chen, Oechtering and Skoglund. Eq. (9), a lower bound on what is leaked about the first player
of Lemma 5, has 2^(N-1) - 1 where its proof gives beta 2^(N-1) - 1: it exceeds the leakage itself. The
constant of Theorem 3 has a factor qbar < 1 too many, and so understates epsilon.
"""

import math

import numpy as np

from skprivate.games import TwoTypePrior
from skprivate.games._games.sets import Unconstrained
from skprivate.games._leakage.broadcast_sensitivity import constant_bound
from skprivate.games._leakage.correlated_players import TwoTypeChannel
from skprivate.games._plan import BroadcastMechanism

from .._tables import Table, across

PLAYERS = (2, 5, 10, 20, 50)
EPSILON, ALPHA, BETA = 0.2, 0.3, 0.6


def printed_lower_bound(n_players: int, epsilon: float, alpha: float, beta: float) -> float:
    """Eq. (9) as printed: NOT a lower bound."""
    return _equation_9(2.0 ** (n_players - 1) - 1, n_players, epsilon, alpha, beta)


def corrected_lower_bound(n_players: int, epsilon: float, alpha: float, beta: float) -> float:
    """Eq. (9) with the constant of its proof: the leakage itself in the cases below."""
    return _equation_9(beta * 2.0 ** (n_players - 1) - 1, n_players, epsilon, alpha, beta)


def upper_bound(n_players: int, epsilon: float, alpha: float) -> float:
    """Lemma 5 (1), which holds as printed."""
    return -math.log((1 - alpha) * math.exp(-n_players * epsilon) + alpha)


def printed_constant(c: float, q: float, d: float, qbar: float, clip: float) -> float:
    """Theorem 3's epsilon for steps c q^k, scales d qbar^k, gradients up to `clip`: NOT a guarantee."""
    return 2 * c * clip * qbar / (d * (qbar - q))


def corrected_constant(c: float, q: float, d: float, qbar: float, clip: float) -> float:
    """Sum of 2 C l_{k-1} / M_k over k = 1, 2, ..."""
    return 2 * c * clip / (d * (qbar - q))


def _equation_9(constant: float, n_players: int, epsilon: float, alpha: float, beta: float) -> float:
    x, others = math.exp(-epsilon), n_players - 1
    loose = (1 - beta) * (1 + x) ** others
    ratio = x * (constant * x**others + loose) / (constant + loose)
    return -math.log((1 - alpha) * ratio + alpha)


def run(small: bool = False) -> None:
    """Print the leakage about the first player beside the bounds, and both constants of Theorem 3."""
    print(f"Leakage about player 1 (alpha {ALPHA}, beta {BETA}, distance {EPSILON} of every player), in nats")
    names = ("leakage", "(9) corrected", "(9) as printed, no bound", "Lemma 5 (1)")
    table, prior = Table(("N", ">3"), *across(names, ">7.3f")), TwoTypePrior([0.0, 1.0], ALPHA, BETA)
    for n in PLAYERS[:2] if small else PLAYERS:
        bounds = (bound(n, EPSILON, ALPHA, BETA) for bound in (corrected_lower_bound, printed_lower_bound))
        table.row(n, TwoTypeChannel(prior, n, EPSILON).first(), *bounds, upper_bound(n, EPSILON, ALPHA))
    k = np.arange(2000)
    mechanism = BroadcastMechanism(
        n_players=10, n_dims=1, algorithm="ye", noise_scales=0.99**k, steps=0.5 * 0.97**k,
        constraint=Unconstrained(), clip_norm=1.0, private=frozenset({"pseudo_gradient"}), P=None, Q=None,
        private_bounds=None, allowance=0.0,
    )  # fmt: skip
    numbers = (0.5, 0.97, 1.0, 0.99, 1.0)
    print("Epsilon of Theorem 3 for one player, c .5, q .97, d 1, qbar .99, C 1")
    table = Table(*across(("by the recursion", "corrected", "as printed, no guarantee"), ">9.3f"), indent=2)
    table.row(constant_bound(mechanism), corrected_constant(*numbers), printed_constant(*numbers))
