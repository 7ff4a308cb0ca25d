# SPDX-License-Identifier: BSD-3-Clause
"""The DP-LLS paper as printed, on its simulation and its case study, beside the medians that it reports."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skprivate.datasets import fetch_turbofan

from ._paper_lls import PaperLLS, delta_of, moved_weights

FloatArray = NDArray[np.float64]

REPETITIONS = 20  # of the paper's 100
RELEASES = 500
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
    model = PaperLLS(setting.distribution, epsilon, scaling, seed).fit(X[~test], y[~test])
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
    print(f"  {'':<42}" + "".join(f"{name:>12}" for name in columns))
    for s in SIMULATION:
        figures = [s.reported, *(median_error(s, s.epsilon, scaling) for scaling in SCALINGS)]
        figures.append(median_error(s, np.inf, "min-max"))
        plain = f"{s.reported_plain:>12.2f}" if s.reported_plain is not None else f"{'-':>12}"
        name = f"{s.distribution}, d = {s.d}, n = {s.n}, epsilon = {s.epsilon:g}"
        print(f"  {name:<42}" + "".join(f"{figure:>12.2f}" for figure in figures) + plain, flush=True)


def _print_case_study() -> None:
    print(f"turbofan, median relative error, {RELEASES} releases, components of the public engines")
    print(f"  {'':<42}{'paper':>12}{'as stated':>12}{'no noise':>12}")
    for n_components, epsilon, reported in CASE_STUDY:
        noisy = np.median(literal_turbofan(n_components, epsilon))
        plain = np.median(literal_turbofan(n_components, np.inf, 1))
        name = f"d = {n_components}, epsilon = {epsilon:g}"
        print(f"  {name:<42}{reported:>12.2f}{noisy:>12.2f}{plain:>12.2f}", flush=True)


def _print_moves() -> None:
    print(
        "one record against the claimed sensitivity, with minima and maxima read from the rows: the largest"
    )
    print("move of the weights over Delta, the record being 1.5, 3, 10 or 100 times as large as the others")
    for distribution, d, n in (("sev", 3, 1_000), ("sev", 10, 10_000), ("sev", 35, 10_000)):
        X, y = simulate(Setting(distribution, d, n, 1.0, 0.0), 0)
        size = np.abs(X).max(axis=0), np.abs(y).max()
        factors = [
            moved_weights(distribution, X, y, (times * size[0], times * size[1])) / delta_of(distribution, d)
            for times in (1.5, 3, 10, 100)
        ]
        print(f"  {f'{distribution}, d = {d}, n = {n}':<42}" + "".join(f"{f:>12.0f}" for f in factors))


def run() -> None:
    print("literal paper: NumPy Laplace noise from a seed, bounds read from the rows; it protects NOBODY")
    _print_moves()
    _print_case_study()
    _print_simulation()
