# SPDX-License-Identifier: BSD-3-Clause
"""Errors, quantiles and interval coverage of uncensored private regression on simulations."""

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from skprivate import DPLogisticLLSRegressor, DPNormalLLSRegressor, DPSEVRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model._distributions import SEV, error_distribution_of
from skprivate.linear_model._moments.released_moments import MomentRelease, solve_moments

from ..._tables import Table, across
from ._checks import holds

FloatArray = NDArray[np.float64]
#: Slopes, and the line's value at the origin.
Line = tuple[FloatArray, float]

ESTIMATORS = {"sev": DPSEVRegressor, "logistic": DPLogisticLLSRegressor, "normal": DPNormalLLSRegressor}
GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian", "delta": 1e-6}
LEVELS = np.array([0.1, 0.5, 0.9])


@dataclass(frozen=True)
class Sizes:
    """Designs (d, n, epsilon) and their repetitions; runs of the other tables, and their rows."""

    designs: tuple[tuple[int, int, float], ...] = (
        (10, 10_000, 2.0),
        (10, 100_000, 0.5),
        (10, 1_000_000, 0.5),
        (30, 100_000, 2.0),
        (30, 1_000_000, 0.5),
    )
    repetitions: int = 20
    quantile_runs: int = 40
    interval_runs: int = 200
    rows: int = 100_000
    dimensions: tuple[int, ...] = (5, 10)


SIZES = {False: Sizes(), True: Sizes(((3, 2_000, 2.0),), 2, 2, 2, 2_000, (2,))}


def run(*, small: bool = False) -> None:
    """Print the tables."""
    sizes = SIZES[small]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        print_accuracies(sizes)
        print_quantiles(sizes)
        print_intervals(sizes)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, and the model that they come from: errors of scale 1."""

    X: FloatArray
    y: FloatArray
    coef: FloatArray
    intercept: float


def draw(n: int, coef: FloatArray, intercept: float, name: str, rng: np.random.Generator) -> Sample:
    """Draw normal features of variance 1."""
    X = rng.normal(size=(n, len(coef)))
    errors = error_distribution_of(name).quantile(rng.uniform(np.finfo(float).tiny, 1, size=n))
    return Sample(X, intercept + X @ coef + errors, coef, intercept)


# -- The table of accuracies.


def paper_fit(sample: Sample, bound: float, epsilon: float, seed: int, delta: float) -> Line:
    """Fit with noise of scale delta / epsilon on the coefficients of the polynomial, and no regulariser.

    Features are scaled to [0, 1 / sqrt(d)], as the paper does, but by public bounds. The noise is NumPy's.
    """
    d = sample.X.shape[1]
    y = np.clip(sample.y / bound, -1, 1)
    z = np.column_stack([np.ones(len(y)), y, (np.clip(sample.X / 4, -1, 1) + 1) / 2 / np.sqrt(d)])
    scale = delta / epsilon * (1 + np.eye(d + 2))
    noise = np.triu(np.random.default_rng(10_000 + seed).laplace(size=scale.shape)) * scale
    noise[0, 0] = 0.0
    noisy = MomentRelease(z.T @ z + noise + np.triu(noise, 1).T, np.zeros_like(scale), "laplace")
    fit = solve_moments(noisy, SEV, "none", (1e-3, 2.0))
    line = fit.intercept + SEV.mean * fit.scale + fit.coef.sum() / 2 / np.sqrt(d)
    return fit.coef * bound / 8 / np.sqrt(d), line * bound


def fits(sample: Sample, epsilon: float, seed: int) -> Iterator[tuple[str, Line]]:
    """Yield the names and lines of every method on one sample."""
    d = sample.X.shape[1]
    # Four standard deviations of y: coefficients have variance 1, the error pi^2 / 6.
    bound = 4 * float(np.sqrt(d + 2.6))
    plain = LinearRegression().fit(sample.X, sample.y)
    yield "OLS", (plain.coef_, plain.intercept_)
    literal = 4 + 4 * np.sqrt(d) + d
    for name, delta in (("paper", literal), ("tight", literal / 2)):
        yield name, paper_fit(sample, bound, epsilon, seed, delta)
    for name, options in {
        "cube": {"bounds_X": (-4, 4)},
        "L1 ball": {"x_norm": 0.8 * d + 2 * np.sqrt(d)},
        "cube, Gauss": {"bounds_X": (-4, 4), **GAUSSIAN},
        "L2 ball, Gauss": {"x_norm": np.sqrt(d) + 2, **GAUSSIAN},
    }.items():
        model = DPSEVRegressor(epsilon, bounds_y=(-bound, bound), random_state=seed, **options)
        model.fit(sample.X, sample.y)
        yield name, (model.coef_, model.intercept_ + SEV.mean * model.scale_)


def print_accuracies(sizes: Sizes) -> None:
    print(f"median of |prediction / y - 1|, in brackets error of the slopes; {sizes.repetitions} repetitions")
    names = ("OLS", "paper", "tight", "cube", "L1 ball", "cube, Gauss", "L2 ball, Gauss")
    table = Table(("d", ">3"), ("n", ">7"), ("epsilon", ">7g"), *across(names, ">13"), indent=2)
    for d, n, epsilon in sizes.designs:
        found = []
        for seed in range(sizes.repetitions):
            rng = np.random.default_rng(seed)
            sample = draw(n, rng.normal(size=d), rng.normal(), "sev", rng)
            new = draw(5000, sample.coef, sample.intercept, "sev", rng)
            lines = dict(fits(sample, epsilon, seed))
            found.append([_errors(sample, new, *lines[name]) for name in names])
        medians = np.median(found, axis=0)
        table.row(d, n, epsilon, *(f"{error:.3f} ({slopes:.3f})" for error, slopes in medians))


def _errors(sample: Sample, new: Sample, coef: FloatArray, line: float) -> tuple[float, float]:
    """Return the median relative error of predictions, and the relative error of the slopes."""
    error = np.median(np.abs((new.X @ coef + line) / new.y - 1))
    return float(error), float(np.linalg.norm(coef - sample.coef) / np.linalg.norm(sample.coef))


# -- Quantiles and intervals, where features explain half of the variance.


def half_explained(n: int, d: int, name: str, seed: int, epsilon: float, **options: Any) -> tuple[Any, ...]:
    """Return a fit within bounds at four standard deviations, its sample, and what draws more."""
    rng = np.random.default_rng(seed)
    variance = error_distribution_of(name).variance
    coef = rng.normal(size=d)
    coef *= np.sqrt(variance) / np.linalg.norm(coef)
    sample, bound = draw(n, coef, rng.normal(), name, rng), 4 * float(np.sqrt(2 * variance)) + 1
    known: dict[str, Any] = {"bounds_X": (-4, 4), "bounds_y": (-bound, bound), **options}
    return ESTIMATORS[name](epsilon, random_state=seed, **known).fit(sample.X, sample.y), sample, rng


def print_quantiles(sizes: Sizes) -> None:
    runs = sizes.quantile_runs
    print(f"share of new y below quantiles, d=10 n={sizes.rows} epsilon=2, {runs} runs")
    columns = ("family", "<8"), *across(("10 %", "50 %", "90 %"), ">6.3f")
    table = Table(*columns, ("within .02", ">10.0%"), ("worst", ">6.3f"), indent=2)
    for name in ESTIMATORS:
        shares = []
        for seed in range(runs):
            model, sample, rng = half_explained(sizes.rows, 10, name, seed, 2.0)
            new = draw(50_000, sample.coef, sample.intercept, name, rng)
            shares.append((new.y[:, np.newaxis] <= model.predict_quantile(new.X, LEVELS)).mean(axis=0))
        worst = np.abs(shares - LEVELS).max(axis=1)
        table.row(name, *np.mean(shares, axis=0), np.mean(worst <= 0.02), worst.max())


def print_intervals(sizes: Sizes) -> None:
    runs = sizes.interval_runs
    print(f"share of 90 % intervals that hold the truth, n={sizes.rows} epsilon=1, {runs} runs")
    columns = ("noise", "<8"), ("family", "<8"), ("d", ">3")
    table = Table(*columns, *across(("slopes", "scale", "B10"), ">6.3f"), indent=2)
    for mechanism, options in (("laplace", {}), ("gaussian", GAUSSIAN)):
        for name, d in itertools.product(ESTIMATORS, sizes.dimensions):
            held = [
                _held(name, *half_explained(sizes.rows, d, name, seed, 1.0, **options))
                for seed in range(runs)
            ]
            table.row(mechanism, name, d, *np.mean(held, axis=0))


def _held(name: str, model: Any, sample: Sample, rng: np.random.Generator) -> tuple[float, bool, bool]:
    """Return whether the intervals of the slopes (their share), the scale and a B10 hold the truth."""
    low, high = model.coef_interval_.T
    x = rng.normal(size=(1, len(sample.coef)))
    b10 = sample.intercept + float(x[0] @ sample.coef) + float(error_distribution_of(name).quantile(0.1))
    _, interval = model.predict_quantile(x, 0.1, return_interval=True)
    slopes = float(np.mean((low <= sample.coef) & (sample.coef <= high)))
    return slopes, holds(model.scale_interval_, 1.0), holds(interval[0], b10)
