# SPDX-License-Identifier: BSD-3-Clause
"""Toy data and platform of the collaborative prediction paper: twenty parties, each with its own kernel."""

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

from skprivate.collaborative import BSTDAggregator, CollaborativeRegressor, LocalAverageRegressor
from skprivate.datasets import make_parties
from skprivate.exceptions import DisclosureWarning
from skprivate.metrics import correct_orientation_score, record_linkage_score
from skprivate.preprocessing import TQMATransformer

from .._tables import Table, across

FloatArray = NDArray[np.float64]

SEEDS = 20
KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")
CUBE, N_PARTIES = (0.0, 1.0), 20
#: Rows and queries: of the paper, and small.
SIZES = {False: (10_000, 1000), True: (600, 40)}
#: Whose answers count in the paper; the default of the estimators is "support".
RULE = "box"
#: Of coarsening, and of swaps.
DEPTHS, WINDOWS = range(1, 9), ((2, 10), (3, 8), (4, 10))
#: Seeds of queries and swaps are these plus the repetition: far from the seeds of the parties' rows.
QUERY_SEED, SWAP_SEED = 10_000, 20_000


def drawn_kernels(n_parties: int, rng: np.random.Generator, bounds: Any) -> dict[int, LocalAverageRegressor]:
    """Return a local average regressor per party, its kernel drawn from the paper's Table 1."""
    kernels = rng.choice(KERNELS, size=n_parties).tolist()
    return {j: LocalAverageRegressor(kernel, bounds=bounds) for j, kernel in enumerate(kernels)}


def local_trees(small: bool) -> GridSearchCV:
    """Return a regression tree whose least leaf every party chooses by cross-validation."""
    leaves = [3] if small else [3, 5, 10, 20, 40]
    tree = DecisionTreeRegressor(random_state=0)
    return GridSearchCV(tree, {"min_samples_leaf": leaves}, cv=2 if small else 5)


def coarse(columns: Sequence[int] = (0,), depth: int = 4) -> TQMATransformer:
    """Return TQMA of these columns."""
    return TQMATransformer(depth, bounds=dict.fromkeys(columns, CUBE), quasi_identifiers=list(columns))


def coarsened(X: FloatArray, depth: int = 4) -> FloatArray:
    """Return queries whose first column is coarsened."""
    return coarse(depth=depth).fit(X).transform(X)


def orientation(X: FloatArray, sent: FloatArray) -> float:
    """Return CO of the first column, in percent."""
    return float(correct_orientation_score(X[:, [0]], sent[:, [0]])[0])


def change(after: float, before: float) -> float:
    return 100 * (after / before - 1)


@dataclass(frozen=True, eq=False)
class Toy:
    """A fitted platform without protection of the queries, and queries with their true values."""

    platform: CollaborativeRegressor
    queries: FloatArray
    truth: FloatArray
    seed: int

    @classmethod
    def draw(cls, seed: int, estimator: Any = None, equal_sizes: bool = False, small: bool = False) -> "Toy":
        """Draw rows and queries; by default each party has a kernel of the paper's Table 1."""
        n_rows, n_queries = SIZES[small]
        X, y, sites = make_parties(n_rows, N_PARTIES, random_state=seed)
        if equal_sizes:
            sites = np.arange(n_rows) % N_PARTIES
        queries, truth, _ = make_parties(n_queries, 1, noise=0, random_state=QUERY_SEED + seed)
        if estimator is None:
            estimator = drawn_kernels(N_PARTIES, np.random.default_rng(seed), CUBE)
        # The paper's rule of who is active, so that its figures stay what they are.
        aggregator = BSTDAggregator(3, 8, active_rule=RULE, random_state=seed)
        platform = CollaborativeRegressor(estimator, aggregator=aggregator).fit(X, y, sites)
        return cls(platform, queries, truth, seed)

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

    def behind_swap(
        self, answers: FloatArray, truth: FloatArray, low: int = 3, high: int = 8, order: Any = "fewest"
    ) -> tuple[float, float]:
        """Return MSE, and RL in percent, of the parties' answers behind a swap."""
        sizes = self.platform.site_sizes_
        swap = BSTDAggregator(low, high, order=order, active_rule=RULE, party_sizes=sizes)
        swap.set_params(random_state=SWAP_SEED + self.seed).fit(answers)
        linkage = record_linkage_score(answers * sizes / sizes.mean(), swap.transform(answers))
        return float(np.mean((swap.predict(answers) - truth) ** 2)), linkage


def over_seeds(figures: Callable[[int], dict[str, Any]], seeds: int) -> dict[str, NDArray[Any]]:
    """Return figures by name, of all repetitions."""
    with warnings.catch_warnings():
        # Sizes that reveal whose share it is are what is shown; networks may stop at their last step.
        warnings.simplefilter("ignore", DisclosureWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [figures(seed) for seed in range(seeds)]
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def show(title: str, places: Iterable[Any], values: FloatArray, names: Sequence[str]) -> None:
    """Print measures by what varies; MSE in 1e-4."""
    table = Table((title, "<40"), *across(places, ">8.2f"))
    for name, row in zip(names, values.T, strict=True):
        table.row(f"  {name}", *(row * (1e4 if name == "MSE" else 1)))


def heading(seeds: int, small: bool) -> str:
    n_rows, n_queries = SIZES[small]
    return f"{N_PARTIES} parties, {n_rows:,} rows, {n_queries:,} queries, {seeds} seeds"
