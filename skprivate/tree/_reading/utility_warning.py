# SPDX-License-Identifier: BSD-3-Clause
"""The warning that a tree predicts no better than its base rate, by the released counts."""

from typing import Any

from ...base._likely_mistakes import mean_at_a_bound, warn_of_mistake
from ...exceptions import UtilityWarning
from ...utils._user_frame import warn_after_release
from .._estimation.homogeneity import NoisyTable, leaves_differ
from .._estimation.leaf_counts import LeafCounts
from .._estimation.number_variance import with_variances
from .._estimation.pruning import leaf_ancestors
from .._growth.level_order import DEFAULT_BINS, ComparedColumns

_ALIKE = (
    "the released counts do not show clearly that the leaves differ in their {classes} by more than noise "
    "and chance explain: the tree may predict no better than the {base}."
)
_ONE_LEAF = "the tree has a single leaf, and predicts the {base} everywhere."
_HINTS = (
    " Look for {typo}, for bounds that are far too wide (all rows fall into few leaves), and for an epsilon "
    "that is too small for the number of rows."
)
_OF_LABELS = {
    "classes": "classes",
    "base": "base rate",
    "typo": "a typo in classes (a label outside them counts as the first class)",
}
_OF_NUMBERS = {
    "classes": "means",
    "base": "mean",
    "typo": "bounds_y in another unit (numbers beyond them are clipped)",
}
_ELSEWHERE = " What the tree predicts beyond the base rate rests on {source} alone."


def warn_of_low_utility(tree: Any) -> None:
    """Warn where the released counts do not show that a tree predicts better than its base rate.

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
    if design.cells is not None and (reason := _of_bounds(tree)):
        return warn_of_mistake(tree, reason)
    if leaves_differ(table, leaf_ancestors(design.partition), _candidates(tree)):
        return None
    text = _ONE_LEAF if tree.n_leaves_ == 1 else _ALIKE
    source = _other_source(tree)
    elsewhere = _ELSEWHERE.format(source=source) if source else ""
    said = (text + _HINTS).format(**(_OF_LABELS if design.cells is None else _OF_NUMBERS))
    warn_after_release(f"{type(tree).__name__}: {said}{elsewhere}", UtilityWarning)


def _of_bounds(tree: Any) -> str | None:
    low, high = tree.range_y_
    return mean_at_a_bound(tree.base_value_, tree._base_error * (high - low), (low, high))


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
