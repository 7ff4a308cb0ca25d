# SPDX-License-Identifier: BSD-3-Clause
"""Toy data and platform of the collaborative prediction paper: twenty parties, each with its own kernel."""

import copy
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.collaborative import BSTDAggregator, CollaborativeRegressor, LocalAverageRegressor
from skprivate.datasets import make_parties

FloatArray = NDArray[np.float64]

#: Number of seeds, from the environment where it is set.
SEEDS = int(os.environ.get("SEEDS", "20"))
KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")
N_ROWS, N_PARTIES, N_QUERIES = 10_000, 20, 1000
#: Whose answers count in the paper; the default of the estimators is "support".
RULE = "box"
# Far from the seeds of the parties' rows.
_QUERY_SEED = 10_000


def drawn_kernels(n_parties: int, rng: np.random.Generator, bounds: Any) -> dict[int, LocalAverageRegressor]:
    """Return a local average regressor per party, its kernel drawn from the paper's Table 1."""
    kernels = rng.choice(KERNELS, size=n_parties).tolist()
    return {j: LocalAverageRegressor(kernel, bounds=bounds) for j, kernel in enumerate(kernels)}


@dataclass(frozen=True, eq=False)
class Toy:
    """A fitted platform without protection of the queries, and queries with their true values."""

    platform: CollaborativeRegressor
    queries: FloatArray
    truth: FloatArray

    @classmethod
    def draw(cls, seed: int, estimator: Any = None, equal_sizes: bool = False) -> "Toy":
        """Draw rows and queries; by default each party has a kernel of the paper's Table 1."""
        X, y, sites = make_parties(N_ROWS, N_PARTIES, random_state=seed)
        if equal_sizes:
            sites = np.arange(N_ROWS) % N_PARTIES
        queries, truth, _ = make_parties(N_QUERIES, 1, noise=0, random_state=_QUERY_SEED + seed)
        if estimator is None:
            estimator = drawn_kernels(N_PARTIES, np.random.default_rng(seed), (0, 1))
        # The paper's rule of who is active, so that its figures stay what they are.
        aggregator = BSTDAggregator(3, 8, active_rule=RULE, random_state=seed)
        return cls(CollaborativeRegressor(estimator, aggregator=aggregator).fit(X, y, sites), queries, truth)

    def with_parts(self, aggregator: Any = None, query_perturber: Any = None) -> CollaborativeRegressor:
        """Return the platform with the same local models and other protections."""
        platform = copy.copy(self.platform)
        if aggregator is not None:
            sizes = platform.site_sizes_
            platform.aggregator_ = aggregator.set_params(party_sizes=sizes).fit(np.zeros((1, len(sizes))))
        if query_perturber is not None:
            platform.query_perturber_ = query_perturber.fit(self.queries)
        return platform

    def mse(self, queries: FloatArray | None = None, platform: CollaborativeRegressor | None = None) -> float:
        """Return the mean squared error, by default of the platform as fitted on the queries as they are."""
        platform = self.platform if platform is None else platform
        predictions = platform.predict(self.queries if queries is None else queries)
        return float(np.mean((predictions - self.truth) ** 2))
