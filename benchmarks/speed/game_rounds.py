# SPDX-License-Identifier: BSD-3-Clause
"""Time of a round of the private Nash solver against the drawing of its noise alone, and its memory."""

import warnings

import numpy as np
from scipy import sparse

from skprivate.games import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.noise import check_entropy
from skprivate.noise._sampling_kernels import fill_discrete_laplace
from skprivate.noise._stream_kernels import WordStream

from .._memory import peak_bytes
from .._tables import Table
from .._timing import compare, median_seconds

PLAYERS, DIMS, ROUNDS = 100_000, 2, 20


def neighbours(n_players: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return weights of a random graph in which everybody has six neighbours: three random cycles."""
    rows, columns = [], []
    for _ in range(3):
        order = rng.permutation(n_players)
        rows += [order, np.roll(order, 1)]
        columns += [np.roll(order, 1), order]
    ends = np.concatenate(rows), np.concatenate(columns)
    own = sparse.eye_array(n_players, format="csr") / 7
    edges = sparse.coo_array((np.full(len(ends[0]), 1 / 7), ends), shape=(n_players, n_players))
    return sparse.csr_array(own + edges.tocsr())


def draw_noise(solver: PrivateNashSolver, size: int) -> None:
    """Draw what a run of the solver draws, and nothing else."""
    noise = np.empty(size, dtype=np.int64)
    scale = 2**40
    with WordStream(check_entropy(None), 3 * size * solver.max_iter // 2) as stream:
        for _ in range(solver.max_iter):
            fill_discrete_laplace(noise, scale, 1, stream)


def bench_large(rng: np.random.Generator) -> None:
    """Print the time of a round of many players, of its noise alone, and the memory of a run."""
    r = rng.uniform(-1, 1, (PLAYERS, DIMS))
    game = QuadraticAggregativeGame(1.0, 0.5, r, bounds=(-2, 2), r_bounds=(-1, 1))
    solver = PrivateNashSolver(weights=neighbours(PLAYERS, rng), max_iter=ROUNDS)
    ours, noise, ratio = compare(
        lambda: solver.fit(game), lambda: draw_noise(solver, PLAYERS * DIMS), pairs=5
    )
    print(
        f"{PLAYERS:,} players, six neighbours, {DIMS} dimensions, {ROUNDS} rounds (with all checks of fit):"
    )
    table = Table(
        ("ms a round", ">10.1f"), ("noise alone", ">11.1f"), ("ratio", ">6.2f"), ("peak, MiB", ">9.0f")
    )
    peak = peak_bytes(lambda: solver.fit(game)) / 2**20
    table.row(1e3 * ours / ROUNDS, 1e3 * noise / ROUNDS, ratio, peak)


def bench_small(rng: np.random.Generator) -> None:
    """Print the time of a run of ten players."""
    table = Table(("10 players, 1,000 rounds", "<24"), ("ms", ">8.1f"))
    for bounds in (None, (-2, 2)):
        game = QuadraticAggregativeGame(1.0, 0.5, rng.uniform(-1, 1, 10), bounds=bounds, r_bounds=(-1, 1))
        table.row(
            f"bounds {bounds}", 1e3 * median_seconds(lambda game=game: PrivateNashSolver().fit(game), 15)
        )


def run() -> None:
    """Print the figures."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    bench_large(rng)
    bench_small(rng)
