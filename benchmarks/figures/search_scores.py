# SPDX-License-Identifier: BSD-3-Clause
"""How often a private score finds the best of six candidates, where 5 % of the rows are positive.

The candidates are trees of four depths, a logistic regression and boosting, each fitted at epsilon 1 to
16,000 rows of every table; the truth of each is scikit-learn's metric on 50,000 others. Every candidate is
scored once on 2,000 fresh rows. "right" is the share of runs in which one that is best by that metric has the
largest score, "lost" how much of the metric the chosen one has less than the best; "none" is a choice at
random, "exact" the score of the same rows without noise. The fits and the noise are seeded.
"""

import warnings
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from skprivate import DPBoostingClassifier, DPLogisticRegression, DPTreeClassifier
from skprivate.model_selection._scoring import CLASS_SCORERS, ScoringRows, accuracy
from skprivate.noise import check_entropy

from .._tables import Table

EPSILONS = (0.5, 1.0, 2.0, None)
RATE = 0.05


@dataclass(frozen=True)
class Sizes:
    """Rows of the truth and of a fit, tables, and runs with so many fresh rows each."""

    pool: int = 50_000
    train: int = 16_000
    tables: int = 10
    runs: int = 100
    units: int = 2_000


SIZES = {False: Sizes(), True: Sizes(2_000, 2_000, 1, 2, 500)}


def candidates(sizes: Sizes, table: int) -> tuple[list[Any], Any, Any]:
    """Return the fitted models of a table, and the rows that they are scored on."""
    shape = {"n_samples": sizes.pool + sizes.train, "n_features": 6, "n_informative": 4, "n_redundant": 0}
    X, y = make_classification(**shape, weights=[1 - RATE], class_sep=0.8, random_state=1_000 + table)
    X = np.clip(X, -4, 4)
    shared: dict[str, Any] = {"bounds": (-4, 4), "classes": [0, 1], "random_state": 2_000 + table}
    models: list[Any] = [
        *(DPTreeClassifier(1.0, max_depth=depth, **shared) for depth in (1, 3, 5, 8)),
        DPLogisticRegression(1.0, **shared),
        DPBoostingClassifier(1.0, **shared),
    ]
    for model in models:
        model.fit(X[sizes.pool :], y[sizes.pool :])
    return models, X[: sizes.pool], y[: sizes.pool]


def run(*, small: bool = False) -> None:
    """Print the table."""
    sizes = SIZES[small]
    found: dict[tuple[Any, ...], list[tuple[float, float]]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in range(sizes.tables):
            models, X, y = candidates(sizes, table)
            entropy = check_entropy(4_000 + table)
            draws = np.random.default_rng(3_000 + table).integers(0, sizes.pool, (sizes.runs, sizes.units))
            for metric, scorer in CLASS_SCORERS.items():
                truth = np.array([scorer.exact(model, X, y) for model in models])
                lost = truth.max() - truth
                found[metric, "none", ""].append(((lost == 0).mean(), lost.mean()))
                for (name, by), epsilon in product(((metric, scorer), ("accuracy", accuracy)), EPSILONS):
                    spent = None if epsilon is None else Fraction(epsilon)
                    scored = (ScoringRows(X[rows], y[rows], None, len(rows), spent) for rows in draws)
                    scores = [[float(rows.score(by, model, entropy)) for model in models] for rows in scored]
                    chosen = lost[np.argmax(scores, axis=1)]
                    found[metric, name, epsilon or "exact"].append(((chosen == 0).mean(), chosen.mean()))
    columns = (("best by", "<20"), ("scored by", "<20"), ("epsilon", ">8g"), ("right", ">8.2f"))
    results = Table(*columns, ("lost", ">9.4f"))
    for place, row in found.items():
        results.row(*place, *np.mean(row, axis=0))
