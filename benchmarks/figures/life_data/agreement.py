# SPDX-License-Identifier: BSD-3-Clause
"""Fits without noise to speak of (epsilon 1e6) against lifelines, reliability and scikit-survival.

``python -m benchmarks.figures.life_data.agreement --help`` lists the options. Peers fit by maximum
likelihood. Ours takes the moments of complete lifetimes, which are less efficient, and cuts hazards (at usual
epsilons early), so that estimates from the same rows differ by sampling. What is not installed is left out:
``pip install lifelines reliability scikit-survival``.
"""

import argparse
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogLocationScaleRegressor, TableDomain
from skprivate.domain import StressColumn
from skprivate.domain._columns import KELVIN_PER_EV

from ..._peers.lifelines import LikelihoodFit, likelihood_fit
from ..._peers.reliability import life_fit, stress_fit
from ..._tables import Table
from ._checks import fit_warns
from ._observed import BOUNDS_X, BOUNDS_Y, COEF, ERRORS, INTERCEPT, SCALE, WAYS, observe

FloatArray = NDArray[np.float64]

EPSILON = 1e6
N_ROWS = 50_000
#: The default, which hardly cuts where there is no noise, and that of usual epsilons.
CLIPS = ("auto", 1.0)
#: Tables, and the packages that they need.
TABLES = {
    "lifelines": ("lifelines",),
    "distributions": ("reliability",),
    "stress": ("reliability",),
    "scores": ("lifelines", "sksurv"),
}
RIGHT = ("exact", "right 30 %", "right 80 %")
#: Per cent.
GOAL = 1.0
#: Half-width of a 90 % interval in standard errors.
NORMAL_95 = 1.6449


def run(arguments: Sequence[str] = ()) -> None:
    """Print the tables whose packages are installed."""
    options = _options(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.tables:
            missing = [package for package in TABLES[name] if find_spec(package) is None]
            if missing:
                print(f"the table of {name} is left out, for want of: {', '.join(missing)}")
            else:
                _PRINT[name](options)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.life_data.agreement")
    add = parser.add_argument
    add("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    add("--rows", type=int, default=N_ROWS, help=f"rows of a fit (default: {N_ROWS})")
    add("--runs", type=int, default=1, help="data sets a line, of which medians are printed (default: 1)")
    add("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="how lifetimes are observed")
    add("--distributions", nargs="+", choices=ERRORS, default=list(ERRORS))
    add("--hazard-clips", nargs="+", type=_clip, default=CLIPS, help="of our fits (default: auto 1)")
    return parser.parse_args(arguments)


def _clip(text: str) -> float | str:
    return text if text == "auto" else float(text)


def _model(distribution: str, seed: int, **options: Any) -> DPLogLocationScaleRegressor:
    given = {"bounds_X": BOUNDS_X, "bounds_y": BOUNDS_Y, **options}
    return DPLogLocationScaleRegressor(EPSILON, distribution=distribution, random_state=seed, **given)


# -- Regression.


def differences(ours: Any, theirs: LikelihoodFit, x: FloatArray) -> list[tuple[float, float]]:
    """Return what ours differs by, in standard errors of theirs and in per cent: slopes, scale, B10, median.

    Of the slopes the largest difference counts. Quantiles are lifetimes at the row x.
    """
    deviations = np.sqrt(np.diag(theirs.covariance))
    gaps = np.abs(ours.coef_ - theirs.coef)
    found = [(np.max(gaps / deviations[:-2]), np.max(gaps / np.abs(theirs.coef)))] if len(gaps) else []
    gap = abs(np.log(ours.scale_ / theirs.scale))
    found.append((gap / deviations[-1], np.expm1(gap)))
    for q in (0.1, 0.5):
        value, deviation = theirs.log_quantile(x, float(ours.error_distribution_.quantile(q)))
        reached = ours.predict_quantile(x[np.newaxis] if len(x) else np.zeros((1, 1)), q)[0]
        gap = abs(float(np.log(reached)) - value)
        found.append((gap / deviation, np.expm1(gap)))
    return [(errors, 100 * share) for errors, share in found]


def print_lifelines(options: argparse.Namespace) -> None:
    """Print the differences to accelerated failure time models of lifelines, and widths of intervals."""
    print(
        f"ours - lifelines, n = {options.rows}, 3 columns: per cent, in brackets standard errors of theirs;"
    )
    print("  widths of our 90 % intervals by those of lifelines, and the share of our fits that warn")
    table = Table(
        *(("distribution", "<12"), ("observed", "<19"), ("clip", "<4"), ("slopes", ">13")),
        *(("scale", ">13"), ("B10", ">13"), ("median", ">13"), ("within 1 %", "<10")),
        *(("widths: slopes", ">14.2f"), ("B10", ">5.2f"), ("warned", ">6.2f")),
        indent=2,
    )
    for distribution in options.distributions:
        for what in options.ways:
            found = [_compare(distribution, what, seed, options) for seed in range(options.runs)]
            for clip, *parts in zip(options.hazard_clips, *found, strict=True):
                gaps, widths = (np.median(part, axis=0) for part in zip(*parts, strict=True))
                warned = np.mean([last[-1] for _, last in parts])
                table.row(distribution, what, f"{clip}", *_cells(gaps), *widths[:2], warned)


def _compare(
    distribution: str, what: str, seed: int, options: argparse.Namespace
) -> list[tuple[list[tuple[float, float]], list[float]]]:
    """Return by hazard clip differences; and widths of intervals of slopes and B10 by theirs; warned."""
    data = observe(what, distribution, options.rows, seed)
    theirs = likelihood_fit(distribution, data.X, data.lower, data.upper, data.entry)
    x, found = data.X.mean(axis=0), []
    for clip in options.hazard_clips:
        ours = _model(distribution, 1000 + seed, observations=data.kinds, hazard_clip=clip)
        warned = fit_warns(ours, data.X, data.target())
        _, b10_deviation = theirs.log_quantile(x, float(ours.error_distribution_.quantile(0.1)))
        _, ends = ours.predict_quantile(x[np.newaxis], 0.1, return_interval=True)
        deviations = np.append(np.sqrt(np.diag(theirs.covariance)[:-2]), b10_deviation)
        intervals = np.vstack([ours.coef_interval_, np.log(ends)])
        widths = np.diff(intervals, axis=1)[:, 0] / (2 * NORMAL_95 * deviations)
        found.append((differences(ours, theirs, x), [widths[:-1].mean(), widths[-1], warned]))
    return found


def _cells(gaps: FloatArray) -> list[str]:
    """Return each difference as text, and whether all are within the goal."""
    cells = [f"{share:.2f} ({errors:.2f})" for errors, share in gaps]
    return [*cells, "yes" if np.all(gaps[:, 1] <= GOAL) else "no"]


# -- Distributions and life-stress models of the package reliability.


def print_distributions(options: argparse.Namespace) -> None:
    """Print the differences to distributions without features; ours gets a column of zeros."""
    print(f"ours with a column of zeros - reliability's Fit_*_2P, n = {options.rows}")
    table = Table(
        *(("distribution", "<12"), ("observed", "<19"), ("scale", ">13"), ("B10", ">13")),
        *(("median", ">13"), ("within 1 %", "<10")),
        indent=2,
    )
    for distribution in options.distributions:
        for what in RIGHT:
            found = [_compare_distribution(distribution, what, seed, options) for seed in range(options.runs)]
            table.row(distribution, what, *_cells(np.median(found, axis=0)))


def _compare_distribution(
    distribution: str, what: str, seed: int, options: argparse.Namespace
) -> list[tuple[float, float]]:
    data = observe(what, distribution, options.rows, seed)
    # One distribution: the lifetimes without what the features do to them.
    y, times = data.target(), data.lower / np.exp(data.X @ COEF)
    y["time"] = times
    given = {"bounds_X": (-1, 1), "observations": data.kinds, "hazard_clip": options.hazard_clips[0]}
    ours = _model(distribution, 1000 + seed, **given).fit(np.zeros((len(y), 1)), y)
    return differences(ours, life_fit(distribution, times, data.event), np.empty(0))


def print_stress(options: argparse.Namespace) -> None:
    """Print accelerated lives by both: activation energy, power of the voltage, shape, and life in use."""
    n = options.rows
    print(f"Weibull lives at 330, 350, 370 K and 100, 140 V, n = {n}; in use 300 K, 80 V")
    table = Table(
        *(("model", "<24"), ("quantity", "<20"), ("truth", ">9.4g"), ("reliability", ">11.5g")),
        *(("ours", ">9.5g"), ("per cent", ">8.3f"), ("standard errors", ">15.2f")),
        indent=2,
    )
    for name, columns in (("Arrhenius", ["kelvin"]), ("Arrhenius, inverse power", ["kelvin", "volt"])):
        for quantity, truth, (theirs, deviation), ours in _stress(n, columns, options):
            errors = None if deviation is None else abs(ours - theirs) / deviation
            table.row(name, quantity, truth, theirs, ours, 100 * abs(ours / theirs - 1), errors)


#: Columns of an accelerated test: bounds and law, slope, levels in the test, level in use.
STRESSES: dict[str, tuple[StressColumn, float, list[float], float]] = {
    "kelvin": (StressColumn(320, 380, "arrhenius-kelvin"), 0.7, [330.0, 350.0, 370.0], 300.0),
    "volt": (StressColumn(90, 150, "inverse-power"), -3.0, [100.0, 140.0], 80.0),
}


def _stress(
    n: int, columns: list[str], options: argparse.Namespace
) -> list[tuple[str, float, tuple[float, float | None], float]]:
    """Return quantities with the truth, the estimate of reliability with its standard error, and ours."""
    rng = np.random.default_rng(20261123)
    declared, slopes, levels, use = zip(*(STRESSES[name] for name in columns), strict=True)
    domain = TableDomain(dict(zip(columns, declared, strict=True)))
    X = np.column_stack([rng.choice(some, n) for some in levels])
    line = domain.encode(X) @ slopes
    life = np.exp(line + SCALE * np.log(rng.exponential(size=n)))
    end = np.exp(line + rng.uniform(-0.5, 0.9, n))
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = life <= end, np.minimum(life, end)
    reach = np.exp(line.min() - 6), np.exp(line.max() + 3)
    model = _model("weibull", 1000, domain=domain, bounds_y=reach, hazard_clip=options.hazard_clips[0])
    ours = model.set_params(bounds_X=None).fit(X, y)
    fit = stress_fit(y["time"], y["event"], *X.T)
    values = {name: value for name, (value, _) in fit.items()}

    def their_life(row: Sequence[float]) -> float:
        """Return the scale of lives by reliability."""
        power = row[1] ** values["power"] if len(row) > 1 else 1.0
        return float(values["factor"] * np.exp(values["arrhenius"] / row[0]) * power)

    test = [some[-1] for some in levels]
    true_use, true_test = domain.encode([use, test]) @ slopes
    faster = float(ours.acceleration_factor([use], [test])[0])
    b10 = their_life(use) * (-np.log(0.9)) ** (1 / values["shape"])
    energy = values["arrhenius"] / KELVIN_PER_EV, fit["arrhenius"][1] / KELVIN_PER_EV
    found: list[tuple[str, float, tuple[float, float | None], float]] = [
        ("activation energy, eV", 0.7, energy, float(ours.coef_[0])),
        ("shape", 1 / SCALE, fit["shape"], 1 / ours.scale_),
        (
            "acceleration factor",
            np.exp(true_use - true_test),
            (their_life(use) / their_life(test), None),
            faster,
        ),
        (
            "B10 life in use",
            np.exp(true_use + SCALE * float(ours.error_distribution_.quantile(0.1))),
            (b10, None),
            float(ours.predict_quantile([use], 0.1)[0]),
        ),
    ]
    if "volt" in columns:
        found.append(("power of voltage", -3.0, fit["power"], float(ours.coef_[1])))
    return found


# -- Scores.


def print_scores(options: argparse.Namespace) -> None:
    """Print scores by scikit-survival of our curves, and of those of lifelines' fit, on new rows."""
    print("scores of 2000 new rows, 30 % censored on the right; all but score() by scikit-survival")
    table = Table(
        *(("distribution", "<12"), ("score", "<24"), ("ours", ">10.6f"), ("lifelines", ">10.6f")),
        *(("Kaplan-Meier", ">12.4f"), ("truth", ">10.6f")),
        indent=2,
    )
    for distribution in options.distributions:
        for row in _scores(distribution, options):
            table.row(distribution, *row)


def _scores(distribution: str, options: argparse.Namespace) -> list[tuple[Any, ...]]:
    from sksurv.metrics import concordance_index_censored, integrated_brier_score
    from sksurv.nonparametric import kaplan_meier_estimator

    data, new = (observe("right 30 %", distribution, n, seed) for n, seed in ((options.rows, 0), (2000, 1)))
    y, new_y = data.target(), new.target()
    ours = _model(distribution, 1000, hazard_clip=options.hazard_clips[0]).fit(data.X, y)
    theirs = likelihood_fit(distribution, data.X, data.lower, data.upper)
    times = np.quantile(new_y["time"], np.linspace(0.05, 0.9, 50))
    marginal = kaplan_meier_estimator(y["event"], y["time"])
    constant = marginal[1][np.searchsorted(marginal[0], times, side="right") - 1]
    law = ours.error_distribution_

    def by_line(coef: FloatArray, intercept: float, scale: float) -> tuple[FloatArray, FloatArray]:
        line = new.X @ coef + intercept
        return -line, law.survival((np.log(times) - line[:, np.newaxis]) / scale)

    curves = np.array([curve(times) for curve in ours.predict_survival_function(new.X)])
    models = (
        (-ours.predict(new.X), curves),
        by_line(theirs.coef, theirs.intercept, theirs.scale),
        (np.zeros(len(new.X)), np.tile(constant, (len(new.X), 1))),
        by_line(COEF, INTERCEPT, SCALE),
    )
    concordance = (concordance_index_censored(new_y["event"], new_y["time"], risk)[0] for risk, _ in models)
    brier = (integrated_brier_score(y, new_y, survival, times) for _, survival in models)
    return [
        ("concordance, score()", ours.score(new.X, new_y), None, None, None),
        ("concordance", *concordance),
        ("integrated Brier score", *brier),
    ]


_PRINT = {
    "lifelines": print_lifelines,
    "distributions": print_distributions,
    "stress": print_stress,
    "scores": print_scores,
}

if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
