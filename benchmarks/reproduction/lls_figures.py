# SPDX-License-Identifier: BSD-3-Clause
"""Relative errors by features, rows, epsilon and components: Figures 1 to 9 of the DP-LLS paper.

The paper's method as printed reads its scaling from the rows and protects nobody; ours has declared bounds,
|x| <= 4 and |y| <= 4 sqrt(d + 2.6), or with Gaussian noise rows of norm sqrt(d) + 2 at most.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogisticLLSRegressor, DPSEVRegressor
from skprivate.datasets import fetch_turbofan
from skprivate.datasets._turbofan import _read
from skprivate.exceptions import UtilityWarning

from .._pictures import new_panels, write
from .._tables import Table, across
from ._paper_lls import PaperLLS
from .lls_as_printed import Setting, literal_turbofan, simulate

FloatArray = NDArray[np.float64]

RELEASES = 100  # of the paper's 500, on the engines
QUARTILES = (25, 50, 75)
OURS = {"sev": DPSEVRegressor, "logistic": DPLogisticLLSRegressor}
#: An (epsilon, delta) statement, where the paper has delta 0.
GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian", "delta": 1e-6}
FEATURES = range(20, 40, 2)
EPSILONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0)
#: Of the case study.
COMPONENTS = (3, 4, 5, 6)
BUDGETS = (0.3, 0.5, 0.8, 1.0, 2.0, 5.0, 10.0)
SENSORS = (4, 17, 20)


@dataclass(frozen=True)
class Sweep:
    """One figure: what varies, its values, the settings, and the medians that the text gives."""

    figure: int
    varies: str
    values: tuple[float, ...]
    settings: tuple[Setting, ...]
    printed: dict[float, float]
    printed_plain: dict[float, float]


def _sweep(figure: int, distribution: str, varies: str, values: Any, **others: Any) -> Sweep:
    printed, plain = others.pop("printed"), others.pop("plain", {})
    settings = tuple(
        Setting(**{"distribution": distribution, "reported": 0.0, **others, varies: value})
        for value in values
    )
    return Sweep(figure, varies, tuple(values), settings, printed, plain)


SWEEPS = (
    _sweep(1, "sev", "d", FEATURES, n=10_000, epsilon=0.5, printed={}),
    _sweep(
        2, "logistic", "d", FEATURES, n=5_000, epsilon=0.5,
        printed={20: 0.45, 26: 0.54, 32: 0.66, 36: 0.79}, plain={20: 0.45, 26: 0.40},
    ),
    _sweep(
        3, "sev", "n", range(10_000, 60_001, 5_000), d=35, epsilon=0.5,
        printed={10_000: 0.76, 30_000: 0.35, 60_000: 0.29}, plain={10_000: 0.29, 30_000: 0.28, 60_000: 0.27},
    ),
    _sweep(
        4, "logistic", "n", (*range(5_000, 10_000, 1_000), *range(10_000, 60_001, 10_000)),
        d=35, epsilon=0.5, printed={},
    ),
    _sweep(5, "sev", "epsilon", EPSILONS, d=25, n=10_000, printed={0.3: 0.72, 1.0: 0.38}),
    _sweep(6, "logistic", "epsilon", EPSILONS, d=38, n=10_000, printed={0.3: 0.70, 1.0: 0.38}),
)  # fmt: skip
#: Medians of the case study that the text gives, and of its fits without noise.
PRINTED_COMPONENTS = {3: 0.19, 4: 0.21, 6: 0.28}
PRINTED_BUDGETS = {0.5: 0.63, 0.8: 0.45, 1.0: 0.38, 5.0: 0.19, 10.0: 0.20}
PRINTED_PLAIN = 0.15


def errors_of(setting: Setting, seed: int) -> dict[str, FloatArray]:
    """Return the relative errors of every method on a fifth of the rows."""
    X, y = simulate(setting, seed)
    test = np.random.default_rng(10_000 + seed).permutation(setting.n) < setting.n // 5
    ours, bound = OURS[setting.distribution], 4 * np.sqrt(setting.d + 2.6)
    options = {"bounds_y": (-bound, bound), "random_state": 20_000 + seed}
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
    data = fetch_turbofan(n_components=n_components)
    log_lives, (low, high) = np.log(data.target), np.log(data.bounds_y)
    found = []
    for seed in range(releases):
        model = DPSEVRegressor(
            epsilon, bounds_X=data.bounds_X, bounds_y=(low, high), random_state=20_000 + seed
        ).fit(data.data, log_lives)
        found.append(np.abs(np.exp(model.predict(data.test_data)) / data.test_target - 1))
    return {
        "as printed": literal_turbofan(n_components, epsilon, releases),
        "ours": np.array(found),
        "no noise": literal_turbofan(n_components, np.inf, 1),
    }


def quartiles(errors: dict[str, list[FloatArray]]) -> dict[str, FloatArray]:
    """Return the quartiles over the rows of all repetitions, of which the paper draws a boxplot."""
    return {name: np.percentile(np.concatenate(rows), QUARTILES) for name, rows in errors.items()}


def run(seeds: int = 2, save: Path | None = None, sweeps: tuple[Sweep, ...] = SWEEPS) -> None:
    found: dict[str, tuple[Any, list[dict[str, FloatArray]]]] = {}
    print(f"median relative error; simulations: {seeds} repetitions; turbofan: {RELEASES} releases")
    with warnings.catch_warnings():
        # Of fits that are no better than a constant: they are what the figures show.
        warnings.simplefilter("ignore", UtilityWarning)
        for sweep in sweeps:
            boxes = [_boxes(lambda seed, s=s: errors_of(s, seed), seeds) for s in sweep.settings]
            found[f"Figure {sweep.figure}"] = (sweep.values, boxes)
            fixed = sweep.settings[0]
            names = {name: getattr(fixed, name) for name in ("d", "n", "epsilon") if name != sweep.varies}
            title = ", ".join(f"{name} = {value:g}" for name, value in names.items())
            print(f"Figure {sweep.figure}: {fixed.distribution}, {title}")
            _show(sweep.varies, sweep.values, boxes, sweep.printed, sweep.printed_plain)
        found |= case_study()
    show_signals()
    if save is not None:
        draw(found, save)
        draw_signals(save)


def case_study() -> dict[str, tuple[Any, list[dict[str, FloatArray]]]]:
    """Print Figures 8 and 9, on engines."""
    by_components = [_boxes(lambda _, d=d: turbofan_errors(d, 5.0, RELEASES), 1) for d in COMPONENTS]
    print("Figure 8: turbofan, epsilon = 5, by components")
    _show("d", COMPONENTS, by_components, PRINTED_COMPONENTS, dict.fromkeys(COMPONENTS, PRINTED_PLAIN))
    by_budget = [_boxes(lambda _, e=e: turbofan_errors(3, e, RELEASES), 1) for e in BUDGETS]
    print("Figure 9: turbofan, d = 3, by epsilon")
    _show("epsilon", BUDGETS, by_budget, PRINTED_BUDGETS, dict.fromkeys(BUDGETS, PRINTED_PLAIN))
    return {"Figure 8": (COMPONENTS, by_components), "Figure 9": (BUDGETS, by_budget)}


def _boxes(errors: Callable[[int], dict[str, FloatArray]], seeds: int) -> dict[str, FloatArray]:
    rows: dict[str, list[FloatArray]] = {}
    for seed in range(seeds):
        for name, values in errors(seed).items():
            rows.setdefault(name, []).append(values.ravel())
    return quartiles(rows)


def _show(
    varies: str,
    values: Any,
    boxes: list[dict[str, FloatArray]],
    printed: dict[float, float],
    plain: dict[float, float],
) -> None:
    table = Table((varies, "<26"), *across(values, ">6.2f"), indent=2)
    for name in boxes[0]:
        table.row(name, *(box[name][1] for box in boxes))
    if printed:
        table.row("the paper, DP", *(printed.get(value) for value in values))
    if plain:
        table.row("the paper, no noise", *(plain.get(value) for value in values))


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


def draw(found: dict[str, tuple[Any, list[dict[str, FloatArray]]]], folder: Path) -> None:
    """Draw medians with their quartiles, a panel for each figure."""
    figure, panels = new_panels(list(found))
    for panel, (values, boxes) in zip(panels, found.values(), strict=True):
        for shift, name in enumerate(boxes[0]):
            low, middle, high = np.array([box[name] for box in boxes]).T
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
