# SPDX-License-Identifier: BSD-3-Clause
"""Times of the kernels that grow, apply and count a partition, against scikit-learn and NumPy."""

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from skprivate.partition import Partition, build_partition, count_leaves
from skprivate.rounds._plans.masses import HistogramsPlan
from skprivate.rounds._rows import PreparedRows

from .._tables import Table
from .._timing import Comparison, compare

N_FEATURES = 10
N_ROWS = 1_000_000
APPLY_DEPTHS = (8, 12)
BUILDS = ((4_000, 8), (40_000, 12))
# Rows, columns, labels and depth of the histograms from which paid splits are chosen.
HISTOGRAMS = ((1_000_000, 10, 2, 0), (1_000_000, 10, 2, 6), (200_000, 50, 10, 0), (200_000, 50, 10, 6))
N_BINS = 32
REPEATS = 9


def labelled_rows(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return uniform rows that float32 represents exactly, with noisy labels of a nonlinear rule."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, N_FEATURES), dtype=np.float32).astype(np.float64)
    chance = 0.5 + 0.4 * np.sign((X[:, 0] - 1 / 3) * (X[:, 1] - 1 / 3))
    return X, (rng.random(n) < chance).astype(np.int32)


def grow(X: NDArray[np.float64], labels: NDArray[np.int32], depth: int, rule: str = "max-edge") -> Partition:
    """Return a partition of the unit cube."""
    lower, upper = np.zeros(N_FEATURES), np.ones(N_FEATURES)
    return build_partition(X, labels, lower=lower, upper=upper, max_depth=depth, rule=rule)


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
    values = np.zeros((len(nodes), 1, 2))
    counts = {"max_depth": partition.max_depth, "node_count": len(nodes)}
    tree.__setstate__(state | counts | {"nodes": nodes, "values": values})
    return tree


def compare_apply(depth: int) -> tuple[int, Comparison]:
    """Return the number of leaves, and the times to assign rows to them."""
    partition = grow(*labelled_rows(40_000, 0), depth)
    tree = as_sklearn_tree(partition)
    X = labelled_rows(N_ROWS, 1)[0]
    single = X.astype(np.float32)
    if not np.array_equal(partition.apply(X), partition.leaf_index[tree.apply(single)]):
        raise RuntimeError("the two trees disagree")
    return partition.n_leaves, compare(lambda: partition.apply(X), lambda: tree.apply(single), REPEATS)


def compare_build(n: int, depth: int, rule: str) -> Comparison:
    """Return the times to grow a partition and to fit scikit-learn's tree."""
    X, labels = labelled_rows(n, 0)
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    return compare(lambda: grow(X, labels, depth, rule), lambda: tree.fit(X, labels), REPEATS)


def compare_count(depth: int) -> Comparison:
    """Return the times to count rows by leaf and label, and of NumPy's bincount."""
    X, labels = labelled_rows(N_ROWS, 1)
    partition = grow(X[:40_000], labels[:40_000], depth)
    leaves = partition.apply(X)
    counts = np.zeros((partition.n_leaves, 2), dtype=np.int64)
    return compare(
        lambda: count_leaves(leaves, labels, counts),
        lambda: np.bincount(2 * leaves + labels, minlength=counts.size),
        REPEATS,
    )


def compare_histograms(n: int, n_features: int, n_labels: int, depth: int) -> Comparison:
    """Return the times to count rows by node, label and bin of every column, and of NumPy to do so."""
    rng = np.random.default_rng(0)
    X = rng.normal(0.5, 0.15, size=(n, n_features))
    labels = rng.integers(n_labels, size=n).astype(np.int32)
    box = {"lower": np.zeros(n_features), "upper": np.ones(n_features)}
    partition = build_partition(X[:0], labels[:0], **box, max_depth=depth, rule="random", n_labels=n_labels)
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

    return compare(lambda: plan.sums(rows), in_columns, REPEATS)


def run() -> None:
    """Print every comparison: medians of interleaved repeats."""
    table = Table(
        ("task", "<38"),
        ("against", "<20"),
        ("ours, ms", ">9.2f"),
        ("theirs, ms", ">10.2f"),
        ("ratio", ">6.1f"),
    )

    def show(task: str, against: str, found: Comparison) -> None:
        table.row(task, against, 1e3 * found.ours, 1e3 * found.theirs, 1 / found.ratio)

    for depth in APPLY_DEPTHS:
        n_leaves, found = compare_apply(depth)
        show(f"apply, {N_ROWS:,} rows, {n_leaves} leaves", "scikit-learn's apply", found)
    for n, depth in BUILDS:
        for rule in ("max-edge", "cart"):
            show(
                f"grow, {n:,} rows, depth {depth}, {rule}",
                "scikit-learn's fit",
                compare_build(n, depth, rule),
            )
    for depth in APPLY_DEPTHS:
        show(f"count, {N_ROWS:,} rows, depth {depth}", "NumPy's bincount", compare_count(depth))
    for n, n_features, n_labels, depth in HISTOGRAMS:
        found = compare_histograms(n, n_features, n_labels, depth)
        show(f"histograms, {n:,} x {n_features}, depth {depth}", "NumPy by columns", found)
        each = 1e9 * found.ours / (n * n_features)
        print(f"  {each:.1f} ns a row and column, {n_labels} labels")
