# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of private trees on a pure interaction of two features, which no additive model sees."""

from collections.abc import Iterator

import numpy as np

from ..._utility.data import Split
from ._accuracy_table import (
    DEPTHS,
    PUBLIC_ONLY,
    Method,
    boosted,
    central,
    local,
    paper,
    plain,
    print_table,
)
from ._comparison import AllRows

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SEEDS = 20
N_PUBLIC = 500
BEST = 0.681
# The first is where max-edge cuts anyway; no cut of a halving hits the second.
CROSSINGS = (1 / 2, 1 / 3)

METHODS: dict[str, Method] = {
    "automatic, max-edge": local(),
    "automatic, cart": local(rule="cart"),
    "private only, max-edge": local(public_weight=0.0),
    "public only, max-edge": local(public_weight=PUBLIC_ONLY),
    "central, max-edge": central(),
    "central, pruned, max-edge": central(prune=True),
    "central, cart": central(rule="cart"),
    "LPDT, max-edge *": paper(DEPTHS, (0.0,)),
    "DP-EBM (central, delta)": boosted,
    "CART, all rows, no privacy *": plain(AllRows, DEPTHS),
}


def splits(crossing: float) -> Iterator[Split]:
    """Yield 10,000 private and 500 public training rows of one rule, and 5,000 test rows."""
    n_train = 10_000 + N_PUBLIC
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(n_train + 5000, 2))
        right = rng.uniform(size=len(X)) < BEST
        y = ((X - crossing).prod(axis=1) > 0) == right
        X_test, y_test = X[n_train:], y[n_train:].astype(np.int64)
        is_public = np.arange(n_train) >= 10_000
        yield Split(
            X[:n_train], y[:n_train].astype(np.int64), is_public, X_test, y_test, seed, bounds=(0.0, 1.0)
        )


def run() -> None:
    print(f"mean and standard error of {SEEDS} seeds; * has the best parameters on the test rows")
    for crossing in CROSSINGS:
        print(
            f"label = sign of (x1 - {crossing:.3g}) (x2 - {crossing:.3g}), right with probability {BEST}, "
            f"n_P = 10,000, n_Q = {N_PUBLIC}"
        )
        print_table(splits(crossing), METHODS, EPSILONS)
