# SPDX-License-Identifier: BSD-3-Clause
"""Perturbations of one column of queries with which tree-based quasi-microaggregation is compared.

Each takes the queries, the column, a strength and a generator, and returns the perturbed queries. All but the
noises need every query at once.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skprivate.metrics import correct_orientation_score

FloatArray = NDArray[np.float64]
Perturbation = Callable[[FloatArray, int, float, np.random.Generator], FloatArray]

_HALVINGS = 40


def microaggregation(X: FloatArray, column: int, n_groups: float, rng: np.random.Generator) -> FloatArray:
    """Sort the values, cut them into groups of equal size, and release each group's mean."""
    return _with_means(X, column, np.array_split(np.argsort(X[:, column]), int(n_groups)))


def multiplicative_noise(X: FloatArray, column: int, share: float, rng: np.random.Generator) -> FloatArray:
    """Multiply by normal noise of mean one and variance `share` times that of the column."""
    noise = rng.normal(1.0, np.sqrt(share) * X[:, column].std(), size=len(X))
    return _with_column(X, column, X[:, column] * noise)


def laplace_noise(X: FloatArray, column: int, scale: float, rng: np.random.Generator) -> FloatArray:
    """Add Laplace noise of this scale."""
    return _with_column(X, column, X[:, column] + rng.laplace(scale=scale, size=len(X)))


def kd_tree(X: FloatArray, column: int, leaf_size: float, rng: np.random.Generator) -> FloatArray:
    """Halve the queries at the median of their widest column, and release each leaf's mean of the column."""
    leaves, open_nodes = [], [np.arange(len(X))]
    while open_nodes:
        rows = open_nodes.pop()
        if len(rows) <= leaf_size:
            leaves.append(rows)
            continue
        widest = int(np.ptp(X[rows], axis=0).argmax())
        open_nodes += np.array_split(rows[np.argsort(X[rows, widest])], [len(rows) // 2])
    return _with_means(X, column, leaves)


def matched_scale(perturb: Perturbation, X: FloatArray, column: int, target: float, seed: int) -> float:
    """Return the strength of a noise at which correct orientation, in percent, is the target."""

    def hides(strength: float) -> bool:
        # The same noise every time, so more of it moves every value further.
        released = perturb(X, column, strength, np.random.default_rng(seed))
        return bool(correct_orientation_score(X[:, [column]], released[:, [column]])[0] <= target)

    return least_strength(hides, 1e-6, 1e3)


def least_strength(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least strength that is enough, where every larger one is."""
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _with_means(X: FloatArray, column: int, groups: list[NDArray[np.intp]]) -> FloatArray:
    values = X[:, column].copy()
    for rows in groups:
        values[rows] = values[rows].mean()
    return _with_column(X, column, values)


def _with_column(X: FloatArray, column: int, values: FloatArray) -> FloatArray:
    perturbed = X.copy()
    perturbed[:, column] = values
    return perturbed
