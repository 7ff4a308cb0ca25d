# SPDX-License-Identifier: BSD-3-Clause
"""The part of the demonstration about life data: errors of a B10 life against epsilon."""

import warnings
from typing import Any

import numpy as np

from ..datasets import make_location_scale
from ..exceptions import UtilityWarning
from ..linear_model import DPLogLocationScaleRegressor
from .results import EPSILONS, FloatArray, Scores, draw_curves, print_table, progress

N_MACHINES = 200_000
SCALE = 0.5
#: Column -> share of censored machines, and options of the regressor.
METHODS: dict[str, tuple[float, dict[str, Any]]] = {
    "Laplace": (0.0, {}),
    "Gaussian": (0.0, {"mechanism": "gaussian", "delta": 1e-6}),
    "80 % censored": (0.8, {}),
    "95 % censored": (0.95, {}),
}
TITLE = f"B10 life of machines, SIMULATED: {N_MACHINES:,} Weibull lifetimes, 5 features, some still running"
CONSTANT = "constant"


def run(repetitions: int) -> Scores:
    """Print a table of errors."""
    print("\nLife data, noise added by a trusted curator. The B10 life is what a tenth of the machines")
    print("do not reach; median relative error over machines. 'constant' takes all machines alike.")
    print(f"\n{TITLE}")
    errors = evaluate(repetitions)
    print_table("epsilon", EPSILONS, errors, ".3f")
    return errors


def evaluate(repetitions: int) -> Scores:
    """Return the median relative error of the B10 life over machines, of shape (n_epsilons, repetitions)."""
    errors = {name: np.zeros((len(EPSILONS), repetitions)) for name in [*METHODS, CONSTANT]}
    runs = [(name, repetition) for name in METHODS for repetition in range(repetitions)]
    for name, repetition in progress(runs, len(runs)):
        censoring, options = METHODS[name]
        X, y, coef = make_location_scale(
            N_MACHINES, scale=SCALE, censoring=censoring, return_coef=True, random_state=repetition
        )
        truth = np.exp(X @ coef + SCALE * np.log(-np.log(0.9)))
        for row, epsilon in enumerate(EPSILONS):
            errors[name][row, repetition] = _error(X, y, truth, epsilon, options)
        if not censoring:
            errors[CONSTANT][:, repetition] = np.median(np.abs(np.quantile(y, 0.1) / truth - 1))
    return errors


def _error(X: FloatArray, y: Any, truth: FloatArray, epsilon: float, options: dict[str, Any]) -> float:
    model = DPLogLocationScaleRegressor(epsilon, bounds_X=(-1, 1), bounds_y=(1e-3, 1e2), **options)
    with warnings.catch_warnings():
        # The table shows it.
        warnings.simplefilter("ignore", UtilityWarning)
        model.fit(X, y)
    return float(np.median(np.abs(model.predict_quantile(X, 0.1) / truth - 1)))


def draw_errors(axis: Any, errors: Scores) -> None:
    """Draw the errors against epsilon."""
    draw_curves(axis, errors, TITLE, "median relative error")
    axis.set(yscale="log", title="B10 life of machines, SIMULATED")
    axis.legend(fontsize="small")
