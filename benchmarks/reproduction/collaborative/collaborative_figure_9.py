# SPDX-License-Identifier: BSD-3-Clause
"""Error, CO and RL by depth, by the bounds of a swap and by the number of queries: Figure 9 of the paper."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.collaborative import BSTDAggregator
from skprivate.datasets import make_parties
from skprivate.exceptions import DisclosureWarning
from skprivate.metrics import correct_orientation_score, record_linkage_score

from ..._pictures import lines, new_panels, second_axis, write
from ..._tables import Table, across
from .._collaborative import RULE, Toy
from ..collaborative_toy import DEPTHS, coarse
from ._noise import SWAP_SEED

FloatArray = NDArray[np.float64]

LOWER, UPPER = range(1, 7), (5, 6, 8, 10, 12, 15, 19)
ORDERS = ("fewest", "random", "top")
#: Windows of Table 4, with the RL that the paper prints.
PRINTED = {(2, 10): 1.12, (3, 8): 1.67, (4, 10): 1.84}
NUMBERS = (30, 100, 300, 1000, 3000)


class Answers:
    """What the sites of one draw answer to coarsened queries, and what swaps make of it."""

    def __init__(self, seed: int) -> None:
        self.toy, self.seed = Toy.draw(seed), seed
        self.queries, self.truth, _ = make_parties(NUMBERS[-1], 1, noise=0, random_state=50_000 + seed)
        self.coarse = coarse([0]).fit(self.queries).transform(self.queries)
        self.answers = self.toy.platform.site_responses(self.coarse)
        self.sizes = self.toy.platform.site_sizes_

    def swapped(self, low: int, high: int, order: Any = "fewest", first: int = 1000) -> tuple[float, float]:
        """Return MSE and RL of the first queries."""
        swap = BSTDAggregator(
            low,
            high,
            order=order,
            active_rule=RULE,
            party_sizes=self.sizes,
            random_state=SWAP_SEED + self.seed,
        ).fit(self.answers)
        answers = self.answers[:first]
        off = swap.predict(answers) - self.truth[:first]
        submitted = answers * self.sizes / self.sizes.mean()
        return float(np.mean(off**2)), record_linkage_score(submitted, swap.transform(answers))

    def orientation(self, depth: int, first: int = 1000) -> float:
        true = self.queries[:first]
        sent = coarse([0], depth).fit(true).transform(true)
        return float(correct_orientation_score(true[:, [0]], sent[:, [0]])[0])

    def sweeps(self) -> dict[str, Any]:
        """Return the values of every panel."""
        coarsened = (coarse([0], k).fit(self.queries).transform(self.queries[:1000]) for k in DEPTHS)
        errors = [np.mean((self.toy.platform.predict(X) - self.truth[:1000]) ** 2) for X in coarsened]
        return {
            "depth": list(zip(errors, map(self.orientation, DEPTHS), strict=True)),
            "lower": [self.swapped(low, 8) for low in LOWER],
            "upper": [self.swapped(3, high) for high in UPPER],
            "orders": [[self.swapped(*window, order)[1] for window in PRINTED] for order in ORDERS],
            "number": [
                (*self.swapped(3, 8, first=number), self.orientation(4, number)) for number in NUMBERS
            ],
        }


def run(seeds: int = 20, save: Path | None = None) -> None:
    with warnings.catch_warnings():
        # Narrow windows, and sizes that tell whose share it is, are what is shown.
        warnings.simplefilter("ignore", DisclosureWarning)
        found = [Answers(seed).sweeps() for seed in range(seeds)]
    means = {name: np.mean([sweep[name] for sweep in found], axis=0) for name in found[0]}
    print(f"20 parties, 10,000 rows, 1,000 queries, {seeds} seeds; MSE in 1e-4, CO and RL in percent")
    print("the paper: RL drops sharply as p_lower goes from 1 to 2, and is below 1.70 at p_lower 3")
    _show("(a) depth of TQMA, one column", DEPTHS, means["depth"], ("MSE", "CO"))
    _show("(b) p_lower, p_upper 8", LOWER, means["lower"], ("MSE", "RL"))
    _show("(c) p_upper, p_lower 3", UPPER, means["upper"], ("MSE", "RL"))
    table = Table(("RL by order", "<32"), *((f"BSTD{window}", ">12.2f") for window in PRINTED))
    for order, row in zip(ORDERS, means["orders"], strict=True):
        table.row(f"  {order}", *row)
    table.row("  the paper, order not printed", *PRINTED.values())
    _show("number of queries, TQMA(4), BSTD(3, 8)", NUMBERS, means["number"], ("MSE", "RL", "CO"))
    spread = np.std([sweep["number"] for sweep in found], axis=0)
    _show("  standard deviation over seeds", NUMBERS, spread, ("MSE", "RL", "CO"))
    if save is not None:
        draw(means, save)


def _show(title: str, places: Any, values: FloatArray, names: tuple[str, ...]) -> None:
    table = Table((title, "<40"), *across(places, ">8.2f"))
    for name, row in zip(names, values.T, strict=True):
        table.row(f"  {name}", *(row * (1e4 if name == "MSE" else 1)))


def draw(means: dict[str, FloatArray], folder: Path) -> None:
    """Draw error and risk by depth, by both bounds of the swap and by the number of queries."""
    panels_of = (
        ("(a) TQMA", "depth", DEPTHS, "depth", "CO, %"),
        ("(b) BSTD(p_lower, 8)", "lower", LOWER, "p_lower", "RL, %"),
        ("(c) BSTD(3, p_upper)", "upper", UPPER, "p_upper", "RL, %"),
        ("TQMA(4), BSTD(3, 8)", "number", NUMBERS, "number of queries", "RL, %"),
    )
    figure, panels = new_panels([title for title, *_ in panels_of], columns=2)
    for panel, (_, name, places, label, risk) in zip(panels, panels_of, strict=True):
        log = "x" if name == "number" else ""
        lines(panel, list(places), {"MSE": means[name][:, 0]}, (label, "MSE"), log)
        panel.set_ylim(bottom=0)
        second_axis(panel, list(places), means[name][:, 1], risk)
    write(figure, folder, "collaborative_figure_9")
