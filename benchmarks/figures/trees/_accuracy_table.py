# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the accuracy of classifiers: methods by epsilon, mean and standard error over splits or seeds."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier

from ..._peers.ebm import DPEBM
from ..._tables import Table, across, mean_and_error
from ..._utility.data import Split
from ._comparison import LARGEST_HISTOGRAM, AllRows, PaperTree, PrivateHistogram, PublicRows

# The grids of the LPCT paper, for methods whose best cell is chosen on the test rows.
DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8)
DEEP = (*DEPTHS, 10, 12, 14, 16)
WEIGHTS = (0.1, 0.5, 1, 2, 5, 10, 50, 100, 200, 300, 400, 500, 750, 1000, 1250, 1500, 2000)
SPLITS = (1, 2, 3, 4, 5, 6)
PUBLIC_ONLY = 1e12


#: Accuracies over a method's grid, one number where it has none.
Method = Callable[[Split, float], list[float]]


def accuracy(estimator: Any, split: Split) -> float:
    """Return the share of test rows that a fitted classifier gets right."""
    return float(np.mean(estimator.predict(split.X_test) == split.y_test))


def fitted_accuracy(estimator: Any, split: Split) -> float:
    """Fit a classifier and return the share of test rows that it gets right."""
    return accuracy(estimator.fit(split.X, split.y, is_public=split.is_public), split)


def local(**options: Any) -> Method:
    """Our tree, with all its choices made by itself or fixed here; noise is seeded to repeat the table."""

    def method(split: Split, epsilon: float) -> list[float]:
        tree = LocallyPrivateTreeClassifier(
            epsilon, bounds=split.bounds, classes=[0, 1], random_state=split.seed, **options
        )
        return [fitted_accuracy(tree, split)]

    return method


def central(**options: Any) -> Method:
    """Our tree with a trusted curator."""

    def method(split: Split, epsilon: float) -> list[float]:
        tree = DPTreeClassifier(
            epsilon, bounds=split.bounds, classes=[0, 1], random_state=split.seed, **options
        )
        return [fitted_accuracy(tree, split)]

    return method


def paper(depths: Sequence[int], weights: Sequence[float], rule: str = "max-edge") -> Method:
    """LPCT as printed over a grid; LPDT where the only weight is 0."""

    def method(split: Split, epsilon: float) -> list[float]:
        scores = []
        for depth in depths:
            tree = PaperTree(
                epsilon, max_depth=depth, rule=rule, bounds=split.bounds, random_state=split.seed
            ).fit(split.X, split.y, split.is_public)
            scores += [accuracy(tree.set_params(public_weight=weight), split) for weight in weights]
        return scores

    return method


def histogram(split: Split, epsilon: float) -> list[float]:
    """PHIST over the numbers of splits that its memory allows."""
    fine = [h for h in SPLITS if h ** split.X.shape[1] <= LARGEST_HISTOGRAM]
    return [
        fitted_accuracy(
            PrivateHistogram(epsilon, n_splits=h, bounds=split.bounds, random_state=split.seed), split
        )
        for h in fine
    ]


def boosted(split: Split, epsilon: float) -> list[float]:
    """DP-EBM with its own defaults but for delta."""
    model = DPEBM(epsilon, categories=split.categories, random_state=split.seed)
    return [fitted_accuracy(model, split)]


def plain(kind: type[PublicRows], depths: Sequence[int] = DEEP) -> Method:
    """scikit-learn's CART without privacy over a grid of depths."""

    def method(split: Split, epsilon: float) -> list[float]:
        trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in depths]
        return [fitted_accuracy(kind(tree), split) for tree in trees]

    return method


def majority(split: Split, epsilon: float) -> list[float]:
    """The larger share among the test rows."""
    share = float(np.mean(split.y_test))
    return [max(share, 1 - share)]


#: Methods that a table of public and private rows compares; * is chosen on the test rows, which favours it.
METHODS: dict[str, Method] = {
    "automatic, max-edge": local(),
    "automatic, cart": local(rule="cart"),
    "pruned, max-edge": local(prune=True),
    "pruned, cart": local(prune=True, rule="cart"),
    "private only, max-edge": local(public_weight=0.0),
    "private only, cart": local(public_weight=0.0, rule="cart"),
    "public only, max-edge": local(public_weight=PUBLIC_ONLY),
    "public only, cart": local(public_weight=PUBLIC_ONLY, rule="cart"),
    "central, max-edge": central(),
    "central, pruned, max-edge": central(prune=True),
    "central, cart": central(rule="cart"),
    "LPCT, max-edge *": paper(DEEP, WEIGHTS),
    "LPCT, cart *": paper(DEEP, WEIGHTS, "cart"),
    "LPDT, max-edge *": paper(DEEP, (0.0,)),
    "LPDT, cart *": paper(DEEP, (0.0,), "cart"),
    "PHIST *": histogram,
    "DP-EBM (central, delta)": boosted,
    "CART, public rows *": plain(PublicRows),
    "CART, all rows, no privacy *": plain(AllRows),
    "majority": majority,
}


def print_table(splits: Iterable[Split], methods: Mapping[str, Method], epsilons: Sequence[float]) -> None:
    """Print mean and standard error; of a grid, the cell with the best mean."""
    splits = list(splits)
    table = Table(("epsilon", "<30"), *across(epsilons, ">14"), indent=2)
    for name, method in methods.items():
        if method is boosted and not DPEBM.available():
            print(f"  {name}: not installed: pip install interpret-core")
            continue
        table.row(name, *(mean_and_error(_best(_scores(splits, method, epsilon))) for epsilon in epsilons))


def in_parallel(jobs: Iterable[Any]) -> NDArray[np.float64]:
    """Return the results of joblib's delayed calls in order, by as many processes as N_JOBS says."""
    return np.array(Parallel(n_jobs=int(os.environ.get("N_JOBS", "1")))(jobs))


def _scores(splits: Sequence[Split], method: Method, epsilon: float) -> NDArray[np.float64]:
    """Accuracies of shape (splits, grid)."""
    return in_parallel(delayed(method)(split, epsilon) for split in splits)


def _best(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Accuracies of the cell of the grid with the best mean."""
    return scores[:, scores.mean(axis=0).argmax()]
