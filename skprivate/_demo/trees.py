# SPDX-License-Identifier: BSD-3-Clause
"""The part of the demonstration about classification trees: accuracy against epsilon on three data sets."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from ..datasets import make_posterior_drift
from ..inspection import PartitionDisplay
from ..tree import DPTreeClassifier, LocallyPrivateTreeClassifier
from .results import EPSILONS, Scores, draw_curves, print_table, progress

#: Training rows and labels, which of them are public, test rows and labels.
Split = tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], NDArray[Any], NDArray[Any]]

# A public row outweighs any private noise at this weight.
PUBLIC_ONLY = 1e12
#: Column -> the tree that fills it.
METHODS: dict[str, Callable[..., Any]] = {
    "public only": partial(LocallyPrivateTreeClassifier, public_weight=PUBLIC_ONLY),
    "private only": partial(LocallyPrivateTreeClassifier, public_weight=0.0),
    "both": LocallyPrivateTreeClassifier,
    "both, pruned": partial(LocallyPrivateTreeClassifier, prune=True),
    "labels alone": partial(LocallyPrivateTreeClassifier, protect="label"),
    "central": DPTreeClassifier,
}
NON_PRIVATE = "non-private"


@dataclass(frozen=True)
class Problem:
    """A data set, split by a seed, and what is public about it."""

    title: str
    split: Callable[[int], Split]
    parameters: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Result:
    """Accuracies on one data set, and the tree of "both" at epsilon 1 of the last repetition."""

    problem: Problem
    scores: Scores
    tree: LocallyPrivateTreeClassifier


def _split_simulation(seed: int) -> Split:
    X, y, is_public = make_posterior_drift(10_000, 1_000, gamma=2.0, random_state=seed)
    X_test, y_test, _ = make_posterior_drift(2_000, 0, random_state=10_000 + seed)
    return X, y, is_public, X_test, y_test


def _split_rows(X: NDArray[Any], y: NDArray[Any], n_public: int, seed: int) -> Split:
    """Hold out 30 % of the rows; the first of the others are public."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    return X_train, y_train, np.arange(len(X_train)) < n_public, X_test, y_test


def _split_breast_cancer(seed: int) -> Split:
    X, y = load_breast_cancer(return_X_y=True)
    # The "worst" (largest) radius, texture, smoothness and concavity of a sample's cell nuclei.
    return _split_rows(X[:, [20, 21, 24, 26]], y, 60, seed)


def _split_iris(seed: int) -> Split:
    X, y = load_iris(return_X_y=True)
    return _split_rows(X[:, 2:], y, 30, seed)


PROBLEMS = (
    Problem(
        "Posterior drift, SIMULATED: 10,000 private and 1,000 public rows, noisier public labels",
        _split_simulation,
        {"bounds": (0.0, 1.0), "classes": [0, 1]},
    ),
    Problem(
        "Breast cancer (from scikit-learn): 338 private and 60 public rows, bounds from public rows",
        _split_breast_cancer,
        {"classes": [0, 1]},
    ),
    Problem(
        "Iris (from scikit-learn), three classes: 75 private and 30 public rows, petals only",
        _split_iris,
        {"classes": [0, 1, 2], "bounds": ([0, 0], [8, 3])},
    ),
)


def run(repetitions: int) -> list[Result]:
    """Print a table of accuracies for each data set."""
    print(
        "Private classification trees. Every private row sends one epsilon-LDP report, of its leaf and label,"
    )
    print("or of its label alone; the reports are drawn here, so this is a simulation of clients. A central")
    print(f"curator adds noise once. Mean accuracy of {repetitions} repetitions:")
    results = []
    for problem in PROBLEMS:
        print(f"\n{problem.title}")
        results.append(evaluate(problem, repetitions))
        print_table("epsilon", EPSILONS, results[-1].scores, ".3f")
    return results


def evaluate(problem: Problem, repetitions: int) -> Result:
    """Fit every method at every epsilon, and a tree without privacy."""
    scores = {name: np.zeros((len(EPSILONS), repetitions)) for name in [*METHODS, NON_PRIVATE]}
    runs = [(r, e) for r in range(repetitions) for e in range(len(EPSILONS))]
    for repetition, index in progress(runs, len(runs)):
        X, y, is_public, X_test, y_test = problem.split(repetition)
        for name, method in METHODS.items():
            tree = method(EPSILONS[index], **problem.parameters).fit(X, y, is_public=is_public)
            scores[name][index, repetition] = tree.score(X_test, y_test)
            if (name, EPSILONS[index]) == ("both", 1.0):
                shown = tree
        if index == 0:
            plain = DecisionTreeClassifier(max_depth=6, min_samples_leaf=5, random_state=0).fit(X, y)
            scores[NON_PRIVATE][:, repetition] = plain.score(X_test, y_test)
    return Result(problem, scores, shown)


def draw_accuracies(axis: Any, result: Result) -> None:
    """Draw the accuracies of one data set."""
    draw_curves(axis, result.scores, result.problem.title, "accuracy")


def draw_partition(axis: Any, tree: LocallyPrivateTreeClassifier) -> None:
    """Draw the cells of a tree."""
    PartitionDisplay.from_estimator(tree, ax=axis, edgecolor="face")
    axis.set(title="What was learnt at epsilon 1", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
