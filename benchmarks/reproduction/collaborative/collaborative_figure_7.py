# SPDX-License-Identifier: BSD-3-Clause
"""Errors under noise on queries, on answers, or on both: Figure 7 of the collaborative paper.

In the paper's names the first letter protects the queries and the second the answers: T is TQMA, B is BSTD,
and N is noise. TB is the paper's platform, TN, NB and NN replace one part or both by noise.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._pictures import bars, lines, new_panels, second_axis, write
from ..._tables import Table, across
from .._collaborative import DEPTHS, SEEDS, Toy, coarsened, heading, orientation, over_seeds, show
from .._perturbation import laplace_noise, matched_scale, multiplicative_noise
from ._noise import Noise, laplace, linkage, multiplicative, noisy_mse

FloatArray = NDArray[np.float64]

COLUMN, TARGET = 0, 6.4
#: Of noise on the answers of the four platforms.
STRENGTH = 1e4
#: Title, values and label of what varies, and the measure of risk.
SWEEPS: dict[str, tuple[str, tuple[float, ...], str, str]] = {
    "depths": ("(a) TB, BSTD(3, 8), depth of TQMA", tuple(DEPTHS), "depth", "CO"),
    "bounds": ("(a) TB, TQMA(4), p_lower, p_upper 8", tuple(range(1, 7)), "p_lower", "RL"),
    "NB": ("(b) NB, BSTD(3, 8), p_noise", (0.01, 0.1, 0.3, 1.0, 3.0, 10.0), "p_noise", "CO"),
    "TN": ("(c) TN, TQMA(4), p_noise", (36.0, 126.0, 1e3, 1e4, 1e5), "p_noise", "RL"),
    "NB, Laplace": (
        "(e) NB, Laplace, epsilon", (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), "epsilon", "CO"
    ),
    "TN, Laplace": (
        "(f) TN, Laplace, epsilon", (0.4, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0), "epsilon", "RL"
    ),
}  # fmt: skip
PLATFORMS = ("TB", "TN", "NB", "NN")


class Trial:
    """One draw of the toy, whose platform swaps with BSTD(3, 8)."""

    def __init__(self, seed: int, small: bool) -> None:
        self.toy, self.seed = Toy.draw(seed, small=small), seed
        self.X, self.coarse = self.toy.queries, coarsened(self.toy.queries)

    def swapped(self, X: FloatArray, low: int = 3) -> tuple[float, float]:
        """Return MSE and RL of queries as they leave the asker, behind a swap."""
        return self.toy.behind_swap(self.toy.platform.site_responses(X), self.toy.truth, low)

    def coarse_or_noisy(self, X: FloatArray) -> tuple[float, float]:
        """Return MSE behind a swap, and CO."""
        return self.swapped(X)[0], orientation(self.X, X)

    def noisy(self, X: FloatArray, noise: Noise) -> tuple[float, float]:
        """Return MSE and RL of queries as they leave the asker, behind noise on the shares."""
        platform, truth = self.toy.platform, self.toy.truth
        errors = noisy_mse(platform, X, truth, noise, (self.seed, 1))
        return errors, linkage(platform, X, noise, (self.seed, 2))

    def sweeps(self) -> dict[str, Any]:
        """Return the values of every panel."""
        depths, bounds, shares, strengths, of_queries, of_answers = (
            values for _, values, *_ in SWEEPS.values()
        )
        largest = np.abs(self.X[:, COLUMN]).max()
        multiplied = [multiplicative_noise(self.X, COLUMN, p, self._rng(3)) for p in shares]
        added = [laplace_noise(self.X, COLUMN, largest / epsilon, self._rng(4)) for epsilon in of_queries]
        return {
            "depths": [self.coarse_or_noisy(coarsened(self.X, int(depth))) for depth in depths],
            "bounds": [self.swapped(self.coarse, int(low)) for low in bounds],
            "NB": [self.coarse_or_noisy(X) for X in multiplied],
            "TN": [self.noisy(self.coarse, multiplicative(p)) for p in strengths],
            "NB, Laplace": [self.coarse_or_noisy(X) for X in added],
            "TN, Laplace": [self.noisy(self.coarse, laplace(epsilon)) for epsilon in of_answers],
            "platforms": self.platforms(),
        }

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, stream))

    def platforms(self) -> list[tuple[float, float, float]]:
        """Return MSE, CO and RL of the four platforms; noise on queries at TQMA's CO."""
        seed = 40_000 + self.seed
        share = matched_scale(multiplicative_noise, self.X, COLUMN, TARGET, seed)
        noisy = multiplicative_noise(self.X, COLUMN, share, np.random.default_rng(seed))
        found = []
        for sent in (self.coarse, noisy):
            for mse, rl in (self.swapped(sent), self.noisy(sent, multiplicative(STRENGTH))):
                found.append((mse, orientation(self.X, sent), rl))
        return found


def run(seeds: int | None = None, save: Path | None = None, small: bool = False) -> None:
    seeds = seeds or (1 if small else SEEDS)
    found = over_seeds(lambda seed: Trial(seed, small).sweeps(), seeds)
    means = {name: values.mean(axis=0) for name, values in found.items()}
    print(f"{heading(seeds, small)}; MSE in 1e-4, CO and RL in percent")
    for name, (title, values, _, risk) in SWEEPS.items():
        show(title, values, means[name], ("MSE", risk))
    print(f"(d) noise on the column at a CO of {TARGET} %, on the answers with p_noise {STRENGTH:g}")
    table = Table(("platform", "<38"), *across(("MSE", "CO", "RL"), ">8.2f"), indent=2)
    for name, row in zip(PLATFORMS, means["platforms"], strict=True):
        table.row(name, *(row * (1e4, 1, 1)))
    mse, co, rl = means["platforms"][0]
    for name, risk, measure in (("NB, Laplace", co, "CO"), ("TN, Laplace", rl, "RL")):
        as_good = (means[name] <= 1.05 * np.array([mse, risk])).all(axis=1)
        which = ", ".join(f"{epsilon:g}" for epsilon in np.array(SWEEPS[name][1])[as_good]) or "none"
        print(f"epsilons at which error and {measure} of {name} are within 5 % of TB's: {which}")
    if save is not None:
        draw(means, save)


def draw(means: dict[str, FloatArray], folder: Path) -> None:
    """Draw a panel for each sweep, where error and risk of TB are dotted, and one of the four platforms."""
    figure, panels = new_panels([*(title for title, *_ in SWEEPS.values()), "(d) four platforms"], columns=4)
    for panel, (name, (_, values, label, risk)) in zip(panels, SWEEPS.items(), strict=False):
        lines(panel, values, {name: means[name][:, 0]}, (label, "MSE"), "xy")
        panel.axhline(means["platforms"][0, 0], linestyle=":", color="C1")
        second_axis(panel, values, means[name][:, 1], f"{risk}, %")
    columns = zip(("MSE, 1e-4", "CO, %", "RL, %"), (means["platforms"] * (1e4, 1, 1)).T, strict=True)
    bars(panels[-1], {name: dict(zip(PLATFORMS, column, strict=True)) for name, column in columns}, "")
    panels[-1].set_yscale("log")
    write(figure, folder, "collaborative_figure_7")
