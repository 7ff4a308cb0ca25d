# SPDX-License-Identifier: BSD-3-Clause
"""Fits of the suite against scikit-learn, interpret, lifelines and diffprivlib: ratios of time, and scores.

Peers that are installed run in this process, in turns with ours. diffprivlib does not import on a recent
scikit-learn: it runs in the environment whose Python ``DIFFPRIVLIB_PYTHON`` names (``make bench`` makes one).
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPLogLocationScaleRegressor, DPNormalLLSRegressor, DPTreeClassifier
from skprivate.datasets import make_location_scale

from ._peer_tasks import N_FEATURES, N_ROWS, REPEATS, Task, tasks
from ._timing import compare, seconds

ROOT = Path(__file__).parents[1]
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


def show(name: str, times: float, ratio: float, score: float) -> None:
    """Print one line: how many times our time a peer takes."""
    print(f"  {name:42s}{1e3 * times:10.1f} ms{ratio:9.2f} times{score:8.3f}", flush=True)


def bench_task(task: Task, others: dict[str, tuple[float, float]]) -> None:
    unit = "R2" if task.kind == "regression" else "accuracy"
    print(f"{task.kind}, n = {N_ROWS:,}, d = {N_FEATURES}, epsilon 1; time of a fit, times ours, {unit}")
    ours = _OURS[task.kind](task)
    fit = partial(ours.fit, task.X, task.y)
    own = median(seconds(fit) for _ in range(2 * REPEATS))
    show(f"{type(ours).__name__} (ours)", own, 1.0, task.score(ours))
    for name, model in peers(task):
        _, theirs, ratio = compare(fit, partial(model.fit, task.X, task.y), REPEATS)
        show(name, theirs, 1 / ratio, task.score(model))
    for name, (theirs, score) in others.items():
        show(f"diffprivlib {name}", theirs, theirs / own, score)


def bench_censored() -> None:
    X, y = make_location_scale(N_ROWS, N_FEATURES, censoring=0.8, random_state=0)
    ours = DPLogLocationScaleRegressor(1.0, bounds_X=(-1, 1), bounds_y=(1e-3, 1e2))
    fit = partial(ours.fit, X, y)
    print(f"censored targets, n = {N_ROWS:,}, d = {N_FEATURES}; time of a fit, times ours, concordance")
    own = median(seconds(fit) for _ in range(REPEATS))
    show("DPLogLocationScaleRegressor (ours)", own, 1.0, ours.score(X, y))
    try:
        import pandas as pd
        from lifelines import WeibullAFTFitter
    except ImportError:
        print("lifelines is not installed: pip install lifelines")
        return
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)]).assign(
        time=y["time"], event=y["event"]
    )
    theirs = WeibullAFTFitter()
    _, times, ratio = compare(fit, lambda: theirs.fit(frame, "time", "event"), 1)
    show("lifelines WeibullAFTFitter, not private", times, 1 / ratio, theirs.concordance_index_)


def beside(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str] | None:
    """Run `benchmarks._diffprivlib` in its environment; None, and a line, where there is none."""
    python = os.environ.get("DIFFPRIVLIB_PYTHON")
    if not python:
        print("diffprivlib: set DIFFPRIVLIB_PYTHON to a Python that has it (make bench does)")
        return None
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [python, "-W", "ignore", "-m", "benchmarks._diffprivlib", *arguments]
    found = subprocess.run(command, env=environment, cwd=ROOT, text=True, check=False, **options)
    if found.returncode:
        print(f"diffprivlib did not run with {python}: {(found.stderr or '').strip().splitlines()[-1:]}")
        return None
    return found


def run() -> None:
    warnings.simplefilter("ignore")
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}")
    found = beside("speed", capture_output=True)
    others = json.loads(found.stdout) if found else {}
    for task in tasks():
        bench_task(task, others.get(task.kind, {}))
    bench_censored()
