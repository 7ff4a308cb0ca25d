# SPDX-License-Identifier: BSD-3-Clause
"""Private ensembles: boosting with shape functions that can be read."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._boosting.shape_functions import ShapeFunction as ShapeFunction
    from ._classifier import DPBoostingClassifier as DPBoostingClassifier
    from ._regressor import DPBoostingRegressor as DPBoostingRegressor

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "DPBoostingClassifier": "._classifier",
        "DPBoostingRegressor": "._regressor",
        "ShapeFunction": "._boosting.shape_functions",
    },
)

__all__ = ["DPBoostingClassifier", "DPBoostingRegressor", "ShapeFunction"]
