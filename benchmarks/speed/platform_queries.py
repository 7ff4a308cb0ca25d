# SPDX-License-Identifier: BSD-3-Clause
"""Time of queries through a platform of twenty sites, against twenty calls of scikit-learn."""

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from skprivate import CollaborativeLARRegressor, CollaborativeRegressor, SecureSumAggregator, TQMATransformer
from skprivate.datasets import make_parties

from .._tables import Table
from .._timing import compare

N_ROWS, N_SITES, N_QUERIES = 10_000, 20, 1_000
KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")


def run() -> None:
    X, y, sites = make_parties(N_ROWS, N_SITES, random_state=0)
    queries, _, _ = make_parties(N_QUERIES, 1, noise=0, random_state=1)
    tqma = TQMATransformer(bounds=(0, 1))
    theirs = CollaborativeRegressor(KNeighborsRegressor(10), tqma).fit(X, y, sites=sites)
    models = list(theirs.estimators_.values())

    def loop(rows):
        return np.mean([model.predict(rows) for model in models], axis=0)

    platforms = {
        kernel: CollaborativeLARRegressor(kernel=kernel, bounds=(0, 1)).fit(X, y, sites=sites)
        for kernel in KERNELS
    }
    platforms["secure sum"] = CollaborativeRegressor(query_perturber=tqma, aggregator=SecureSumAggregator())
    platforms["secure sum"].fit(X, y, sites=sites)
    print(f"{N_SITES} sites, {N_ROWS:,} rows in all, d = 5; a plain loop over 20 KNeighborsRegressor(10)")
    table = Table(
        ("platform", "<14"), ("queries", ">8,"), ("ms", ">9.3g"), ("loop, ms", ">9.3g"), ("ratio", ">7.3f")
    )
    for name, platform in platforms.items():
        for rows, pairs in ((queries[:1], 40), (queries, 5)):
            ours, plain, ratio = compare(
                lambda p=platform, r=rows: p.predict(r), lambda r=rows: loop(r), pairs
            )
            table.row(name, len(rows), ours * 1e3, plain * 1e3, ratio)
