# SPDX-License-Identifier: BSD-3-Clause
"""Survival of 228 patients with lung cancer (NCCTG): what is left of it at epsilon 1, 3 and 10.

The rows come with lifelines. Bounds are common knowledge of such patients: ages 20 to 100, two sexes, ECOG 0
to 4, survival from a day to five years. The one missing ECOG counts as 1.
"""

import warnings
from collections.abc import Sequence
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
from ._observed import structured

FloatArray = NDArray[np.float64]

COLUMNS = ("age", "sex", "ph.ecog")
LOWER, UPPER = np.array([20.0, 1.0, 0.0]), np.array([100.0, 2.0, 4.0])
DAYS = 1.0, 5 * 365.25
#: A man of 60 with symptoms who walks (ECOG 1).
PATIENT = np.array([60.0, 1.0, 1.0])
#: The last one is next to no noise: what our method loses by itself.
EPSILONS = {1.0: "1", 3.0: "3", 10.0: "10", 1e6: "no noise"}
#: Median of the error, log of a standard exponential.
MEDIAN_ERROR = float(np.log(np.log(2)))
FOLDS = 5
MEDIAN, MARGINAL, CURVE = (
    "median life of a man of 60, ECOG 1, days",
    "median life without columns, days",
    "  and where, days",
)
SLOPES = tuple(f"slope of {name}, by a standard deviation" for name in COLUMNS)


@dataclass(frozen=True, eq=False)
class Patients:
    """Columns as in `COLUMNS`, and (event, time) in days."""

    X: FloatArray
    y: NDArray[Any]

    def likelihood_fit(self, rows: Any) -> LikelihoodFit:
        time, event = self.y["time"][rows], self.y["event"][rows]
        return likelihood_fit("weibull", self.X[rows], time, np.where(event, time, np.inf))


def run(seeds: int = 20, *, small: bool = False) -> None:
    """Print the table; `seeds` are those of the noise."""
    if find_spec("lifelines") is None:
        print("lifelines is not installed, with which the rows come: pip install lifelines")
        return
    with warnings.catch_warnings():
        # Of lifelines and its packages; ours are counted.
        warnings.simplefilter("ignore")
        _print(_load(), *((1, 2) if small else (seeds, FOLDS)))


def _load() -> Patients:
    from lifelines.datasets import load_lung

    frame = load_lung().fillna({"ph.ecog": 1.0})
    y = structured(event=frame["status"] == 1, time=frame["time"].astype(float))
    return Patients(frame[list(COLUMNS)].to_numpy(float), y)


def _model(epsilon: float, seed: int) -> DPLogLocationScaleRegressor:
    return DPLogLocationScaleRegressor(epsilon, bounds_X=(LOWER, UPPER), bounds_y=DAYS, random_state=seed)


def _measure(patients: Patients, reference: LikelihoodFit, epsilon: float, seed: int) -> dict[str, Any]:
    """Return what one fit tells, by the names of rows; slopes are by a standard deviation of the column."""
    model = _model(epsilon, 1000 + seed)
    warned = fit_warns(model, patients.X, patients.y)
    median, interval = model.predict_quantile(PATIENT[np.newaxis], 0.5, return_interval=True)
    low, high = model.coef_interval_.T
    exact, _ = reference.log_quantile(PATIENT, MEDIAN_ERROR)
    zeros = np.zeros((len(patients.y), 1))
    plain = _model(epsilon, 3000 + seed).set_params(bounds_X=(-1, 1)).fit(zeros, patients.y)
    curve = _median_of(*model.survival_curve_)
    return {
        MEDIAN: float(median[0]),
        "  its interval holds lifelines' median": holds(interval[0], np.exp(exact)),
        "  its interval spans more than tenfold": bool(interval[0, 1] > 10 * interval[0, 0]),
        MARGINAL: float(plain.predict(zeros[:1])[0]),
        "Kaplan-Meier curves that reach one half": bool(np.isfinite(curve)),
        CURVE: curve,
        **dict(zip(SLOPES, model.coef_ * patients.X.std(axis=0), strict=True)),
        "slopes of lifelines' sign": np.sign(model.coef_) == np.sign(reference.coef),
        "intervals that hold lifelines' slopes": (low <= reference.coef) & (reference.coef <= high),
        "fits that warn": warned,
    }


def _median_of(times: FloatArray, survival: FloatArray) -> float:
    """Return the first time at which half are dead; infinite where the curve stays above."""
    return float(times[np.argmax(survival <= 0.5)]) if survival.min() <= 0.5 else np.inf


def _kaplan_meier(y: NDArray[Any]) -> float:
    order = np.argsort(y["time"])
    alive = np.arange(len(y), 0, -1)
    return _median_of(y["time"][order], np.cumprod(1 - y["event"][order] / alive))


def _concordances(patients: Patients, seed: int, folds: int) -> FloatArray:
    """Return concordance of rows that a fit did not see: ours at each epsilon, and that of lifelines."""
    found = []
    for train, test in KFold(folds, shuffle=True, random_state=seed).split(patients.X):
        fits: list[Any] = [
            _model(epsilon, 2000 + seed).fit(patients.X[train], patients.y[train]) for epsilon in EPSILONS
        ]
        slopes = *(fit.coef_ for fit in fits), patients.likelihood_fit(train).coef
        y, X = patients.y[test], patients.X[test]
        found.append([concordance_index(y["event"], y["time"], X @ coef) for coef in slopes])
    return np.mean(found, axis=0)


def _print(patients: Patients, n_seeds: int, folds: int) -> None:
    seeds = range(n_seeds)
    print(f"n = {len(patients.y)}, Weibull, {n_seeds} seeds; median over the seeds, and 10 to 90 %")
    table = Table(("epsilon", "<40"), *across((*EPSILONS.values(), "lifelines"), ">19"), indent=2)
    reference, marginal = patients.likelihood_fit(slice(None)), _kaplan_meier(patients.y)
    exact, _ = reference.log_quantile(PATIENT, MEDIAN_ERROR)
    theirs = {MEDIAN: np.exp(exact), MARGINAL: marginal, CURVE: marginal}
    theirs |= dict(zip(SLOPES, reference.coef * patients.X.std(axis=0), strict=True))
    fits = [[_measure(patients, reference, epsilon, seed) for seed in seeds] for epsilon in EPSILONS]
    for name in fits[0][0]:
        form = ".2f" if name in SLOPES else ".0f"
        cells = (_text([fit[name] for fit in part], form) for part in fits)
        table.row(name, *cells, format(theirs[name], form) if name in theirs else None)
    found = np.array([_concordances(patients, seed, folds) for seed in seeds])
    table.row(f"concordance, {folds} folds (a constant: .5)", *(mean_and_error(part, 2) for part in found.T))


def _text(values: Sequence[Any], form: str) -> str:
    """Return the share of what is true or false; of numbers the median, and 10 to 90 %."""
    if np.asarray(values).dtype == np.bool_:
        return f"{np.mean(values):.2f}"
    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return "-"
    low, middle, high = np.quantile(finite, [0.1, 0.5, 0.9])
    return f"{middle:{form}} ({low:{form}}, {high:{form}})"
