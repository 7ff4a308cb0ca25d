# SPDX-License-Identifier: BSD-3-Clause
"""The audit battery on estimators of ours, and of a peer where it installs: checks, failures, seconds."""

import time
import warnings
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


def peers() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Of diffprivlib: those that run on the installed scikit-learn."""
    import sklearn.tree._tree as tree

    # Its trees import names that scikit-learn no longer has; the other models do not need them.
    vars(tree).setdefault("DOUBLE", np.float64)
    vars(tree).setdefault("DTYPE", np.float32)
    from diffprivlib import models  # type: ignore[import-not-found]

    yield models.GaussianNB(epsilon=1.5, bounds=BOX), {"X": X, "y": LABELS}
    yield models.KMeans(2, epsilon=1.5, bounds=BOX), {"X": X}
    yield models.StandardScaler(epsilon=1.5, bounds=BOX), {"X": X}
    yield models.PCA(1, epsilon=1.5, bounds=BOX, data_norm=2), {"X": X}
    yield models.LinearRegression(epsilon=1.5, bounds_X=BOX, bounds_y=BOX), {"X": X, "y": TARGET}


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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for estimator, data in peers():
                report(estimator, data)
    except ImportError as error:
        print(f"diffprivlib does not import here: {error}")


if __name__ == "__main__":
    run()
