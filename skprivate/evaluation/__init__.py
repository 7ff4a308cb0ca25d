# SPDX-License-Identifier: BSD-3-Clause
"""Around a fit: a paid evaluation, a private description of a table, and a plan before anything is spent."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._description.result import TableDescription
    from ._plan_study import plan_life_study, plan_study
    from ._planning.life_widths import LifeStudyPlan, PlannedHalfWidths, RowsNeeded
    from ._planning.lifetimes import StatedLifetimes
    from ._planning.scores import BudgetSplit, PlannedScore, StudyPlan
    from ._private_describe import private_describe
    from ._private_evaluate import private_evaluate
    from ._scores.intervals import Estimate
    from ._scores.result import PrivateEvaluation
    from ._scores.statistics import CalibrationPoint, ConfusionMatrix

_HOMES = {
    "BudgetSplit": "._planning.scores",
    "CalibrationPoint": "._scores.statistics",
    "ConfusionMatrix": "._scores.statistics",
    "Estimate": "._scores.intervals",
    "LifeStudyPlan": "._planning.life_widths",
    "PlannedHalfWidths": "._planning.life_widths",
    "PlannedScore": "._planning.scores",
    "PrivateEvaluation": "._scores.result",
    "RowsNeeded": "._planning.life_widths",
    "StatedLifetimes": "._planning.lifetimes",
    "StudyPlan": "._planning.scores",
    "TableDescription": "._description.result",
    "plan_life_study": "._plan_study",
    "plan_study": "._plan_study",
    "private_describe": "._private_describe",
    "private_evaluate": "._private_evaluate",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "BudgetSplit",
    "CalibrationPoint",
    "ConfusionMatrix",
    "Estimate",
    "LifeStudyPlan",
    "PlannedHalfWidths",
    "PlannedScore",
    "PrivateEvaluation",
    "RowsNeeded",
    "StatedLifetimes",
    "StudyPlan",
    "TableDescription",
    "plan_life_study",
    "plan_study",
    "private_describe",
    "private_evaluate",
]
