# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of a local tree with automatic depth and weight under posterior drift, beside its goals."""

from itertools import product

import numpy as np
from joblib import delayed

from skprivate import LocallyPrivateTreeClassifier
from skprivate.datasets import make_posterior_drift

from ..._tables import Table, across, standard_error
from ._accuracy_table import in_parallel

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SEEDS = 30
WEIGHTS = {"automatic": "auto", "private only": 0.0, "public only": 1e12}
GOALS = {
    (50, 0.5): (0.664, 0.685, 0.698, 0.727, 0.752),
    (1000, 5.0): (0.668, 0.687, 0.701, 0.729, 0.764),
}
GOAL_ERROR = 0.003


def scores_of_seed(seed: int, n_public: int, n_features: int, gamma: float, drift: str) -> np.ndarray:
    """Accuracies of shape (weights, epsilons); the noise comes from the operating system."""
    X, y, is_public = make_posterior_drift(
        10_000, n_public, n_features=n_features, gamma=gamma, drift=drift, random_state=seed
    )
    X_test, y_test, _ = make_posterior_drift(2000, 0, n_features=n_features, random_state=10_000 + seed)
    table = np.zeros((len(WEIGHTS), len(EPSILONS)))
    for row, weight in enumerate(WEIGHTS.values()):
        for column, epsilon in enumerate(EPSILONS):
            tree = LocallyPrivateTreeClassifier(epsilon, public_weight=weight, bounds=(0, 1), classes=[0, 1])
            table[row, column] = tree.fit(X, y, is_public=is_public).score(X_test, y_test)
    return table


def scores(n_public: int, n_features: int = 2, gamma: float = 1.0, drift: str = "power") -> np.ndarray:
    """Accuracies of shape (seeds, weights, epsilons)."""
    return in_parallel(
        delayed(scores_of_seed)(seed, n_public, n_features, gamma, drift) for seed in range(SEEDS)
    )


def print_goals() -> None:
    """Print the accuracies beside their goals."""
    for (n_public, gamma), goal in GOALS.items():
        print(f"d = 2, n_Q = {n_public}, gamma = {gamma}: mean of {SEEDS} seeds")
        found = scores(n_public, gamma=gamma)
        table = Table(("epsilon", "<22"), *across(EPSILONS, ">7.3f"), indent=2)
        for row, name in enumerate(WEIGHTS):
            table.row(name, *found[:, row].mean(axis=0))
        error = standard_error(found[:, 0])
        reach = found[:, 0].mean(axis=0) + 3 * np.hypot(error, GOAL_ERROR)
        table.row("goal", *goal)
        table.row("automatic + 3 errors", *reach)
        table.row("reached", *(str(bool(ok)) for ok in reach >= np.array(goal)))


def print_misleading() -> None:
    """Print what the automatic weight loses where public labels mislead."""
    print("misleading public rows: automatic minus the better of private only and public only, in points")
    table = Table(("drift", "<10"), ("d", ">3"), ("n_Q", ">5"), *across(EPSILONS, ">7.1f"), indent=2)
    for drift, n_features, n_public in product(("flipped", "unrelated"), (2, 5, 10), (50, 1000)):
        means = scores(n_public, n_features, drift=drift).mean(axis=0)
        table.row(drift, n_features, n_public, *100 * (means[0] - means[1:].max(axis=0)))


def run() -> None:
    print_goals()
    print_misleading()
