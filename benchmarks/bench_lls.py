# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of uncensored private regression, its warning, its quantiles and its intervals, on simulations."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogisticLLSRegressor, DPNormalLLSRegressor, DPSEVRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model._distributions import SEV, error_distribution_of
from skprivate.linear_model._moments.release import MomentRelease
from skprivate.linear_model._moments.solve import solve_moments

FloatArray = NDArray[np.float64]

ESTIMATORS = {"sev": DPSEVRegressor, "logistic": DPLogisticLLSRegressor, "normal": DPNormalLLSRegressor}
GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian", "delta": 1e-6}
REPETITIONS = 20
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
    return {
        "OLS": least_squares(sample),
        "paper": paper_fit(sample, epsilon, seed, literal),
        "tight": paper_fit(sample, epsilon, seed, literal / 2),
        "cube": our_fit(sample, epsilon, seed),
        "L1 ball": our_fit(sample, epsilon, seed, x_norm=0.8 * d + 2 * np.sqrt(d)),
        "cube, Gauss": our_fit(sample, epsilon, seed, **GAUSSIAN),
        "L2 ball, Gauss": our_fit(sample, epsilon, seed, x_norm=np.sqrt(d) + 2, **GAUSSIAN),
    }


def print_accuracies() -> None:
    print(
        f"median of |prediction / y - 1|, in brackets relative error of the slopes; {REPETITIONS} repetitions"
    )
    for d, n, epsilon in SETTINGS:
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(REPETITIONS):
            rng = np.random.default_rng(seed)
            sample = draw(n, rng.normal(size=d), rng.normal(), "sev", rng)
            new = draw(5000, sample.coef, sample.intercept, "sev", rng)
            for name, (coef, line) in fits(sample, epsilon, seed).items():
                error = np.median(np.abs((new.X @ coef + line) / new.y - 1))
                off = np.linalg.norm(coef - sample.coef) / np.linalg.norm(sample.coef)
                found.setdefault(name, []).append((float(error), float(off)))
        cells = (
            f"{name} {e:.3f} ({b:.3f})" for name, (e, b) in ((k, np.median(v, 0)) for k, v in found.items())
        )
        print(f"  d={d} n={n} epsilon={epsilon:g}: " + "; ".join(cells), flush=True)


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
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(sample.X, sample.y)
        warned = any(issubclass(warning.category, UtilityWarning) for warning in caught)
        lost = np.mean((model.predict_mean(new.X) - new.y) ** 2) / np.var(new.y)
        found.append((warned, 1 - lost, (1 - lost) / share))
    warned, gain, kept = np.array(found).T
    print(
        f"warning over {len(found)} fits: d 3-30, n 1e3-1e6, epsilon .1-8, .01-.9 of the variance explained"
    )
    for what, these in (
        ("worse than the best constant", gain < 0),
        ("better, less than half of what can be explained", (gain >= 0) & (kept < 0.5)),
        ("half to four fifths of it", (kept >= 0.5) & (kept < 0.8)),
        ("more", kept >= 0.8),
    ):
        print(f"  {what}: warned in {warned[these].mean():.1%} of {these.sum()}", flush=True)


# -- Quantiles and intervals.


def half_explained(n: int, d: int, name: str, rng: np.random.Generator) -> tuple[Sample, float]:
    """Draw rows whose features explain half of the variance, and bounds of y at four standard deviations."""
    variance = error_distribution_of(name).variance
    coef = rng.normal(size=d)
    coef *= np.sqrt(variance) / np.linalg.norm(coef)
    return draw(n, coef, rng.normal(), name, rng), 4 * float(np.sqrt(2 * variance)) + 1


def print_quantiles() -> None:
    d, n, epsilon, levels = 10, 100_000, 2.0, np.array([0.1, 0.5, 0.9])
    print(f"share of new y below 10/50/90 % quantiles, d={d} n={n} epsilon={epsilon:g}, {QUANTILE_RUNS} runs")
    for name, kind in ESTIMATORS.items():
        shares = []
        for seed in range(QUANTILE_RUNS):
            rng = np.random.default_rng(seed)
            sample, bound = half_explained(n, d, name, rng)
            model = kind(epsilon, bounds_X=(-4, 4), bounds_y=(-bound, bound), random_state=seed)
            model.fit(sample.X, sample.y)
            new = draw(50_000, sample.coef, sample.intercept, name, rng)
            shares.append((new.y[:, np.newaxis] <= model.predict_quantile(new.X, levels)).mean(axis=0))
        worst = np.abs(np.array(shares) - levels).max(axis=1)
        mean = " ".join(f"{share:.3f}" for share in np.mean(shares, axis=0))
        print(
            f"  {name}: mean {mean}; within .02 in {np.mean(worst <= 0.02):.0%}, worst {worst.max():.3f}",
            flush=True,
        )


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
    return slopes, _holds(model.scale_interval_, 1.0), _holds(interval[0], b10)


def _holds(interval: FloatArray, value: float) -> bool:
    return bool(interval[0] <= value <= interval[1])


def print_intervals() -> None:
    print(f"share of 90 % intervals that hold the truth, n=100000 epsilon=1, {INTERVAL_RUNS} runs")
    for mechanism, options in (("laplace", {}), ("gaussian", GAUSSIAN)):
        for name in ESTIMATORS:
            for d in (5, 10):
                hits = np.mean([covered(name, d, seed, options) for seed in range(INTERVAL_RUNS)], axis=0)
                cells = "  ".join(
                    f"{what} {hit:.3f}" for what, hit in zip(("slopes", "scale", "B10"), hits, strict=True)
                )
                print(f"  {mechanism:<8} {name:<8} d={d:<2}  {cells}", flush=True)


def run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        print_accuracies()
        print_quantiles()
        print_intervals()
    print_warnings()


if __name__ == "__main__":
    run()
