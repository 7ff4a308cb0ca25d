# SPDX-License-Identifier: BSD-3-Clause
"""How often a tree warns that it predicts no better than its base rate, by what it gains on new rows."""

import itertools
import os
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.exceptions import UtilityWarning

from ..._tables import Table

N_TEST = 10_000
SETTINGS = int(os.environ.get("SETTINGS", "400"))
EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
TREES = {
    "central": DPTreeClassifier,
    "local": LocallyPrivateTreeClassifier,
    "label": lambda epsilon, **options: LocallyPrivateTreeClassifier(epsilon, protect="label", **options),
}
# Log loss of the base rate minus that of the tree, in per cent of the former.
GAINS = (-np.inf, 0.0, 1.0, 3.0, 10.0, np.inf)
FAULTS = ("permuted labels", "a typo in classes", "bounds 100 times too wide")


def run() -> None:
    """Print shares of trees that warn: of useless ones by their fault, and of others by their gain."""
    for n_labels in (2, 4):
        found = Parallel(n_jobs=int(os.environ.get("N_JOBS", "1")))(
            delayed(_fit_all)(seed, n_labels) for seed in range(SETTINGS)
        )
        print(f"{n_labels} labels, {SETTINGS} settings: share of trees that warn, and trees")
        table = Table(("trees", "<36"), *((name, ">16") for name in TREES), indent=2)
        for fault in FAULTS:
            table.row(fault, *(_share([one[name, fault] for one in found]) for name in TREES))
        for low, high in itertools.pairwise(GAINS):
            cells = []
            for name in TREES:
                pairs = [one[name, "none"] for one in found]
                cells.append(_share([warned for warned, gain in pairs if low < gain <= high]))
            table.row(f"log loss lower by {low:g} to {high:g} %", *cells)


def _share(warned: list[bool]) -> str:
    return f"{np.mean(warned):.3f} ({len(warned)})" if warned else "-"


def _fit_all(seed: int, n_labels: int) -> dict[tuple[str, str], Any]:
    """Draw a setting, and fit every kind of tree to it, and to what is left of it with every fault."""
    rng = np.random.default_rng([seed, n_labels])
    n, d = int(10 ** rng.uniform(2.7, 4.7)), int(rng.choice([2, 5, 10]))
    n_public = int(rng.choice([0, 50, 500]))
    X = rng.uniform(size=(n + n_public + N_TEST, d))
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
    found: dict[tuple[str, str], Any] = {}
    for fault, labels, changed in (
        ("none", y[train], {}),
        ("permuted labels", rng.permutation(y[train]), {}),
        ("a typo in classes", y[train], {"classes": np.arange(n_labels) + 100}),
        ("bounds 100 times too wide", y[train], {"bounds": (0, 100), "rule": "random"}),
    ):
        # Public rows, and splits that private rows choose, find the cells within bounds that are too wide.
        rows = np.zeros_like(is_public) if changed else is_public
        for name, kind in TREES.items():
            tree, warned = _fit(kind(epsilon, **options | changed), X[train], labels, rows)
            found[name, fault] = warned
            if fault == "none":
                found[name, fault] = warned, _gain(tree, y[:n], X[test], y[test], n_labels)
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


def _fit(tree: Any, X: np.ndarray, y: np.ndarray, is_public: np.ndarray) -> tuple[Any, bool]:
    """Fit with noise of the operating system, and say whether the tree warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree.fit(X, y, is_public=is_public)
    return tree, any(warning.category is UtilityWarning for warning in caught)


def _gain(tree: Any, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, n_labels: int) -> float:
    labels = np.arange(n_labels)
    base = (np.bincount(y, minlength=n_labels) + 0.5) / (len(y) + n_labels / 2)
    without = log_loss(y_test, np.tile(base, (len(y_test), 1)), labels=labels)
    return float(100 * (without - log_loss(y_test, tree.predict_proba(X_test), labels=labels)) / without)
