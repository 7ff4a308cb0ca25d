# SPDX-License-Identifier: BSD-3-Clause
"""Error, CO and RL before and after TQMA(4) and BSTD(3, 8): Figures 5, 6, 10 of the collaborative paper."""

from pathlib import Path
from typing import Any

import numpy as np

from ..._pictures import bars, new_panels, write
from ..._tables import Table
from .._collaborative import SEEDS, Toy, change, coarsened, heading, local_trees, orientation, over_seeds
from ._noise import shares_of, synthesis

COLUMNS = ("MSE, none", "TQMA", "change %", "TQMA, BSTD", "change %", "CO %", "RL %")
#: By local models; MSE in 1e-4. The errors of trees are in a picture whose numbers are not printed.
PAPER = {
    "local averages": (7.725, 7.873, 1.92, 7.869, 1.86, 6.37, 1.68),
    "regression trees": (None, None, None, None, 0.33, 6.37, 1.73),
}


def figures(toy: Toy) -> list[float]:
    """Return MSE without protection, with coarsened queries, and with both; CO and RL."""
    X, sent, platform = toy.queries, coarsened(toy.queries), toy.platform
    plain = (synthesis(shares_of(platform, queries), platform.site_sizes_) for queries in (X, sent))
    both, linkage = toy.behind_swap(platform.site_responses(sent), toy.truth)
    errors = (float(np.mean((predicted - toy.truth) ** 2)) for predicted in plain)
    return [*errors, both, orientation(X, sent), linkage]


def run(seeds: int | None = None, save: Path | None = None, small: bool = False) -> None:
    seeds = seeds or (1 if small else SEEDS)

    def of_seed(seed: int) -> dict[str, list[float]]:
        local = zip(PAPER, (None, local_trees(small)), strict=True)
        return {name: figures(Toy.draw(seed, estimator, small=small)) for name, estimator in local}

    means = {name: values.mean(axis=0) for name, values in over_seeds(of_seed, seeds).items()}
    print(f"{heading(seeds, small)}; MSE in 1e-4, changes against none")
    table = Table(("local models", "<26"), *((name, ">9.3f") for name in COLUMNS), indent=2)
    for name, (none, tqma, both, co, rl) in means.items():
        errors = (1e4 * none, 1e4 * tqma, change(tqma, none), 1e4 * both, change(both, none))
        table.row(name, *errors, co, rl)
        table.row("  the paper", *PAPER[name])
    if save is not None:
        draw(means, save)


def draw(means: dict[str, Any], folder: Path) -> None:
    """Draw errors, and CO and RL, of both kinds of local models."""
    titles = [f"{name}: {what}" for name in means for what in ("error", "risk")]
    figure, panels = new_panels(titles, columns=2)
    for place, (name, (none, tqma, both, co, rl)) in enumerate(means.items()):
        errors = {"none": none, "TQMA(4)": tqma, "TQMA(4), BSTD(3, 8)": both}
        bars(panels[2 * place], {name: errors}, "MSE")
        risks = {"none": {"CO": 100.0, "RL": 100.0}, "protected": {"CO": co, "RL": rl}}
        bars(panels[2 * place + 1], risks, "%")
    write(figure, folder, "collaborative_figures_5_6_10")
