# SPDX-License-Identifier: BSD-3-Clause
"""Times of a million local reports, and of trees' fits and predictions against the papers' algorithms."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from skprivate import DPTreeRegressor, LocallyPrivateTreeClassifier, LocallyPrivateTreeRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.partition import Partition, build_partition
from skprivate.randomizers import make_randomizer

from .._memory import peak_bytes
from .._peers.lpdt import LPDT
from .._tables import Table, verdict
from .._timing import compare

N_CLIENTS = 1_000_000
N_LEAVES = 2**8
CHUNK = 100_000
CLIENT_PAIRS = 7
GOAL_MICROSECONDS = 0.15
N_PRIVATE, N_PUBLIC, N_FEATURES = 100_000, 4_000, 10
GOAL_RATIO = 100
# Laplace draws of the reference held at a time: 8 MB, so that it works in the cache as well as it can.
DRAWS_AT_A_TIME = 1_000_000


def collect(randomizer: Any, categories: NDArray[np.int64]) -> NDArray[np.int64]:
    """Randomize and aggregate in chunks, as a curator does who never holds all reports."""
    counts = 0
    for start in range(0, len(categories), CHUNK):
        counts = counts + randomizer.aggregate(randomizer.randomize(categories[start : start + CHUNK]))
    return counts


def collecting_peak(randomizer: Any, n_clients: int) -> float:
    """Return the megabytes that randomizing and aggregating takes at most, without the categories."""
    categories = np.zeros(n_clients, dtype=np.int64)
    collect(randomizer, categories[:CHUNK])
    return peak_bytes(lambda: collect(randomizer, categories)) / 1e6


def bench_clients(table: Table, mechanism: str, epsilon: float) -> None:
    """Print microseconds a client for randomize + aggregate, in one piece and in chunks, and its memory."""
    randomizer = make_randomizer(mechanism, epsilon, N_LEAVES)
    categories = np.random.default_rng(0).integers(randomizer.n_categories, size=N_CLIENTS)
    whole, chunks, _ = compare(
        lambda: randomizer.aggregate(randomizer.randomize(categories)),
        lambda: collect(randomizer, categories),
        CLIENT_PAIRS,
    )
    one, many = (1e6 * took / N_CLIENTS for took in (whole, chunks))
    peaks = (collecting_peak(randomizer, n) for n in (N_CLIENTS, 4 * N_CLIENTS))
    table.row(mechanism, epsilon, one, many, verdict(GOAL_MICROSECONDS, many < GOAL_MICROSECONDS), *peaks)


def descend(partition: Partition, X: NDArray[np.float64]) -> NDArray[np.int32]:
    """Assign rows to leaves in plain NumPy, a level at a time."""
    node = np.zeros(len(X), dtype=np.intp)
    rows = np.arange(len(X))
    for _ in range(partition.max_depth):
        inner = partition.leaf_index[node] < 0
        right = X[rows, partition.feature[node]] >= partition.threshold[node]
        node = np.where(inner, partition.left[node] + right, node)
    return partition.leaf_index[node]


def noisy_sums(
    cells: NDArray[Any], weights: NDArray[Any], n_leaves: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Sum the clients' one-hot vectors, each of them with a Laplace(4) draw for every leaf."""
    total = np.bincount(cells, weights, minlength=n_leaves)
    step = max(1, DRAWS_AT_A_TIME // n_leaves)
    for start in range(0, len(cells), step):
        total += rng.laplace(scale=4.0, size=(min(step, len(cells) - start), n_leaves)).sum(axis=0)
    return total


def paper(X: NDArray[np.float64], y: NDArray[np.int64], is_public: NDArray[np.bool_], depth: int) -> Any:
    """Fit and predict with the paper's algorithm as specified, epsilon 1, on our own fast partition."""
    rng = np.random.default_rng()
    lower, upper = np.zeros(X.shape[1]), np.ones(X.shape[1])
    partition = build_partition(X[is_public], y[is_public], lower=lower, upper=upper, max_depth=depth)
    leaves, private, n_leaves = descend(partition, X), ~is_public, partition.n_leaves
    rows = noisy_sums(leaves[private], np.ones(N_PRIVATE, dtype=np.int64), n_leaves, rng)
    ones = noisy_sums(leaves[private], y[private], n_leaves, rng)
    rows += np.bincount(leaves[is_public], minlength=n_leaves)
    ones += np.bincount(leaves[is_public], y[is_public], minlength=n_leaves)
    return (2 * ones > rows)[descend(partition, X)]


def bench_fit(table: Table, depth: int, pairs: int) -> None:
    """Print the milliseconds of both and the median ratio of neighbouring runs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_PRIVATE + N_PUBLIC, N_FEATURES))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0.75).astype(np.int64)
    is_public = np.arange(len(X)) < N_PUBLIC
    tree = LocallyPrivateTreeClassifier(1.0, max_depth=depth, bounds=(0, 1), classes=[0, 1])
    ours, theirs, ratio = compare(
        lambda: tree.fit(X, y, is_public=is_public).predict(X), lambda: paper(X, y, is_public, depth), pairs
    )
    faster = 1 / ratio
    goal = verdict(GOAL_RATIO, faster >= GOAL_RATIO)
    table.row(depth, tree.n_leaves_, 1e3 * ours, 1e3 * theirs, faster, goal)


def paper_of_numbers(
    X: NDArray[np.float64], y: NDArray[np.float64], is_public: NDArray[np.bool_], depth: int
) -> Any:
    """Fit and predict as the LPDT paper does with Laplace noise, epsilon 1: one report a client and leaf."""
    rng, private = np.random.default_rng(), ~is_public
    bounds = np.zeros(X.shape[1]), np.ones(X.shape[1])
    cells_of = LPDT(1.0, bounds=bounds, target_range=(-1, 1), max_depth=depth)
    cells = cells_of.grow(X[is_public], y[is_public]).apply(X)
    n_leaves = len(cells_of.leaves_)
    rows = noisy_sums(cells[private], np.ones(N_PRIVATE), n_leaves, rng)
    sums = noisy_sums(cells[private], y[private], n_leaves, rng)
    return (sums / rows)[cells]


def bench_numbers(table: Table, depth: int, pairs: int) -> None:
    """Print the milliseconds of trees of numbers and of what they are compared with, and median ratios."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_PRIVATE + N_PUBLIC, N_FEATURES))
    y = np.clip(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) - 0.75, -1, 1)
    is_public = np.arange(len(X)) < N_PUBLIC
    plain = DecisionTreeRegressor(max_depth=depth)
    for kind, name, other in (
        (LocallyPrivateTreeRegressor, "paper", lambda: paper_of_numbers(X, y, is_public, depth)),
        (DPTreeRegressor, "scikit-learn, not private", lambda: plain.fit(X, y).predict(X)),
    ):
        tree: Any = kind(1.0, max_depth=depth, bounds_X=(0, 1), bounds_y=(-1, 1))
        fit = partial(tree.fit, X, y, is_public=is_public)
        ours, theirs, ratio = compare(lambda fit=fit: fit().predict(X), other, pairs)  # type: ignore[misc]
        table.row(kind.__name__, depth, tree.n_leaves_, 1e3 * ours, name, 1e3 * theirs, 1 / ratio)


def run() -> None:
    warnings.simplefilter("ignore", UtilityWarning)
    print(
        f"randomize + aggregate, {N_CLIENTS:,} clients, {N_LEAVES} leaves; chunks of {CHUNK:,}; peaks in MB"
    )
    clients = Table(
        *(("mechanism", "<10"), ("epsilon", ">7g"), ("us a client", ">11.3f"), ("in chunks", ">9.3f")),
        *(("", "<18"), ("peak, 1e6", ">9.2f"), ("peak, 4e6", ">9.2f")),
    )
    for mechanism in ("hadamard", "krr"):
        for epsilon in (0.5, 1.0, 4.0):
            bench_clients(clients, mechanism, epsilon)
    print(f"fit + predict, n_P = {N_PRIVATE:,}, n_Q = {N_PUBLIC:,}, d = {N_FEATURES}")
    fits = Table(
        *(("depth", ">5"), ("leaves", ">6"), ("ms", ">7.1f"), ("paper, ms", ">9.0f"), ("faster", ">6.0f")),
        ("", "<18"),
    )
    for depth, pairs in ((8, 9), (12, 3)):
        bench_fit(fits, depth, pairs)
    numbers = Table(
        *(("numbers", "<27"), ("depth", ">5"), ("leaves", ">6"), ("ms", ">7.1f"), ("beside", "<25")),
        *(("ms", ">7.0f"), ("faster", ">7.3g")),
    )
    for depth, pairs in ((8, 9), (12, 3)):
        bench_numbers(numbers, depth, pairs)
