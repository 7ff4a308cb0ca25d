# SPDX-License-Identifier: BSD-3-Clause
"""How often a private score finds the best of six candidates, where 5 % of the rows are positive.

Run with ``python -m benchmarks.figures.search_scores [--runs 400] [--units 2000] [--rate 0.05]``. The
candidates are finished trees of four depths, a logistic regression and boosting, fitted at epsilon 1 to
16,000 rows; the truth of each is scikit-learn's metric on 100,000 others. Every candidate is scored once on
fresh rows. "right" is the share of runs in which the best by that metric has the largest score, "lost" how
much of the metric the chosen one has less than the best; "none" is a choice at random, "exact" the score of
the same rows without noise.
"""

import argparse
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from skprivate import DPBoostingClassifier, DPLogisticRegression, DPTreeClassifier
from skprivate.model_selection._scores import ScoringRows
from skprivate.model_selection._scoring import CLASS_SCORERS, accuracy
from skprivate.noise import check_entropy

POOL = 100_000
TRAIN = 16_000
EPSILONS = (0.5, 1.0, 2.0)


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


def candidates(rate: float) -> tuple[list[Finished], Any]:
    """Return the finished models, and the labels of the pool."""
    X, y = make_classification(
        POOL + TRAIN, 6, n_informative=4, n_redundant=0, weights=[1 - rate], class_sep=0.8, random_state=11
    )
    X = np.clip(X, -4, 4)
    shared: dict[str, Any] = {"bounds": (-4, 4), "classes": [0, 1]}
    models = [
        *(DPTreeClassifier(1.0, max_depth=depth, **shared) for depth in (1, 3, 5, 8)),
        DPLogisticRegression(1.0, **shared),
        DPBoostingClassifier(1.0, **shared),
    ]
    return [Finished(model.fit(X[POOL:], y[POOL:]), X[:POOL]) for model in models], y[:POOL]


def run(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--units", type=int, default=2_000)
    parser.add_argument("--rate", type=float, default=0.05)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    models, y = candidates(options.rate)
    everything, rng, entropy = np.arange(POOL), np.random.default_rng(12), check_entropy(None)
    draws = [rng.integers(0, POOL, options.units) for _ in range(options.runs)]
    for metric, scorer in CLASS_SCORERS.items():
        truth = np.array([scorer.exact(model, everything, y) for model in models])
        print(f"\n{metric}: {' '.join(f'{value:.4f}' for value in truth)}")
        print(f"{'scored by':<20}{'epsilon':>8}{'right':>8}{'lost':>9}")
        print(f"{'none':<20}{'':>8}{1 / len(models):>8.2f}{truth.max() - truth.mean():>9.4f}")
        for name, by in ((metric, scorer), ("accuracy", accuracy)):
            for epsilon in (*EPSILONS, None):
                scores = np.array(
                    [
                        score_all(
                            models,
                            ScoringRows(rows, y[rows], None, len(rows), _fraction(epsilon)),
                            by,
                            entropy,
                        )
                        for rows in draws
                    ]
                )
                chosen = scores.argmax(axis=1)
                right, lost = (chosen == truth.argmax()).mean(), (truth.max() - truth[chosen]).mean()
                print(f"{name:<20}{epsilon or 'exact':>8}{right:>8.2f}{lost:>9.4f}", flush=True)


def _fraction(epsilon: float | None) -> Fraction | None:
    return None if epsilon is None else Fraction(epsilon)


def score_all(models: list[Finished], rows: ScoringRows, scorer: Any, entropy: Any) -> list[float]:
    """Return one score of every model."""
    return [float(rows.score(scorer, model, entropy)) for model in models]


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
