# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the accuracy of classifiers: methods by epsilon, mean and standard error over splits."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier

from ..._peers.ebm import DPEBM
from ..._tables import Table, across
from ..._utility.data import Split
from ..._utility.parallel import in_parallel
from ..._utility.scores import mean_text
from ._comparison import LARGEST_HISTOGRAM, PaperTree, PrivateHistogram

# The grids of the LPCT paper, for methods whose best cell is chosen on the test rows.
DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8)
DEEP = (*DEPTHS, 10, 12, 14, 16)
WEIGHTS = (0.1, 0.5, 1, 2, 5, 10, 50, 100, 200, 300, 400, 500, 750, 1000, 1250, 1500, 2000)
SPLITS = (1, 2, 3, 4, 5, 6)
PUBLIC_ONLY = 1e12
MECHANISMS = ("hadamard", "krr", "subset", "unary", "signed-laplace", "laplace")

#: Accuracies over a method's grid, one number where it has none.
Method = Callable[[Split, float], list[float]]


def accuracy(estimator: Any, split: Split) -> float:
    """Return the share of test rows that a fitted classifier gets right."""
    return float(np.mean(estimator.predict(split.X_test) == split.y_test))


def fitted_accuracy(estimator: Any, split: Split) -> float:
    """Fit a classifier and return the share of test rows that it gets right."""
    return accuracy(estimator.fit(split.X, split.y, is_public=split.is_public), split)


def ours(kind: Any, split: Split, epsilon: float, **options: Any) -> list[float]:
    """Our tree, with all its choices made by itself or fixed here; noise is seeded to repeat the table."""
    known = {"bounds": split.bounds, "classes": [0, 1], "random_state": split.seed}
    return [fitted_accuracy(kind(epsilon, **known, **options), split)]


def local(**options: Any) -> Method:
    return partial(ours, LocallyPrivateTreeClassifier, **options)


def central(**options: Any) -> Method:
    return partial(ours, DPTreeClassifier, **options)


def paper(split: Split, epsilon: float, weights: Sequence[float] = WEIGHTS, **options: Any) -> list[float]:
    """LPCT as printed over a grid; LPDT where the only weight is 0."""
    scores = []
    for depth in DEEP:
        known = {"bounds": split.bounds, "random_state": split.seed}
        tree = PaperTree(epsilon, max_depth=depth, **known, **options)
        tree.fit(split.X, split.y, split.is_public)
        scores += [accuracy(tree.set_params(public_weight=weight), split) for weight in weights]
    return scores


def histogram(split: Split, epsilon: float) -> list[float]:
    """PHIST over the numbers of splits that its memory allows."""
    known = {"bounds": split.bounds, "random_state": split.seed}
    fine = (h for h in SPLITS if h ** split.X.shape[1] <= LARGEST_HISTOGRAM)
    return [fitted_accuracy(PrivateHistogram(epsilon, n_splits=h, **known), split) for h in fine]


def boosted(split: Split, epsilon: float) -> list[float]:
    """DP-EBM with its own defaults but for delta."""
    model = DPEBM(epsilon, categories=split.categories, random_state=split.seed)
    return [fitted_accuracy(model, split)]


def plain(split: Split, epsilon: float, public: bool) -> list[float]:
    """scikit-learn's CART without privacy over a grid of depths, on public rows or on all."""
    rows = split.is_public if public else slice(None)
    trees = (DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in DEEP)
    return [accuracy(tree.fit(split.X[rows], split.y[rows]), split) for tree in trees]


def majority(split: Split, epsilon: float) -> list[float]:
    """The larger share among the test rows."""
    share = float(np.mean(split.y_test))
    return [max(share, 1 - share)]


RULES = ("max-edge", "cart")
#: Methods that a table of public and private rows compares; * is chosen on the test rows, which favours it.
METHODS: dict[str, Method] = {
    **{f"automatic, {rule}": local(rule=rule) for rule in RULES},
    **{f"automatic, {name}": local(mechanism=name) for name in MECHANISMS},
    **{f"pruned, {rule}": local(prune=True, rule=rule) for rule in RULES},
    "pruned as printed, max-edge": local(prune="paper"),
    **{f"private only, {rule}": local(public_weight=0.0, rule=rule) for rule in RULES},
    **{f"public only, {rule}": local(public_weight=PUBLIC_ONLY, rule=rule) for rule in RULES},
    **{f"central, {rule}": central(rule=rule) for rule in RULES},
    "central, pruned, max-edge": central(prune=True),
    **{f"LPCT, {rule} *": partial(paper, rule=rule) for rule in RULES},
    **{f"LPDT, {rule} *": partial(paper, rule=rule, weights=(0.0,)) for rule in RULES},
    "PHIST *": histogram,
    "DP-EBM (central, delta)": boosted,
    "CART, public rows *": partial(plain, public=True),
    "CART, all rows, no privacy *": partial(plain, public=False),
    "majority": majority,
}


def print_table(splits: list[Split], methods: Mapping[str, Method], epsilons: Sequence[float]) -> None:
    """Print mean and standard error; of a grid, the cell with the best mean."""
    table = Table(("epsilon", "<30"), *across(epsilons, ">14"), indent=2)
    for name, method in methods.items():
        if method is boosted and not DPEBM.available():
            print(f"  {name}: not installed: pip install interpret-core")
            continue
        found = np.array(in_parallel(method, product(splits, epsilons)))
        # By split, epsilon and cell of the grid.
        scores = found.reshape(len(splits), len(epsilons), -1)
        best = scores.mean(axis=0).argmax(axis=1)
        table.row(name, *(mean_text(scores[:, place, cell]) for place, cell in enumerate(best)))
