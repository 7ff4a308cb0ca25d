# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration: its parts one after another in strict mode, a statement of privacy, and the picture."""

from pathlib import Path

from .. import config_context
from ..accounting import PrivacySpent
from . import games, life, parties, trees
from .summary import Summary, print_summary, save_picture

# Of the one screen, in a few seconds, and of the long tables.
SHORT_REPETITIONS, REPETITIONS = 2, 5


def run(picture: Path, full: bool = False) -> None:
    """Print one screen and save the picture, or print the long tables after them."""
    with config_context(strict=True):
        print(f"Means of {SHORT_REPETITIONS} repetitions. Long tables: python -m skprivate --full")
        tree_summary, tree = trees.summarise(SHORT_REPETITIONS)
        summaries = [tree_summary]
        print_summary(tree_summary)
        for part in (life, parties, games):
            summaries.append(part.summarise(SHORT_REPETITIONS))
            print_summary(summaries[-1])
        print(_describe(tree.privacy_spent_))
        _save(picture, summaries)
        if full:
            _print_long_tables()


def _describe(spent: PrivacySpent) -> str:
    return (
        f"One tree spent: epsilon {float(spent.epsilon):g}, delta {float(spent.delta):g}, of a {spent.unit};"
        f" claim: {spent.claim}, {spent.relation}.\n"
        f"  Deployment: {spent.deployment}: reports were drawn here, and rows were seen here."
    )


def _save(picture: Path, summaries: list[Summary]) -> None:
    try:
        save_picture(picture, summaries)
    except ImportError:
        print("No picture: it needs matplotlib. Install it with: pip install 'skprivate[plot]'")
    else:
        print(f"Picture: {picture.resolve()}")


def _print_long_tables() -> None:
    print()
    tree_results = trees.run(REPETITIONS)
    for part in (life, parties, games):
        part.run(REPETITIONS)
    print("\nWhat one tree at epsilon 1 on the second table spent and claims:\n")
    print(tree_results[1].tree.privacy_spent_)
