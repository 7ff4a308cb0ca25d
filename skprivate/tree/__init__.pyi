# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.tree` and their modules; those outside ``__all__`` are for pickles."""

from ..metrics._probabilities import BaseRate as BaseRate
from ._accumulator import LeafCountAccumulator as LeafCountAccumulator
from ._classifier import DPTreeClassifier as DPTreeClassifier
from ._classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
from ._first_phase import FirstPhase as FirstPhase
from ._first_phase import NaiveBayes as NaiveBayes
from ._first_phase import PlannedLeaves as PlannedLeaves
from ._leaf_estimates import Mixture as Mixture
from ._leaf_estimates import ModelWithOffsets as ModelWithOffsets
from ._public_model import LeafModel as LeafModel
from ._public_model import NumberModel as NumberModel
from ._reading import export_text as export_text
from ._regressor import DPTreeRegressor as DPTreeRegressor
from ._regressor import LocallyPrivateTreeRegressor as LocallyPrivateTreeRegressor
from ._release import TreeDesign as TreeDesign
from ._rows import NoisyHistogram as NoisyHistogram
from ._rows import NumberCells as NumberCells

__all__ = [
    "DPTreeClassifier",
    "DPTreeRegressor",
    "LeafCountAccumulator",
    "LocallyPrivateTreeClassifier",
    "LocallyPrivateTreeRegressor",
    "export_text",
]
