# SPDX-License-Identifier: BSD-3-Clause
"""Relative errors by features, rows, epsilon and components: Figures 1 to 9 of the DP-LLS paper.

The paper's method as printed reads its scaling from the rows and protects nobody; ours has declared bounds,
|x| <= 4 and |y| <= 4 sqrt(d + 2.6), or with Gaussian noise rows of norm sqrt(d) + 2 at most.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogisticLLSRegressor, DPSEVRegressor
from skprivate.datasets._turbofan import _read
from skprivate.exceptions import UtilityWarning

from .._pictures import new_panels, write
from .._tables import Table, across
from ._paper_lls import PaperLLS
from .lls_as_printed import Setting, engines, literal_turbofan, simulate

FloatArray = NDArray[np.float64]
#: Quartiles over the rows of all repetitions by method, of which the paper draws a boxplot.
Boxes = dict[str, FloatArray]

SEEDS, RELEASES = 2, 100  # of the paper's 100, and of its 500 on the engines
QUARTILES = (25, 50, 75)
OURS = {"sev": DPSEVRegressor, "logistic": DPLogisticLLSRegressor}
#: An (epsilon, delta) statement, where the paper has delta 0.
GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian", "delta": 1e-6}
SENSORS = (4, 17, 20)


@dataclass(frozen=True)
class Sweep:
    """One figure: what varies, its values, what is fixed, and the medians that the text gives."""

    distribution: str
    varies: str
    values: tuple[float, ...]
    fixed: dict[str, float]
    printed: dict[float, float] = field(default_factory=dict)
    printed_plain: dict[float, float] = field(default_factory=dict)

    def shortened(self) -> "Sweep":
        """Return two values with few rows."""
        values = (100, 200) if self.varies == "n" else self.values[:2]
        return replace(self, values=values, fixed={"n": 200, **self.fixed} | {"n": 200})


FEATURES, EPSILONS = tuple(range(20, 40, 2)), (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0)
SWEEPS = {
    "Figure 1": Sweep("sev", "d", FEATURES, {"n": 10_000, "epsilon": 0.5}),
    "Figure 2": Sweep(
        "logistic", "d", FEATURES, {"n": 5_000, "epsilon": 0.5},
        {20: 0.45, 26: 0.54, 32: 0.66, 36: 0.79}, {20: 0.45, 26: 0.40},
    ),
    "Figure 3": Sweep(
        "sev", "n", tuple(range(10_000, 60_001, 5_000)), {"d": 35, "epsilon": 0.5},
        {10_000: 0.76, 30_000: 0.35, 60_000: 0.29}, {10_000: 0.29, 30_000: 0.28, 60_000: 0.27},
    ),
    "Figure 4": Sweep(
        "logistic", "n", (*range(5_000, 10_000, 1_000), *range(10_000, 60_001, 10_000)),
        {"d": 35, "epsilon": 0.5},
    ),
    "Figure 5": Sweep("sev", "epsilon", EPSILONS, {"d": 25, "n": 10_000}, {0.3: 0.72, 1.0: 0.38}),
    "Figure 6": Sweep("logistic", "epsilon", EPSILONS, {"d": 38, "n": 10_000}, {0.3: 0.70, 1.0: 0.38}),
}  # fmt: skip
#: What varies in the case study on engines, its values, and the medians that the text gives.
CASE_STUDY = {
    "Figure 8": ("d", (3, 4, 5, 6), {3: 0.19, 4: 0.21, 6: 0.28}),
    "Figure 9": (
        "epsilon",
        (0.3, 0.5, 0.8, 1.0, 2.0, 5.0, 10.0),
        {0.5: 0.63, 0.8: 0.45, 1.0: 0.38, 5.0: 0.19, 10.0: 0.20},
    ),
}  # fmt: skip
PRINTED_PLAIN = 0.15  # without noise


def errors_of(setting: Setting, seed: int) -> dict[str, FloatArray]:
    """Return the relative errors of every method on a fifth of the rows."""
    X, y = simulate(setting, seed)
    test = np.random.default_rng(10_000 + seed).permutation(setting.n) < setting.n // 5
    ours, bound = OURS[setting.distribution], 4 * np.sqrt(setting.d + 2.6)
    options = {"bounds_y": (-bound, bound), "random_state": 20_000 + seed}
    # Not the seed of the rows: noise from it would repeat the draws that made them.
    models: dict[str, Any] = {
        "as printed": PaperLLS(setting.distribution, setting.epsilon, seed=(seed, 1)),
        "X, y standardised": PaperLLS(setting.distribution, setting.epsilon, "standard", (seed, 2)),
        "ours": ours(setting.epsilon, bounds_X=(-4, 4), **options),
        "ours, Gaussian": ours(setting.epsilon, x_norm=np.sqrt(setting.d) + 2, **GAUSSIAN, **options),
        "no noise": PaperLLS(setting.distribution, np.inf),
    }
    return {
        name: np.abs(model.fit(X[~test], y[~test]).predict(X[test]) / y[test] - 1)
        for name, model in models.items()
    }


def turbofan_errors(n_components: int, epsilon: float, releases: int) -> dict[str, FloatArray]:
    """Return relative errors of every method on the test engines, of all releases."""
    data = engines(n_components)
    known = {"bounds_X": data.bounds_X, "bounds_y": tuple(np.log(data.bounds_y))}
    models = (DPSEVRegressor(epsilon, random_state=20_000 + seed, **known) for seed in range(releases))
    fitted = (model.fit(data.data, np.log(data.target)) for model in models)
    ours = [np.abs(np.exp(model.predict(data.test_data)) / data.test_target - 1) for model in fitted]
    return {
        "as printed": literal_turbofan(n_components, epsilon, releases),
        "ours": np.array(ours),
        "no noise": literal_turbofan(n_components, np.inf, 1),
    }


def boxes(errors: Callable[[int], dict[str, FloatArray]], seeds: int) -> Boxes:
    found = [errors(seed) for seed in range(seeds)]
    rows = {name: np.concatenate([one[name].ravel() for one in found]) for name in found[0]}
    return {name: np.percentile(values, QUARTILES) for name, values in rows.items()}


def run(seeds: int | None = None, save: Path | None = None, small: bool = False) -> None:
    seeds, releases = seeds or (1 if small else SEEDS), 2 if small else RELEASES
    found: dict[str, tuple[Any, list[Boxes]]] = {}
    print(f"median relative error; simulations: {seeds} repetitions; turbofan: {releases} releases")
    with warnings.catch_warnings():
        # Of fits that are no better than a constant: they are what the figures show.
        warnings.simplefilter("ignore", UtilityWarning)
        for name, sweep in SWEEPS.items():
            sweep = sweep.shortened() if small else sweep
            fixed = {key: value for key, value in sweep.fixed.items() if key != sweep.varies}
            settings = [
                Setting(sweep.distribution, **fixed, **{sweep.varies: value}) for value in sweep.values
            ]
            drawn = [boxes(lambda seed, s=s: errors_of(s, seed), seeds) for s in settings]
            title = ", ".join(f"{key} = {value:g}" for key, value in fixed.items())
            print(f"{name}: {sweep.distribution}, {title}")
            found[name] = (sweep.values, drawn)
            _show(sweep.varies, *found[name], sweep.printed, sweep.printed_plain)
        for name, (varies, values, printed) in CASE_STUDY.items():
            values = values[:2] if small else values
            study = {"n_components": 3, "epsilon": 5.0, "releases": releases}
            changed = "n_components" if varies == "d" else varies
            cells = [{**study, changed: value} for value in values]
            drawn = [boxes(lambda _, cell=cell: turbofan_errors(**cell), 1) for cell in cells]
            print(f"{name}: turbofan, {'epsilon = 5' if varies == 'd' else 'd = 3'}, by {varies}")
            found[name] = (values, drawn)
            _show(varies, values, drawn, printed, dict.fromkeys(values, PRINTED_PLAIN))
    show_signals()
    if save is not None:
        draw(found, save)
        draw_signals(save)


def _show(varies: str, values: Any, drawn: list[Boxes], printed: Any, plain: Any) -> None:
    table = Table((varies, "<26"), *across(values, ">6.2f"), indent=2)
    for name in drawn[0]:
        table.row(name, *(box[name][1] for box in drawn))
    for name, medians in (("the paper, DP", printed), ("the paper, no noise", plain)):
        if medians:
            table.row(name, *(medians.get(value) for value in values))


def signals(engine: int = 1) -> FloatArray:
    """Return the cycles and the 21 sensors of one training engine."""
    table = _read("train_FD001.txt", None)
    return table[table[:, 0] == engine][:, [1, *range(5, 26)]]


def show_signals() -> None:
    """Print what Figure 7 draws: the ends of the signals of engine 1 that the case study uses."""
    rows = signals()
    print(f"Figure 7: engine 1, {len(rows)} cycles; the paper does not say which engine it shows")
    table = Table(
        ("sensor", "<8"), *across(("first 10 cycles", "last 10 cycles", "sd of steps"), ">16.3f"), indent=2
    )
    for sensor in SENSORS:
        values = rows[:, sensor]
        table.row(str(sensor), values[:10].mean(), values[-10:].mean(), np.diff(values).std())


def draw(found: dict[str, tuple[Any, list[Boxes]]], folder: Path) -> None:
    """Draw medians with their quartiles, a panel for each figure."""
    figure, panels = new_panels(list(found))
    for panel, (values, drawn) in zip(panels, found.values(), strict=True):
        for shift, name in enumerate(drawn[0]):
            low, middle, high = np.array([box[name] for box in drawn]).T
            places = np.arange(len(values)) + 0.12 * shift
            panel.errorbar(places, middle, (middle - low, high - middle), fmt="o", markersize=3, label=name)
        panel.set_xticks(np.arange(len(values)), [f"{value:g}" for value in values], fontsize=6, rotation=45)
        panel.set_ylim(0, 3)
        panel.set_ylabel("relative error, quartiles")
    panels[0].legend(fontsize=7)
    write(figure, folder, "lls_figures")


def draw_signals(folder: Path) -> None:
    """Draw Figure 7: the signals of every sensor of one engine."""
    rows = signals()
    figure, panels = new_panels([f"sensor {sensor}" for sensor in range(1, 22)], columns=7)
    for sensor, panel in enumerate(panels, 1):
        panel.plot(rows[:, 0], rows[:, sensor], linewidth=0.7)
    write(figure, folder, "lls_figure_7")
