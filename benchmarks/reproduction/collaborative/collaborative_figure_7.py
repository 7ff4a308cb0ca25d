# SPDX-License-Identifier: BSD-3-Clause
"""Errors under noise on queries, on answers, or on both: Figure 7 of the collaborative paper.

In the paper's names the first letter protects the queries and the second the answers: T is TQMA, B is BSTD,
and N is noise. TB is the paper's platform, TN, NB and NN replace one part or both by noise.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.collaborative import BSTDAggregator
from skprivate.exceptions import DisclosureWarning
from skprivate.metrics import correct_orientation_score, record_linkage_score

from ..._pictures import bars, lines, new_panels, second_axis, write
from ..._tables import Table, across
from .._collaborative import RULE, Toy
from .._perturbation import laplace_noise, matched_scale, multiplicative_noise
from ..collaborative_toy import DEPTHS, coarse
from ._noise import SWAP_SEED, Noise, laplace, linkage, multiplicative, noisy_mse

FloatArray = NDArray[np.float64]

COLUMN, TARGET = 0, 6.4
LOWER_BOUNDS, UPPER_BOUND = range(1, 7), 8
#: Of multiplicative noise on the column of the queries, and on the shares.
QUERY_STRENGTHS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
ANSWER_STRENGTHS = (36.0, 126.0, 1e3, 1e4, 1e5)
QUERY_EPSILONS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
ANSWER_EPSILONS = (0.4, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
PLATFORMS = ("TB", "TN", "NB", "NN")
TITLES = (
    "(a) TB by depth and by least distance of a swap",
    "(b) NB by multiplicative noise on a column",
    "(c) TN by multiplicative noise on the answers",
    "(d) error, CO and RL of four platforms",
    "(e) NB by epsilon of Laplace noise",
    "(f) TN by epsilon of Laplace noise",
)


class Trial:
    """One draw of the toy, whose platform swaps with BSTD(3, 8)."""

    def __init__(self, seed: int) -> None:
        self.toy, self.seed = Toy.draw(seed), seed
        self.X, self.truth = self.toy.queries, self.toy.truth
        self.coarse = coarse([COLUMN]).fit(self.X).transform(self.X)

    def swapped(self, X: FloatArray, low: int = 3, high: int = UPPER_BOUND) -> tuple[float, float]:
        """Return MSE and RL of queries as they leave the asker, behind a swap."""
        swap = BSTDAggregator(low, high, active_rule=RULE, random_state=SWAP_SEED + self.seed)
        platform = self.toy.with_parts(swap)
        sizes = platform.site_sizes_
        submitted = platform.site_responses(X) * sizes / sizes.mean()
        rl = record_linkage_score(submitted, platform.observe(X))
        return self.toy.mse(X, platform), rl

    def noisy(self, X: FloatArray, noise: Noise) -> tuple[float, float]:
        """Return MSE and RL of queries as they leave the asker, behind noise on the shares."""
        platform = self.toy.platform
        return (
            noisy_mse(platform, X, self.truth, noise, (self.seed, 1)),
            linkage(platform, X, noise, (self.seed, 2)),
        )

    def orientation(self, X: FloatArray) -> float:
        return float(correct_orientation_score(self.X[:, [COLUMN]], X[:, [COLUMN]])[0])

    def perturbed(self, strength: float) -> FloatArray:
        return multiplicative_noise(self.X, COLUMN, strength, np.random.default_rng((self.seed, 3)))

    def sweeps(self) -> dict[str, Any]:
        """Return the values of every panel."""
        depths = [coarse([COLUMN], k).fit(self.X).transform(self.X) for k in DEPTHS]
        scale = np.abs(self.X[:, COLUMN]).max()
        private = [
            laplace_noise(self.X, COLUMN, scale / epsilon, np.random.default_rng((self.seed, 4)))
            for epsilon in QUERY_EPSILONS
        ]
        return {
            "depths": [(self.swapped(X)[0], self.orientation(X)) for X in depths],
            "bounds": [self.swapped(self.coarse, low) for low in LOWER_BOUNDS],
            "NB": [(self.swapped(X)[0], self.orientation(X)) for X in map(self.perturbed, QUERY_STRENGTHS)],
            "TN": [self.noisy(self.coarse, multiplicative(p)) for p in ANSWER_STRENGTHS],
            "NB, Laplace": [(self.swapped(X)[0], self.orientation(X)) for X in private],
            "TN, Laplace": [self.noisy(self.coarse, laplace(epsilon)) for epsilon in ANSWER_EPSILONS],
            "platforms": self.platforms(),
        }

    def platforms(self) -> list[tuple[float, float, float]]:
        """Return MSE, CO and RL of the four platforms; noise on queries at TQMA's CO."""
        share = matched_scale(multiplicative_noise, self.X, COLUMN, TARGET, 40_000 + self.seed)
        noisy = multiplicative_noise(self.X, COLUMN, share, np.random.default_rng(40_000 + self.seed))
        noise = multiplicative(ANSWER_STRENGTHS[-2])
        found = (
            (self.coarse, self.swapped(self.coarse)),
            (self.coarse, self.noisy(self.coarse, noise)),
            (noisy, self.swapped(noisy)),
            (noisy, self.noisy(noisy, noise)),
        )
        return [(mse, self.orientation(X), rl) for X, (mse, rl) in found]


def run(seeds: int = 20, save: Path | None = None) -> None:
    with warnings.catch_warnings():
        # Narrow windows, and sizes that tell whose share it is, are what is shown.
        warnings.simplefilter("ignore", DisclosureWarning)
        found = [Trial(seed).sweeps() for seed in range(seeds)]
    means = {name: np.mean([sweep[name] for sweep in found], axis=0) for name in found[0]}
    print(f"20 parties, 10,000 rows, 1,000 queries, {seeds} seeds; MSE in 1e-4, CO and RL in percent")
    _show("(a) TB, BSTD(3, 8), depth of TQMA", DEPTHS, means["depths"], "CO")
    _show("(a) TB, TQMA(4), p_lower, p_upper 8", LOWER_BOUNDS, means["bounds"], "RL")
    _show("(b) NB, BSTD(3, 8), p_noise", QUERY_STRENGTHS, means["NB"], "CO")
    _show("(c) TN, TQMA(4), p_noise", ANSWER_STRENGTHS, means["TN"], "RL")
    print(
        f"(d) noise on the column at a CO of {TARGET} %, on the answers with p_noise {ANSWER_STRENGTHS[-2]:g}"
    )
    table = Table(("platform", "<36"), *across(("MSE", "CO", "RL"), ">8.2f"), indent=2)
    for name, row in zip(PLATFORMS, means["platforms"], strict=True):
        table.row(name, *(row * (1e4, 1, 1)))
    _show("(e) NB, Laplace, epsilon", QUERY_EPSILONS, means["NB, Laplace"], "CO")
    _show("(f) TN, Laplace, epsilon", ANSWER_EPSILONS, means["TN, Laplace"], "RL")
    _compare(means)
    if save is not None:
        draw(means, save)


def _show(title: str, places: Any, values: FloatArray, second: str) -> None:
    table = Table((title, "<38"), *across(places, ">8.2f"))
    for name, row in zip(("MSE", second), (values * (1e4, 1)).T, strict=True):
        table.row(f"  {name}", *row)


def _compare(means: dict[str, FloatArray]) -> None:
    """Print at which epsilons Laplace noise is as good as TB in both respects, to a twentieth."""
    mse, co, rl = means["platforms"][0]
    for name, epsilons, risk, measure in (
        ("NB, Laplace", QUERY_EPSILONS, co, "CO"),
        ("TN, Laplace", ANSWER_EPSILONS, rl, "RL"),
    ):
        as_good = (means[name] <= 1.05 * np.array([mse, risk])).all(axis=1)
        which = ", ".join(f"{epsilon:g}" for epsilon in np.array(epsilons)[as_good]) or "none"
        print(f"epsilons at which error and {measure} of {name} are within 5 % of TB's: {which}")


def draw(means: dict[str, FloatArray], folder: Path) -> None:
    """Draw the six panels; the error and risk of TB are dotted in those of noise."""
    figure, panels = new_panels(list(TITLES))
    lines(panels[0], list(DEPTHS), {"by depth": means["depths"][:, 0]}, ("depth, or p_lower", "MSE"))
    panels[0].plot(list(LOWER_BOUNDS), means["bounds"][:, 0], marker="x", label="by p_lower")
    panels[0].legend(fontsize=7)
    sweeps = (
        (panels[1], QUERY_STRENGTHS, "NB", "p_noise", "CO, %"),
        (panels[2], ANSWER_STRENGTHS, "TN", "p_noise", "RL, %"),
        (panels[4], QUERY_EPSILONS, "NB, Laplace", "epsilon", "CO, %"),
        (panels[5], ANSWER_EPSILONS, "TN, Laplace", "epsilon", "RL, %"),
    )
    base = means["platforms"][0]
    for panel, places, name, label, risk in sweeps:
        lines(panel, places, {name: means[name][:, 0]}, (label, "MSE"), "xy")
        panel.axhline(base[0], linestyle=":", color="C1")
        second_axis(panel, places, means[name][:, 1], risk)
    table = means["platforms"] * (1e4, 1, 1)
    series = {
        name: dict(zip(PLATFORMS, table[:, i], strict=True))
        for i, name in enumerate(("MSE, 1e-4", "CO, %", "RL, %"))
    }
    bars(panels[3], series, "")
    panels[3].set_yscale("log")
    write(figure, folder, "collaborative_figure_7")
