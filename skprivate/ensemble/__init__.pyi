# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.ensemble` and their modules; those outside ``__all__`` are for pickles."""

from ..rounds._plans.boosting import AdditiveModel as AdditiveModel
from ..rounds._plans.boosting import CellGrid as CellGrid
from ..rounds._plans.boosting import CodedFeature as CodedFeature
from ..rounds._plans.boosting import FeatureCodes as FeatureCodes
from ._classifier import DPBoostingClassifier as DPBoostingClassifier
from ._public_scores import PublicScores as PublicScores
from ._regressor import DPBoostingRegressor as DPBoostingRegressor
from ._shape_functions import RandomCells as RandomCells
from ._shape_functions import ShapeFunction as ShapeFunction

__all__ = [
    "DPBoostingClassifier",
    "DPBoostingRegressor",
    "RandomCells",
    "ShapeFunction",
]
