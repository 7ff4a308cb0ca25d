# SPDX-License-Identifier: BSD-3-Clause
"""Times and scores of whole fits, ours against scikit-learn, interpret, lifelines and diffprivlib.

Peers that are installed run in this process, in turns with ours. diffprivlib does not import on a recent
scikit-learn: it runs in the environment whose Python ``DIFFPRIVLIB_PYTHON`` names (``make bench`` makes one).
"""

import json
import sys
import warnings
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skprivate import (
    DPBoostingClassifier,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    LabelPrivateClassifier,
)
from skprivate.datasets import make_location_scale

from .._peers.beside import beside
from .._peers.ebm import DPEBM, DPEBMRegressor
from .._peers.lifelines import weibull_fit
from .._peers.tasks import Task, tasks
from .._timing import Comparison, median_seconds
from ._goals import Measured, SideBySide

# Rows of a task, rows of which 80 % are censored, rows with intervals; pairs.
SIZES = {False: (50_000, 100_000, 20_000, 3), True: (200, 200, 20, 0)}
N_FEATURES, DELTA = 10, 1e-6


def pairs_of(task: Task) -> list[tuple[Any, Any]]:
    """Return our models, and those of scikit-learn without privacy."""
    if task.kind == "regression":
        return [(DPNormalLLSRegressor(1.0, bounds_X=(-1, 1), bounds_y=task.bounds_y), LinearRegression())]
    known: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1]}
    return [
        (DPTreeClassifier(1.0, **known), DecisionTreeClassifier(max_depth=8)),
        (DPBoostingClassifier(1.0, delta=DELTA, **known), HistGradientBoostingClassifier()),
        (DPLogisticRegression(1.0, delta=DELTA, **known), LogisticRegression()),
        (LabelPrivateClassifier(epsilon=1.0, classes=[0, 1]), HistGradientBoostingClassifier()),
    ]


def interpret_fit(task: Task, repeats: int) -> dict[str, tuple[float, float]]:
    """Return the seconds and the score of DP-EBM; nothing, and a line, where it is not installed."""
    bounds = np.full(N_FEATURES, -1.0), np.full(N_FEATURES, 1.0)
    kind = DPEBMRegressor if task.kind == "regression" else DPEBM
    model = kind(1.0, delta=DELTA, bounds=bounds, target_range=task.bounds_y, random_state=None)
    if not model.available():
        print("interpret is not installed: pip install interpret-core")
        return {}
    fit = partial(model.fit, task.X, task.y, np.zeros(len(task.y), dtype=bool))
    return {"DP-EBM": (median_seconds(fit, repeats, process_time), task.score(model))}


def bench_task(table: SideBySide, task: Task, peers: dict[str, tuple[float, float]]) -> None:
    """Print the fits of one task; private peers are timed before."""
    table.heading(f"\n{task.kind}, n = {len(task.X):,}, d = {N_FEATURES}, epsilon 1; both scores")
    for model, plain in pairs_of(task):
        fits = (partial(one.fit, task.X, task.y) for one in (model, plain))
        work, both = type(model).__name__, lambda: f"{task.score(model):.3f}, {task.score(plain):.3f}"  # noqa: B023
        found = table.row(work, type(plain).__name__, *fits, goal=f"{work}, 50,000 rows", note=both)
        for peer, (theirs, score) in peers.items():
            apart = Comparison(found.ours, theirs, found.ours / theirs)
            table.show(work, peer, apart, note=f"{task.score(model):.3f}, {score:.3f}")


def bench_lives(table: SideBySide, n_rows: int, n_predicted: int) -> None:
    """Print our fit of censored lifetimes, that of lifelines where it is installed, and B10 intervals."""
    X, y = make_location_scale(n_rows, N_FEATURES, censoring=0.8, random_state=0)
    table.heading(f"\nlife models, {n_rows:,} rows, four of five censored; concordance of both")
    model = DPLogLocationScaleRegressor(1.0, bounds_X=(-1, 1), bounds_y=(1e-3, 1e2)).fit(X, y)
    if fit := weibull_fit(X, y):
        ours, goal = partial(model.fit, X, y), "censored life models"
        note = lambda: f"{model.score(X, y):.3f}, {fit().concordance_index_:.3f}"  # noqa: E731
        table.row("censored", "lifelines, Weibull", ours, fit, goal=goal, note=note, pairs=0)
    rows, replicates = X[:n_predicted], model.replicates_
    offsets = replicates[:, 0] + model.error_distribution_.quantile(0.1) * replicates[:, 1]

    def with_numpy() -> None:
        for part in np.array_split(rows, 4):
            np.quantile(part @ replicates[:, 2:].T + offsets, [0.05, 0.95], axis=1)

    intervals = partial(model.predict_quantile, rows, 0.1, return_interval=True)
    table.row(f"B10 intervals, {n_predicted:,} rows", "np.quantile of replicates", intervals, with_numpy)


def run(small: bool = False) -> Measured:
    warnings.simplefilter("ignore")
    n_rows, n_censored, n_predicted, pairs = SIZES[small]
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}")
    found = beside("speed", str(n_rows), capture_output=True)
    others: dict[str, Any] = json.loads(found.stdout) if found else {}
    table = SideBySide(pairs)
    for task in tasks(n_rows):
        bench_task(table, task, interpret_fit(task, max(pairs, 1)) | others.get(task.kind, {}))
    bench_lives(table, n_censored, n_predicted)
    return table.measured
