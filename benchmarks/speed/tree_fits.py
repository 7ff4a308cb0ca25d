# SPDX-License-Identifier: BSD-3-Clause
"""Times of trees' fits and predictions against the papers' algorithms."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skprivate import (
    DPTreeClassifier,
    DPTreeRegressor,
    LocallyPrivateTreeClassifier,
    LocallyPrivateTreeRegressor,
)

from .._peers.lpdt import LPDT
from ._goals import Measured, SideBySide

N_FEATURES = 10
# Private and public rows; pairs of each depth.
SIZES = {False: (100_000, 4_000, {8: 9, 12: 1}), True: (200, 50, {2: 0})}
# Laplace draws of the reference held at a time: 8 MB, so that it works in the cache as well as it can.
DRAWS_AT_A_TIME = 1_000_000


def noisy_sums(
    cells: NDArray[Any], weights: NDArray[Any], n_leaves: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Sum the clients' one-hot vectors, each of them with a Laplace(4) draw for every leaf."""
    total = np.bincount(cells, weights, minlength=n_leaves)
    step = max(1, DRAWS_AT_A_TIME // n_leaves)
    for start in range(0, len(cells), step):
        total += rng.laplace(scale=4.0, size=(min(step, len(cells) - start), n_leaves)).sum(axis=0)
    return total


def paper(X: NDArray[np.float64], y: NDArray[Any], is_public: NDArray[np.bool_], depth: int) -> Any:
    """Fit and predict as the papers do with Laplace noise, epsilon 1: one report a client and leaf.

    Of labels 0 and 1 it predicts the share of the second, which above one half is the label.
    """
    rng, private = np.random.default_rng(), ~is_public
    bounds = np.zeros(X.shape[1]), np.ones(X.shape[1])
    cells_of = LPDT(1.0, bounds=bounds, target_range=(-1, 1), max_depth=depth)
    cells = cells_of.grow(X[is_public], y[is_public]).apply(X)
    rows, sums = (
        noisy_sums(cells[private], weights, len(cells_of.leaves_), rng)
        for weights in (np.ones(private.sum()), y[private])
    )
    return (sums / rows)[cells]


def bench_fits(table: SideBySide, rows: tuple[Any, ...], depth: int, pairs: int) -> None:
    """Print the times of fits and predictions of one depth."""
    X, y, labels, is_public = rows
    known = {"bounds": (0, 1), "classes": [0, 1], "max_depth": depth}
    of_numbers: dict[str, Any] = {"bounds_X": (0, 1), "bounds_y": (-1, 1), "max_depth": depth}

    def both(model: Any, target: Any, **known: Any) -> Any:
        return lambda: model.fit(X, target, **known).predict(X)

    local = both(LocallyPrivateTreeClassifier(1.0, **known), labels, is_public=is_public)
    numbers = both(LocallyPrivateTreeRegressor(1.0, **of_numbers), y, is_public=is_public)
    central = both(DPTreeRegressor(1.0, **of_numbers), y, is_public=is_public)
    plain = both(DecisionTreeRegressor(max_depth=depth), y)
    theirs, their_numbers = (partial(paper, X, target, is_public, depth) for target in (labels, y))
    for work, beside, first, second, goal in (
        ("local tree", "the paper", local, theirs, ""),
        ("local tree of numbers", "the paper", numbers, their_numbers, ""),
        ("local tree of numbers", "our tree of labels", numbers, local, "LocallyPrivateTreeRegressor"),
        ("curator's tree of numbers", "scikit-learn", central, plain, ""),
    ):
        table.row(f"{work}, depth {depth}", beside, first, second, goal=goal, pairs=pairs)


def run(small: bool = False) -> Measured:
    warnings.simplefilter("ignore")
    n_private, n_public, depths = SIZES[small]
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_private + n_public, N_FEATURES))
    y = np.clip(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) - 0.75, -1, 1)
    labels, is_public = (y > 0).astype(np.int64), np.arange(len(X)) < n_public
    table = SideBySide(max(depths.values()))
    table.heading(f"{n_private:,} private and {n_public:,} public rows, d = {N_FEATURES}: fits")
    for kind in (LocallyPrivateTreeClassifier, DPTreeClassifier):
        work = kind.__name__
        ours = partial(kind(1.0, bounds=(0, 1), classes=[0, 1]).fit, X, labels, is_public=is_public)
        plain = partial(DecisionTreeClassifier(max_depth=8).fit, X, labels)
        table.row(work, "scikit-learn, depth 8", ours, plain, goal=f"{work}, 100,000 rows")
    table.heading("fits and predictions")
    for depth, pairs in depths.items():
        bench_fits(table, (X, y, labels, is_public), depth, pairs)
    return table.measured
