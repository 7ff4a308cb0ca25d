# SPDX-License-Identifier: BSD-3-Clause
"""The audit battery on estimators of ours: checks, failures, seconds."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from skprivate import DPNormalLLSRegressor, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.audit import AuditCase, check_private_estimator

N = 24
X = np.random.default_rng(0).uniform(-1, 1, (N, 2))
LABELS, TARGET = np.arange(N) % 2, np.random.default_rng(1).uniform(-1, 1, N)
BOX = (-1, 1)


def ours() -> Iterator[tuple[Any, dict[str, Any]]]:
    tree = {"epsilon": 1.5, "max_depth": 2, "bounds": BOX, "classes": [0, 1]}
    yield LocallyPrivateTreeClassifier(**tree), {"X": X, "y": LABELS}
    yield DPTreeClassifier(**tree), {"X": X, "y": LABELS}
    yield DPNormalLLSRegressor(1.5, bounds_X=BOX, bounds_y=BOX), {"X": X, "y": TARGET}


def report(estimator: Any, data: dict[str, Any]) -> None:
    start = time.perf_counter()
    results = check_private_estimator(AuditCase.of(estimator, data), on_fail=None)
    counts = Counter(one["status"] for one in results)
    package = type(estimator).__module__.partition(".")[0]
    print(f"{package} {type(estimator).__name__}: {dict(counts)}, {time.perf_counter() - start:.1f} s")
    for one in results:
        if one["status"] == "failed":
            print(f"  {one['check_name']}: {one['reason'][:150]}")


def run() -> None:
    for estimator, data in ours():
        report(estimator, data)
