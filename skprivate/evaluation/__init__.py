# SPDX-License-Identifier: BSD-3-Clause
"""Around a fit: a paid evaluation, a private description of a table, and a plan before anything is spent."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._private_evaluate import private_evaluate as private_evaluate
    from ._scores.intervals import Estimate as Estimate
    from ._scores.result import PrivateEvaluation as PrivateEvaluation
    from ._scores.statistics import CalibrationPoint as CalibrationPoint
    from ._scores.statistics import ConfusionMatrix as ConfusionMatrix

_HOMES: dict[str, str] = {
    "CalibrationPoint": "._scores.statistics",
    "ConfusionMatrix": "._scores.statistics",
    "Estimate": "._scores.intervals",
    "PrivateEvaluation": "._scores.result",
    "private_evaluate": "._private_evaluate",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__: list[str] = [
    "CalibrationPoint",
    "ConfusionMatrix",
    "Estimate",
    "PrivateEvaluation",
    "private_evaluate",
]
