# SPDX-License-Identifier: BSD-3-Clause
"""Seconds for fit and predict."""

import statistics
import time

import numpy as np

from skprivate import LocallyPrivateTreeClassifier


def run() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(104_000, 10))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0.75).astype(int)
    is_public = np.arange(len(X)) < 4000
    for depth in (8, 12):
        seconds = []
        for _ in range(7):
            tree = LocallyPrivateTreeClassifier(1.0, max_depth=depth, bounds=(0, 1), classes=[0, 1])
            start = time.perf_counter()
            tree.fit(X, y, is_public=is_public)
            tree.predict(X)
            seconds.append(time.perf_counter() - start)
        print(
            f"fit + predict, n_P = 100,000, n_Q = 4,000, d = 10, depth {depth}, {tree.n_leaves_} leaves: "
            f"median {statistics.median(seconds):.4f} s (min {min(seconds):.4f}, max {max(seconds):.4f})"
        )


if __name__ == "__main__":
    run()
