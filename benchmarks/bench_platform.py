# SPDX-License-Identifier: BSD-3-Clause
"""One query, and a batch, through twenty sites: the platform against twenty calls of scikit-learn."""

import warnings

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from skprivate import CollaborativeLARRegressor, CollaborativeRegressor, SecureSumAggregator, TQMATransformer
from skprivate.datasets import make_parties

from ._timing import compare

N_ROWS, N_SITES, N_QUERIES = 10_000, 20, 1_000
KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")


def run() -> None:
    X, y, sites = make_parties(N_ROWS, N_SITES, random_state=0)
    queries, _, _ = make_parties(N_QUERIES, 1, noise=0, random_state=1)
    one = queries[:1]
    tqma = TQMATransformer(bounds=(0, 1))
    theirs = CollaborativeRegressor(KNeighborsRegressor(10), tqma).fit(X, y, sites=sites)
    models = list(theirs.estimators_.values())

    def loop(rows):
        return np.mean([model.predict(rows) for model in models], axis=0)

    platforms = {
        kernel: CollaborativeLARRegressor(kernel=kernel, bounds=(0, 1)).fit(X, y, sites=sites)
        for kernel in KERNELS
    }
    with warnings.catch_warnings():
        platforms["secure sum"] = CollaborativeRegressor(
            query_perturber=tqma, aggregator=SecureSumAggregator()
        ).fit(X, y, sites=sites)
    print(f"{N_SITES} sites, {N_ROWS:,} rows in all, d = 5; a plain loop over 20 KNeighborsRegressor(10)")
    print(
        f"{'':14}{'one query, ms':>15}{'loop, ms':>10}{'ratio':>8}{'1,000, ms':>14}{'loop, ms':>10}{'ratio':>8}"
    )
    for name, platform in platforms.items():
        single = compare(lambda p=platform: p.predict(one), lambda: loop(one), pairs=40)
        batch = compare(lambda p=platform: p.predict(queries), lambda: loop(queries), pairs=5)
        cells = [f"{v * 1e3:>{w}.3g}" if w else "" for v, w in ((single[0], 15), (single[1], 10))]
        more = [f"{v * 1e3:>{w}.3g}" for v, w in ((batch[0], 14), (batch[1], 10))]
        print(f"{name:14}{''.join(cells)}{single[2]:>8.2f}{''.join(more)}{batch[2]:>8.2f}")
