# SPDX-License-Identifier: BSD-3-Clause
"""Error, CO and RL by depth, by the bounds of a swap and by the number of queries: Figure 9 of the paper."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.datasets import make_parties

from ..._pictures import lines, new_panels, second_axis, write
from ..._tables import Table
from .._collaborative import DEPTHS, SEEDS, SIZES, Toy, coarsened, heading, orientation, over_seeds, show

FloatArray = NDArray[np.float64]

ORDERS = ("fewest", "random", "top")
#: Windows of Table 4, with the RL that the paper prints.
PRINTED = {(2, 10): 1.12, (3, 8): 1.67, (4, 10): 1.84}
NUMBERS = (30, 100, 300, 1000, 3000)
#: Title, values and label of what varies, and the measures.
SWEEPS: dict[str, tuple[str, tuple[int, ...], str, tuple[str, ...]]] = {
    "depth": ("(a) depth of TQMA, one column", tuple(DEPTHS), "depth", ("MSE", "CO")),
    "lower": ("(b) p_lower, p_upper 8", tuple(range(1, 7)), "p_lower", ("MSE", "RL")),
    "upper": ("(c) p_upper, p_lower 3", (5, 6, 8, 10, 12, 15, 19), "p_upper", ("MSE", "RL")),
    "number": ("number of queries, TQMA(4), BSTD(3, 8)", NUMBERS, "number of queries", ("MSE", "RL", "CO")),
}


def sweeps(seed: int, small: bool) -> dict[str, Any]:
    """Return the values of every panel for one draw."""
    toy, first = Toy.draw(seed, small=small), SIZES[small][1]
    X, truth, _ = make_parties(NUMBERS[-1] if not small else first, 1, noise=0, random_state=50_000 + seed)
    sent, by_depth = coarsened(X), [coarsened(X[:first], depth) for depth in DEPTHS]
    answers = toy.platform.site_responses(sent)

    def swapped(low: int, high: int, order: str = "fewest", n: int = first) -> tuple[float, float]:
        return toy.behind_swap(answers[:n], truth[:n], low, high, order)

    errors = [np.mean((toy.platform.predict(queries) - truth[:first]) ** 2) for queries in by_depth]
    return {
        "depth": [*zip(errors, (orientation(X[:first], queries) for queries in by_depth), strict=True)],
        "lower": [swapped(low, 8) for low in SWEEPS["lower"][1]],
        "upper": [swapped(3, high) for high in SWEEPS["upper"][1]],
        "orders": [[swapped(*window, order)[1] for window in PRINTED] for order in ORDERS],
        "number": [(*swapped(3, 8, n=n), orientation(X[:n], sent[:n])) for n in NUMBERS],
    }


def run(seeds: int | None = None, save: Path | None = None, small: bool = False) -> None:
    seeds = seeds or (1 if small else SEEDS)
    found = over_seeds(lambda seed: sweeps(seed, small), seeds)
    means = {name: values.mean(axis=0) for name, values in found.items()}
    print(f"{heading(seeds, small)}; MSE in 1e-4, CO and RL in percent")
    print("the paper: RL drops sharply as p_lower goes from 1 to 2, and is below 1.70 at p_lower 3")
    for name, (title, values, _, measures) in SWEEPS.items():
        show(title, values, means[name], measures)
    show("  standard deviation over seeds", NUMBERS, found["number"].std(axis=0), ("MSE", "RL", "CO"))
    table = Table(("RL by order", "<32"), *((f"BSTD{window}", ">12.2f") for window in PRINTED))
    for order, row in zip(ORDERS, means["orders"], strict=True):
        table.row(f"  {order}", *row)
    table.row("  the paper, order not printed", *PRINTED.values())
    if save is not None:
        draw(means, save)


def draw(means: dict[str, FloatArray], folder: Path) -> None:
    """Draw error and risk by depth, by both bounds of the swap and by the number of queries."""
    figure, panels = new_panels([title for title, *_ in SWEEPS.values()], columns=2)
    for panel, (name, (_, values, label, measures)) in zip(panels, SWEEPS.items(), strict=True):
        log = "x" if name == "number" else ""
        lines(panel, values, {"MSE": means[name][:, 0]}, (label, "MSE"), log)
        panel.set_ylim(bottom=0)
        second_axis(panel, values, means[name][:, 1], f"{measures[1]}, %")
    write(figure, folder, "collaborative_figure_9")
