# SPDX-License-Identifier: BSD-3-Clause
"""Time of a million reports, memory of their aggregation, and fit + predict against the paper's algorithm."""

import tracemalloc
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import LocallyPrivateTreeClassifier
from skprivate.randomizers import make_randomizer
from skprivate.tree._partition import Partition, build_partition

N_CLIENTS = 1_000_000
N_LEAVES = 2**8
CHUNK = 100_000
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


def peak_bytes(randomizer: Any, n_clients: int) -> int:
    """Return the most memory that randomizing and aggregating takes, without the categories."""
    categories = np.zeros(n_clients, dtype=np.int64)
    collect(randomizer, categories[:CHUNK])
    tracemalloc.start()
    collect(randomizer, categories)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def bench_clients(mechanism: str, epsilon: float) -> None:
    """Print microseconds a client for randomize + aggregate, in one piece and in chunks, and its memory."""
    randomizer = make_randomizer(mechanism, epsilon, N_LEAVES)
    categories = np.random.default_rng(0).integers(randomizer.n_categories, size=N_CLIENTS)
    whole, chunks = [], []
    for _ in range(7):
        start = perf_counter()
        randomizer.aggregate(randomizer.randomize(categories))
        middle = perf_counter()
        collect(randomizer, categories)
        whole.append(middle - start)
        chunks.append(perf_counter() - middle)
    one, many = (median(times) / N_CLIENTS * 1e6 for times in (whole, chunks))
    few, more = peak_bytes(randomizer, N_CLIENTS), peak_bytes(randomizer, 4 * N_CLIENTS)
    print(
        f"{mechanism:<14} epsilon {epsilon:<4g} {one:6.3f} us a client, in chunks of {CHUNK:,} {many:6.3f}"
        f" (goal {GOAL_MICROSECONDS}: {'reached' if many < GOAL_MICROSECONDS else 'missed'});"
        f" most memory for 1e6 clients {few / 1e6:.2f} MB, for 4e6 {more / 1e6:.2f} MB"
    )


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
    cells: NDArray[np.int32], weights: NDArray[np.int64], n_leaves: int, rng: np.random.Generator
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


def bench_fit(depth: int, pairs: int) -> None:
    """Print the seconds of both and the median ratio of neighbouring runs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_PRIVATE + N_PUBLIC, N_FEATURES))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0.75).astype(np.int64)
    is_public = np.arange(len(X)) < N_PUBLIC
    ours, theirs = [], []
    for _ in range(pairs + 1):
        tree = LocallyPrivateTreeClassifier(1.0, max_depth=depth, bounds=(0, 1), classes=[0, 1])
        start = perf_counter()
        tree.fit(X, y, is_public=is_public).predict(X)
        middle = perf_counter()
        paper(X, y, is_public, depth)
        ours.append(middle - start)
        theirs.append(perf_counter() - middle)
    # The first pair warms up.
    ratio = median(slow / fast for fast, slow in zip(ours[1:], theirs[1:], strict=True))
    print(
        f"fit + predict, n_P = {N_PRIVATE:,}, n_Q = {N_PUBLIC:,}, d = {N_FEATURES}, depth {depth}, "
        f"{tree.n_leaves_} leaves: {1e3 * median(ours[1:]):.1f} ms, the paper's {median(theirs[1:]):.2f} s, "
        f"ratio {ratio:.0f} (goal {GOAL_RATIO}: {'reached' if ratio >= GOAL_RATIO else 'missed'})",
        flush=True,
    )


def run() -> None:
    for mechanism in ("hadamard", "krr"):
        for epsilon in (0.5, 1.0, 4.0):
            bench_clients(mechanism, epsilon)
    for depth, pairs in ((8, 9), (12, 3)):
        bench_fit(depth, pairs)


if __name__ == "__main__":
    run()
