# SPDX-License-Identifier: BSD-3-Clause
"""Displays of estimators and ledgers; they need matplotlib, which is imported when something is drawn."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._budget import BudgetDisplay
    from ._life_data import QuantileDependenceDisplay, ResidualDisplay, SurvivalCurveDisplay
    from ._scores import PrivacyUtilityDisplay, PrivateEvaluationDisplay
    from ._shape_function import ShapeFunctionDisplay
    from ._trees import PartitionDisplay, PrivateTreeDisplay

_HOMES = {
    "BudgetDisplay": "._budget",
    "PartitionDisplay": "._trees",
    "PrivacyUtilityDisplay": "._scores",
    "PrivateEvaluationDisplay": "._scores",
    "PrivateTreeDisplay": "._trees",
    "QuantileDependenceDisplay": "._life_data",
    "ResidualDisplay": "._life_data",
    "ShapeFunctionDisplay": "._shape_function",
    "SurvivalCurveDisplay": "._life_data",
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
