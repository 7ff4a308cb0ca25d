# SPDX-License-Identifier: BSD-3-Clause
"""Earlier versions and prototypes of life data fits beside this one: binary columns, intervals, residuals.

``python -m benchmarks.figures.life_data.tables --help`` lists the options. "before" is what the fits reached
before columns of zeros and ones were bounded as they must be, and before residuals were released; "prototype"
what was hoped for. Both were measured once, on the same designs and other rows.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogLocationScaleRegressor, DPNormalLLSRegressor
from skprivate.linear_model._distributions import error_distribution_of

from ..._tables import Table, mean_and_error, median_and_error
from ._checks import fit_warns, holds
from ._observed import ERRORS
from .adassp import APART, DELTA, FIRST_SEED, excess, norms, simulate
from .uncensored import ESTIMATORS, draw, y_bound

FloatArray = NDArray[np.float64]

Pair = tuple[str | None, str | None]

#: Rows and share of censored ones of the fits with columns of zeros and ones, which nothing else says.
BINARY_ROWS, BINARY_CENSORED = 200_000, 0.5
BINARY_INTERCEPT = 9.0
#: The design of five normal columns: bounds at four standard deviations, of log time at five.
D, BOUND_X, BOUND_Y = 5, 4.0, 5.0
RUNS = 20
LOOK_D, LOOK_ROWS, LOOK_EPSILON = 10, 100_000, 2.0


def run(arguments: Sequence[str] = ()) -> None:
    """Print the tables, or those that the options name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.life_data.tables")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--runs", type=int, default=RUNS, help=f"data sets a line (default: {RUNS})")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.tables:
            TABLES[name](options.runs)


@dataclass(frozen=True, eq=False)
class Design:
    """Features, slopes, intercept and scale of lifetimes, and the bounds of the features."""

    X: FloatArray
    coef: FloatArray
    intercept: float
    scale: float
    bounds: tuple[Any, Any]

    def target(
        self, distribution: str, censored: float, rng: np.random.Generator, spread: float
    ) -> NDArray[Any]:
        """Draw lifetimes; the watch ends at one time, or at times spread by so much up and down in log."""
        error = error_distribution_of(ERRORS[distribution])
        life = self.intercept + self.X @ self.coef
        life = life + self.scale * error.quantile(rng.uniform(np.finfo(float).tiny, 1, len(life)))
        start = rng.uniform(-spread, spread, len(life))
        end = start + np.quantile(life - start, 1 - censored)
        y = np.empty(len(life), dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = life <= end, np.exp(np.minimum(life, end))
        return y


# -- Columns of zeros and ones.


def _coins(share: float) -> Callable[[np.random.Generator], Design]:
    def make(rng: np.random.Generator) -> Design:
        X = (rng.random((BINARY_ROWS, 1)) < share).astype(np.float64)
        return Design(X, np.array([-0.8]), BINARY_INTERCEPT, 0.5, (0, 1))

    return make


def _two_and_two(rng: np.random.Generator) -> Design:
    normal = np.clip(rng.standard_normal((BINARY_ROWS, 2)), -3, 3)
    X = np.column_stack([normal, rng.random((BINARY_ROWS, 2)) < (0.5, 1 / 3)])
    bounds = np.array([-3.0, -3, 0, 0]), np.array([3.0, 3, 1, 1])
    return Design(X, np.array([0.4, -0.3, -0.8, 0.5]), BINARY_INTERCEPT, 0.5, bounds)


#: Columns, epsilon; before and prototype of the first binary slope, and of the error of log B10.
BINARY: tuple[tuple[str, Any, float, Pair, Pair], ...] = (
    ("fair coin flips", _coins(0.5), 1.0, ("-.51", "-.797"), (".32", ".005")),
    ("fair coin flips", _coins(0.5), 1000.0, (None, None), (None, None)),
    ("one in a third", _coins(1 / 3), 1.0, (".5", None), (None, None)),
    ("one in a third", _coins(1 / 3), 1000.0, (None, None), (None, None)),
    ("two normal, two binary", _two_and_two, 1.0, (None, None), (".110", ".013")),
    ("two normal, two binary", _two_and_two, 1000.0, (None, None), (".120", ".004")),
)


def print_binary(runs: int) -> None:
    """Print slopes of a binary column and errors of the B10 life, whose truth is -.8 and 0."""
    print(
        f"columns of zeros and ones: Weibull, n = {BINARY_ROWS}, {BINARY_CENSORED:.0%} censored, slope -.8, "
        f"{runs} runs; medians ± standard errors"
    )
    table = Table(
        *(("columns", "<22"), ("epsilon", ">7g"), ("slope before", ">12"), ("prototype", ">9")),
        *(("here", ">13"), ("log B10 error before", ">20"), ("prototype", ">9"), ("here", ">13")),
        *(("B10 held", ">8.2f"), ("warned", ">6.2f")),
        indent=2,
    )
    for name, make, epsilon, slopes, errors in BINARY:
        found = np.array([_binary(make, epsilon, seed) for seed in range(runs)])
        slope, error, held, warned = found.T
        shown = *slopes, median_and_error(slope), *errors, median_and_error(error, 4)
        table.row(name, epsilon, *shown, held.mean(), warned.mean())


def _binary(make: Callable[[np.random.Generator], Design], epsilon: float, seed: int) -> list[float]:
    """Return the slope of a binary column, the error of log B10 where all columns are 0, held, warned."""
    rng = np.random.default_rng([seed, 20261123])
    design = make(rng)
    y = design.target("weibull", BINARY_CENSORED, rng, 1.0)
    model = DPLogLocationScaleRegressor(
        epsilon, bounds_X=design.bounds, bounds_y=(10, 1e6), random_state=1000 + seed
    )
    warned = fit_warns(model, design.X, y)
    truth = design.intercept + design.scale * float(model.error_distribution_.quantile(0.1))
    b10, ends = model.predict_quantile(np.zeros((1, design.X.shape[1])), 0.1, return_interval=True)
    slope = model.coef_[np.flatnonzero(design.coef == -0.8)[0]]
    return [slope, abs(np.log(b10[0]) - truth), holds(ends[0], np.exp(truth)), warned]


# -- Five normal columns.


@dataclass(frozen=True)
class Fitted:
    """Errors of one fit, and whether its intervals held."""

    b10: float
    scale: float
    b10_held: bool
    scale_held: bool
    slopes_held: float
    warned: bool


def _fit_normal(distribution: str, n: int, censored: float, scale: float, seed: int) -> Fitted:
    """Fit the standard design at epsilon 1; errors are of B10 in scales and of log scale, by its sign."""
    rng = np.random.default_rng([seed, 20261124])
    coef = rng.standard_normal(D)
    X = np.clip(rng.standard_normal((n, D)), -BOUND_X, BOUND_X)
    design = Design(X, coef / np.linalg.norm(coef), 0.0, scale, (-BOUND_X, BOUND_X))
    # One end of the watch for all, or ends over some time in odd runs.
    y = design.target(distribution, censored, rng, 1.5 * (seed % 2))
    model = DPLogLocationScaleRegressor(
        epsilon=1.0,
        distribution=distribution,
        bounds_X=design.bounds,
        bounds_y=(np.exp(-BOUND_Y), np.exp(BOUND_Y)),
        random_state=1000 + seed,
    )
    warned = fit_warns(model, X, y)
    truth = scale * float(model.error_distribution_.quantile(0.1))
    b10, ends = model.predict_quantile(np.zeros((1, D)), 0.1, return_interval=True)
    low, high = model.coef_interval_.T
    return Fitted(
        abs(float(np.log(b10[0])) - truth) / scale,
        model.scale_ / scale - 1,
        holds(ends[0], np.exp(truth)),
        holds(model.scale_interval_, scale),
        float(np.mean((low <= design.coef) & (design.coef <= high))),
        warned,
    )


#: Distribution, share censored; before and without the one-sided allowance: B10 and scale.
INTERVALS: tuple[tuple[str, float, Pair, Pair], ...] = (
    ("weibull", 0.8, (".04", None), (None, None)),
    ("weibull", 0.3, (".65", ".92"), (".75", None)),
    ("loglogistic", 0.3, (".51", ".80"), (".64", None)),
    ("lognormal", 0.3, (".47", ".92"), (".82", None)),
)


def print_intervals(runs: int) -> None:
    """Print how often 90 % intervals of censored fits hold the truth."""
    print(f"90 % intervals of censored fits that hold: n = 100000, d = {D}, epsilon 1, {runs} runs")
    table = Table(
        *(("distribution", "<12"), ("censored", ">8.0%"), ("B10 before", ">10"), ("prototype", ">9")),
        *(("here", ">13"), ("scale before", ">12"), ("here", ">13"), ("slopes", ">13"), ("warned", ">6.2f")),
        indent=2,
    )
    for distribution, censored, b10, scale in INTERVALS:
        fits = [_fit_normal(distribution, 100_000, censored, 0.5, seed) for seed in range(runs)]
        held = [[fit.b10_held, fit.scale_held, fit.slopes_held] for fit in fits]
        cells = [mean_and_error(part, 2) for part in np.transpose(held).astype(float)]
        warned = np.mean([fit.warned for fit in fits])
        table.row(distribution, censored, *b10, cells[0], scale[0], *cells[1:], warned)


#: Distribution, rows, share censored, scale; before and prototype: B10, scale, bias of the scale.
RESIDUALS: tuple[tuple[str, int, float, float, Pair, Pair, Pair], ...] = (
    ("weibull", 100_000, 0.8, 0.5, (".099", ".044"), (".060", ".026"), ("+.050", "-.008")),
    ("loglogistic", 100_000, 0.8, 0.5, (".102", ".049"), (".051", ".023"), ("+.060", "-.009")),
    ("lognormal", 100_000, 0.8, 0.5, (".168", ".103"), (".115", ".033"), ("+.105", "-.016")),
    ("weibull", 100_000, 0.3, 0.5, (".036", ".012"), (".017", ".006"), (None, None)),
    ("loglogistic", 100_000, 0.3, 0.5, (".022", ".008"), (".012", ".008"), (None, None)),
    ("lognormal", 100_000, 0.3, 0.5, (".033", ".005"), (".035", ".006"), (None, None)),
    ("weibull", 1_000_000, 0.3, 0.1, (".101", ".021"), (".053", ".005"), (None, None)),
)
#: Runs of a million rows, of which each takes as long as ten.
MOST_LARGE = 5


def print_residuals(runs: int) -> None:
    """Print errors of B10 and scale of censored fits."""
    print(f"censored fits, d = {D}, epsilon 1, {runs} runs: median errors ± standard errors, mean bias")
    three = (("before", ">6"), ("prototype", ">9"), ("here", ">13"))
    table = Table(
        *(("distribution", "<12"), ("n", ">7"), ("censored", ">8.0%"), ("scale", ">5g"), ("", "<3")),
        *(*three, ("", "<5"), *three, ("", "<4"), *three, ("warned", ">6.2f")),
        indent=2,
    )
    for distribution, n, censored, scale, *pairs in RESIDUALS:
        times = min(runs, MOST_LARGE) if n > 100_000 else runs
        fits = [_fit_normal(distribution, n, censored, scale, 500 + seed) for seed in range(times)]
        b10, scales = (np.array(part) for part in zip(*((fit.b10, fit.scale) for fit in fits), strict=True))
        here = median_and_error(b10), median_and_error(np.abs(scales)), mean_and_error(scales)
        parts = [
            (what, *pair, cell)
            for what, pair, cell in zip(("B10", "scale", "bias"), pairs, here, strict=True)
        ]
        warned = np.mean([fit.warned for fit in fits])
        table.row(distribution, n, censored, scale, *(cell for part in parts for cell in part), warned)


# -- Complete targets.

#: Distribution; before and prototype: quantiles within two points, slopes, scale.
LOOKS: tuple[tuple[str, Pair, Pair, Pair], ...] = (
    ("sev", (".67", "1.0"), (".039", ".011"), (".046", ".023")),
    ("normal", (".67", "1.0"), (".039", ".008"), (".035", ".005")),
    ("logistic", ("1.0", "1.0"), (".031", ".014"), (".013", ".015")),
)


def print_looks(runs: int) -> None:
    """Print how well complete targets are fitted with Laplace noise."""
    print(
        f"complete targets, d = {LOOK_D}, n = {LOOK_ROWS}, epsilon {LOOK_EPSILON:g}, Laplace noise, {runs} "
        "runs: share with all quantiles within two points, median relative errors"
    )
    three = (("before", ">6"), ("prototype", ">9"), ("here", ">13"))
    table = Table(
        *(("distribution", "<12"), ("", "<9"), *three, ("", "<6"), *three, ("", "<5"), *three),
        indent=2,
    )
    for name, *pairs in LOOKS:
        found = np.array([_look(name, seed) for seed in range(runs)])
        within, slopes, scale = found.T
        here = mean_and_error(within, 2), median_and_error(slopes), median_and_error(scale)
        whats = "quantiles", "slopes", "scale"
        parts = [(what, *pair, cell) for what, pair, cell in zip(whats, pairs, here, strict=True)]
        table.row(name, *(cell for part in parts for cell in part))


def _look(name: str, seed: int) -> list[float]:
    rng = np.random.default_rng([seed, 20261125])
    sample = draw(LOOK_ROWS, rng.normal(size=LOOK_D), rng.normal(), name, rng)
    bound = y_bound(LOOK_D)
    model = ESTIMATORS[name](
        LOOK_EPSILON, bounds_X=(-4, 4), bounds_y=(-bound, bound), random_state=1000 + seed
    ).fit(sample.X, sample.y)
    levels = np.array([0.1, 0.5, 0.9])
    new = draw(50_000, sample.coef, sample.intercept, name, rng)
    shares = (new.y[:, np.newaxis] <= model.predict_quantile(new.X, levels)).mean(axis=0)
    error = np.linalg.norm(model.coef_ - sample.coef) / np.linalg.norm(sample.coef)
    return [np.max(np.abs(shares - levels)) <= 0.02, float(error), abs(model.scale_ - 1)]


# -- Complete targets with Gaussian noise, beside other methods.

#: d, n, epsilon, width of the bounds; one release, AdaSSP, BoostedAdaSSP for an added row, prototype.
EXCESSES: tuple[tuple[int, int, float, float, str, str, str, str], ...] = (
    (10, 10_000, 1.0, 1.0, ".015", ".026", ".0015", ".0066"),
    (10, 100_000, 0.5, 1.0, "5.4e-4", "1.1e-3", "5.9e-5", "5.2e-5"),
    (10, 100_000, 2.0, 1.0, "6.0e-5", "8.8e-5", "1.9e-5", "1.8e-5"),
    (30, 100_000, 1.0, 1.0, "1.7e-3", "2.2e-3", "6.2e-5", "3.2e-5"),
    (10, 100_000, 2.0, 10.0, ".15", ".46", ".039", ".022"),
    (30, 100_000, 1.0, 10.0, ".74", ".88", ".038", ".68"),
)


def print_excesses(runs: int) -> None:
    """Print excess errors with Gaussian noise and norm bounds."""
    print(
        f"complete targets, excess squared error over |slopes|^2, Gaussian noise, delta {DELTA:g}, "
        f"norm bounds, median of {runs} runs; replace-one, but boosted for an added row, as ours in brackets"
    )
    before = ("one release", ">11"), ("AdaSSP", ">7"), ("boosted", ">7"), ("prototype", ">9")
    table = Table(
        *(("d", ">3"), ("n", ">7"), ("epsilon", ">7g"), ("bounds", ">6"), *before),
        *(("here", ">8.2g"), ("(add-remove)", ">12.2g")),
        indent=2,
    )
    for d, n, epsilon, width, *others in EXCESSES:
        found = [_excesses(d, n, epsilon, width, FIRST_SEED + 500 + seed) for seed in range(runs)]
        table.row(d, n, epsilon, f"x {width:g}", *others, *np.median(found, axis=0))


def _excesses(d: int, n: int, epsilon: float, width: float, seed: int) -> list[float]:
    X, y, beta = simulate(n, d, seed)
    x_norm, y_norm = norms(d, width)
    model = DPNormalLLSRegressor(
        epsilon,
        delta=DELTA,
        mechanism="gaussian",
        x_norm=x_norm,
        bounds_y=(-y_norm, y_norm),
        random_state=seed + APART,
    )
    found = []
    for relation in ("replace-one", "add-remove"):
        fit = model.set_params(relation=relation).fit(X, y)
        found.append(excess(fit.coef_, fit.intercept_, beta))
    return found


TABLES: dict[str, Callable[[int], None]] = {
    "binary": print_binary,
    "intervals": print_intervals,
    "residuals": print_residuals,
    "looks": print_looks,
    "excesses": print_excesses,
}

if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
