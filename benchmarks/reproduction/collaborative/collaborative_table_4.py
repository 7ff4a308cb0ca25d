# SPDX-License-Identifier: BSD-3-Clause
"""Errors under swaps and noise, with and without model extraction: Table 4 of the collaborative paper."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from skprivate.audit import ModelExtractionAttack
from skprivate.collaborative import BSTDAggregator
from skprivate.exceptions import DisclosureWarning

from ..._pictures import bars, new_panels, write
from ..._tables import Table
from .._collaborative import RULE, Toy
from ..collaborative_toy import CUBE, WINDOWS, coarse
from ._noise import FAKE_SEED, SWAP_SEED, Attacked, attacked, laplace, matched_strength, multiplicative

#: What the paper prints, for original and for coarsened queries: RL in percent, MSE, MSE under attack.
PAPER: dict[str, tuple[tuple[float | None, float, float], tuple[float | None, float, float]]] = {
    "original": ((None, 7.725e-4, 8.276e-4), (None, 7.725e-4, 7.873e-4)),
    "BSTD(2, 10)": ((1.12, 7.716e-4, 20.623e-4), (1.10, 7.868e-4, 20.792e-4)),
    "BSTD(3, 8)": ((1.67, 7.722e-4, 95.931e-4), (1.68, 7.869e-4, 23.629e-4)),
    "BSTD(4, 10)": ((1.84, 7.869e-4, 21.101e-4), (1.81, 7.869e-4, 21.272e-4)),
    "Mul 36": ((10.34, 184.534e-4, 219.932e-4), (10.36, 184.244e-4, 216.806e-4)),
    "Mul 126": ((9.20, 460.226e-4, 546.607e-4), (9.20, 459.489e-4, 538.498e-4)),
    "DP 1.0": ((12.39, 871.015e-4, 187.932e-4), (12.49, 869.442e-4, 186.720e-4)),
    "DP 0.4": ((10.95, 5390.197e-4, 1114.563e-4), (10.95, 5385.243e-4, 1111.051e-4)),
}
#: Rows without figures of their own in the paper: its errors, its printed mean.
SAME_AS = {"Mul, error of 36": "Mul 36", "Mul, error of 126": "Mul 126", "Mul 36, mean zero": "Mul 36"}
ROWS = (*PAPER, *SAME_AS)
QUERIES = ("original queries", "coarsened queries, TQMA(4)")


def rows_of(platform: Any, toy: Toy, seed: int) -> Iterator[tuple[str, Attacked]]:
    """Yield every row of the table for one platform."""
    X, truth = toy.queries, toy.truth
    for low, high in WINDOWS:
        platform.aggregator_ = BSTDAggregator(
            low, high, active_rule=RULE, party_sizes=platform.site_sizes_, random_state=SWAP_SEED + seed
        ).fit(np.zeros((1, len(platform.site_sizes_))))
        found = ModelExtractionAttack(random_state=FAKE_SEED + seed).run(platform, X, truth, bounds=CUBE)
        if low == WINDOWS[0][0]:
            yield "original", Attacked(found.mse, found.unprotected.mse_replaced, 100.0)
        opened = found.observed
        yield f"BSTD({low}, {high})", Attacked(found.mse, opened.mse_replaced, opened.record_linkage)
    noises = {f"Mul {strength}": multiplicative(strength) for strength in (36, 126)}
    noises |= {f"DP {epsilon}": laplace(epsilon) for epsilon in (1.0, 0.4)}
    for strength in (36, 126):
        target = PAPER[f"Mul {strength}"][0][1]
        matched = matched_strength(platform, X, truth, target, (seed, 2))
        noises[f"Mul, error of {strength}"] = multiplicative(matched)
    noises["Mul 36, mean zero"] = multiplicative(36, mean=0.0)
    for name, noise in noises.items():
        yield name, attacked(platform, X, truth, noise, (seed, 3))


def run(seeds: int = 20, save: Path | None = None) -> None:
    found: dict[tuple[str, str], list[Attacked]] = {}
    for seed in range(seeds):
        with warnings.catch_warnings():
            # Of the site that is attacked here.
            warnings.simplefilter("ignore", DisclosureWarning)
            toy = Toy.draw(seed)
            for queries, perturber in zip(QUERIES, (None, coarse([0])), strict=True):
                for name, row in rows_of(toy.with_parts(None, perturber), toy, seed):
                    found.setdefault((queries, name), []).append(row)
    print(f"20 parties, 10,000 rows, 1,000 queries, {seeds} seeds; in brackets the paper; MSE in 1e-4")
    means = {
        key: np.mean([(a.linkage, a.mse, a.mse_replaced) for a in rows], 0) for key, rows in found.items()
    }
    for side, queries in enumerate(QUERIES):
        print(queries)
        table = Table(("method", "<20"), *((name, "<20") for name in ("RL %", "MSE", "attack")), indent=2)
        for name in ROWS:
            paper = PAPER[SAME_AS.get(name, name)][side]
            ours = means[queries, name] * (1, 1e4, 1e4)
            printed = (paper[0], 1e4 * paper[1], 1e4 * paper[2])
            table.row(name, *map(_beside, ours, printed))
    if save is not None:
        draw(means, save)


def _beside(ours: float, printed: float | None) -> str:
    return f"{ours:.4g} ({'-' if printed is None else f'{printed:.4g}'})"


def draw(means: dict[tuple[str, str], Any], folder: Path) -> None:
    """Draw errors without and with the attack, ours and the paper's."""
    figure, panels = new_panels(list(QUERIES), columns=1)
    figure.set_size_inches(11, 8)
    for side, (panel, queries) in enumerate(zip(panels, QUERIES, strict=True)):
        series = {
            "no attack": {name: means[queries, name][1] for name in PAPER},
            "no attack, paper": {name: PAPER[name][side][1] for name in PAPER},
            "attack": {name: means[queries, name][2] for name in PAPER},
            "attack, paper": {name: PAPER[name][side][2] for name in PAPER},
        }
        bars(panel, series, "MSE")
        panel.set_yscale("log")
    write(figure, folder, "collaborative_table_4")
