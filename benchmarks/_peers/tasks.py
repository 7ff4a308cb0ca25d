# SPDX-License-Identifier: BSD-3-Clause
"""Tasks on which estimators are compared across environments: the same rows everywhere, by NumPy's seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPEATS = 3
N_FEATURES = 10


@dataclass(frozen=True, eq=False)
class Task:
    """Training and test rows in [-1, 1], the target's bounds, and what a model is worth."""

    kind: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    bounds_y: tuple[float, float] | None = None

    def score(self, model: Any) -> float:
        """Return accuracy, or the share of explained variance."""
        return float(model.score(self.X_test, self.y_test))


def tasks(n_rows: int) -> Iterator[Task]:
    """Yield a regression and a classification, each with as many test rows as training rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2 * n_rows, N_FEATURES))
    latent = X @ np.linspace(-0.2, 0.2, N_FEATURES) + 0.2 * rng.normal(size=len(X))
    y = np.clip(latent, -2, 2)
    train, test = slice(0, n_rows), slice(n_rows, None)
    yield Task("regression", X[train], y[train], X[test], y[test], (-2.0, 2.0))
    labels = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0.2).astype(np.int64)
    yield Task("classification", X[train], labels[train], X[test], labels[test])
