# SPDX-License-Identifier: BSD-3-Clause
"""Relative errors of lifetimes of turbofan engines: ours, the paper as printed, constants, no privacy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from skprivate import DPSEVRegressor
from skprivate.datasets import fetch_turbofan

from ..._tables import Table, across
from ...reproduction.lls_as_printed import literal_turbofan
from ._checks import fit_warns

FloatArray = NDArray[np.float64]

EPSILONS = (10.0, 5.0, 3.0, 1.0, 0.5)
GOALS = {5.0: 0.10, 1.0: 0.18}
CONSTANT = "constant, median (not private)"


def relative_errors(data: Any, lifetimes: FloatArray) -> FloatArray:
    """Return the relative errors on the test engines."""
    return np.abs(lifetimes / data.test_target - 1)


def ours(data: Any, epsilon: float, runs: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return relative errors of shape (releases, test engines), and which releases warned."""
    low, high = data.bounds_y
    errors, warned = [], []
    for seed in range(runs):
        model = DPSEVRegressor(
            epsilon, bounds_X=data.bounds_X, bounds_y=(np.log(low), np.log(high)), random_state=seed
        )
        warned.append(fit_warns(model, data.data, np.log(data.target)))
        errors.append(relative_errors(data, np.exp(model.predict(data.test_data))))
    return np.array(errors), np.array(warned)


def baselines(data: Any) -> dict[str, float]:
    """Return median relative errors of constants and of least squares, which do not depend on epsilon."""
    plain = LinearRegression().fit(data.data, np.log(data.target)).predict(data.test_data)
    lifetimes = {
        CONSTANT: np.median(data.target),
        "constant, middle of the bounds": np.sqrt(np.prod(data.bounds_y)),
        "least squares, not private": np.exp(plain),
    }
    return {name: float(np.median(relative_errors(data, value))) for name, value in lifetimes.items()}


def run(seeds: int = 500, *, small: bool = False) -> None:
    """Print the tables; `seeds` are those of releases."""
    runs = 2 if small else seeds
    data = fetch_turbofan()
    print(f"median relative error on {len(data.test_target)} engines, {runs} seeded releases")
    table = Table(("epsilon", "<40"), *across(EPSILONS, ">8.3f"), indent=2)
    fits = [ours(data, epsilon, runs) for epsilon in EPSILONS]
    table.row("ours", *(np.median(errors) for errors, _ in fits))
    worst = (np.quantile(np.median(errors, axis=1), 0.9) for errors, _ in fits)
    table.row("ours, nine releases in ten are better", *worst)
    printed = (np.median(literal_turbofan(3, epsilon, runs)) for epsilon in EPSILONS)
    table.row("the paper as printed", *printed)
    others = baselines(data)
    for name, error in others.items():
        table.row(name, *[error] * len(EPSILONS))
    table.row("goal", *(GOALS.get(epsilon) for epsilon in EPSILONS))
    _print_warnings(fits, others[CONSTANT])


def _print_warnings(fits: list[tuple[FloatArray, NDArray[np.bool_]]], constant: float) -> None:
    """Print how many releases are worse than a constant, and the shares of either kind that warned."""
    worse = [np.median(errors, axis=1) > constant for errors, _ in fits]
    of_these = [_share(warned[lost]) for lost, (_, warned) in zip(worse, fits, strict=True)]
    of_others = [_share(warned[~lost]) for lost, (_, warned) in zip(worse, fits, strict=True)]
    table = Table(("epsilon", "<40"), *across(EPSILONS, ">8.2f"), indent=2)
    table.row("share of releases worse than a constant", *map(_share, worse))
    table.row("of these, with a warning", *of_these)
    table.row("of the others, with a warning", *of_others)


def _share(flags: NDArray[np.bool_]) -> float | None:
    return float(flags.mean()) if len(flags) else None
