# SPDX-License-Identifier: BSD-3-Clause
"""Times and scores of whole fits, ours against scikit-learn, interpret, lifelines and diffprivlib.

Peers that are installed run in this process, in turns with ours. diffprivlib does not import on a recent
scikit-learn: it runs in the environment whose Python ``DIFFPRIVLIB_PYTHON`` names (``make bench`` makes one).
"""

import json
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPLogLocationScaleRegressor, DPNormalLLSRegressor, DPTreeClassifier
from skprivate.datasets import make_location_scale

from .._peers.beside import beside
from .._peers.lifelines import weibull_fit
from .._peers.tasks import N_FEATURES, N_ROWS, REPEATS, Task, tasks
from .._tables import Table
from .._timing import compare, median_seconds

_OURS = {
    "regression": lambda task: DPNormalLLSRegressor(1.0, bounds_X=(-1, 1), bounds_y=task.bounds_y),
    "classification": lambda task: DPTreeClassifier(1.0, bounds=(-1, 1), classes=[0, 1]),
}


def peers(task: Task) -> Iterator[tuple[str, Any]]:
    """Yield names and unfitted peers of this environment."""
    regression = task.kind == "regression"
    yield (
        "scikit-learn, not private",
        LinearRegression() if regression else DecisionTreeClassifier(max_depth=8),
    )
    try:
        from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
    except ImportError:
        print("interpret is not installed: pip install interpret-core")
        return
    public: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "privacy_bounds": [(-1.0, 1.0)] * N_FEATURES}
    if regression:
        low, high = task.bounds_y or (0.0, 0.0)
        yield (
            "interpret, delta 1e-6",
            DPExplainableBoostingRegressor(privacy_target_min=low, privacy_target_max=high, **public),
        )
    else:
        yield "interpret, delta 1e-6", DPExplainableBoostingClassifier(**public)


class PeerTable:
    """Lines of a name, milliseconds of a fit, how many times our time that is, and a score."""

    def __init__(self, title: str, score: str) -> None:
        print(title)
        self._table = Table(
            ("fit", "<42"), ("ms", ">10.1f"), ("times ours", ">10.2f"), (score, ">8.3f"), indent=2
        )

    def row(self, name: str, times: float, ratio: float, score: float) -> None:
        self._table.row(name, 1e3 * times, ratio, score)


def bench_task(task: Task, others: dict[str, tuple[float, float]]) -> None:
    """Print the fits of one task, ours first."""
    unit = "R2" if task.kind == "regression" else "accuracy"
    table = PeerTable(f"{task.kind}, n = {N_ROWS:,}, d = {N_FEATURES}, epsilon 1", unit)
    ours = _OURS[task.kind](task)
    fit = partial(ours.fit, task.X, task.y)
    own = median_seconds(fit, 2 * REPEATS)
    table.row(f"{type(ours).__name__} (ours)", own, 1.0, task.score(ours))
    for name, model in peers(task):
        _, theirs, ratio = compare(fit, partial(model.fit, task.X, task.y), REPEATS)
        table.row(name, theirs, 1 / ratio, task.score(model))
    for name, (theirs, score) in others.items():
        table.row(f"diffprivlib {name}", theirs, theirs / own, score)


def bench_censored() -> None:
    """Print our fit of censored targets, and that of lifelines where it is installed."""
    X, y = make_location_scale(N_ROWS, N_FEATURES, censoring=0.8, random_state=0)
    ours = DPLogLocationScaleRegressor(1.0, bounds_X=(-1, 1), bounds_y=(1e-3, 1e2))
    fit = partial(ours.fit, X, y)
    table = PeerTable(f"censored targets, n = {N_ROWS:,}, d = {N_FEATURES}, epsilon 1", "concordance")
    table.row("DPLogLocationScaleRegressor (ours)", median_seconds(fit, REPEATS), 1.0, ours.score(X, y))
    other = weibull_fit(X, y)
    if other is not None:
        found: list[Any] = []
        _, times, ratio = compare(fit, lambda: found.append(other()), 1)
        table.row("lifelines WeibullAFTFitter, not private", times, 1 / ratio, found[-1].concordance_index_)


def run() -> None:
    warnings.simplefilter("ignore")
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}")
    found = beside("speed", capture_output=True)
    others = json.loads(found.stdout) if found else {}
    for task in tasks():
        bench_task(task, others.get(task.kind, {}))
    bench_censored()
