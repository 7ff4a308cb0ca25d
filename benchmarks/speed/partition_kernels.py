# SPDX-License-Identifier: BSD-3-Clause
"""Times of the kernels that grow, apply and count a partition, against scikit-learn and NumPy."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from skprivate.partition import Partition, build_partition, count_leaves
from skprivate.rounds._plans.masses import HistogramsPlan
from skprivate.rounds._rows import PreparedRows

from ._goals import Measured, SideBySide

N_FEATURES, N_BINS, DEPTHS = 10, 32, (8, 12)
# Rows; public rows by depth; rows, columns, labels and depths of histograms; pairs.
SIZES: dict[bool, tuple[Any, ...]] = {
    False: (1_000_000, (4_000, 40_000), ((1_000_000, 10, 2), (200_000, 50, 10)), 9),
    True: (1000, (100, 100), ((1000, 3, 2),), 0),
}


def labelled_rows(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return uniform rows that float32 represents exactly, with noisy labels of a nonlinear rule."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, N_FEATURES), dtype=np.float32).astype(np.float64)
    chance = 0.5 + 0.4 * np.sign((X[:, 0] - 1 / 3) * (X[:, 1] - 1 / 3))
    return X, (rng.random(n) < chance).astype(np.int32)


def grow(
    X: NDArray[np.float64], labels: NDArray[np.int32], depth: int, rule: str, n_labels: int = 2
) -> Partition:
    """Return a partition of the unit cube."""
    box = {"lower": np.zeros(X.shape[1]), "upper": np.ones(X.shape[1])}
    return build_partition(X, labels, **box, max_depth=depth, rule=rule, n_labels=n_labels)


def as_sklearn_tree(partition: Partition) -> Tree:
    """Return scikit-learn's tree of the same nodes; it goes left at x <= threshold where we do at x <."""
    tree = Tree(partition.n_features, np.array([2], dtype=np.intp), 1)
    state = tree.__getstate__()
    inner = partition.leaf_index < 0
    nodes = np.zeros(len(partition.left), dtype=state["nodes"].dtype)
    nodes["left_child"] = np.where(inner, partition.left, -1)
    nodes["right_child"] = np.where(inner, partition.left + 1, -1)
    nodes["feature"] = np.where(inner, partition.feature, -2)
    nodes["threshold"] = np.where(inner, np.nextafter(partition.threshold, -np.inf), -2)
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
    counts = {"max_depth": partition.max_depth, "node_count": len(nodes)}
    tree.__setstate__(state | counts | {"nodes": nodes, "values": np.zeros((len(nodes), 1, 2))})
    return tree


def bench_rows(table: SideBySide, n_rows: int, n_public: int, depth: int) -> None:
    """Print the times to grow a partition, to assign rows to its leaves, and to count them by label."""
    X, labels = labelled_rows(n_public, 0)
    plain = DecisionTreeClassifier(max_depth=depth, random_state=0)
    for rule in ("max-edge", "cart"):
        work, ours = f"grow, {n_public:,} rows, depth {depth}, {rule}", partial(grow, X, labels, depth, rule)
        table.row(work, "scikit-learn's fit", ours, partial(plain.fit, X, labels), goal=f"growth, {rule}")
    partition = grow(X, labels, depth, "max-edge")
    tree = as_sklearn_tree(partition)
    X, labels = labelled_rows(n_rows, 1)
    leaves, single = partition.apply(X), X.astype(np.float32)
    if not np.array_equal(leaves, partition.leaf_index[tree.apply(single)]):
        raise RuntimeError("the two trees disagree")
    apply, work = partial(partition.apply, X), f"apply, {n_rows:,} rows, {partition.n_leaves} leaves"
    table.row(work, "scikit-learn's apply", apply, partial(tree.apply, single), goal="rows to leaves")
    counts = np.zeros((partition.n_leaves, 2), dtype=np.int64)
    table.row(
        f"count, {n_rows:,} rows, {partition.n_leaves} leaves",
        "NumPy's bincount",
        partial(count_leaves, leaves, labels, counts),
        lambda: np.bincount(2 * leaves + labels, minlength=counts.size),
    )


def bench_histograms(table: SideBySide, n: int, n_features: int, n_labels: int, depth: int) -> None:
    """Print the times to count rows by node, label and bin of every column: paid splits are chosen so."""
    rng = np.random.default_rng(0)
    X = rng.normal(0.5, 0.15, size=(n, n_features))
    labels = rng.integers(n_labels, size=n).astype(np.int32)
    partition = grow(X[:0], labels[:0], depth, "random", n_labels)
    rows, plan = PreparedRows(X, labels=labels), HistogramsPlan(partition, (N_BINS,) * n_features, n_labels)

    def in_columns() -> list[NDArray[np.int64]]:
        lower, upper = partition.cells()
        leaves = partition.apply(X)
        size = partition.n_leaves * N_BINS * n_labels
        counts = []
        for j, scale in enumerate((N_BINS / (upper - lower)).T):
            bins = np.clip((X[:, j] - lower[leaves, j]) * scale[leaves], 0, N_BINS - 1).astype(np.int64)
            counts.append(np.bincount((leaves * N_BINS + bins) * n_labels + labels, minlength=size))
        return counts

    work = f"histograms, {n:,} x {n_features}, {n_labels} labels, depth {depth}"
    table.row(work, "NumPy by columns", partial(plan.sums, rows), in_columns, goal="histograms")


def run(small: bool = False) -> Measured:
    n_rows, public, histograms, pairs = SIZES[small]
    table = SideBySide(pairs)
    table.heading(f"partitions of the unit cube, d = {N_FEATURES}")
    for n_public, depth in zip(public, DEPTHS, strict=True):
        bench_rows(table, n_rows, n_public, depth)
    for size in histograms:
        for depth in (0, 6):
            bench_histograms(table, *size, depth)
    return table.measured
