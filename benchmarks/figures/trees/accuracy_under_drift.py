# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of the automatic depth and weight on the simulation of the LPCT paper."""

import os

import numpy as np
from joblib import Parallel, delayed

from skprivate import LocallyPrivateTreeClassifier
from skprivate.datasets import make_posterior_drift

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
    jobs = (delayed(scores_of_seed)(seed, n_public, n_features, gamma, drift) for seed in range(SEEDS))
    return np.array(Parallel(n_jobs=int(os.environ.get("N_JOBS", "1")))(jobs))


def run() -> None:
    for (n_public, gamma), goal in GOALS.items():
        print(f"d = 2, n_Q = {n_public}, gamma = {gamma}: mean of {SEEDS} seeds")
        table = scores(n_public, gamma=gamma)
        for row, name in enumerate(WEIGHTS):
            print(f"  {name:<22}" + "".join(f"{value:8.3f}" for value in table[:, row].mean(axis=0)))
        mean, error = table[:, 0].mean(axis=0), table[:, 0].std(axis=0, ddof=1) / np.sqrt(SEEDS)
        reach = mean + 3 * np.hypot(error, GOAL_ERROR)
        print(f"  {'goal':<22}" + "".join(f"{value:8.3f}" for value in goal))
        print(f"  {'automatic + 3 errors':<22}" + "".join(f"{value:8.3f}" for value in reach))
        print(f"  {'reached':<22}" + "".join(f"{ok!s:>8}" for ok in reach >= np.array(goal)))
    print("misleading public rows: automatic minus the better of private only and public only, in points")
    for drift in ("flipped", "unrelated"):
        for n_features in (2, 5, 10):
            for n_public in (50, 1000):
                means = scores(n_public, n_features, drift=drift).mean(axis=0)
                gap = 100 * (means[0] - means[1:].max(axis=0))
                line = "".join(f"{value:8.1f}" for value in gap)
                print(f"  {drift:<10} d = {n_features:<3} n_Q = {n_public:<5}{line}", flush=True)
