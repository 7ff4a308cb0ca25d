# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of a private grid search over a tree's parameters against its automatic choice, at one price."""

import warnings
from itertools import chain, product
from typing import Any

import numpy as np

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.datasets import make_posterior_drift
from skprivate.exceptions import UtilityWarning
from skprivate.model_selection import PrivateGridSearch

from ..._tables import Table
from ..._utility.scores import mean_text

GRID = {"max_depth": [2, 4, 6, 8], "public_weight": [0.0, 0.3, 1.0, "auto"], "prune": [False, True]}
#: Seeds, rows and grids.
SIZES: dict[bool, tuple[int, int, Any]] = {False: (20, 10_000, GRID), True: (1, 1_000, {"max_depth": [2, 4]})}
TOTAL = 3.0
#: Public rows, gamma and the drift of their labels.
PROBLEMS = ((50, 0.5, "power"), (1000, 5.0, "power"), (1000, 1.0, "flipped"))
TREES = {"DPTree": DPTreeClassifier, "local Tree": LocallyPrivateTreeClassifier}


def scores_of_seed(
    kind: type, seed: int, problem: tuple[int, float, str], n_private: int, grid: Any
) -> list[float]:
    """Accuracies of the automatic tree, of the search with a hold-out, and with public validation rows."""
    n_public, gamma, drift = problem
    options = {"gamma": gamma, "drift": drift}
    X, y, is_public = make_posterior_drift(n_private, n_public, random_state=seed, **options)
    X_test, y_test, _ = make_posterior_drift(4000, 0, random_state=10_000 + seed)
    declared = {"bounds": (0, 1), "classes": [0, 1]}
    automatic = kind(TOTAL, **declared).fit(X, y, is_public=is_public)
    search = PrivateGridSearch(kind(TOTAL / 3, **declared), grid)
    held_out = search.fit(X, y, is_public=is_public).score(X_test, y_test)
    validation = is_public & (np.arange(len(y)) % 2 == 0)
    known = {"is_public": is_public & ~validation, "is_public_validation": validation}
    on_public = search.fit(X, y, **known).score(X_test, y_test)
    return [automatic.score(X_test, y_test), held_out, on_public]


def run(*, small: bool = False) -> None:
    """Print means over seeds, with the standard error of the difference to the automatic choice."""
    seeds, rows, grid = SIZES[small]
    print(f"total epsilon {TOTAL:g}: automatic at {TOTAL:g}, candidates at {TOTAL / 3:g}; {seeds} seeds")
    table = Table(
        *(("tree", "<11"), ("n_Q", ">5"), ("drift", "<8"), ("gamma", ">5g"), ("automatic", ">9.4f")),
        *(("hold-out", ">8.4f"), ("", ">12"), ("public rows", ">11.4f"), ("", ">12")),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        for (name, kind), problem in product(TREES.items(), PROBLEMS):
            found = [scores_of_seed(kind, seed, problem, rows, grid) for seed in range(seeds)]
            automatic, held_out, public = np.transpose(found)
            n_public, gamma, drift = problem
            gains = (mean_text(100 * (one - automatic), 1, "+") for one in (held_out, public))
            cells = zip((held_out.mean(), public.mean()), gains, strict=True)
            table.row(name, n_public, drift, gamma, automatic.mean(), *chain(*cells))
