# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.label_privacy` and their modules."""

from ._classifier import LabelPrivateClassifier as LabelPrivateClassifier
from ._models import LinearThenTrees as LinearThenTrees
from ._regressor import LabelPrivateRegressor as LabelPrivateRegressor
from ._reporters import ClassReporter as ClassReporter
from ._reporters import NumberReporter as NumberReporter

__all__ = [
    "ClassReporter",
    "LabelPrivateClassifier",
    "LabelPrivateRegressor",
    "NumberReporter",
]
