# SPDX-License-Identifier: BSD-3-Clause
"""Displays of estimators and ledgers; they need matplotlib, which is imported when something is drawn."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._budget import BudgetDisplay as BudgetDisplay
    from ._evaluation import PrivateEvaluationDisplay as PrivateEvaluationDisplay
    from ._life_curves import SurvivalCurveDisplay as SurvivalCurveDisplay
    from ._life_quantiles import QuantileDependenceDisplay as QuantileDependenceDisplay
    from ._life_residuals import ResidualDisplay as ResidualDisplay
    from ._partition import PartitionDisplay as PartitionDisplay
    from ._shape_function import ShapeFunctionDisplay as ShapeFunctionDisplay
    from ._tree import PrivateTreeDisplay as PrivateTreeDisplay
    from ._utility import PrivacyUtilityDisplay as PrivacyUtilityDisplay

_HOMES = {
    "BudgetDisplay": "._budget",
    "PartitionDisplay": "._partition",
    "PrivacyUtilityDisplay": "._utility",
    "PrivateEvaluationDisplay": "._evaluation",
    "PrivateTreeDisplay": "._tree",
    "QuantileDependenceDisplay": "._life_quantiles",
    "ResidualDisplay": "._life_residuals",
    "ShapeFunctionDisplay": "._shape_function",
    "SurvivalCurveDisplay": "._life_curves",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "BudgetDisplay",
    "PartitionDisplay",
    "PrivacyUtilityDisplay",
    "PrivateEvaluationDisplay",
    "PrivateTreeDisplay",
    "QuantileDependenceDisplay",
    "ResidualDisplay",
    "ShapeFunctionDisplay",
    "SurvivalCurveDisplay",
]
