# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of locally private trees on simulations and on diabetes: Figures 3 to 10 of the LPCT paper.

LPCT, LPCT-P (no public labels), LPCT-Q (no private rows) and LPCT-R (random partition) are as printed; as in
the paper their best depth and weight are chosen by the mean accuracy on test rows, which no user can do.
LPCT-prune is Algorithm 2 as printed on the same Laplace reports. "ours" chooses from released counts.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import LocallyPrivateTreeClassifier
from skprivate.datasets import fetch_diabetes_outcome, make_posterior_drift
from skprivate.datasets._simulations import _drifted, posterior
from skprivate.exceptions import UtilityWarning
from skprivate.partition import build_partition

from .._pictures import lines, new_panels, write
from .._tables import Table, across
from .._utility.data import Split
from ..figures.trees._accuracy_table import DEPTHS, WEIGHTS, fitted_accuracy, histogram
from ..figures.trees._comparison import PaperTree

FloatArray = NDArray[np.float64]
#: The label of x, its values, and a line for each method or epsilon.
Figure = tuple[str, Sequence[float], dict[str, Any]]


@dataclass(frozen=True)
class Sizes:
    """Rows of the simulation, and what varies in the figures; "few" of it where three methods are shown."""

    n_private: int = 10_000
    n_public: int = 50
    #: With gamma 5.
    many_public: int = 1000
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 1000.0)
    few_epsilons: tuple[float, ...] = (0.5, 2.0, 8.0)
    gammas: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
    private: tuple[int, ...] = (4_000, 6_000, 8_000, 10_000, 12_000, 14_000, 16_000)
    public: tuple[int, ...] = (10, 20, 30, 50, 100, 150, 200)
    few_public: tuple[int, ...] = (10, 50, 200)
    shares: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)
    #: Of which accuracies are the best possible ones of a rule.
    n_drawn: int = 200_000


SMALL = Sizes(200, 50, 100, (0.5, 1.0), (0.5,), (0.5, 1.0), (100, 200), (10, 50), (10,), (0.2, 1.0), 2000)
#: Rows lie in [0, a]^2, a uniform on [1, 5]; the ends that somebody may assume without public rows.
ENDS = (1.0, 2.0, 3.0, 4.0, 5.0)
#: Weights of public rows: none, and the paper's grid.
GRID = (0.0, *WEIGHTS)
N_TEST, N_DIABETES_PUBLIC = 2000, 80
#: As printed, on the same Laplace reports.
PRUNED = {"mechanism": "laplace", "prune": "paper"}
METHODS = ("LPCT", "LPCT-P", "LPCT-Q", "LPCT-prune", "ours", "ours, pruned")
#: The authors' own code, the best cell on test rows, by epsilon; 30 seeds of an independent run.
AUTHORS = {
    0.5: {
        "LPCT": (0.647, 0.655, 0.665, 0.685, 0.692, 0.724),
        "LPCT-P": (0.546, 0.589, 0.625, 0.657, 0.690, 0.724),
        "LPCT-Q": (0.643,) * 6,
        "LPCT-prune": (0.655, 0.657, 0.659, 0.659, 0.659, 0.709),
    },
    5.0: {
        "LPCT": (0.672, 0.671, 0.674, 0.682, 0.700, 0.768),
        "LPCT-P": (0.547, 0.590, 0.631, 0.672, 0.691, 0.767),
        "LPCT-Q": (0.666,) * 6,
        "LPCT-prune": (0.666, 0.666, 0.667, 0.668, 0.669, 0.746),
    },
}


class RandomTree(PaperTree):
    """LPCT-R: a random longest edge of every cell is halved, whatever the public rows."""

    def _partition(self, X: FloatArray, y: NDArray[Any]) -> int:
        self.leaves_ = None
        lower, upper = (np.broadcast_to(bound, X.shape[1]) for bound in self.bounds)
        self.partition_ = build_partition(
            X, y, lower=lower, upper=upper, max_depth=self.max_depth, rule="random", seed=self.random_state
        )
        return int(self.partition_.n_leaves)


def simulated(seed: int, n_private: int, n_public: int, gamma: float) -> Split:
    """Return one draw of the paper's simulation, with test rows of the private distribution."""
    X, y, is_public = make_posterior_drift(n_private, n_public, gamma=gamma, random_state=seed)
    X_test, y_test, _ = make_posterior_drift(N_TEST, 0, random_state=10_000 + seed)
    # The last seed is that of the noise, which no rows are drawn with.
    return Split(X, y, is_public, X_test, y_test, 20_000 + seed, bounds=(0.0, 1.0))


def grid_of(
    split: Split, epsilon: float, kind: type[PaperTree] = PaperTree, bounds: Any = None
) -> FloatArray:
    """Return accuracies of shape (depths, weights), the last by public rows alone.

    Bounds None are those of the public rows.
    """
    accuracies = []
    for depth in DEPTHS:
        tree = kind(epsilon, max_depth=depth, bounds=bounds, random_state=split.seed)
        tree.fit(split.X, split.y, split.is_public)
        weighted = tree.private_ + np.multiply.outer(GRID, tree.public_)
        rows, ones = np.moveaxis(np.concatenate([weighted, tree.public_[np.newaxis]]), 1, 0)
        # As printed, a quotient: wrong where noise makes the denominator negative; 0 / 0 is class 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            second = ones / rows > 0.5
        predicted = second[:, tree._apply(split.X_test)]
        if bounds is not None:
            # Beyond an assumed range, as the authors' code does; nobody is beyond a known one.
            predicted[:, np.any(split.X_test > bounds[1], axis=1)] = False
        accuracies.append(np.mean(predicted == split.y_test, axis=1))
    return np.array(accuracies)


def chosen(split: Split, epsilon: float, **options: Any) -> float:
    """Return the accuracy of our tree."""
    tree = LocallyPrivateTreeClassifier(
        epsilon, bounds=split.bounds, classes=[0, 1], random_state=split.seed, **options
    )
    with warnings.catch_warnings():
        # Of trees that are no better than the larger class: at small epsilon some are not.
        warnings.simplefilter("ignore", UtilityWarning)
        return fitted_accuracy(tree, split)


@cache
def study(n_private: int, n_public: int, gamma: float, epsilon: float, seeds: int) -> dict[str, Any]:
    """Return mean accuracies by method, and those of LPCT by depth and by weight."""
    splits = [simulated(seed, n_private, n_public, gamma) for seed in range(seeds)]
    cells = np.mean([grid_of(split, epsilon, bounds=split.bounds) for split in splits], axis=0)
    chosen_by = {"LPCT-prune": PRUNED, "ours": {}, "ours, pruned": {"prune": True}}
    return {
        "LPCT": cells[:, 1:-1].max(),
        "LPCT-P": cells[:, 0].max(),
        "LPCT-Q": cells[:, -1].max(),
        **{
            name: np.mean([chosen(split, epsilon, **options) for split in splits])
            for name, options in chosen_by.items()
        },
        "by depth": cells[:, 1:-1].max(axis=1),
        "by weight": cells[:, 1:-1].max(axis=0),
    }


def studied(cells: dict[str, list[Any]], methods: Sequence[str], seeds: int) -> dict[str, Any]:
    """Return a line for each method and each of the named lists of settings."""
    return {
        f"{method}{name}": [study(*cell, seeds)[method] for cell in row]
        for name, row in cells.items()
        for method in methods
    }


def figure_4(sizes: Sizes, seeds: int) -> dict[str, Figure]:
    """Accuracy by epsilon and by gamma."""
    found: dict[str, Figure] = {}
    for part, n_public, gamma in (("a", sizes.n_public, 0.5), ("b", sizes.many_public, 5.0)):
        cells = [(sizes.n_private, n_public, gamma, epsilon) for epsilon in sizes.epsilons]
        authors = {f"{name}, authors' code": row[: len(cells)] for name, row in AUTHORS[gamma].items()}
        series = studied({"": cells}, METHODS, seeds) | authors
        found[f"Figure 4 ({part}), gamma = {gamma:g}, n_Q = {n_public}"] = "epsilon", sizes.epsilons, series
    by_gamma = {
        f", epsilon = {e:g}": [(sizes.n_private, sizes.n_public, gamma, e) for gamma in sizes.gammas]
        for e in sizes.epsilons
    }
    series = studied(by_gamma, ("LPCT",), seeds)
    return found | {f"Figure 4 (c), n_Q = {sizes.n_public}": ("gamma", sizes.gammas, series)}


def figures_5_and_6(sizes: Sizes, seeds: int) -> dict[str, Figure]:
    """Accuracy by the number of private and of public rows."""
    names = {f", epsilon = {epsilon:g}": epsilon for epsilon in sizes.few_epsilons}
    by_private, by_public = (
        studied({name: [(*rows, 0.5, e) for rows in each] for name, e in names.items()}, METHODS, seeds)
        for each in (
            [(n, sizes.n_public) for n in sizes.private],
            [(sizes.n_private, n) for n in sizes.public],
        )
    )
    return {
        f"Figure 5, gamma = 0.5, n_Q = {sizes.n_public}": ("n_P", sizes.private, by_private),
        f"Figure 6, gamma = 0.5, n_P = {sizes.n_private:,}": ("n_Q", sizes.public, by_public),
    }


def figure_7(sizes: Sizes, seeds: int) -> dict[str, Figure]:
    """Accuracy by depth and by weight."""
    few, many = (sizes.n_private, sizes.n_public, 0.5), (sizes.n_private, sizes.many_public, 5.0)
    splits = [simulated(seed, *few) for seed in range(seeds)]
    depths, pruned, weights = {}, {}, {}
    for epsilon in sizes.epsilons:
        name = f"epsilon = {epsilon:g}"
        depths[name] = study(*few, epsilon, seeds)["by depth"]
        weights[name] = study(*many, epsilon, seeds)["by weight"]
        pruned[name] = [np.mean([chosen(s, epsilon, max_depth=p, **PRUNED) for s in splits]) for p in DEPTHS]
    return {
        "Figure 7 (a), LPCT": ("p", DEPTHS, depths),
        "Figure 7 (b), LPCT-prune": ("p_0", DEPTHS, pruned),
        f"Figure 7 (c), LPCT, gamma = 5, n_Q = {sizes.many_public:,}": ("lambda", WEIGHTS, weights),
    }


def figure_8(sizes: Sizes, seeds: int) -> dict[str, Figure]:
    """Accuracy where the range of the rows is known, estimated from public rows, or assumed."""
    found: dict[str, Figure] = {}
    for part, epsilon in (("b", 0.5), ("c", 8.0)):
        series: dict[str, list[float]] = {}
        for n_public in sizes.few_public:
            splits = [simulated(seed, sizes.n_private, n_public, 0.5) for seed in range(seeds)]
            for name, accuracy in _by_range(splits, epsilon).items():
                series.setdefault(name, []).append(accuracy)
        found[f"Figure 8 ({part}), epsilon = {epsilon:g}"] = "n_Q", sizes.few_public, series
    return found


def _by_range(splits: list[Split], epsilon: float) -> dict[str, float]:
    """Best accuracies; rows of [0, a] in the box [0, b] are those of [0, 1] in the box [0, b / a]."""
    a = np.random.default_rng(30_000).uniform(1, 5, size=len(splits))

    def best(bounds: Sequence[Any]) -> float:
        pairs = zip(splits, bounds, strict=True)
        return np.mean([grid_of(split, epsilon, bounds=each) for split, each in pairs], axis=0).max()

    assumed = [best([(0.0, end / true) for true in a]) for end in ENDS]
    return {
        "known": best([(0.0, 1.0)] * len(splits)),
        "estimated": best([None] * len(splits)),
        "assumed, best end": max(assumed),
        "assumed, mean of ends": float(np.mean(assumed)),
        "assumed, worst end": min(assumed),
    }


def figure_9(sizes: Sizes, seeds: int) -> dict[str, Figure]:
    """Accuracy of max-edge and of random partitions."""
    usual = sizes.n_private, sizes.n_public, 0.5
    splits = [simulated(seed, *usual) for seed in range(seeds)]
    series = {
        "LPCT": [study(*usual, epsilon, seeds)["LPCT"] for epsilon in sizes.epsilons],
        "LPCT-R": [
            np.mean([grid_of(s, epsilon, RandomTree, s.bounds) for s in splits], axis=0)[:, 1:-1].max()
            for epsilon in sizes.epsilons
        ],
    }
    return {f"Figure 9 (b), gamma = 0.5, n_Q = {sizes.n_public}": ("epsilon", sizes.epsilons, series)}


def figure_10(sizes: Sizes, seeds: int) -> dict[str, Figure]:
    """Accuracy on diabetes by the share of private rows, with 80 public rows."""
    data = fetch_diabetes_outcome()
    X, target = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    y = (target == target.max()).astype(np.int64)
    series: dict[str, list[float]] = {"LPCT": [], "LPDT": [], "PHIST": [], "majority": []}
    for share in sizes.shares:
        splits = [_portion(X, y, np.asarray(data.is_public), share, seed) for seed in range(seeds)]
        cells = np.mean([grid_of(split, 2.0) for split in splits], axis=0)
        series["LPCT"].append(cells[:, 1:-1].max())
        series["LPDT"].append(cells[:, 0].max())
        series["PHIST"].append(np.mean([histogram(split, 2.0) for split in splits], axis=0).max())
        ones = np.array([np.mean(split.y_test) for split in splits])
        series["majority"].append(np.maximum(ones, 1 - ones).mean())
    return {"Figure 10 (a), diabetes, epsilon = 2": ("share of private rows", sizes.shares, series)}


def _portion(
    X: FloatArray, y: NDArray[np.int64], is_public: NDArray[np.bool_], share: float, seed: int
) -> Split:
    """Return a fifth of the private rows as test rows, a share of the others, and 80 public rows."""
    rng = np.random.default_rng((seed, 4))
    private, public = rng.permutation(np.flatnonzero(~is_public)), rng.permutation(np.flatnonzero(is_public))
    test, kept = np.split(private, [len(private) // 5])
    train = np.concatenate([kept[: round(share * len(kept))], public[:N_DIABETES_PUBLIC]])
    return Split(X[train], y[train], is_public[train], X[test], y[test], 20_000 + seed)


FIGURES = (figure_4, figures_5_and_6, figure_7, figure_8, figure_9, figure_10)


def run(seeds: int | None = None, save: Path | None = None, small: bool = False) -> None:
    seeds, sizes = seeds or (1 if small else 10), SMALL if small else Sizes()
    print(f"mean accuracy on {N_TEST:,} rows, {seeds} seeds")
    print("LPCT, -P, -Q, -R, LPDT, PHIST: best parameters on the test rows; ours: from released counts")
    drawn = rules(np.random.default_rng(0).uniform(size=(sizes.n_drawn, 2)))
    best = ", ".join(f"{name} {np.maximum(rule, 1 - rule).mean():.3f}" for name, rule in drawn.items())
    print(f"Figure 3: best possible accuracies of the regression functions: {best}")
    found: dict[str, Figure] = {}
    for figures in FIGURES:
        for title, figure in figures(sizes, seeds).items():
            found[title] = label, values, series = figure
            print(title)
            table = Table((label, "<30"), *across(values, ">6.3f"), indent=2)
            for name, row in series.items():
                table.row(name, *row)
    if save is not None:
        draw(found, save)
        draw_rules(save)


def rules(X: FloatArray) -> dict[str, FloatArray]:
    """Return the regression functions of Figure 3: of private rows and of public rows."""
    eta = posterior(X)
    return {"P": eta} | {f"Q, gamma = {g:g}": _drifted(eta, X, g, "power") for g in (0.5, 5.0)}


def draw(found: dict[str, Figure], folder: Path) -> None:
    """Draw every table, a panel each."""
    figure, panels = new_panels(list(found))
    for panel, (label, values, series) in zip(panels, found.values(), strict=True):
        log = "x" if label in ("epsilon", "lambda") else ""
        lines(panel, values, series, (label, "accuracy"), log)
        panel.legend(fontsize=4)
    write(figure, folder, "lpct_figures")


def draw_rules(folder: Path) -> None:
    """Draw Figure 3."""
    side, levels = np.linspace(0, 1, 201), np.linspace(0, 1, 21)
    drawn = rules(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
    figure, panels = new_panels(list(drawn))
    for panel, rule in zip(panels, drawn.values(), strict=True):
        shades = panel.contourf(side, side, rule.reshape(201, 201), levels=levels, cmap="coolwarm")
    figure.colorbar(shades, ax=panels)
    write(figure, folder, "lpct_figure_3")
