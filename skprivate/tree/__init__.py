# SPDX-License-Identifier: BSD-3-Clause
"""Private classification trees: partitions of public data, with leaves estimated from private rows."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._accumulator import LeafCountAccumulator as LeafCountAccumulator
    from ._central_classifier import DPTreeClassifier as DPTreeClassifier
    from ._central_regressor import DPTreeRegressor as DPTreeRegressor
    from ._export_text import export_text as export_text
    from ._local_classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
    from ._local_regressor import LocallyPrivateTreeRegressor as LocallyPrivateTreeRegressor

_HOMES = {
    "DPTreeClassifier": "._central_classifier",
    "DPTreeRegressor": "._central_regressor",
    "LeafCountAccumulator": "._accumulator",
    "LocallyPrivateTreeClassifier": "._local_classifier",
    "LocallyPrivateTreeRegressor": "._local_regressor",
    "export_text": "._export_text",
    # Not for users: pickles of fitted estimators name them here, so that files can be moved.
    "BaseRate": "..utils._posteriors.base_rate",
    "FirstPhase": "._growth.first_phase",
    "LeafModel": "._public_model",
    "Mixture": "._estimation.offsets",
    "ModelWithOffsets": "._estimation.offsets",
    "NaiveBayes": "._growth.naive_bayes",
    "NoisyHistogram": "._noisy_leaf_counts",
    "NumberCells": "._noisy_leaf_counts",
    "NumberModel": "._public_model",
    "PlannedLeaves": "._growth.first_phase",
    "TreeDesign": "._tree_design",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "DPTreeClassifier",
    "DPTreeRegressor",
    "LeafCountAccumulator",
    "LocallyPrivateTreeClassifier",
    "LocallyPrivateTreeRegressor",
    "export_text",
]
