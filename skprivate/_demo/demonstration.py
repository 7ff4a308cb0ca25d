# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration: its parts one after another in strict mode, a statement of privacy, and the picture."""

from pathlib import Path

from .. import config_context
from . import games, life, parties, trees
from .results import Scores

REPETITIONS = 5


def run(picture: Path) -> None:
    """Print the tables of all parts, and save the picture."""
    with config_context(strict=True):
        tree_results = trees.run(REPETITIONS)
        life_scores = life.run(REPETITIONS)
        party_scores = parties.run(REPETITIONS)
        game_scores = games.run(REPETITIONS)
    print("\nWhat one tree at epsilon 1 on the second table spent and claims:\n")
    print(tree_results[1].tree.privacy_spent_)
    try:
        _save_picture(picture, tree_results, life_scores, party_scores, game_scores)
    except ImportError:
        print("\nNo picture: it needs matplotlib. Install it with: pip install 'skprivate[plot]'")
    else:
        print(f"\nPicture: {picture.resolve()}")


def _save_picture(
    path: Path,
    tree_results: list[trees.Result],
    life_scores: Scores,
    party_scores: Scores,
    game_scores: Scores,
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(17, 7.6), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    for axis, result in zip(axes, tree_results, strict=False):
        trees.draw_accuracies(axis, result)
    n_methods = len(tree_results[0].scores)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=n_methods)
    trees.draw_partition(axes[3], tree_results[0].tree)
    life.draw_errors(axes[4], life_scores)
    parties.draw_lines(axes[5], party_scores)
    games.draw_lines(axes[6], game_scores)
    games.draw_leakage(axes[7])
    figure.savefig(path, dpi=110)
