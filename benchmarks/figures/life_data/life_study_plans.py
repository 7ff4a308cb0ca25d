# SPDX-License-Identifier: BSD-3-Clause
"""Half-widths that `plan_life_study` expects, against those that fits to other rows then print.

The plan knows the model, or 500 public rows of the population, or a simulation; the fits have fresh rows and
noise of the operating system. Nothing of the method was chosen on these designs.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skprivate import DPLogLocationScaleRegressor, TableDomain, plan_life_study
from skprivate.datasets import make_location_scale
from skprivate.domain import StressColumn
from skprivate.evaluation import StatedLifetimes
from skprivate.exceptions import UtilityWarning

from ..._tables import Table

N, EPSILONS, N_FITS, N_PUBLIC = (30_000, 200_000), (0.5, 2.0), 15, 500
HALF_WIDTH, MOST_ROWS = 0.1, 300_000
GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian", "delta": 1e-6}

Draw = Callable[[int, np.random.Generator], tuple[Any, NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class Study:
    """A population, what a plan knows of it, and the fit."""

    model: Any
    draw: Draw
    known: dict[str, Any]
    X_at: Any
    x_norm: float


def _accelerated() -> Study:
    columns = {"celsius": StressColumn(85, 125, "arrhenius"), "volt": StressColumn(10, 20, "inverse-power")}
    domain = TableDomain(columns)
    design = pd.DataFrame([(c, v) for c in (85, 105, 125) for v in (10, 20)], columns=domain.names)
    model = DPLogLocationScaleRegressor(domain=domain, bounds_y=(1, 1e5))
    stated = StatedLifetimes(coef=[0.7, -2.5], intercept=-6.0, scale=0.5, X=design, censoring=0.6)
    use = pd.DataFrame({"celsius": [55.0], "volt": [5.0]})
    return Study(model, stated.draw_for(model), {"stated": stated}, use, 2.0)


def _lots() -> Study:
    domain = TableDomain({"load": (0, 10), "lot": ["a", "b", "c"], "old": bool})
    model = DPLogLocationScaleRegressor(distribution="loglogistic", domain=domain, bounds_y=(1, 1e5))
    rng = np.random.default_rng(0)
    lots, old = np.array(["a", "b", "c"])[rng.integers(3, size=1000)], rng.uniform(size=1000) < 0.3
    design = pd.DataFrame({"load": rng.uniform(0, 10, 1000), "lot": lots, "old": old})
    stated = StatedLifetimes(coef=[-0.1, 0.2, 0, 0, -0.4], intercept=6.0, scale=0.4, X=design)
    return Study(model, stated.draw_for(model), {"stated": stated}, design[:3], 1.5)


def _fleet(censoring: float, distribution: str, width: int, *, public: bool) -> Study:
    coef = np.linspace(0.6, -0.6, width)
    model = DPLogLocationScaleRegressor(distribution=distribution, bounds_X=(-1, 1), bounds_y=(0.1, 400))  # type: ignore[arg-type]

    def draw(n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        options: dict[str, Any] = {"distribution": distribution, "censoring": censoring}
        seed = int(rng.integers(2**31))
        return make_location_scale(n, width, coef=coef, intercept=3.0, random_state=seed, **options)

    known = {"public": draw(N_PUBLIC, np.random.default_rng(7))} if public else {"simulate": draw}
    return Study(model, draw, known, np.zeros((1, width)), float(np.sqrt(width / 3) * 1.5))


STUDIES: dict[str, Callable[[], Study]] = {
    "accelerated test, stated": _accelerated,
    "lots, complete, stated": _lots,
    "fleet of 3, 30 % censored, public": lambda: _fleet(0.3, "weibull", 3, public=True),
    "fleet of 3, 80 % censored, public": lambda: _fleet(0.8, "weibull", 3, public=True),
    "fleet of 10, complete, simulated": lambda: _fleet(0.0, "lognormal", 10, public=False),
}


def run() -> None:
    """Print planned and realised half-widths, and how many fits keep the wanted one at the rows asked for."""
    heads = (("study", "<33"), ("fit", "<15"), ("epsilon", ">7g"), ("n", ">7d"))
    widths = (("B10", ">6.3f"), ("from", ">6.3f"), ("to", ">6.3f"), ("realised", ">8.3f"), ("ratio", ">6.2f"))
    table = Table(*heads, *widths, ("kept", ">5.0%"))
    ratios, clear, kept = [], [], []
    for name, make in STUDIES.items():
        study = make()
        variants = {
            "laplace": {},
            "gaussian": GAUSSIAN,
            "gaussian, norm": {**GAUSSIAN, "x_norm": study.x_norm},
        }
        options: dict[str, Any] = {"variants": variants, "half_width": HALF_WIDTH, "random_state": 0}
        options["max_rows"] = MOST_ROWS
        plan = plan_life_study(study.model, N, EPSILONS, X_at=study.X_at, **options, **study.known)
        asked = [one.widths for one in plan.rows_needed if one.n is not None]
        for place, row in enumerate((*plan.table, *asked)):
            found = _realised(study, variants[row.variant], float(row.epsilon), row.n)
            median = float(np.median(found))
            ratio = row.widest / median if np.isfinite(row.widest) and np.isfinite(median) else None
            share = float(np.mean(found <= HALF_WIDTH)) if place >= len(plan.table) else None
            head = name, row.variant, float(row.epsilon), row.n
            table.row(*head, row.widest, *row.range, median, ratio, share)
            if share is not None:
                kept.append(share)
            elif ratio is not None:
                ratios.append(ratio)
                clear.append(row.range[1] < 2 * row.range[0])
    _summarise(np.array(ratios), np.array(clear), np.array(kept))


def _summarise(ratios: NDArray[np.float64], clear: NDArray[np.bool_], kept: NDArray[np.float64]) -> None:
    for what, chosen in (("all", np.ones(len(ratios), dtype=bool)), ("range within a factor of 2", clear)):
        part = ratios[chosen]
        within = np.mean(np.abs(np.log(part)) < np.log(1.2))
        print(f"{what}: {len(part)}, within 20 %: {within:.0%}, from {part.min():.2f} to {part.max():.2f}")
    print(f"rows asked for: {np.mean(kept):.0%} of fits keep the half-width, at least {kept.min():.0%}")


def _realised(study: Study, variant: dict[str, Any], epsilon: float, n: int) -> NDArray[np.float64]:
    """Return the greatest half-width of B10 of each fit; infinite where it warned."""
    model = clone(study.model).set_params(epsilon=epsilon, **variant)
    found = []
    for fit in range(N_FITS):
        X, y = study.draw(n, np.random.default_rng([3, n, fit]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        _, interval = model.predict_quantile(study.X_at, 0.1, return_interval=True)
        warned = any(issubclass(one.category, UtilityWarning) for one in caught)
        found.append(np.inf if warned else np.sqrt(interval[:, 1] / interval[:, 0]).max() - 1)
    return np.array(found)


if __name__ == "__main__":
    run()
