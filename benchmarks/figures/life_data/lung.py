# SPDX-License-Identifier: BSD-3-Clause
"""Survival of 228 patients with lung cancer (NCCTG): what is left of it at epsilon 1, 3 and 10.

``python -m benchmarks.figures.life_data.lung --help`` lists the options. The rows come with lifelines. Bounds
are common knowledge of such patients: ages 20 to 100, two sexes, ECOG 0 to 4, survival from a day to five
years. The one missing ECOG counts as 1.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from skprivate import DPLogLocationScaleRegressor
from skprivate.linear_model._predictions import concordance_index

from ..._peers.lifelines import LikelihoodFit, likelihood_fit
from ..._tables import Table, across, mean_and_error
from ._checks import fit_warns, holds

FloatArray = NDArray[np.float64]

COLUMNS = ("age", "sex", "ph.ecog")
LOWER, UPPER = np.array([20.0, 1.0, 0.0]), np.array([100.0, 2.0, 4.0])
DAYS = 1.0, 5 * 365.25
#: A man of 60 with symptoms who walks (ECOG 1).
PATIENT = np.array([60.0, 1.0, 1.0])
EPSILONS = (1.0, 3.0, 10.0)
#: Median of the error, log of a standard exponential.
MEDIAN_ERROR = float(np.log(np.log(2)))
#: Noise next to none: what our method loses by itself.
WITHOUT_NOISE = 1e6
RUNS, FOLDS = 20, 5


@dataclass(frozen=True, eq=False)
class Patients:
    """Columns as in `COLUMNS`, and (event, time) in days."""

    X: FloatArray
    y: NDArray[Any]

    def likelihood_fit(self, rows: Any) -> LikelihoodFit:
        time, event = self.y["time"][rows], self.y["event"][rows]
        return likelihood_fit("weibull", self.X[rows], time, np.where(event, time, np.inf))


@dataclass(frozen=True, eq=False)
class Measures:
    """What one fit tells; slopes of log time by a standard deviation of the column."""

    median: float
    median_without_columns: float
    marginal_median: float
    slopes: FloatArray
    signs: float
    slopes_held: float
    median_held: bool
    width: float
    warned: bool


def run(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    options = _options(arguments)
    if find_spec("lifelines") is None:
        print("lifelines is not installed, with which the rows come: pip install lifelines")
        return
    with warnings.catch_warnings():
        # Of lifelines and its packages; ours are counted.
        warnings.simplefilter("ignore")
        _print(_load(), options)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.life_data.lung")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"seeds of the noise (default: {RUNS})")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    return parser.parse_args(arguments)


def _load() -> Patients:
    from lifelines.datasets import load_lung

    frame = load_lung().fillna({"ph.ecog": 1.0})
    y = np.empty(len(frame), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = frame["status"] == 1, frame["time"]
    return Patients(frame[list(COLUMNS)].to_numpy(float), y)


def _model(epsilon: float, seed: int) -> DPLogLocationScaleRegressor:
    return DPLogLocationScaleRegressor(epsilon, bounds_X=(LOWER, UPPER), bounds_y=DAYS, random_state=seed)


def _measure(patients: Patients, reference: LikelihoodFit, epsilon: float, seed: int) -> Measures:
    model = _model(epsilon, 1000 + seed)
    warned = fit_warns(model, patients.X, patients.y)
    median, interval = model.predict_quantile(PATIENT[np.newaxis], 0.5, return_interval=True)
    low, high = model.coef_interval_.T
    exact, _ = reference.log_quantile(PATIENT, MEDIAN_ERROR)
    zeros = np.zeros((len(patients.y), 1))
    plain = _model(epsilon, 3000 + seed).set_params(bounds_X=(-1, 1)).fit(zeros, patients.y)
    return Measures(
        float(median[0]),
        float(plain.predict(zeros[:1])[0]),
        _median_of(*model.survival_curve_),
        model.coef_ * patients.X.std(axis=0),
        float(np.mean(np.sign(model.coef_) == np.sign(reference.coef))),
        float(np.mean((low <= reference.coef) & (reference.coef <= high))),
        holds(interval[0], np.exp(exact)),
        float(interval[0, 1] / interval[0, 0]),
        warned,
    )


def _median_of(times: FloatArray, survival: FloatArray) -> float:
    """Return the first time at which half are dead; infinite where the curve stays above."""
    return float(times[np.argmax(survival <= 0.5)]) if survival.min() <= 0.5 else np.inf


def _kaplan_meier(y: NDArray[Any]) -> float:
    order = np.argsort(y["time"])
    alive = np.arange(len(y), 0, -1)
    return _median_of(y["time"][order], np.cumprod(1 - y["event"][order] / alive))


def _concordances(patients: Patients, seed: int, epsilons: Sequence[float]) -> list[float]:
    """Return concordance of rows that a fit did not see: ours at each epsilon, and that of lifelines."""
    predicted = np.empty((len(epsilons) + 1, len(patients.y)))
    found = []
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(patients.X):
        for part, epsilon in zip(predicted, epsilons, strict=False):
            fit = _model(epsilon, 2000 + seed).fit(patients.X[train], patients.y[train])
            part[test] = patients.X[test] @ fit.coef_
        predicted[-1, test] = patients.X[test] @ patients.likelihood_fit(train).coef
        y = patients.y[test]
        found.append([concordance_index(y["event"], y["time"], part[test]) for part in predicted])
    return list(np.mean(found, axis=0))


def _print(patients: Patients, options: argparse.Namespace) -> None:
    reference = patients.likelihood_fit(slice(None))
    epsilons = [*options.epsilons, WITHOUT_NOISE]
    print(f"n = {len(patients.y)}, Weibull, {options.runs} seeds; median over the seeds, and 10 to 90 %")
    names = (*(f"{epsilon:g}" for epsilon in options.epsilons), "no noise", "lifelines")
    table = Table(("epsilon", "<40"), *across(names, ">19"), indent=2)
    seeds = range(options.runs)
    fits = [[_measure(patients, reference, epsilon, seed) for seed in seeds] for epsilon in epsilons]
    exact, _ = reference.log_quantile(PATIENT, MEDIAN_ERROR)

    def spread(what: str, theirs: float | None, of: Callable[[Measures], float], form: str = ".0f") -> None:
        cells = (_spread([of(fit) for fit in part], form) for part in fits)
        table.row(what, *cells, None if theirs is None else format(theirs, form))

    def share(what: str, of: Callable[[Measures], float]) -> None:
        table.row(what, *(f"{np.mean([of(fit) for fit in part]):.2f}" for part in fits), None)

    spread("median life of a man of 60, ECOG 1, days", np.exp(exact), lambda fit: fit.median)
    share("  its interval holds lifelines' median", lambda fit: fit.median_held)
    share("  its interval spans more than tenfold", lambda fit: fit.width > 10)
    marginal = _kaplan_meier(patients.y)
    spread("median life without columns, days", marginal, lambda fit: fit.median_without_columns)
    share("Kaplan-Meier curves that reach one half", lambda fit: np.isfinite(fit.marginal_median))
    spread("  and where, days", marginal, lambda fit: fit.marginal_median)
    slopes = reference.coef * patients.X.std(axis=0)
    for j, name in enumerate(COLUMNS):
        spread(f"slope of {name}, by a standard deviation", slopes[j], lambda fit, j=j: fit.slopes[j], ".2f")
    share("slopes of lifelines' sign", lambda fit: fit.signs)
    share("intervals that hold lifelines' slopes", lambda fit: fit.slopes_held)
    share("fits that warn", lambda fit: fit.warned)
    found = np.array([_concordances(patients, seed, epsilons) for seed in seeds])
    table.row(f"concordance, {FOLDS} folds (a constant: .5)", *(mean_and_error(part, 2) for part in found.T))


def _spread(values: Sequence[float], form: str) -> str:
    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return "-"
    low, middle, high = np.quantile(finite, [0.1, 0.5, 0.9])
    return f"{middle:{form}} ({low:{form}}, {high:{form}})"


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
