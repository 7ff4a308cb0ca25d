# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of trees under every local randomizer on the simulation of the LPCT paper, section 6."""

from collections.abc import Iterator

from skprivate.datasets import make_posterior_drift

from ..._utility.data import Split
from ._accuracy_table import (
    DEPTHS,
    PUBLIC_ONLY,
    WEIGHTS,
    Method,
    central,
    histogram,
    local,
    paper,
    plain,
    print_table,
)
from ._comparison import AllRows, PublicRows

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SEEDS = 30
SETTINGS = ((50, 0.5), (1000, 5.0))
MECHANISMS = ("auto", "hadamard", "krr", "subset", "unary", "signed-laplace", "laplace")

METHODS: dict[str, Method] = {
    **{f"automatic, {name}": local(mechanism=name) for name in MECHANISMS},
    "automatic, auto, cart": local(rule="cart"),
    "pruned, auto": local(prune=True),
    "pruned as printed, auto": local(prune="paper"),
    "private only, auto": local(public_weight=0.0),
    "public only": local(public_weight=PUBLIC_ONLY),
    "central": central(),
    "central, pruned": central(prune=True),
    "LPCT *": paper(DEPTHS, WEIGHTS),
    "LPDT *": paper(DEPTHS, (0.0,)),
    "PHIST *": histogram,
    "CART, public rows *": plain(PublicRows, DEPTHS),
    "CART, all rows, no privacy *": plain(AllRows, DEPTHS),
}


def splits(n_public: int, gamma: float) -> Iterator[Split]:
    """Yield 10,000 private training rows and 2,000 private test rows for every seed."""
    for seed in range(SEEDS):
        X, y, is_public = make_posterior_drift(10_000, n_public, gamma=gamma, random_state=seed)
        X_test, y_test, _ = make_posterior_drift(2000, 0, random_state=10_000 + seed)
        yield Split(X, y, is_public, X_test, y_test, seed, bounds=(0.0, 1.0))


def run() -> None:
    print(f"mean and standard error of {SEEDS} seeds; * has the best parameters on the test rows")
    for n_public, gamma in SETTINGS:
        print(f"d = 2, n_P = 10,000, n_Q = {n_public}, gamma = {gamma}; the best possible is about .784")
        print_table(splits(n_public, gamma), METHODS, EPSILONS)
