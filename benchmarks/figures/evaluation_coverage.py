# SPDX-License-Identifier: BSD-3-Clause
"""Coverage and width of the intervals of `private_evaluate`, on models of scikit-learn.

Rows are drawn with replacement from a pool whose exact values are the truth: so the intervals must count
sampling and noise. "needed" is the width that 90 % of the errors of the estimate need, and "no noise" that of
the interval of the same rows at epsilon 1,000.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skprivate import private_evaluate

from .._tables import Table
from .._utility.given import as_model, exact

CLIP = 1e-3
N_TRAIN = 2_000
# Draws of which the interval without noise is computed as well.
QUIET_RUNS = 30


def simulate(model: Any, rate: float, separation: float, noise: float, seed: int, pool: int) -> Any:
    """Train a model on 2,000 rows, and return scores and labels of a pool."""
    shape = {"n_samples": pool + N_TRAIN, "n_features": 10, "n_informative": 5, "n_redundant": 3}
    hard = {"weights": [1 - rate], "class_sep": separation, "flip_y": noise}
    return scored(model, *make_classification(**shape, **hard, random_state=seed), N_TRAIN)


def random_labels(pool: int) -> Any:
    """Return scores of a model that was trained on labels without any relation to the columns."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(pool + 300, 5)), rng.integers(0, 2, pool + 300)
    return scored(LogisticRegression(), X, y, 300)


def breast_cancer(pool: int) -> Any:
    """Return scores of a forest on the half of the breast cancer data that it was not trained on."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(6).permutation(len(X))
    return scored(RandomForestClassifier(random_state=0), X[order], y[order], len(X) // 2)


def scored(model: Any, X: Any, y: Any, n_train: int) -> Any:
    """Train a model on the first rows; return its scores of the others, and their labels."""
    return model.fit(X[:n_train], y[:n_train]).predict_proba(X[n_train:])[:, 1], y[n_train:]


CASES: dict[str, Callable[[int], Any]] = {
    "logistic": lambda n: simulate(LogisticRegression(), 0.4, 0.7, 0.1, 0, n),
    "boosting": lambda n: simulate(HistGradientBoostingClassifier(random_state=0), 0.2, 1.0, 0.05, 1, n),
    "rare": lambda n: simulate(LogisticRegression(), 0.01, 0.7, 0.0, 2, n),
    "weak": lambda n: simulate(LogisticRegression(C=1e-4), 0.1, 0.3, 0.0, 8, n),
    "separable": lambda n: simulate(HistGradientBoostingClassifier(random_state=0), 0.5, 4.0, 0.0, 3, n),
    "miscalibrated": lambda n: simulate(GaussianNB(), 0.3, 0.7, 0.1, 4, n),
    "random": random_labels,
    "constant": lambda n: simulate(DummyClassifier(), 0.3, 1.0, 0.0, 7, n),
    "forest, real": breast_cancer,
}


@dataclass(frozen=True)
class Sizes:
    """Rows that are drawn, epsilons, cases, and rows of a pool."""

    rows: tuple[int, ...] = (500, 2_000, 20_000)
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0)
    cases: tuple[str, ...] = tuple(CASES)
    pool: int = 100_000


SIZES = {False: Sizes(), True: Sizes((500,), (1.0,), ("rare", "random", "forest, real"), 1_000)}


def run(seeds: int = 300, *, small: bool = False) -> None:
    """Print the table; `seeds` is the number of draws of rows."""
    sizes, seeds = SIZES[small], 2 if small else seeds
    table = Table(
        *(("case", "<14"), ("n", ">7d"), ("epsilon", ">7g"), ("statistic", "<26")),
        *(("coverage", ">8.3f"), ("width", ">8.4f"), ("no noise", ">8.4f"), ("needed", ">8.4f")),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in sizes.cases:
            p, y = CASES[case](sizes.pool)
            truth = {name: value for name, value in exact(p, y, True, CLIP).items() if np.isfinite(value)}
            for n in sizes.rows:
                for epsilon in sizes.epsilons:
                    draws = np.random.default_rng(n).integers(0, len(p), (seeds, n))
                    _print_block(table, (case, n, epsilon), p, y, draws, truth)


def _print_block(
    table: Table, place: tuple[str, int, float], p: Any, y: Any, draws: Any, truth: dict[str, float]
) -> None:
    """Print by statistic coverage, mean width, that without noise, and the width that is needed."""
    found = [_evaluated(p, y, rows, place[2]) for rows in draws]
    quiet = [_evaluated(p, y, rows, 1_000.0) for rows in draws[:QUIET_RUNS]]
    for name, value in truth.items():
        held = [one[name].lower - 1e-9 <= value <= one[name].upper + 1e-9 for one in found]
        widths = (np.mean([one[name].upper - one[name].lower for one in some]) for some in (found, quiet))
        needed = 2 * np.nanquantile([abs(one[name].value - value) for one in found], 0.9)
        table.row(*place, name, np.mean(held), *widths, needed)


def _evaluated(p: Any, y: Any, rows: Any, epsilon: float) -> Any:
    model, X = as_model(p, True)
    return private_evaluate(model, X[rows], y[rows], epsilon).metrics
