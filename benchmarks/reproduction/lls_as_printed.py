# SPDX-License-Identifier: BSD-3-Clause
"""Relative errors of the DP-LLS paper's method as printed, beside the medians that the paper reports."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skprivate.datasets import fetch_turbofan

from .._tables import Table, across
from ._paper_lls import PaperLLS, delta_of, moved_weights

FloatArray = NDArray[np.float64]

REPETITIONS = 20  # of the paper's 100
RELEASES = 500
#: Size of the replaced record, over the largest of the others.
TIMES = (1.5, 3, 10, 100)
SCALINGS = ("min-max", "standard X", "standard")


@dataclass(frozen=True)
class Setting:
    """One boxplot of the simulation, and the medians that the text gives for it."""

    distribution: str
    d: int
    n: int
    epsilon: float
    reported: float
    reported_plain: float | None = None


SIMULATION = (
    Setting("logistic", 20, 5_000, 0.5, 0.45, 0.45),
    Setting("logistic", 26, 5_000, 0.5, 0.54, 0.40),
    Setting("logistic", 32, 5_000, 0.5, 0.66),
    Setting("logistic", 36, 5_000, 0.5, 0.79),
    Setting("sev", 35, 10_000, 0.5, 0.76, 0.29),
    Setting("sev", 35, 30_000, 0.5, 0.35, 0.28),
    Setting("sev", 35, 60_000, 0.5, 0.29, 0.27),
    Setting("sev", 25, 10_000, 0.3, 0.72),
    Setting("sev", 25, 10_000, 1.0, 0.38),
    Setting("logistic", 38, 10_000, 0.3, 0.70),
    Setting("logistic", 38, 10_000, 1.0, 0.38),
)
# Number of components, epsilon, median reported.
CASE_STUDY = (
    (3, 5.0, 0.19),
    (4, 5.0, 0.21),
    (6, 5.0, 0.28),
    (3, 0.5, 0.63),
    (3, 0.8, 0.45),
    (3, 1.0, 0.38),
    (3, 10.0, 0.20),
)


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


def errors_of(setting: Setting, seed: int, epsilon: float, scaling: str) -> FloatArray:
    """Return the relative errors on a fifth of the rows."""
    X, y = simulate(setting, seed)
    test = np.random.default_rng(10_000 + seed).permutation(setting.n) < setting.n // 5
    # Not the seed of the rows: noise from it would repeat the draws that made them.
    model = PaperLLS(setting.distribution, epsilon, scaling, (seed, 1)).fit(X[~test], y[~test])
    return np.abs(model.predict(X[test]) / y[test] - 1)


def median_error(setting: Setting, epsilon: float, scaling: str) -> float:
    """Return the median over the rows of all repetitions."""
    return float(
        np.median(np.concatenate([errors_of(setting, s, epsilon, scaling) for s in range(REPETITIONS)]))
    )


def literal_turbofan(n_components: int, epsilon: float, releases: int = RELEASES) -> FloatArray:
    """Return relative errors of the literal method, of shape (releases, test engines)."""
    data = fetch_turbofan(n_components=n_components)
    log_lives = np.log(data.target)
    models = (PaperLLS("sev", epsilon, seed=s).fit(data.data, log_lives) for s in range(releases))
    with np.errstate(over="ignore"):
        return np.array([np.abs(np.exp(m.predict(data.test_data)) / data.test_target - 1) for m in models])


def _print_simulation() -> None:
    print(f"simulation, median relative error, {REPETITIONS} repetitions")
    print("as stated: X and y by minimum and maximum; standard: to mean 0 and variance 1, which is unbounded")
    columns = ("paper", "as stated", "X standard", "X, y stand.", "no noise", "paper")
    table = Table(("setting", "<42"), *across(columns, ">11.2f"), indent=2)
    for s in SIMULATION:
        noisy = (median_error(s, s.epsilon, scaling) for scaling in SCALINGS)
        name = f"{s.distribution}, d = {s.d}, n = {s.n}, epsilon = {s.epsilon:g}"
        table.row(name, s.reported, *noisy, median_error(s, np.inf, "min-max"), s.reported_plain)


def _print_case_study() -> None:
    print(f"turbofan, median relative error, {RELEASES} releases, components of the public engines")
    table = Table(("setting", "<42"), *across(("paper", "as stated", "no noise"), ">11.2f"), indent=2)
    for n_components, epsilon, reported in CASE_STUDY:
        noisy = np.median(literal_turbofan(n_components, epsilon))
        plain = np.median(literal_turbofan(n_components, np.inf, 1))
        table.row(f"d = {n_components}, epsilon = {epsilon:g}", reported, noisy, plain)


def _print_moves() -> None:
    print(
        "one record against the claimed sensitivity, with minima and maxima read from the rows: the largest"
    )
    print("move of the weights over Delta, the record being so many times as large as the others")
    table = Table(("setting", "<42"), *across(TIMES, ">11.0f"), indent=2)
    for distribution, d, n in (("sev", 3, 1_000), ("sev", 10, 10_000), ("sev", 35, 10_000)):
        X, y = simulate(Setting(distribution, d, n, 1.0, 0.0), 0)
        largest, delta = (np.abs(X).max(axis=0), np.abs(y).max()), delta_of(distribution, d)
        records = ((times * largest[0], times * largest[1]) for times in TIMES)
        moves = (moved_weights(distribution, X, y, record) / delta for record in records)
        table.row(f"{distribution}, d = {d}, n = {n}", *moves)


def run() -> None:
    print("literal paper: NumPy Laplace noise from a seed, bounds read from the rows; it protects NOBODY")
    _print_moves()
    _print_case_study()
    _print_simulation()
