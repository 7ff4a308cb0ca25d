# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the audit battery passes, fails and skips on estimators of the suite, and their seconds."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from skprivate import DPNormalLLSRegressor, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.audit import AuditCase, check_private_estimator

from ._report import show

N = 24
X = np.random.default_rng(0).uniform(-1, 1, (N, 2))
LABELS, TARGET = np.arange(N) % 2, np.random.default_rng(1).uniform(-1, 1, N)
BOX = (-1, 1)


def ours() -> Iterator[tuple[Any, dict[str, Any]]]:
    tree = {"epsilon": 1.5, "max_depth": 2, "bounds": BOX, "classes": [0, 1]}
    yield LocallyPrivateTreeClassifier(**tree), {"X": X, "y": LABELS}
    yield DPTreeClassifier(**tree), {"X": X, "y": LABELS}
    yield DPNormalLLSRegressor(1.5, bounds_X=BOX, bounds_y=BOX), {"X": X, "y": TARGET}


def run() -> None:
    for estimator, data in ours():
        results = check_private_estimator(AuditCase.of(estimator, data), on_fail=None)
        show(type(estimator).__name__, results)
