# SPDX-License-Identifier: BSD-3-Clause
"""How often a private score finds the best of six candidates, where 5 % of the rows are positive.

Run with ``python -m benchmarks.figures.search_scores [--tables 10] [--runs 100] [--units 2000]
[--rate 0.05]``. The candidates are trees of four depths, a logistic regression and boosting, each fitted at
epsilon 1 to 16,000 rows of every table; the truth of each is scikit-learn's metric on 50,000 others. Every
candidate is scored once on fresh rows. "right" is the share of runs in which one that is best by that metric
has the largest score, "lost" how much of the metric the chosen one has less than the best; "none" is a choice
at random, "exact" the score of the same rows without noise. The fits and the noise are seeded.
"""

import argparse
import warnings
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from skprivate import DPBoostingClassifier, DPLogisticRegression, DPTreeClassifier
from skprivate.model_selection._scoring import CLASS_SCORERS, ScoringRows, accuracy
from skprivate.noise import check_entropy

POOL = 50_000
TRAIN = 16_000
EPSILONS = (0.5, 1.0, 2.0, None)


class Finished:
    """A fitted model whose probabilities are looked up: X holds row numbers."""

    def __init__(self, model: Any, X: Any) -> None:
        self.classes_, self.table = model.classes_, model.predict_proba(X)

    def predict_proba(self, rows: Any) -> Any:
        """Return what the model says of these rows."""
        return self.table[rows]

    def predict(self, rows: Any) -> Any:
        """Return the likeliest class."""
        return self.classes_[self.table[rows].argmax(axis=1)]


def candidates(rate: float, table: int) -> tuple[list[Finished], Any]:
    """Return the finished models of a table, and the labels of the rows that they are scored on."""
    X, y = make_classification(
        POOL + TRAIN,
        6,
        n_informative=4,
        n_redundant=0,
        weights=[1 - rate],
        class_sep=0.8,
        random_state=1_000 + table,
    )
    X = np.clip(X, -4, 4)
    shared: dict[str, Any] = {"bounds": (-4, 4), "classes": [0, 1], "random_state": 2_000 + table}
    models: list[Any] = [
        *(DPTreeClassifier(1.0, max_depth=depth, **shared) for depth in (1, 3, 5, 8)),
        DPLogisticRegression(1.0, **shared),
        DPBoostingClassifier(1.0, **shared),
    ]
    return [Finished(model.fit(X[POOL:], y[POOL:]), X[:POOL]) for model in models], y[:POOL]


def choices(
    models: list[Finished], y: Any, draws: list[Any], scorer: Any, epsilon: float | None, entropy: Any
) -> Any:
    """Return the number of the model that is chosen on each draw of rows."""
    exact = None if epsilon is None else Fraction(epsilon)
    scored = (ScoringRows(rows, y[rows], None, len(rows), exact) for rows in draws)
    return np.array(
        [np.argmax([float(rows.score(scorer, model, entropy)) for model in models]) for rows in scored]
    )


def run(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--units", type=int, default=2_000)
    parser.add_argument("--rate", type=float, default=0.05)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    found: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    everything = np.arange(POOL)
    for table in range(options.tables):
        models, y = candidates(options.rate, table)
        rng, entropy = np.random.default_rng(3_000 + table), check_entropy(4_000 + table)
        draws = [rng.integers(0, POOL, options.units) for _ in range(options.runs)]
        for metric, scorer in CLASS_SCORERS.items():
            truth = np.array([scorer.exact(model, everything, y) for model in models])
            lost = truth.max() - truth
            found.setdefault((metric, "none", ""), []).append(((lost == 0).mean(), lost.mean()))
            for (name, by), epsilon in product(((metric, scorer), ("accuracy", accuracy)), EPSILONS):
                chosen = lost[choices(models, y, draws, by, epsilon, entropy)]
                row = found.setdefault((metric, name, epsilon or "exact"), [])
                row.append(((chosen == 0).mean(), chosen.mean()))
    print(f"{'best by':<20}{'scored by':<20}{'epsilon':>8}{'right':>8}{'lost':>9}")
    for (metric, name, epsilon), row in found.items():
        right, less = np.mean(row, axis=0)
        print(f"{metric:<20}{name:<20}{epsilon:>8}{right:>8.2f}{less:>9.4f}")


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
