# SPDX-License-Identifier: BSD-3-Clause
"""Any model on labels that were made private one by one; features are in clear."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._classifier import LabelPrivateClassifier as LabelPrivateClassifier
    from ._regressor import LabelPrivateRegressor as LabelPrivateRegressor
    from ._reporters import ClassReporter as ClassReporter
    from ._reporters import NumberReporter as NumberReporter

_HOMES = {
    "ClassReporter": "._reporters",
    "LabelPrivateClassifier": "._classifier",
    "LabelPrivateRegressor": "._regressor",
    "NumberReporter": "._reporters",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = ["ClassReporter", "LabelPrivateClassifier", "LabelPrivateRegressor", "NumberReporter"]
