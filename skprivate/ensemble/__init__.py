# SPDX-License-Identifier: BSD-3-Clause
"""Private ensembles: boosting with shape functions that can be read."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._boosting.shape_functions import RandomCells as RandomCells
    from ._boosting.shape_functions import ShapeFunction as ShapeFunction
    from ._classifier import DPBoostingClassifier as DPBoostingClassifier
    from ._regressor import DPBoostingRegressor as DPBoostingRegressor

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "DPBoostingClassifier": "._classifier",
        "DPBoostingRegressor": "._regressor",
        "RandomCells": "._boosting.shape_functions",
        "ShapeFunction": "._boosting.shape_functions",
        # Not for users: pickles of fitted estimators name them here, so that files can be moved.
        "AdditiveModel": "..rounds._plans._additive.scores",
        "CellGrid": "..rounds._plans._additive.codes",
        "CodedFeature": "..rounds._plans._additive.codes",
        "FeatureCodes": "..rounds._plans._additive.codes",
        "PublicScores": "._boosting.public_scores",
    },
)

__all__ = ["DPBoostingClassifier", "DPBoostingRegressor", "RandomCells", "ShapeFunction"]
