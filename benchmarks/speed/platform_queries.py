# SPDX-License-Identifier: BSD-3-Clause
"""Time of queries through a platform of twenty sites, against twenty calls of scikit-learn."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from skprivate import CollaborativeLARRegressor, CollaborativeRegressor, SecureSumAggregator, TQMATransformer
from skprivate.datasets import make_parties

from ._goals import Measured, SideBySide

# Rows and sites; queries, and pairs of them and of one query.
SIZES = {False: (10_000, 20, 1000, 5, 40), True: (200, 4, 10, 0, 0)}
KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")


def run(small: bool = False) -> Measured:
    warnings.simplefilter("ignore")
    n_rows, n_sites, n_queries, *pairs = SIZES[small]
    X, y, sites = make_parties(n_rows, n_sites, random_state=0)
    queries, _, _ = make_parties(n_queries, 1, noise=0, random_state=1)
    tqma = TQMATransformer(bounds=(0, 1))
    platforms: dict[str, Any] = {
        kernel: CollaborativeLARRegressor(kernel=kernel, bounds=(0, 1)) for kernel in KERNELS
    }
    platforms["secure sum"] = CollaborativeRegressor(query_perturber=tqma, aggregator=SecureSumAggregator())
    sites_of = CollaborativeRegressor(KNeighborsRegressor(10), tqma).fit(X, y, sites=sites).estimators_

    def loop(rows: Any) -> Any:
        return np.mean([model.predict(rows) for model in sites_of.values()], axis=0)

    table = SideBySide(pairs[0])
    table.heading(
        f"{n_sites} sites, {n_rows:,} rows in all, d = 5; beside: a loop over KNeighborsRegressor(10)"
    )
    for name, platform in platforms.items():
        platform.fit(X, y, sites=sites)
        for rows, times in ((queries, pairs[0]), (queries[:1], pairs[1])):
            work = f"{name}, rows of a query: {len(rows):,}"
            ours, theirs = partial(platform.predict, rows), partial(loop, rows)
            table.row(work, "loop", ours, theirs, goal="queries through a platform", pairs=times)
    return table.measured
