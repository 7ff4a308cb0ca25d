# SPDX-License-Identifier: BSD-3-Clause
"""Demonstration, in strict mode: accuracy and error against protection, what was spent, and a picture.

Run ``python -m skprivate [PICTURE.png]``.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from . import (
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    config_context,
)
from ._demo import games as games_part
from ._demo import life as life_part
from ._demo import parties as parties_part
from .datasets import make_posterior_drift
from .inspection import PartitionDisplay

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
REPETITIONS = 5
# A public row outweighs any private noise at this weight.
PUBLIC_ONLY = 1e12
# Column -> the tree that fills it.
METHODS: dict[str, Callable[..., Any]] = {
    "public only": partial(LocallyPrivateTreeClassifier, public_weight=PUBLIC_ONLY),
    "private only": partial(LocallyPrivateTreeClassifier, public_weight=0.0),
    "both": LocallyPrivateTreeClassifier,
    "both, pruned": partial(LocallyPrivateTreeClassifier, prune=True),
    "labels alone": partial(LocallyPrivateTreeClassifier, protect="label"),
    "central": DPTreeClassifier,
}

Item = TypeVar("Item")


@dataclass
class Problem:
    """A table of rows, who owns them, and what it is called."""

    title: str
    draw: Callable[[int], tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], NDArray[Any], NDArray[Any]]]
    parameters: dict[str, Any]
    #: Column -> one list of accuracies per epsilon.
    scores: dict[str, NDArray[np.float64]] = field(default_factory=dict)


def _draw_simulation(seed: int) -> tuple[Any, ...]:
    X, y, is_public = make_posterior_drift(10_000, 1_000, gamma=2.0, random_state=seed)
    X_test, y_test, _ = make_posterior_drift(2_000, 0, random_state=10_000 + seed)
    return X, y, is_public, X_test, y_test


def _draw_breast_cancer(seed: int) -> tuple[Any, ...]:
    X, y = load_breast_cancer(return_X_y=True)
    # The "worst" (largest) radius, texture, smoothness and concavity of a sample's cell nuclei.
    X = X[:, [20, 21, 24, 26]]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    return X_train, y_train, np.arange(len(X_train)) < 60, X_test, y_test


def _draw_iris(seed: int) -> tuple[Any, ...]:
    X, y = load_iris(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X[:, 2:], y, test_size=0.3, random_state=seed, stratify=y
    )
    return X_train, y_train, np.arange(len(X_train)) < 30, X_test, y_test


def _problems() -> list[Problem]:
    return [
        Problem(
            "Posterior drift, SIMULATED: 10,000 private and 1,000 public rows, noisier public labels",
            _draw_simulation,
            {"bounds": (0.0, 1.0), "classes": [0, 1]},
        ),
        Problem(
            "Breast cancer (from scikit-learn): 338 private and 60 public rows, bounds from public rows",
            _draw_breast_cancer,
            {"classes": [0, 1]},
        ),
        Problem(
            "Iris (from scikit-learn), three classes: 75 private and 30 public rows, petals only",
            _draw_iris,
            {"classes": [0, 1, 2], "bounds": ([0, 0], [8, 3])},
        ),
    ]


def _progress(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield the items; after a second, keep a counter on a terminal's error stream."""
    start = time.perf_counter()
    shown = False
    for number, item in enumerate(items):
        if sys.stderr.isatty() and time.perf_counter() - start > 1:
            shown = True
            print(f"\r  {number}/{total} fits", end="", file=sys.stderr, flush=True)
        yield item
    if shown:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)


def _evaluate(problem: Problem) -> LocallyPrivateTreeClassifier:
    """Fill the problem's scores; return one of its trees."""
    scores = {name: np.zeros((len(EPSILONS), REPETITIONS)) for name in [*METHODS, "non-private"]}
    runs = [(r, e) for r in range(REPETITIONS) for e in range(len(EPSILONS))]
    for repetition, index in _progress(runs, len(runs)):
        X, y, is_public, X_test, y_test = problem.draw(repetition)
        for name, method in METHODS.items():
            tree = method(EPSILONS[index], **problem.parameters).fit(X, y, is_public=is_public)
            scores[name][index, repetition] = tree.score(X_test, y_test)
            if (name, EPSILONS[index]) == ("both", 1.0):
                shown = tree
        if index == 0:
            plain = DecisionTreeClassifier(max_depth=6, min_samples_leaf=5, random_state=0).fit(X, y)
            scores["non-private"][:, repetition] = plain.score(X_test, y_test)
    problem.scores = scores
    return shown


def _print_table(scores: dict[str, NDArray[np.float64]]) -> None:
    print("".join(f"{name:>15}" for name in ["epsilon", *scores]))
    for index, epsilon in enumerate(EPSILONS):
        means = [values[index].mean() for values in scores.values()]
        print(f"{epsilon:>15g}" + "".join(f"{mean:>15.3f}" for mean in means))


def _draw_lines(axis: Any, scores: dict[str, NDArray[np.float64]], title: str, measure: str) -> None:
    """One line per method, with a band of one standard deviation."""
    for name, values in scores.items():
        middle, spread = values.mean(axis=1), values.std(axis=1)
        (line,) = axis.plot(EPSILONS, middle, marker="o", markersize=3, label=name)
        axis.fill_between(
            EPSILONS, middle - spread, middle + spread, color=line.get_color(), alpha=0.15, linewidth=0
        )
    axis.set(xscale="log", xlabel="epsilon", ylabel=measure, title=title.split(":")[0])
    axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axis.minorticks_off()


def _draw_picture(
    problems: list[Problem],
    tree: LocallyPrivateTreeClassifier,
    life: dict[str, NDArray[np.float64]],
    parties: dict[str, NDArray[np.float64]],
    games: dict[str, NDArray[np.float64]],
    path: Path,
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(17, 7.6), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    for axis, problem in zip(axes, problems, strict=False):
        _draw_lines(axis, problem.scores, problem.title, "accuracy")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(METHODS) + 1)
    PartitionDisplay.from_estimator(tree, ax=axes[3], edgecolor="face")
    axes[3].set(title="What was learnt at epsilon 1", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    _draw_lines(axes[4], life, life_part.TITLE, "median relative error")
    axes[4].set(yscale="log", title="B10 life of machines, SIMULATED")
    axes[4].legend(fontsize="small")
    parties_part.draw_lines(axes[5], parties)
    games_part.draw_lines(axes[6], games)
    games_part.draw_leakage(axes[7])
    figure.savefig(path, dpi=110)


def main(arguments: list[str] | None = None) -> None:
    """Run the demonstration.

    Parameters
    ----------
    arguments : list of str, default=None
        Command line; None takes that of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m skprivate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "picture", nargs="?", default="skprivate_demo.png", type=Path, help="where to save it, a .png file"
    )
    picture: Path = parser.parse_args(arguments).picture
    if picture.suffix != ".png" or not picture.parent.is_dir() or not os.access(picture.parent, os.W_OK):
        parser.error(f"{picture} must be a .png file in a folder that exists and can be written")
    print(
        "Private classification trees. Every private row sends one epsilon-LDP report, of its leaf and label,"
    )
    print("or of its label alone; the reports are drawn here, so this is a simulation of clients. A central")
    print(f"curator adds noise once. Mean accuracy of {REPETITIONS} repetitions:")
    problems = _problems()
    with config_context(strict=True):
        trees = []
        for problem in problems:
            print(f"\n{problem.title}")
            trees.append(_evaluate(problem))
            _print_table(problem.scores)
        print("\nLife data, noise added by a trusted curator. The B10 life is what a tenth of the machines")
        print("do not reach; median relative error over machines. 'constant' takes all machines alike.")
        print(f"\n{life_part.TITLE}")
        life = life_part.evaluate(EPSILONS, REPETITIONS, _progress)
        _print_table(life)
        print("\nHospitals that predict together. This is NOT differential privacy. Queries leave coarsened;")
        print("who has a table that is right up to 0.1 % of the range can link the share in the last column.")
        print(f"\n{parties_part.TITLE}")
        parties = parties_part.evaluate(REPETITIONS, _progress)
        parties_part.print_table(parties)
        print(
            "\nAn operator copies one hospital's model; near 1 times, the copy does as well as the hospital:"
        )
        print(parties_part.attack())
        print("\nPlayers who seek an equilibrium and broadcast noisy estimates of the mean. Errors,")
        print(
            "and what the broadcasts tell of one player or of all, in nats. PML: pointwise maximal leakage,"
        )
        print("exact, for who knows the prior alone. DP: whatever is known. Strategies are not covered.")
        print(f"\n{games_part.TITLE}")
        games = games_part.evaluate(REPETITIONS, _progress)
        games_part.print_table(games)
    print("\nWhat one tree at epsilon 1 on the second table spent and claims:\n")
    print(trees[1].privacy_spent_)
    try:
        _draw_picture(problems, trees[0], life, parties, games, picture)
    except ImportError:
        print("\nNo picture: it needs matplotlib. Install it with: pip install 'skprivate[plot]'")
    else:
        print(f"\nPicture: {picture.resolve()}")


if __name__ == "__main__":
    main()
