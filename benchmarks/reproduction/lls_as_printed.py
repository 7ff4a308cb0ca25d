# SPDX-License-Identifier: BSD-3-Clause
"""How far one record moves the DP-LLS paper's weights as printed, beside the sensitivity that it claims."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skprivate.datasets import fetch_turbofan

from .._tables import Table, across
from ._paper_lls import PaperLLS, delta_of, moved_weights

FloatArray = NDArray[np.float64]

#: Size of the replaced record, over the largest of the others.
TIMES = (1.5, 3, 10, 100)


@dataclass(frozen=True)
class Setting:
    """One boxplot of the simulation."""

    distribution: str
    d: int
    n: int
    epsilon: float


SETTINGS = {
    False: (Setting("sev", 3, 1_000, 1.0), Setting("sev", 10, 10_000, 1.0), Setting("sev", 35, 10_000, 1.0)),
    True: (Setting("sev", 3, 100, 1.0), Setting("logistic", 3, 100, 1.0)),
}


def simulate(setting: Setting, seed: int) -> tuple[FloatArray, FloatArray]:
    """Draw standard normal features and coefficients, and errors of scale 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(setting.n, setting.d))
    beta = rng.normal(size=setting.d + 1)
    if setting.distribution == "sev":
        errors = np.log(rng.exponential(size=setting.n))
    else:
        errors = rng.logistic(size=setting.n)
    return X, beta[0] + X @ beta[1:] + errors


@cache
def engines(n_components: int) -> Bunch:
    """Return the engines of the case study, with components of those that are public."""
    return fetch_turbofan(n_components=n_components)


def literal_turbofan(n_components: int, epsilon: float, releases: int) -> FloatArray:
    """Return relative errors of the literal method, of shape (releases, test engines)."""
    data = engines(n_components)
    log_lives = np.log(data.target)
    models = (PaperLLS("sev", epsilon, seed=s).fit(data.data, log_lives) for s in range(releases))
    with np.errstate(over="ignore"):
        return np.array([np.abs(np.exp(m.predict(data.test_data)) / data.test_target - 1) for m in models])


def run(small: bool = False) -> None:
    print("literal paper: NumPy Laplace noise from a seed, bounds read from the rows; it protects NOBODY")
    print("move of the weights over Delta, one record being so many times as large as the largest others")
    table = Table(("setting", "<42"), *across(TIMES, ">11.0f"), indent=2)
    for setting in SETTINGS[small]:
        X, y = simulate(setting, 0)
        largest, delta = (np.abs(X).max(axis=0), np.abs(y).max()), delta_of(setting.distribution, setting.d)
        records = ((times * largest[0], times * largest[1]) for times in TIMES)
        moves = (moved_weights(setting.distribution, X, y, record) / delta for record in records)
        table.row(f"{setting.distribution}, d = {setting.d}, n = {setting.n}", *moves)
