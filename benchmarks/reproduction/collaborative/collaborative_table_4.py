# SPDX-License-Identifier: BSD-3-Clause
"""Errors under swaps and noise, with and without model extraction: Table 4 of the collaborative paper."""

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from skprivate.audit import ModelExtractionAttack
from skprivate.collaborative import BSTDAggregator

from ..._pictures import bars, new_panels, write
from ..._tables import Table
from .._collaborative import CUBE, RULE, SEEDS, SWAP_SEED, WINDOWS, Toy, coarse, heading, over_seeds
from ._noise import Attacked, attacked, laplace, matched_strength, multiplicative

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
#: Of multiplicative noise.
STRENGTHS = (36, 126)
#: Of fake queries; the repetition is added.
FAKE_SEED = 30_000
QUERIES = ("original queries", "coarsened queries, TQMA(4)")


def rows_of(platform: Any, toy: Toy) -> Iterator[tuple[str, Attacked]]:
    """Yield every row of the table for one platform."""
    X, truth, seed = toy.queries, toy.truth, toy.seed
    for low, high in WINDOWS:
        platform.aggregator_ = BSTDAggregator(
            low, high, active_rule=RULE, party_sizes=platform.site_sizes_, random_state=SWAP_SEED + seed
        ).fit(np.zeros((1, len(platform.site_sizes_))))
        found = ModelExtractionAttack(random_state=FAKE_SEED + seed).run(platform, X, truth, bounds=CUBE)
        if low == WINDOWS[0][0]:
            yield "original", Attacked(100.0, found.mse, found.unprotected.mse_replaced)
        opened = found.observed
        yield f"BSTD({low}, {high})", Attacked(opened.record_linkage, found.mse, opened.mse_replaced)
    noises = {f"Mul {strength}": multiplicative(strength) for strength in STRENGTHS}
    noises |= {f"DP {epsilon}": laplace(epsilon) for epsilon in (1.0, 0.4)}
    for strength in STRENGTHS:
        target = PAPER[f"Mul {strength}"][0][1]
        matched = matched_strength(platform, X, truth, target, (seed, 2))
        noises[f"Mul, error of {strength}"] = multiplicative(matched)
    noises["Mul 36, mean zero"] = multiplicative(36, mean=0.0)
    for name, noise in noises.items():
        yield name, attacked(platform, X, truth, noise, (seed, 3))


def run(seeds: int | None = None, save: Path | None = None, small: bool = False) -> None:
    seeds = seeds or (1 if small else SEEDS)

    def of_seed(seed: int) -> dict[tuple[str, str], tuple[float, ...]]:
        toy = Toy.draw(seed, small=small)
        platforms = zip(QUERIES, (None, coarse()), strict=True)
        return {
            (queries, name): astuple(row)
            for queries, perturber in platforms
            for name, row in rows_of(toy.with_parts(None, perturber), toy)
        }

    means = {key: values.mean(axis=0) for key, values in over_seeds(of_seed, seeds).items()}
    print(f"{heading(seeds, small)}; in brackets the paper; MSE in 1e-4")
    for side, queries in enumerate(QUERIES):
        print(queries)
        table = Table(("method", "<20"), *((name, "<20") for name in ("RL %", "MSE", "attack")), indent=2)
        for name in ROWS:
            linkage, *errors = PAPER[SAME_AS.get(name, name)][side]
            printed = (linkage, *(1e4 * error for error in errors))
            table.row(name, *map(_beside, means[queries, name] * (1, 1e4, 1e4), printed))
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
