# SPDX-License-Identifier: BSD-3-Clause
"""What the released counts of a tree say of likely mistakes: empty classes, leaves that do not differ."""

from math import sqrt
from typing import Any

from ...base._likely_mistakes import hardly_any_rows, mean_at_a_bound, no_effect, warn_of_mistakes
from .._estimation.homogeneity import NoisyTable, leaves_differ
from .._estimation.leaf_counts import LeafCounts
from .._estimation.number_variance import with_variances
from .._estimation.pruning import leaf_ancestors
from .._growth.level_order import DEFAULT_BINS, ComparedColumns

_ONE_LEAF = "the tree has a single leaf, and predicts the same everywhere."
_ELSEWHERE = "what the tree predicts beyond a constant rests on {source} alone."


def warn_of_low_utility(tree: Any) -> None:
    """Warn of classes that hardly occur, and where leaves do not clearly differ, by the released counts.

    Parameters
    ----------
    tree : TreePredictionsMixin
        It has just taken over a release.

    Warns
    -----
    UtilityWarning
        After the release, so never an error. Rates of wrong warnings stand in `leaves_differ`.

    Notes
    -----
    **Privacy.** A function of what was released and of what is public: it costs nothing.
    """
    design = tree._design_of_release()
    counts = LeafCounts.from_release(design, tree.report_counts_, tree.n_reports_)
    counts = with_variances(counts, design, tree.report_counts_, tree._leaf_shares[:, -1])
    table = NoisyTable.of(design.randomizer, counts, design.cells)
    sentences = []
    if design.cells is None:
        std = sqrt(0.5 * counts.n_rows * float(counts.variance.sum()))
        totals = counts.label_estimates.sum(axis=0)
        known = getattr(design.randomizer, "total_is_public", True)
        n_rows = counts.n_rows if known else None
        sentences.append(hardly_any_rows(design.classes, totals, std, n_rows))
    else:
        low, high = tree.range_y_
        sentences.append(mean_at_a_bound(tree.base_value_, tree._base_error * (high - low), (low, high)))
    if not leaves_differ(table, leaf_ancestors(design.partition), _candidates(tree)):
        target: Any = "classes" if design.cells is None else "numbers"
        source = _other_source(tree)
        sentences.append(no_effect(target, _ONE_LEAF if tree.n_leaves_ == 1 else None))
        sentences.append(_ELSEWHERE.format(source=source) if source else None)
    warn_of_mistakes(type(tree).__name__, *sentences)


def _other_source(tree: Any) -> str | None:
    """What a tree predicts from beside the counts of its leaves; None where there is nothing else."""
    if tree.public_counts_.sum():
        return "the public rows"
    return None if tree.split_counts_ is None else "the reports that shaped it"


def _candidates(tree: Any) -> int:
    """Number of splits that the counted rows chose from at every node; 1 where others chose, or chance."""
    if tree.rule_ != "private":
        return 1
    derived = tree.partition_.derived
    bins: tuple[int, ...] = (DEFAULT_BINS,) * tree.partition_.n_columns
    if derived is not None:
        bins = ComparedColumns.of(tree.domain_.groups, derived, len(tree._known_target())).n_bins
    return sum(bins) - len(bins)
