# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.evaluation` and their modules."""

from ._description.result import TableDescription as TableDescription
from ._plan_study import plan_life_study as plan_life_study
from ._plan_study import plan_study as plan_study
from ._planning.life_widths import LifeStudyPlan as LifeStudyPlan
from ._planning.life_widths import PlannedHalfWidths as PlannedHalfWidths
from ._planning.life_widths import RowsNeeded as RowsNeeded
from ._planning.lifetimes import StatedLifetimes as StatedLifetimes
from ._planning.scores import BudgetSplit as BudgetSplit
from ._planning.scores import PlannedScore as PlannedScore
from ._planning.scores import StudyPlan as StudyPlan
from ._private_describe import private_describe as private_describe
from ._private_evaluate import private_evaluate as private_evaluate
from ._scores.intervals import Estimate as Estimate
from ._scores.result import PrivateEvaluation as PrivateEvaluation
from ._scores.statistics import CalibrationPoint as CalibrationPoint
from ._scores.statistics import ConfusionMatrix as ConfusionMatrix

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
