# SPDX-License-Identifier: BSD-3-Clause
"""How often a tree warns that it predicts no better than its base rate, by what it gains on new rows.

N_JOBS processes work at it.
"""

import itertools
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier

from ..._tables import Table
from ..._utility.parallel import in_parallel
from ..life_data._checks import fit_warns

#: Test rows, and the base 10 logarithms between which the number of rows is drawn.
SIZES = {False: (10_000, (2.7, 4.7)), True: (500, (2.7, 3.0))}
EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
TREES = {
    "central": DPTreeClassifier,
    "local": LocallyPrivateTreeClassifier,
    "label": partial(LocallyPrivateTreeClassifier, protect="label"),
}
# Log loss of the base rate minus that of the tree, in per cent of the former.
GAINS = (-np.inf, 0.0, 1.0, 3.0, 10.0, np.inf)
#: What is changed for a useless tree; labels are permuted apart.
FAULTS: dict[str, dict[str, Any]] = {
    "permuted labels": {},
    "a typo in classes": {"classes": 100},
    "bounds 100 times too wide": {"bounds": (0, 100), "rule": "random"},
}


def run(seeds: int = 100, *, small: bool = False) -> None:
    """Print shares of trees that warn: of useless ones by their fault, and of others by their gain.

    Each of the `seeds` draws a setting of two labels and one of four.
    """
    seeds = 2 if small else seeds
    print(f"{seeds} settings each of two and of four labels: share of trees that warn, and trees")
    found = in_parallel(_fit_all, itertools.product(range(seeds), (2, 4), [SIZES[small]]))
    table = Table(("trees", "<36"), *((name, ">16") for name in TREES), indent=2)
    for fault in FAULTS:
        table.row(fault, *(_share([one[name, fault][0] for one in found]) for name in TREES))
    for low, high in itertools.pairwise(GAINS):
        pairs = {name: [one[name, "none"] for one in found] for name in TREES}
        cells = ([warned for warned, gain in pairs[name] if low < gain <= high] for name in TREES)
        table.row(f"log loss lower by {low:g} to {high:g} %", *map(_share, cells))


def _share(warned: list[bool]) -> str:
    return f"{np.mean(warned):.3f} ({len(warned)})" if warned else "-"


def _fit_all(
    seed: int, n_labels: int, sizes: tuple[int, tuple[float, float]]
) -> dict[tuple[str, str], tuple[bool, float]]:
    """Draw a setting, and fit every kind of tree to it, and to what is left of it with every fault."""
    rng = np.random.default_rng([seed, n_labels])
    n_test, logarithms = sizes
    n, d = int(10 ** rng.uniform(*logarithms)), int(rng.choice([2, 5, 10]))
    n_public = int(rng.choice([0, 50, 500]))
    X = rng.uniform(size=(n + n_public + n_test, d))
    y = _draw_labels(X, n_labels, rng)
    train, test = slice(0, n + n_public), slice(n + n_public, None)
    is_public = np.arange(n + n_public) >= n
    options = {
        "bounds": (0, 1),
        "classes": np.arange(n_labels),
        "public_weight": 0.0,
        "rule": str(rng.choice(["max-edge", "cart"])),
        "max_depth": ("auto", 2, 6)[rng.integers(3)],
    }
    epsilon = float(rng.choice(EPSILONS))
    found = {}
    for fault, changed in {"none": {}, **FAULTS}.items():
        labels = rng.permutation(y[train]) if fault == "permuted labels" else y[train]
        given = {**options, **changed}
        if "classes" in changed:
            given["classes"] = options["classes"] + changed["classes"]
        # Public rows, and splits that private rows choose, find the cells within bounds that are too wide.
        rows = np.zeros_like(is_public) if changed else is_public
        for name, kind in TREES.items():
            tree = kind(epsilon, **given)
            warned = fit_warns(tree, X[train], labels, is_public=rows)
            gain = np.nan if fault != "none" else _gain(tree, y[:n], X[test], y[test], n_labels)
            found[name, fault] = warned, gain
    return found


def _draw_labels(X: np.ndarray, n_labels: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by a smooth, a wavy, a chequered or a local rule, of random strength and shares."""
    rules = (
        lambda: X[:, 0] - 0.5,
        lambda: np.sin(4 * np.pi * X[:, 0]) / 2,
        lambda: np.sign((X[:, 0] - 0.5) * (X[:, 1] - 0.5)) / 2,
        lambda: ((X[:, 0] < 0.25) & (X[:, 1] < 0.25)).astype(float),
    )
    score = rules[rng.integers(len(rules))]() * rng.choice([0.3, 1.0, 3.0, 6.0])
    logits = np.multiply.outer(score, rng.normal(size=n_labels)) + rng.normal(size=n_labels) * rng.choice(
        [0, 1.5]
    )
    return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)


def _gain(tree: Any, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, n_labels: int) -> float:
    labels = np.arange(n_labels)
    base = (np.bincount(y, minlength=n_labels) + 0.5) / (len(y) + n_labels / 2)
    without = log_loss(y_test, np.tile(base, (len(y_test), 1)), labels=labels)
    return float(100 * (without - log_loss(y_test, tree.predict_proba(X_test), labels=labels)) / without)
