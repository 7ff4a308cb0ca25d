# SPDX-License-Identifier: BSD-3-Clause
"""Whole private fits against one ``X.T @ X`` and scikit-learn, and censored ones against lifelines."""

import warnings
from functools import partial
from statistics import median

import numpy as np
from sklearn.linear_model import LinearRegression

from skprivate import DPLogLocationScaleRegressor, DPNormalLLSRegressor
from skprivate.datasets import make_location_scale
from skprivate.exceptions import UtilityWarning

from ._timing import compare, seconds

N_ROWS = 1_000_000
N_CENSORED = 100_000
PAIRS = 9
GOAL_RATIO = 1.5


def bench_fit(n_features: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, n_features))
    y = X @ rng.normal(size=n_features) + rng.normal(size=N_ROWS)
    wide = 4.0 * np.sqrt(n_features + 1.0)
    model = DPNormalLLSRegressor(1.0, bounds_X=(-4, 4), bounds_y=(-wide, wide))
    others = {"X.T @ X": lambda: X.T @ X, "LinearRegression": lambda: LinearRegression().fit(X, y)}
    for name, other in others.items():
        ours, theirs, ratio = compare(lambda: model.fit(X, y), other, PAIRS)
        print(
            f"fit, n = {N_ROWS:,}, d = {n_features}: {1e3 * ours:.1f} ms, {name} {1e3 * theirs:.1f} ms, "
            f"ratio {ratio:.2f}" + (f" (goal at most {GOAL_RATIO})" if name == "X.T @ X" else ""),
            flush=True,
        )


def bench_censored() -> None:
    X, y = make_location_scale(N_CENSORED, 10, censoring=0.8, random_state=0)
    model = DPLogLocationScaleRegressor(1.0, bounds_X=(-1, 1), bounds_y=(1e-3, 1e2))
    fit = partial(model.fit, X, y)
    print(f"censored fit, n = {N_CENSORED:,}, d = 10: {1e3 * median(seconds(fit) for _ in range(5)):.1f} ms")
    try:
        import pandas as pd
        from lifelines import WeibullAFTFitter
    except ImportError:
        print("lifelines is not installed: pip install lifelines")
        return
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]).assign(time=y["time"], event=y["event"])
    _, theirs, ratio = compare(fit, lambda: WeibullAFTFitter().fit(frame, "time", "event"), pairs=2)
    print(f"  lifelines' WeibullAFTFitter {theirs:.2f} s, that is {1 / ratio:.0f} times as long")


def run() -> None:
    warnings.simplefilter("ignore", UtilityWarning)
    for n_features in (10, 30):
        bench_fit(n_features)
    bench_censored()
