# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.tree` and their modules; those outside ``__all__`` are for pickles."""

from ..metrics._probabilities import BaseRate as BaseRate
from ._accumulator import LeafCountAccumulator as LeafCountAccumulator
from ._classifier import DPTreeClassifier as DPTreeClassifier
from ._classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
from ._export_text import export_text as export_text
from ._pruning_and_intervals import Mixture as Mixture
from ._pruning_and_intervals import ModelWithOffsets as ModelWithOffsets
from ._public_model import LeafModel as LeafModel
from ._public_model import NumberModel as NumberModel
from ._regressor import DPTreeRegressor as DPTreeRegressor
from ._regressor import LocallyPrivateTreeRegressor as LocallyPrivateTreeRegressor
from ._release import TreeDesign as TreeDesign
from ._rows import NoisyHistogram as NoisyHistogram
from ._rows import NumberCells as NumberCells
from ._splits_by_clients import FirstPhase as FirstPhase
from ._splits_by_clients import NaiveBayes as NaiveBayes
from ._splits_by_clients import PlannedLeaves as PlannedLeaves

__all__ = [
    "DPTreeClassifier",
    "DPTreeRegressor",
    "LeafCountAccumulator",
    "LocallyPrivateTreeClassifier",
    "LocallyPrivateTreeRegressor",
    "export_text",
]
