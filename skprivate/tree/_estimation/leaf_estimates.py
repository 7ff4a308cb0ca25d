# SPDX-License-Identifier: BSD-3-Clause
"""Post-processing of a release: weight of public rows, pruning, class probabilities of the leaves."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._typing import FloatArray, IntArray
from .._tree_design import TreeDesign
from .depth import DepthInputs, choose_depth, count_split_features
from .leaf_counts import LeafCounts
from .number_variance import with_variances
from .offsets import ModelWithOffsets, estimate_offsets
from .paper import PaperPruning
from .probabilities import ClassShares, estimate_shares_of_classes
from .pruning import leaf_ancestors, prune_leaves
from .weight import choose_weight, estimate_public_drift


@dataclass(frozen=True)
class LeafEstimates:
    """The estimates of the leaves.

    Attributes
    ----------
    weight : ndarray of shape (n_leaves,)
        Weight of a public row against a private one, in the leaf itself.
    shares : ClassShares
        Class probabilities, their errors, and the base rate.
    depth : ndarray of int of shape (n_leaves,)
        Depth of the node whose estimate the leaf takes.
    sizes : ndarray of shape (n_leaves,)
        Estimated private rows in the leaf, positive.
    offsets : ModelWithOffsets or None
        What predicts rows by a public model; None where there is none, or the release shows it to be wrong.
    """

    weight: FloatArray
    shares: ClassShares
    depth: IntArray
    sizes: FloatArray
    offsets: ModelWithOffsets | None = None


class PruningMethod(Protocol):
    """A value of ``prune``: how deep the tree is, and from which nodes its leaves take their estimates.

    Attributes
    ----------
    several_classes : bool
        Whether more than two classes are supported.
    has_own_depth : bool
        Whether its automatic depth is another than that of the other values.
    """

    several_classes: bool
    has_own_depth: bool

    def check_classes(self, n_labels: int) -> None:
        """Raise ValueError if so many classes are not supported."""

    def choose_depth(self, inputs: DepthInputs) -> int:
        """Return the automatic depth."""

    def estimate(
        self, design: TreeDesign, counts: LeafCounts, weight: FloatArray, given_weight: float | None
    ) -> tuple[ClassShares, IntArray]:
        """Return the probabilities of the leaves, and the depths they come from.

        `weight` is that of the leaves, `given_weight` the user's for every node, None where it is automatic.
        """


@dataclass(frozen=True)
class MarginPruning:
    """No pruning, or that by the margins of the nodes in standard errors; see `PruningMethod`."""

    prunes: bool
    several_classes = True
    has_own_depth = False

    def check_classes(self, n_labels: int) -> None:
        """Accept any number of classes."""

    def choose_depth(self, inputs: DepthInputs) -> int:
        """Return the largest depth whose leaves can be estimated."""
        # Smoothing makes up for leaves that are divided among many features: none of these count here.
        return choose_depth(inputs.n_rows, inputs.partition.leaf_counts_by_depth(), inputs.variance)

    def estimate(
        self, design: TreeDesign, counts: LeafCounts, weight: FloatArray, given_weight: float | None
    ) -> tuple[ClassShares, IntArray]:
        """Return the probabilities of the leaves, and the depths they come from."""
        partition = design.partition
        if not self.prunes:
            # Who gives a weight vouches for the public labels.
            drift = estimate_public_drift(counts) if given_weight is None else 0.0
            shares = estimate_shares_of_classes(counts, weight, leaf_ancestors(partition), drift)
            return shares, np.full(counts.n_leaves, partition.max_depth)
        n_features = count_split_features(partition, design.rule)
        return prune_leaves(leaf_ancestors(partition), counts, weight=given_weight, n_features=n_features)


def pruning_method(prune: Any) -> PruningMethod:
    """Return what a value of ``prune`` stands for; the only place that looks for "paper"."""
    return PaperPruning() if prune == "paper" else MarginPruning(bool(prune))


def estimate_leaves(
    design: TreeDesign, released: IntArray, n_rows: int, public_weight: Any, prune: Any
) -> LeafEstimates:
    """Return the estimates of the leaves: a function of what was released and of what is public.

    Parameters
    ----------
    design : TreeDesign
    released : ndarray
        What the design's randomizer released about the private rows.
    n_rows : int
        Number of private rows behind it.
    public_weight : float or "auto"
    prune : bool or "paper"

    Returns
    -------
    estimates : LeafEstimates
    """
    counts = LeafCounts.from_release(design, released, n_rows)
    found = _estimate(with_variances(counts, design, released), design, public_weight, prune)
    if design.cells is None:
        return found
    # What is left within the leaves is known once their means are.
    shares = found.shares.probabilities[:, 1]
    return _estimate(with_variances(counts, design, released, shares), design, public_weight, prune)


def _estimate(counts: LeafCounts, design: TreeDesign, public_weight: Any, prune: Any) -> LeafEstimates:
    given = None if public_weight == "auto" else float(public_weight)
    weight = choose_weight(counts) if given is None else np.full(counts.n_leaves, given)
    shares, depth = pruning_method(prune).estimate(design, counts, weight, given)
    offsets = None
    if design.leaf_model is not None:
        corrected = estimate_offsets(counts, design.leaf_model, shares, leaf_ancestors(design.partition))
        shares, offsets = (shares, None) if corrected is None else corrected
    return LeafEstimates(weight, shares, depth, counts.cell_sizes, offsets)
