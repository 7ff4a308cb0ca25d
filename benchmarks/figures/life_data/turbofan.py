# SPDX-License-Identifier: BSD-3-Clause
"""Lifetimes of turbofan engines, three features: ours, the paper as printed, a constant, and no privacy."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from skprivate import DPSEVRegressor
from skprivate.datasets import fetch_turbofan
from skprivate.exceptions import UtilityWarning

from ...reproduction.lls_as_printed import literal_turbofan

FloatArray = NDArray[np.float64]

EPSILONS = (5.0, 1.0, 0.5)
GOALS = {5.0: 0.10, 1.0: 0.18}
RELEASES = 500


def relative_errors(data: Any, lifetimes: FloatArray) -> FloatArray:
    """Return the relative errors on the test engines."""
    return np.abs(lifetimes / data.test_target - 1)


def ours(data: Any, epsilon: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return relative errors of shape (releases, test engines), and which releases warned."""
    low, high = data.bounds_y
    errors, warned = [], []
    for seed in range(RELEASES):
        model = DPSEVRegressor(
            epsilon, bounds_X=data.bounds_X, bounds_y=(np.log(low), np.log(high)), random_state=seed
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(data.data, np.log(data.target))
        warned.append(any(issubclass(warning.category, UtilityWarning) for warning in caught))
        errors.append(relative_errors(data, np.exp(model.predict(data.test_data))))
    return np.array(errors), np.array(warned)


def run() -> None:
    data = fetch_turbofan()
    print(f"median relative error on {len(data.test_target)} engines, {RELEASES} seeded releases")
    constants = {
        "constant, median (not private)": np.median(data.target),
        "constant, middle of the bounds": np.sqrt(np.prod(data.bounds_y)),
    }
    constant = np.median(relative_errors(data, constants["constant, median (not private)"]))
    plain = LinearRegression().fit(data.data, np.log(data.target)).predict(data.test_data)
    fits = [ours(data, epsilon) for epsilon in EPSILONS]
    figures = {"ours": [np.median(errors) for errors, _ in fits]}
    figures["the paper as printed"] = [np.median(literal_turbofan(3, e, RELEASES)) for e in EPSILONS]
    figures |= {
        name: [np.median(relative_errors(data, value))] * len(EPSILONS) for name, value in constants.items()
    }
    figures["least squares, not private"] = [np.median(relative_errors(data, np.exp(plain)))] * len(EPSILONS)
    figures["goal"] = [GOALS.get(epsilon, np.nan) for epsilon in EPSILONS]
    print(f"  {'epsilon':<40}" + "".join(f"{epsilon:>9g}" for epsilon in EPSILONS))
    for name, row in figures.items():
        print(f"  {name:<40}" + "".join(f"{figure:>9.3f}" for figure in row))
    _print_warnings(fits, float(constant))


def _print_warnings(fits: list[tuple[FloatArray, NDArray[np.bool_]]], constant: float) -> None:
    worse = [np.median(errors, axis=1) > constant for errors, _ in fits]
    rows = {
        "share of releases worse than a constant": [lost.mean() for lost in worse],
        "of these, with a warning": [
            warned[lost].mean() if lost.any() else np.nan
            for lost, (_, warned) in zip(worse, fits, strict=True)
        ],
        "of the others, with a warning": [
            warned[~lost].mean() if (~lost).any() else np.nan
            for lost, (_, warned) in zip(worse, fits, strict=True)
        ],
    }
    for name, row in rows.items():
        print(f"  {name:<40}" + "".join(f"{share:>9.2f}" for share in row))
