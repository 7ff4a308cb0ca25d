# SPDX-License-Identifier: BSD-3-Clause
"""Private classification trees: partitions of public data, with leaves estimated from private rows."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._accumulator import LeafCountAccumulator as LeafCountAccumulator
    from ._central import DPTreeClassifier as DPTreeClassifier
    from ._classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
    from ._export_text import export_text as export_text

_HOMES = {
    "DPTreeClassifier": "._central",
    "LeafCountAccumulator": "._accumulator",
    "LocallyPrivateTreeClassifier": "._classifier",
    "export_text": "._export_text",
    # Not for users: pickles of fitted estimators name them here, so that files can be moved.
    "BaseRate": "..utils._posteriors.base_rate",
    "FirstPhase": "._growth.first_phase",
    "LeafModel": "._public_model",
    "Mixture": "._estimation.offsets",
    "ModelWithOffsets": "._estimation.offsets",
    "NaiveBayes": "._growth.naive_bayes",
    "NoisyHistogram": "._noisy_leaf_counts",
    "PlannedLeaves": "._growth.first_phase",
    "TreeDesign": "._tree_design",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "DPTreeClassifier",
    "LeafCountAccumulator",
    "LocallyPrivateTreeClassifier",
    "export_text",
]
