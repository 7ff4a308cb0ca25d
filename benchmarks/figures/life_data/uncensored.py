# SPDX-License-Identifier: BSD-3-Clause
"""Errors, warnings, quantiles and interval coverage of uncensored private regression on simulations."""

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogisticLLSRegressor, DPNormalLLSRegressor, DPSEVRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model._distributions import SEV, error_distribution_of
from skprivate.linear_model._moments.released_moments import MomentRelease, solve_moments

from ..._tables import Table, across
from ._checks import fit_warns, holds

FloatArray = NDArray[np.float64]

ESTIMATORS = {"sev": DPSEVRegressor, "logistic": DPLogisticLLSRegressor, "normal": DPNormalLLSRegressor}
GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian", "delta": 1e-6}
REPETITIONS = 20
METHODS = ("OLS", "paper", "tight", "cube", "L1 ball", "cube, Gauss", "L2 ball, Gauss")
#: d, n, epsilon.
SETTINGS = (
    (10, 10_000, 2.0),
    (10, 100_000, 0.5),
    (10, 1_000_000, 0.5),
    (30, 100_000, 2.0),
    (30, 1_000_000, 0.5),
)
WARNING_RUNS = 2000
QUANTILE_RUNS = 40
QUANTILE_D, QUANTILE_ROWS, QUANTILE_EPSILON = 10, 100_000, 2.0
INTERVAL_RUNS = 200


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, and the model that they come from: errors of scale 1."""

    X: FloatArray
    y: FloatArray
    coef: FloatArray
    intercept: float

    @property
    def d(self) -> int:
        return self.X.shape[1]


def draw(
    n: int, coef: FloatArray, intercept: float, name: str, rng: np.random.Generator, correlation: float = 0.0
) -> Sample:
    """Draw normal features of variance 1 whose neighbours are correlated."""
    X = rng.normal(size=(n, len(coef)))
    for j in range(1, len(coef) if correlation else 0):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    errors = error_distribution_of(name).quantile(rng.uniform(np.finfo(float).tiny, 1, size=n))
    return Sample(X, intercept + X @ coef + errors, coef, intercept)


# -- The table of accuracies.


def y_bound(d: int) -> float:
    """Four standard deviations of y: coefficients have variance 1, the error pi^2 / 6."""
    return 4 * float(np.sqrt(d + 2.6))


def paper_fit(sample: Sample, epsilon: float, seed: int, delta: float) -> tuple[FloatArray, float]:
    """Fit with noise of scale delta / epsilon on the coefficients of the polynomial, and no regulariser.

    Features are scaled to [0, 1 / sqrt(d)], as the paper does, but by public bounds. The noise is NumPy's.
    """
    d, bound = sample.d, y_bound(sample.d)
    y = np.clip(sample.y / bound, -1, 1)
    z = np.column_stack([np.ones(len(y)), y, (np.clip(sample.X / 4, -1, 1) + 1) / 2 / np.sqrt(d)])
    scale = delta / epsilon * (1 + np.eye(d + 2))
    noise = np.triu(np.random.default_rng(10_000 + seed).laplace(size=scale.shape)) * scale
    noise[0, 0] = 0.0
    noisy = MomentRelease(z.T @ z + noise + np.triu(noise, 1).T, np.zeros_like(scale), "laplace")
    fit = solve_moments(noisy, SEV, "none", (1e-3, 2.0))
    line = fit.intercept + SEV.mean * fit.scale + fit.coef.sum() / 2 / np.sqrt(d)
    return fit.coef * bound / 8 / np.sqrt(d), line * bound


def our_fit(sample: Sample, epsilon: float, seed: int, **options: Any) -> tuple[FloatArray, float]:
    bound = y_bound(sample.d)
    if "x_norm" not in options:
        options["bounds_X"] = (-4, 4)
    model = DPSEVRegressor(epsilon, bounds_y=(-bound, bound), random_state=seed, **options)
    model.fit(sample.X, sample.y)
    return model.coef_, model.intercept_ + SEV.mean * model.scale_


def least_squares(sample: Sample) -> tuple[FloatArray, float]:
    rows = np.column_stack([np.ones(len(sample.y)), sample.X])
    beta = np.linalg.solve(rows.T @ rows, rows.T @ sample.y)
    return beta[1:], float(beta[0])


def fits(sample: Sample, epsilon: float, seed: int) -> dict[str, tuple[FloatArray, float]]:
    """Slopes and line of every method on one sample."""
    d = sample.d
    literal = 4 + 4 * np.sqrt(d) + d
    found = (
        least_squares(sample),
        paper_fit(sample, epsilon, seed, literal),
        paper_fit(sample, epsilon, seed, literal / 2),
        our_fit(sample, epsilon, seed),
        our_fit(sample, epsilon, seed, x_norm=0.8 * d + 2 * np.sqrt(d)),
        our_fit(sample, epsilon, seed, **GAUSSIAN),
        our_fit(sample, epsilon, seed, x_norm=np.sqrt(d) + 2, **GAUSSIAN),
    )
    return dict(zip(METHODS, found, strict=True))


def errors(sample: Sample, new: Sample, coef: FloatArray, line: float) -> tuple[float, float]:
    """Return the median relative error of predictions, and the relative error of the slopes."""
    error = np.median(np.abs((new.X @ coef + line) / new.y - 1))
    return float(error), float(np.linalg.norm(coef - sample.coef) / np.linalg.norm(sample.coef))


def print_accuracies() -> None:
    print(f"median of |prediction / y - 1|, in brackets error of the slopes; {REPETITIONS} repetitions")
    table = Table(("d", ">3"), ("n", ">7"), ("epsilon", ">7g"), *across(METHODS, ">13"), indent=2)
    for d, n, epsilon in SETTINGS:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
        for seed in range(REPETITIONS):
            rng = np.random.default_rng(seed)
            sample = draw(n, rng.normal(size=d), rng.normal(), "sev", rng)
            new = draw(5000, sample.coef, sample.intercept, "sev", rng)
            for name, fit in fits(sample, epsilon, seed).items():
                found[name].append(errors(sample, new, *fit))
        medians = (np.median(pairs, axis=0) for pairs in found.values())
        table.row(d, n, epsilon, *(f"{error:.3f} ({slopes:.3f})" for error, slopes in medians))


# -- The warning.


def problems() -> Iterator[tuple[Sample, Sample, float, Any]]:
    """Yield samples, new rows, the share that can be explained, and a regressor, over a wide set."""
    for seed in range(WARNING_RUNS):
        rng = np.random.default_rng(seed)
        d, share = int(rng.choice([3, 5, 10, 20, 30])), float(rng.choice([0.01, 0.03, 0.1, 0.3, 0.5, 0.9]))
        n = int(10 ** rng.uniform(3, 6 if seed % 10 == 0 else 5))
        name, width = str(rng.choice(list(ESTIMATORS))), float(rng.choice([1, 1, 3]))
        correlation = float(rng.choice([0, 0, 0.8]))
        variance = error_distribution_of(name).variance
        direction = draw(4000, rng.normal(size=d), 0.0, name, rng, correlation)
        size = np.sqrt(share / (1 - share) * variance) / np.std(direction.X @ direction.coef)
        sample = draw(n, size * direction.coef, rng.normal(), name, rng, correlation)
        new = draw(20_000, sample.coef, sample.intercept, name, rng, correlation)
        bound = width * 4 * np.sqrt(variance / (1 - share))
        options = dict(GAUSSIAN) if rng.integers(2) else {}
        typical = np.sqrt(d) + 2.5 if options else 0.8 * d + 2 * np.sqrt(d)
        options |= {"x_norm": width * typical} if rng.integers(2) else {"bounds_X": (-4 * width, 4 * width)}
        options["regularization"] = str(rng.choice(["floor", "floor", "floor", "none", "trim", "zhang"]))
        epsilon = float(np.exp(rng.uniform(np.log(0.1), np.log(8))))
        model = ESTIMATORS[name](epsilon, bounds_y=(-bound, bound), random_state=seed, **options)
        yield sample, new, share, model


def print_warnings() -> None:
    found = []
    for sample, new, share, model in problems():
        warned = fit_warns(model, sample.X, sample.y)
        lost = np.mean((model.predict_mean(new.X) - new.y) ** 2) / np.var(new.y)
        found.append((warned, 1 - lost, (1 - lost) / share))
    warned, gain, kept = np.array(found).T
    print(
        f"warning over {len(found)} fits: d 3-30, n 1e3-1e6, epsilon .1-8, .01-.9 of the variance explained"
    )
    table = Table(("a fit is", "<50"), ("fits", ">6"), ("warned", ">6.1%"), indent=2)
    for what, these in (
        ("worse than the best constant", gain < 0),
        ("better, less than half of what can be explained", (gain >= 0) & (kept < 0.5)),
        ("half to four fifths of it", (kept >= 0.5) & (kept < 0.8)),
        ("more", kept >= 0.8),
    ):
        table.row(what, these.sum(), warned[these].mean() if these.any() else None)


# -- Quantiles and intervals.


def half_explained(n: int, d: int, name: str, rng: np.random.Generator) -> tuple[Sample, float]:
    """Draw rows whose features explain half of the variance, and bounds of y at four standard deviations."""
    variance = error_distribution_of(name).variance
    coef = rng.normal(size=d)
    coef *= np.sqrt(variance) / np.linalg.norm(coef)
    return draw(n, coef, rng.normal(), name, rng), 4 * float(np.sqrt(2 * variance)) + 1


def quantile_shares(name: str, seed: int, levels: FloatArray) -> FloatArray:
    """Return the shares of new targets below the predicted quantiles of these levels."""
    rng = np.random.default_rng(seed)
    sample, bound = half_explained(QUANTILE_ROWS, QUANTILE_D, name, rng)
    model = ESTIMATORS[name](
        QUANTILE_EPSILON, bounds_X=(-4, 4), bounds_y=(-bound, bound), random_state=seed
    ).fit(sample.X, sample.y)
    new = draw(50_000, sample.coef, sample.intercept, name, rng)
    return (new.y[:, np.newaxis] <= model.predict_quantile(new.X, levels)).mean(axis=0)


def print_quantiles() -> None:
    levels = np.array([0.1, 0.5, 0.9])
    print(
        f"share of new y below quantiles, d={QUANTILE_D} n={QUANTILE_ROWS} epsilon={QUANTILE_EPSILON:g}, "
        f"{QUANTILE_RUNS} runs"
    )
    table = Table(
        *(("family", "<8"), *across(("10 %", "50 %", "90 %"), ">6.3f")),
        *(("within .02", ">10.0%"), ("worst", ">6.3f")),
        indent=2,
    )
    for name in ESTIMATORS:
        shares = np.array([quantile_shares(name, seed, levels) for seed in range(QUANTILE_RUNS)])
        worst = np.abs(shares - levels).max(axis=1)
        table.row(name, *shares.mean(axis=0), np.mean(worst <= 0.02), worst.max())


def covered(name: str, d: int, seed: int, options: dict[str, Any]) -> tuple[float, bool, bool]:
    """Return whether the 90 % intervals of the slopes (their share), the scale and a B10 hold the truth."""
    rng = np.random.default_rng(seed)
    sample, bound = half_explained(100_000, d, name, rng)
    model = ESTIMATORS[name](1.0, bounds_X=(-4, 4), bounds_y=(-bound, bound), random_state=seed, **options)
    model.fit(sample.X, sample.y)
    low, high = model.coef_interval_.T
    x = rng.normal(size=(1, d))
    b10 = sample.intercept + float(x[0] @ sample.coef) + float(error_distribution_of(name).quantile(0.1))
    _, interval = model.predict_quantile(x, 0.1, return_interval=True)
    slopes = float(np.mean((low <= sample.coef) & (sample.coef <= high)))
    return slopes, holds(model.scale_interval_, 1.0), holds(interval[0], b10)


def print_intervals() -> None:
    print(f"share of 90 % intervals that hold the truth, n=100000 epsilon=1, {INTERVAL_RUNS} runs")
    table = Table(
        *(("noise", "<8"), ("family", "<8"), ("d", ">3"), *across(("slopes", "scale", "B10"), ">6.3f")),
        indent=2,
    )
    for mechanism, options in (("laplace", {}), ("gaussian", GAUSSIAN)):
        for name, d in itertools.product(ESTIMATORS, (5, 10)):
            hits = np.mean([covered(name, d, seed, options) for seed in range(INTERVAL_RUNS)], axis=0)
            table.row(mechanism, name, d, *hits)


def run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        print_accuracies()
        print_quantiles()
        print_intervals()
    print_warnings()
