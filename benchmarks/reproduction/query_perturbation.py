# SPDX-License-Identifier: BSD-3-Clause
"""Errors by ways to perturb a column of queries at equal correct orientation: Table 3 of the paper."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from skprivate.metrics import correct_orientation_score
from skprivate.preprocessing import TQMATransformer

from .._tables import Table
from ._collaborative import SEEDS, Toy
from ._perturbation import (
    Perturbation,
    kd_tree,
    laplace_noise,
    matched_scale,
    microaggregation,
    multiplicative_noise,
)

FloatArray = NDArray[np.float64]

COLUMN, DEPTH, GROUPS, LEAF_SIZES = 0, 4, 16, (2, 3, 4, 6, 8)
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
    tqma = TQMATransformer(DEPTH, bounds={COLUMN: (0, 1)}, quasi_identifiers=[COLUMN])
    yield tqma.fit(X).transform(X)
    rng = np.random.default_rng(seed)
    yield microaggregation(X, COLUMN, GROUPS, rng)
    leaves = [kd_tree(X, COLUMN, size, rng) for size in LEAF_SIZES]
    yield min(leaves, key=lambda released: abs(orientation(X, released) - TARGET))
    noises: tuple[Perturbation, ...] = (multiplicative_noise, laplace_noise)
    for perturb in noises:
        scale = matched_scale(perturb, X, COLUMN, TARGET, seed)
        yield perturb(X, COLUMN, scale, np.random.default_rng(seed))


def orientation(X: FloatArray, released: FloatArray) -> float:
    return float(correct_orientation_score(X[:, [COLUMN]], released[:, [COLUMN]])[0])


def run() -> None:
    found = []
    for seed in range(SEEDS):
        toy = Toy.draw(seed)
        queries = perturbed(toy.queries, seed)
        found.append([(orientation(toy.queries, X), np.sqrt(toy.mse(X))) for X in queries])
    means, spread = np.mean(found, axis=0), np.std(found, axis=0)
    print(f"one column of five perturbed, {SEEDS} seeds: mean ± standard deviation; in brackets the paper")
    table = Table(("method", "<35"), ("CO (%)", "<25"), ("RMSE", "<30"), indent=2)
    for (name, (co, rmse)), mean, sd in zip(PAPER.items(), means, spread, strict=True):
        error = f"{mean[1]:.5f} ±{sd[1]:.5f} ({rmse:.5f})"
        table.row(name, f"{mean[0]:.2f} ±{sd[0]:.2f} ({co:.2f})", error)
