# SPDX-License-Identifier: BSD-3-Clause
"""The part of the demonstration about life data: errors of a B10 life against epsilon."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..datasets import make_location_scale
from ..exceptions import UtilityWarning
from ..linear_model import DPLogLocationScaleRegressor
from .summary import EPSILONS, Axis, Baseline, Curve, Panel, Scores, Side, Summary, print_table, progress

# Number of simulated machines, and the scale of their lifetimes. Set by hand.
N_MACHINES = 200_000
SCALE = 0.5
# Columns of the summary.
COMPLETE, CENSORED = "Laplace", "80 % censored"
#: Column -> share of censored machines, and options of the regressor.
METHODS: dict[str, tuple[float, dict[str, Any]]] = {
    COMPLETE: (0.0, {}),
    "Gaussian": (0.0, {"delta": 1e-6}),
    CENSORED: (0.8, {}),
    "95 % censored": (0.95, {}),
}
TITLE = f"B10 life of machines, SIMULATED: {N_MACHINES:,} Weibull lifetimes, 5 features, some still running"
CONSTANT = "constant"


def run(repetitions: int) -> None:
    """Print a table of errors."""
    print("\nLife data, noise added by a trusted curator. The B10 life is the time by which a tenth of the")
    print("machines have failed; median relative error over machines. 'constant': one value for all.")
    print(f"\n{TITLE}")
    print_table("epsilon", EPSILONS, evaluate(repetitions, METHODS), ".3f")


def evaluate(repetitions: int, methods: Iterable[str]) -> Scores:
    """Return the median relative error of the B10 life over machines, of shape (n_epsilons, repetitions)."""
    errors = {name: np.zeros((len(EPSILONS), repetitions)) for name in [*methods, CONSTANT]}
    runs = [(name, repetition) for name in methods for repetition in range(repetitions)]
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
        # The table shows the errors that the fit warns about.
        warnings.simplefilter("ignore", UtilityWarning)
        model.fit(X, y)
    return float(np.median(np.abs(model.predict_quantile(X, 0.1) / truth - 1)))


def summarise(repetitions: int) -> Summary:
    """Return errors of complete and of censored lifetimes."""
    errors = evaluate(repetitions, (COMPLETE, CENSORED))
    complete, censored, constant = (100 * values.mean(axis=1) for values in errors.values())
    # The lines end so close that the lower one's name must be below it.
    sides: list[Side] = ["below, right", "above, right"]
    if complete[-1] > censored[-1]:
        sides.reverse()
    largest, alike = max(complete.max(), censored.max()), float(constant[0])
    return Summary(
        message=f"B10 lives with an error below {np.ceil(largest):.0f} %",
        data=f"{N_MACHINES:,} SIMULATED machines",
        rows={
            "epsilon of the release": EPSILONS,
            "error of the B10 life, %, all failed": complete,
            "80 % still running": censored,
        },
        baselines=[Baseline("one value for all machines", alike, side="above, left")],
        panel=Panel(
            Axis("epsilon of the release (smaller hides more)", "log", EPSILONS, (0.42, 60)),
            Axis("error of the B10 life, %", "log", (0.1, 1, 10, 100), (0.1, 100)),
            [
                Curve("all failed", EPSILONS, complete, at=-1, side=sides[0]),
                Curve("80 % still\nrunning", EPSILONS, censored, at=-1, side=sides[1]),
            ],
        ),
    )
