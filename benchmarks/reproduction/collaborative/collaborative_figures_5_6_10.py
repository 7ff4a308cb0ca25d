# SPDX-License-Identifier: BSD-3-Clause
"""Error, CO and RL before and after TQMA(4) and BSTD(3, 8): Figures 5, 6, 10 of the collaborative paper."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

from skprivate.collaborative import BSTDAggregator
from skprivate.exceptions import DisclosureWarning
from skprivate.metrics import correct_orientation_score, record_linkage_score

from ..._pictures import bars, new_panels, write
from ..._tables import Table
from .._collaborative import RULE, Toy
from ..collaborative_toy import LEAVES, change, coarse
from ._noise import SWAP_SEED, shares_of, synthesis

LOCAL = ("local averages", "regression trees")
COLUMNS = ("MSE, none", "TQMA", "change %", "TQMA, BSTD", "change %", "CO %", "RL %")
#: MSE in 1e-4; the errors of trees are in a picture whose numbers are not printed.
PAPER = {
    LOCAL[0]: (7.725, 7.873, 1.92, 7.869, 1.86, 6.37, 1.68),
    LOCAL[1]: (None, None, None, None, 0.33, 6.37, 1.73),
}


def figures_of_seed(seed: int, estimator: Any) -> list[float]:
    """Return MSE without protection, with coarsened queries, and with both; CO and RL."""
    toy = Toy.draw(seed, estimator)
    X, truth = toy.queries, toy.truth
    sent = coarse([0]).fit(X).transform(X)
    platform = toy.with_parts(BSTDAggregator(3, 8, active_rule=RULE, random_state=SWAP_SEED + seed))
    sizes = platform.site_sizes_
    shares = [shares_of(platform, queries) for queries in (X, sent)]
    return [
        *(float(np.mean((synthesis(submitted, sizes) - truth) ** 2)) for submitted in shares),
        toy.mse(sent, platform),
        float(correct_orientation_score(X[:, [0]], sent[:, [0]])[0]),
        record_linkage_score(shares[1] * sizes.sum() / sizes.mean(), platform.observe(sent)),
    ]


def run(seeds: int = 20, save: Path | None = None) -> None:
    tree = GridSearchCV(DecisionTreeRegressor(random_state=0), LEAVES, cv=5)
    with warnings.catch_warnings():
        # Of the site whose size tells which share is its own.
        warnings.simplefilter("ignore", DisclosureWarning)
        found = {
            name: np.mean([figures_of_seed(seed, estimator) for seed in range(seeds)], axis=0)
            for name, estimator in zip(LOCAL, (None, tree), strict=True)
        }
    print(f"20 parties, 10,000 rows, 1,000 queries, {seeds} seeds; MSE in 1e-4, changes against none")
    table = Table(("local models", "<26"), *((name, ">9.3f") for name in COLUMNS), indent=2)
    for name, (none, tqma, both, orientation, rl) in found.items():
        errors = (1e4 * none, 1e4 * tqma, change(tqma, none), 1e4 * both, change(both, none))
        table.row(name, *errors, orientation, rl)
        table.row("  the paper", *PAPER[name])
    if save is not None:
        draw(found, save)


def draw(found: dict[str, Any], folder: Path) -> None:
    """Draw errors, and CO and RL, of both kinds of local models."""
    figure, panels = new_panels(
        [f"{name}: {what}" for name in LOCAL for what in ("error", "risk")], columns=2
    )
    for place, name in enumerate(LOCAL):
        none, tqma, both, orientation, rl = found[name]
        errors = {"none": none, "TQMA(4)": tqma, "TQMA(4), BSTD(3, 8)": both}
        bars(panels[2 * place], {name: errors}, "MSE")
        before, after = {"CO": 100.0, "RL": 100.0}, {"CO": orientation, "RL": rl}
        bars(panels[2 * place + 1], {"none": before, "protected": after}, "%")
    write(figure, folder, "collaborative_figures_5_6_10")
