# SPDX-License-Identifier: BSD-3-Clause
"""Private ensembles: boosting with shape functions that can be read."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._classifier import DPBoostingClassifier as DPBoostingClassifier
    from ._regressor import DPBoostingRegressor as DPBoostingRegressor
    from ._shape_functions import RandomCells as RandomCells
    from ._shape_functions import ShapeFunction as ShapeFunction

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "DPBoostingClassifier": "._classifier",
        "DPBoostingRegressor": "._regressor",
        "RandomCells": "._shape_functions",
        "ShapeFunction": "._shape_functions",
        # Not for users: pickles of fitted estimators name them here, so that files can be moved.
        "AdditiveModel": "..rounds._plans.additive",
        "CellGrid": "..rounds._plans.additive",
        "CodedFeature": "..rounds._plans.additive",
        "FeatureCodes": "..rounds._plans.additive",
        "PublicScores": "._public_scores",
    },
)

__all__ = ["DPBoostingClassifier", "DPBoostingRegressor", "RandomCells", "ShapeFunction"]
