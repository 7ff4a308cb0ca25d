# SPDX-License-Identifier: BSD-3-Clause
"""Demonstration, in strict mode: accuracy and error against protection, what was spent, and a picture.

Run ``python -m skprivate [--full] [PICTURE.png]``.
"""

import argparse
import os
from pathlib import Path

from . import config_context
from ._demo import games, life, parties, trees
from ._demo.summary import Summary, print_summary, save_picture

# Repetitions for the one screen, in a few seconds, and for the long tables.
SHORT_REPETITIONS, REPETITIONS = 2, 5


def main(arguments: list[str] | None = None, prog: str = "python -m skprivate") -> None:
    """Run the demonstration.

    Parameters
    ----------
    arguments : list of str, default=None
        Command line; None takes that of the process.
    prog : str, default="python -m skprivate"
        The command of the user, for help and errors.
    """
    parser = argparse.ArgumentParser(prog=prog, description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "picture", nargs="?", default="skprivate_demo.png", type=Path, help="where to save it, a .png file"
    )
    parser.add_argument("--full", action="store_true", help="print the long tables too, in about 20 seconds")
    options = parser.parse_args(arguments)
    picture: Path = options.picture
    if picture.suffix != ".png" or not picture.parent.is_dir() or not os.access(picture.parent, os.W_OK):
        parser.error(f"{picture} must be a .png file in a folder that exists and can be written")
    run(picture, options.full)


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
        spent = tree.privacy_spent_
        print(f"One tree spent: epsilon {float(spent.epsilon):g}, delta {float(spent.delta):g}, of a", end="")
        print(f" {spent.unit}; claim: {spent.claim}, {spent.relation}.")
        print(f"  Deployment: {spent.deployment}: reports were drawn here, and rows were seen here.")
        _save(picture, summaries)
        if full:
            print()
            tree_results = trees.run(REPETITIONS)
            for part in (life, parties, games):
                part.run(REPETITIONS)
            print("\nWhat one tree at epsilon 1 on the second table spent and claims:\n")
            print(tree_results[1].tree.privacy_spent_)


def _save(picture: Path, summaries: list[Summary]) -> None:
    try:
        save_picture(picture, summaries)
    except ImportError:
        print("No picture: it needs matplotlib. Install it with: pip install 'skprivate[plot]'")
    else:
        print(f"Picture: {picture.resolve()}")


if __name__ == "__main__":
    main()
