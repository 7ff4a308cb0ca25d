# SPDX-License-Identifier: BSD-3-Clause
"""Errors by ways to perturb a column of queries at equal correct orientation: Table 3 of the paper."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._tables import Table
from ._collaborative import SEEDS, Toy, coarsened, orientation, over_seeds
from ._perturbation import kd_tree, laplace_noise, matched_scale, microaggregation, multiplicative_noise

FloatArray = NDArray[np.float64]

COLUMN, GROUPS, LEAF_SIZES = 0, 16, (2, 3, 4, 6, 8)
#: Percent within 2 mu of a uniform value in cells of width 1 / 16.
TARGET = 6.4
PAPER = {
    "none": (100.0, 0.02779),
    "TQMA, depth 4": (6.37, 0.02806),
    "microaggregation, 16 groups": (6.55, 0.02807),
    "kd-tree, leaf size nearest in CO": (6.84, 0.03534),
    "multiplicative noise, CO matched": (6.51, 0.03202),
    "Laplace noise, CO matched": (6.40, 0.02876),
}


def perturbed(X: FloatArray, seed: int) -> Iterator[FloatArray]:
    """Yield the queries by each method, in the order of the table."""
    yield X
    yield coarsened(X)
    rng = np.random.default_rng(seed)
    yield microaggregation(X, COLUMN, GROUPS, rng)
    leaves = [kd_tree(X, COLUMN, size, rng) for size in LEAF_SIZES]
    yield min(leaves, key=lambda released: abs(orientation(X, released) - TARGET))
    for perturb in (multiplicative_noise, laplace_noise):
        scale = matched_scale(perturb, X, COLUMN, TARGET, seed)
        yield perturb(X, COLUMN, scale, np.random.default_rng(seed))


def run(seeds: int | None = None, small: bool = False) -> None:
    seeds = seeds or (1 if small else SEEDS)

    def of_seed(seed: int) -> dict[str, tuple[float, float]]:
        toy = Toy.draw(seed, small=small)
        queries = zip(PAPER, perturbed(toy.queries, seed), strict=True)
        return {name: (orientation(toy.queries, X), np.sqrt(toy.mse(X))) for name, X in queries}

    print(f"one column of five perturbed, {seeds} seeds: mean ± standard deviation; in brackets the paper")
    table = Table(("method", "<35"), ("CO (%)", "<25"), ("RMSE", "<30"), indent=2)
    for name, found in over_seeds(of_seed, seeds).items():
        (co, rmse), (co_sd, rmse_sd), paper = found.mean(axis=0), found.std(axis=0), PAPER[name]
        error = f"{rmse:.5f} ±{rmse_sd:.5f} ({paper[1]:.5f})"
        table.row(name, f"{co:.2f} ±{co_sd:.2f} ({paper[0]:.2f})", error)
