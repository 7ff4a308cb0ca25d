# SPDX-License-Identifier: BSD-3-Clause
"""Time of a round of the private Nash solver against the drawing of its noise alone."""

import warnings
from functools import partial

import numpy as np
from scipy import sparse

from skprivate.games import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.noise import check_entropy
from skprivate.noise._sampling_kernels import fill_discrete_laplace
from skprivate.noise._stream_kernels import WordStream

from ._goals import Measured, SideBySide

# Players, rounds, and pairs.
SIZES = {False: (100_000, 20, 5), True: (100, 2, 0)}
DIMS = 2


def neighbours(n_players: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return weights of a random graph in which everybody has six neighbours: three random cycles."""
    orders = [rng.permutation(n_players) for _ in range(3)]
    ends = np.concatenate(orders), np.concatenate([np.roll(order, 1) for order in orders])
    cycles = sparse.coo_array((np.full(len(ends[0]), 1 / 7), ends), shape=(n_players, n_players))
    return sparse.csr_array(sparse.eye_array(n_players) / 7 + cycles + cycles.T)


def draw_noise(n_rounds: int, size: int) -> None:
    """Draw what a run of the solver draws, and nothing else."""
    noise, scale = np.empty(size, dtype=np.int64), 2**40
    with WordStream(check_entropy(None), 3 * size * n_rounds // 2) as stream:
        for _ in range(n_rounds):
            fill_discrete_laplace(noise, scale, 1, stream)


def run(small: bool = False) -> Measured:
    warnings.simplefilter("ignore")
    n_players, n_rounds, pairs = SIZES[small]
    rng = np.random.default_rng(0)
    game = QuadraticAggregativeGame(
        1.0, 0.5, rng.uniform(-1, 1, (n_players, DIMS)), bounds=(-2, 2), r_bounds=(-1, 1)
    )
    solver = PrivateNashSolver(weights=neighbours(n_players, rng), max_iter=n_rounds)
    table = SideBySide(pairs, "ms a round", 1e3 / n_rounds)
    table.heading(f"{n_rounds} rounds (with all checks of fit), six neighbours, {DIMS} dimensions")
    table.row(
        f"{n_players:,} players",
        "drawing its noise",
        partial(solver.fit, game),
        partial(draw_noise, n_rounds, n_players * DIMS),
        goal="a round of a game, 100,000 players",
    )
    return table.measured
