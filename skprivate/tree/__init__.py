# SPDX-License-Identifier: BSD-3-Clause
"""Private classification trees: partitions of public data, with leaves estimated from private rows."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._accumulator import LeafCountAccumulator as LeafCountAccumulator
    from ._classifier import DPTreeClassifier as DPTreeClassifier
    from ._classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
    from ._reading import export_text as export_text
    from ._regressor import DPTreeRegressor as DPTreeRegressor
    from ._regressor import LocallyPrivateTreeRegressor as LocallyPrivateTreeRegressor

_HOMES = {
    "DPTreeClassifier": "._classifier",
    "DPTreeRegressor": "._regressor",
    "LeafCountAccumulator": "._accumulator",
    "LocallyPrivateTreeClassifier": "._classifier",
    "LocallyPrivateTreeRegressor": "._regressor",
    "export_text": "._reading",
    # Not for users: pickles of fitted estimators name them here, so that files can be moved.
    "BaseRate": "..metrics._probabilities",
    "FirstPhase": "._first_phase",
    "LeafModel": "._public_model",
    "Mixture": "._leaf_estimates",
    "ModelWithOffsets": "._leaf_estimates",
    "NaiveBayes": "._first_phase",
    "NoisyHistogram": "._rows",
    "NumberCells": "._rows",
    "NumberModel": "._public_model",
    "PlannedLeaves": "._first_phase",
    "TreeDesign": "._release",
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
