# SPDX-License-Identifier: BSD-3-Clause
"""Fits without noise to speak of (epsilon 1e6) against lifelines, reliability and scikit-survival.

Peers fit by maximum likelihood. Ours takes the moments of complete lifetimes, which are less efficient, and
cuts hazards (at usual epsilons early), so that estimates from the same rows differ by sampling. What is not
installed is left out: ``pip install lifelines reliability scikit-survival``.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate import DPLogLocationScaleRegressor, TableDomain
from skprivate.domain import StressColumn
from skprivate.domain._columns import KELVIN_PER_EV

from ..._peers.lifelines import LikelihoodFit, likelihood_fit
from ..._peers.reliability import life_fit, stress_fit
from ..._tables import Table, across
from ._checks import fit_warns
from ._observed import BOUNDS_X, BOUNDS_Y, COEF, ERRORS, INTERCEPT, SCALE, WAYS, observe, structured

FloatArray = NDArray[np.float64]
#: What ours differs by: in standard errors of theirs, and in per cent.
Gap = tuple[float, float]

EPSILON = 1e6
GAPS = ("slopes", "scale", "B10", "median")
#: The default, which hardly cuts where there is no noise, and that of usual epsilons.
CLIPS = ("auto", 1.0)
RIGHT = ("exact", "right 30 %", "right 80 %")
#: Per cent.
GOAL = 1.0
#: Half-width of a 90 % interval in standard errors.
NORMAL_95 = 1.6449


@dataclass(frozen=True)
class Sizes:
    """Rows of a fit, new rows to be scored, ways in which lifetimes are observed, and distributions."""

    rows: int = 50_000
    new_rows: int = 2_000
    ways: tuple[str, ...] = tuple(WAYS)
    distributions: tuple[str, ...] = tuple(ERRORS)


SIZES = {False: Sizes(), True: Sizes(2_000, 100, ("exact", "mixed, entry"), ("weibull",))}


def run(*, small: bool = False) -> None:
    """Print the tables whose packages are installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for show, packages in TABLES.items():
            missing = [package for package in packages if find_spec(package) is None]
            if missing:
                print(f"left out, for want of {', '.join(missing)}: {show.__doc__}")
            else:
                show(SIZES[small])


def _model(distribution: str, **options: Any) -> DPLogLocationScaleRegressor:
    given = {"bounds_X": BOUNDS_X, "bounds_y": BOUNDS_Y, **options}
    return DPLogLocationScaleRegressor(EPSILON, distribution=distribution, random_state=1000, **given)


# -- Regression.


def differences(ours: Any, theirs: LikelihoodFit, x: FloatArray) -> list[Gap]:
    """Return the gaps of slopes (the largest), scale, B10 and median; the last two are lifetimes at row x."""
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


def _cells(gaps: list[Gap]) -> list[str]:
    """Return each difference as text, and whether all are within the goal."""
    cells = [f"{share:.2f} ({errors:.2f})" for errors, share in gaps]
    return [*cells, "yes" if all(share <= GOAL for _, share in gaps) else "no"]


def print_lifelines(sizes: Sizes) -> None:
    """Differences from accelerated failure time models of lifelines, and widths of intervals."""
    print(f"ours - lifelines, n = {sizes.rows}, 3 columns: per cent, in brackets standard errors of theirs;")
    print("  widths of our 90 % intervals by those of lifelines, and whether our fit warns")
    table = Table(
        *(("distribution", "<12"), ("observed", "<19"), ("clip", "<4"), *across(GAPS, ">13")),
        *(("within 1 %", "<10"), ("widths: slopes", ">14.2f"), ("B10", ">5.2f"), ("warned", ">6")),
        indent=2,
    )
    for distribution, what in product(sizes.distributions, sizes.ways):
        data = observe(what, distribution, sizes.rows, seed=0)
        theirs = likelihood_fit(distribution, data.X, data.lower, data.upper, data.entry)
        x = data.X.mean(axis=0)
        for clip in CLIPS:
            ours = _model(distribution, observations=data.kinds, hazard_clip=clip)
            warned = fit_warns(ours, data.X, data.target())
            _, b10_deviation = theirs.log_quantile(x, float(ours.error_distribution_.quantile(0.1)))
            _, ends = ours.predict_quantile(x[np.newaxis], 0.1, return_interval=True)
            deviations = np.append(np.sqrt(np.diag(theirs.covariance)[:-2]), b10_deviation)
            intervals = np.vstack([ours.coef_interval_, np.log(ends)])
            widths = np.diff(intervals, axis=1)[:, 0] / (2 * NORMAL_95 * deviations)
            cells = _cells(differences(ours, theirs, x))
            place = distribution, what, str(clip)
            table.row(*place, *cells, widths[:-1].mean(), widths[-1], "yes" if warned else "no")


# -- Distributions and life-stress models of the package reliability.


def print_distributions(sizes: Sizes) -> None:
    """Differences from distributions without features by reliability; ours gets a column of zeros."""
    print(f"ours with a column of zeros - reliability's Fit_*_2P, n = {sizes.rows}")
    columns = ("distribution", "<12"), ("observed", "<19"), *across(GAPS[1:], ">13")
    table = Table(*columns, ("within 1 %", "<10"), indent=2)
    for distribution, what in product(sizes.distributions, RIGHT):
        data = observe(what, distribution, sizes.rows, seed=0)
        # One distribution: the lifetimes without what the features do to them.
        times = data.lower / np.exp(data.X @ COEF)
        y = structured(event=data.event, time=times)
        ours = _model(distribution, bounds_X=(-1, 1), observations=data.kinds).fit(np.zeros((len(y), 1)), y)
        gaps = differences(ours, life_fit(distribution, times, data.event), np.empty(0))
        table.row(distribution, what, *_cells(gaps))


#: Columns of an accelerated test: bounds and law, slope, levels in the test, level in use.
STRESSES: dict[str, tuple[StressColumn, float, list[float], float]] = {
    "kelvin": (StressColumn(320, 380, "arrhenius-kelvin"), 0.7, [330.0, 350.0, 370.0], 300.0),
    "volt": (StressColumn(90, 150, "inverse-power"), -3.0, [100.0, 140.0], 80.0),
}


def print_stress(sizes: Sizes) -> None:
    """Accelerated lives by both: activation energy, power of the voltage, shape, and life in use."""
    print(f"Weibull lives at 330, 350, 370 K and 100, 140 V, n = {sizes.rows}; in use 300 K, 80 V")
    table = Table(
        *(("model", "<24"), ("quantity", "<20"), ("truth", ">9.4g"), ("reliability", ">11.5g")),
        *(("ours", ">9.5g"), ("per cent", ">8.3f"), ("standard errors", ">15.2f")),
        indent=2,
    )
    for name, columns in (("Arrhenius", ["kelvin"]), ("Arrhenius, inverse power", ["kelvin", "volt"])):
        for quantity, truth, (theirs, deviation), ours in _stress(sizes.rows, columns):
            errors = None if deviation is None else abs(ours - theirs) / deviation
            table.row(name, quantity, truth, theirs, ours, 100 * abs(ours / theirs - 1), errors)


def _stress(n: int, columns: list[str]) -> Iterator[tuple[str, float, tuple[float, float | None], float]]:
    """Yield quantities with the truth, the estimate of reliability with its standard error, and ours."""
    rng = np.random.default_rng(20261123)
    declared, slopes, levels, use = zip(*(STRESSES[name] for name in columns), strict=True)
    domain = TableDomain(dict(zip(columns, declared, strict=True)))
    X = np.column_stack([rng.choice(some, n) for some in levels])
    line = domain.encode(X) @ slopes
    life = np.exp(line + SCALE * np.log(rng.exponential(size=n)))
    end = np.exp(line + rng.uniform(-0.5, 0.9, n))
    y = structured(event=life <= end, time=np.minimum(life, end))
    reach = np.exp(line.min() - 6), np.exp(line.max() + 3)
    ours = _model("weibull", domain=domain, bounds_X=None, bounds_y=reach).fit(X, y)
    fit = stress_fit(y["time"], y["event"], *X.T)
    values = {name: value for name, (value, _) in fit.items()}

    def their_life(row: Sequence[float]) -> float:
        """Return the scale of lives by reliability."""
        power = row[1] ** values["power"] if len(row) > 1 else 1.0
        return float(values["factor"] * np.exp(values["arrhenius"] / row[0]) * power)

    test = [some[-1] for some in levels]
    true_use, true_test = domain.encode([use, test]) @ slopes
    energy = values["arrhenius"] / KELVIN_PER_EV, fit["arrhenius"][1] / KELVIN_PER_EV
    yield "activation energy, eV", 0.7, energy, float(ours.coef_[0])
    yield "shape", 1 / SCALE, fit["shape"], 1 / ours.scale_
    factor = their_life(use) / their_life(test), None
    faster = float(ours.acceleration_factor([use], [test])[0])
    yield "acceleration factor", np.exp(true_use - true_test), factor, faster
    b10 = their_life(use) * (-np.log(0.9)) ** (1 / values["shape"]), None
    true_b10 = np.exp(true_use + SCALE * float(ours.error_distribution_.quantile(0.1)))
    yield "B10 life in use", true_b10, b10, float(ours.predict_quantile([use], 0.1)[0])
    if "volt" in columns:
        yield "power of voltage", -3.0, fit["power"], float(ours.coef_[1])


# -- Scores.


def print_scores(sizes: Sizes) -> None:
    """Scores by scikit-survival of our curves, and of those of lifelines' fit, on new rows."""
    print(
        f"scores of {sizes.new_rows} new rows, 30 % censored on the right; all but score() by scikit-survival"
    )
    table = Table(
        *(("distribution", "<12"), ("score", "<24"), ("ours", ">10.6f"), ("lifelines", ">10.6f")),
        *(("Kaplan-Meier", ">12.4f"), ("truth", ">10.6f")),
        indent=2,
    )
    for distribution in sizes.distributions:
        for row in _scores(distribution, sizes):
            table.row(distribution, *row)


def _scores(distribution: str, sizes: Sizes) -> list[tuple[Any, ...]]:
    from sksurv.metrics import concordance_index_censored, integrated_brier_score
    from sksurv.nonparametric import kaplan_meier_estimator

    data = observe("right 30 %", distribution, sizes.rows, seed=0)
    new = observe("right 30 %", distribution, sizes.new_rows, seed=1)
    y, new_y = data.target(), new.target()
    ours = _model(distribution).fit(data.X, y)
    theirs = likelihood_fit(distribution, data.X, data.lower, data.upper)
    times = np.quantile(new_y["time"], np.linspace(0.05, 0.9, 50))
    marginal = kaplan_meier_estimator(y["event"], y["time"])
    constant = marginal[1][np.searchsorted(marginal[0], times, side="right") - 1]

    def by_line(coef: FloatArray, intercept: float, scale: float) -> tuple[FloatArray, FloatArray]:
        line = new.X @ coef + intercept
        errors = (np.log(times) - line[:, np.newaxis]) / scale
        return -line, ours.error_distribution_.survival(errors)

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


#: Tables, and the packages that they need.
TABLES = {
    print_lifelines: ("lifelines",),
    print_distributions: ("reliability",),
    print_stress: ("reliability",),
    print_scores: ("lifelines", "sksurv"),
}
