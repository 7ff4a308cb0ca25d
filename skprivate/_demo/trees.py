# SPDX-License-Identifier: BSD-3-Clause
"""The part of the demonstration about classification trees: accuracy against epsilon."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from .._typing import FloatArray
from ..datasets import make_posterior_drift
from ..tree import DPTreeClassifier, LocallyPrivateTreeClassifier
from .summary import EPSILONS, Axis, Baseline, Curve, Panel, Scores, Summary, print_table, progress

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
# Rows of the summary. With 1,000 public rows, these alone are as good as reports below an epsilon of about 4.
N_PEOPLE, N_PUBLIC = 100_000, 100


@dataclass(frozen=True)
class Problem:
    """A data set, split by a seed, and what is public about it."""

    title: str
    split: Callable[[int], Split]
    parameters: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Result:
    """Accuracies on one data set, and the tree of "both" at epsilon 1 of the last repetition."""

    scores: Scores
    tree: LocallyPrivateTreeClassifier


def _split_simulation(seed: int, n_private: int = 10_000, n_public: int = 1_000) -> Split:
    X, y, is_public = make_posterior_drift(n_private, n_public, gamma=2.0, random_state=seed)
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


# Data sets of the long tables.
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
    print("or of its label alone. The reports are drawn here, so this is a simulation of clients. A central")
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
    return Result(scores, shown)


def summarise(repetitions: int) -> tuple[Summary, LocallyPrivateTreeClassifier]:
    """Return accuracies with many private and few public rows, and the last tree at epsilon 1."""
    reports = np.zeros((len(EPSILONS), repetitions))
    without = np.zeros((3, repetitions))
    for repetition in progress(range(repetitions), repetitions):
        X, y, is_public, X_test, y_test = _split_simulation(repetition, N_PEOPLE, N_PUBLIC)
        for row, epsilon in enumerate(EPSILONS):
            tree = LocallyPrivateTreeClassifier(epsilon, bounds=(0.0, 1.0), classes=[0, 1])
            reports[row, repetition] = tree.fit(X, y, is_public=is_public).score(X_test, y_test)
            if epsilon == 1.0:
                shown = tree
        forest = RandomForestClassifier(min_samples_leaf=3, random_state=0).fit(X[is_public], y[is_public])
        plain = DecisionTreeClassifier(max_depth=6, min_samples_leaf=5, random_state=0).fit(X, y)
        frequency = y_test.mean()
        without[:, repetition] = (
            plain.score(X_test, y_test),
            forest.score(X_test, y_test),
            max(frequency, 1 - frequency),
        )
    return _summary(reports.mean(axis=1), *without.mean(axis=1)), shown


def _summary(reports: FloatArray, plain: float, forest: float, frequent: float) -> Summary:
    helps = (reports > forest).all()
    return Summary(
        message=f"Randomised reports {'improve on public rows' if helps else 'may not help'}",
        data=f"{N_PEOPLE:,} SIMULATED people",
        rows={"epsilon of a report": EPSILONS, "accuracy, reports and public rows": reports},
        baselines=[
            Baseline("no privacy", plain),
            Baseline(f"forest on {N_PUBLIC} public rows", forest),
            Baseline("base rate", frequent, side="below, right"),
        ],
        panel=Panel(
            Axis("epsilon of a report (smaller hides more)", "log", EPSILONS, (0.42, 60)),
            Axis("accuracy", "linear", (0.5, 0.6, 0.7, 0.8), (0.5, 0.83)),
            [Curve("tree on private\nreports", EPSILONS, reports, at=-1, side="below, right")],
        ),
    )
