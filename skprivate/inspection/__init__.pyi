# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.inspection` and their modules."""

from ._budget import BudgetDisplay as BudgetDisplay
from ._life_data import QuantileDependenceDisplay as QuantileDependenceDisplay
from ._life_data import ResidualDisplay as ResidualDisplay
from ._life_data import SurvivalCurveDisplay as SurvivalCurveDisplay
from ._scores import PrivacyUtilityDisplay as PrivacyUtilityDisplay
from ._scores import PrivateEvaluationDisplay as PrivateEvaluationDisplay
from ._shape_function import ShapeFunctionDisplay as ShapeFunctionDisplay
from ._trees import PartitionDisplay as PartitionDisplay
from ._trees import PrivateTreeDisplay as PrivateTreeDisplay

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
