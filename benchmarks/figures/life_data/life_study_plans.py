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
HALF_WIDTH = 0.1
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
    """Print planned and realised half-widths, and what fits print at the rows that a plan asks for."""
    heads = (("study", "<33"), ("fit", "<15"), ("epsilon", ">7g"), ("n", ">7d"))
    table = Table(
        *heads,
        ("B10", ">7.3f"),
        ("realised", ">8.3f"),
        ("slopes", ">7.3f"),
        ("realised", ">8.3f"),
        ("ratio", ">6.2f"),
    )
    ratios = []
    for name, make in STUDIES.items():
        study = make()
        variants = {
            "laplace": {},
            "gaussian": GAUSSIAN,
            "gaussian, norm": {**GAUSSIAN, "x_norm": study.x_norm},
        }
        plan = plan_life_study(
            study.model,
            N,
            EPSILONS,
            X_at=study.X_at,
            variants=variants,
            half_width=HALF_WIDTH,
            random_state=0,
            **study.known,
        )
        for row in plan.table:
            found = _realised(study, variants[row.variant], float(row.epsilon), row.n)
            ratio = row.widest / found[0] if np.isfinite(row.widest) and np.isfinite(found[0]) else None
            ratios += [] if ratio is None else [ratio]
            slopes = max(row.slopes)
            table.row(
                name, row.variant, float(row.epsilon), row.n, row.widest, found[0], slopes, found[1], ratio
            )
        for one in plan.rows_needed:
            if one.n is not None:
                found = _realised(study, variants[one.variant], float(one.epsilon), one.n)
                shown = one.widths.widest, found[0], max(one.widths.slopes), found[1]
                table.row(
                    name, f"{one.variant}, asked", float(one.epsilon), one.n, *shown, shown[0] / shown[1]
                )
    ratios = np.array(ratios)
    within = np.mean(np.abs(np.log(ratios)) < np.log(1.2))
    print(f"{len(ratios)} of the first kind are finite; within 20 %: {within:.0%}, "
          f"from {ratios.min():.2f} to {ratios.max():.2f}")  # fmt: skip


def _realised(study: Study, variant: dict[str, Any], epsilon: float, n: int) -> tuple[float, float]:
    """Return medians of the greatest half-widths of B10 and slopes; a fit that warns is infinitely wide."""
    model = clone(study.model).set_params(epsilon=epsilon, **variant)
    found = []
    for fit in range(N_FITS):
        X, y = study.draw(n, np.random.default_rng([3, n, fit]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        if any(issubclass(one.category, UtilityWarning) for one in caught):
            found.append((np.inf, np.inf))
            continue
        _, interval = model.predict_quantile(study.X_at, 0.1, return_interval=True)
        slopes = float(np.ptp(model.coef_interval_, axis=1).max() / 2)
        found.append((float(np.sqrt(interval[:, 1] / interval[:, 0]).max() - 1), slopes))
    b10, slopes = np.median(found, axis=0).tolist()
    return b10, slopes


if __name__ == "__main__":
    run()
