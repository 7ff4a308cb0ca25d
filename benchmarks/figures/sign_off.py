# SPDX-License-Identifier: BSD-3-Clause
"""Models as a committee sees them: figures that `private_evaluate` publishes, beside the exact ones.

Raw Adult, with 500 public rows and without; and doses of warfarin, pooled and from three sites. The training
part of every split is fitted at an epsilon, and the test part, a fifth, is evaluated at the same epsilon.
These are other people's rows: nobody spends more than one of the two; a ledger with one label for both parts
adds them up to twice the epsilon. DIFFPRIVLIB_PYTHON is a Python that has diffprivlib.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skprivate import private_evaluate

from .._tables import Table
from .._utility.comparison import compare, show
from .._utility.data import make_split
from .._utility.given import as_model, exact
from .._utility.methods import BASE, METHODS
from .._utility.sites import sites

EPSILONS = (0.5, 1.0, 2.0)
# `private_evaluate` says that it takes probabilities for no nearer to 0 and 1.
CLIP = 1e-3
TITLES = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "log_loss": "log loss",
    "calibration_slope": "calibration slope (1 is right)",
    "mae": "mean absolute error, mg/week",
    "rmse": "root mean squared error, mg/week",
}
BOTH = ("boosting (delta 1e-6)", "boosting, pure epsilon", "DP-EBM (delta 1e-6)", "boosting, not private")
ADULT = (
    *("boosting on the forest (delta 1e-6)", "logistic (delta 1e-6)", "logistic, pure epsilon"),
    *("central, cart, forest inside", "local, cart, forest inside", "label privacy"),
    *("noisy gradients (delta 1e-6)", "objective perturbation", "diffprivlib logistic"),
    *("boosting, public rows", "forest, public rows", "logistic, public rows"),
)
WARFARIN = ("linear, normal law", "diffprivlib linear", *dict(sites()))
#: Data set, methods and numbers of public rows.
TABLES = (
    ("adult", (*BOTH, *ADULT, "logistic, not private", BASE), ("0", "500")),
    ("warfarin", (*BOTH, *WARFARIN, "logistic, not private", BASE), ("0",)),
)
#: Tables that come with every installation, in their place.
SMALL = {"adult": "linear50k", "warfarin": "curve20k"}


def run(seeds: int = 20, *, small: bool = False) -> None:
    """Print figures by setting, and how far published ones are from exact ones."""
    print(
        "Exact figures take probabilities as they are; published ones take them for .001 at least and .999\n"
        "at most, and are compared with exact ones of such probabilities. Published means are those of one\n"
        "release a split, at the epsilon of the fit; what draws no noise is evaluated at each."
    )
    for name, methods, settings in TABLES:
        data = SMALL[name] if small else name
        with warnings.catch_warnings():
            # That a figure of a poor model cannot be said is in the table; three sites are few to hide among.
            warnings.simplefilter("ignore")
            found = compare((data,), methods, settings, seeds, EPSILONS, small, evaluate=figures_of)
        if "error" in found:
            print(*("\nFailed:", *found.error.dropna().unique()), sep="\n  ")
        whole = found[found.rows == "all"]
        for (setting, figure), part in whole.groupby(["public", "figure"], sort=False):
            print(f"\n{data}, {setting} public rows, {TITLES[figure]}")
            show("exact, mean and standard error of splits", part.dropna(subset="exact"), "exact")
            show("as published, mean", part.dropna(subset="value"), "value", lambda one: f"{one.mean():.3f}")
        _print_distances(data, found)


def figures_of(
    data: str, setting: str, seed: int, method: str, epsilons: tuple[float, ...], most_rows: int | None
) -> list[dict[str, Any]]:
    """Return a record for every epsilon, figure, and part of the test rows: all, and a random quarter."""
    split = make_split(data, setting, seed, most_rows)
    place = {"data": data, "public": setting, "method": method, "split": seed}
    # Numbers are moved into the public range of the target, everybody's.
    known = {"bounds_y": split.target_range} if split.target_range else {}
    order = np.random.default_rng([seed, 13]).permutation(len(split.y_test))
    found = []
    try:
        for one in METHODS[method].predict(split, epsilons):
            values = one.labels if one.proba is None else np.asarray(one.proba)[:, 1]
            values = np.clip(values, *split.target_range) if known else values
            # What draws no noise is evaluated at every epsilon, what does at its own.
            for epsilon in (one.epsilon,) if one.epsilon else EPSILONS:
                for part, rows in (("all", order), ("a quarter", order[: len(order) // 4])):
                    at = {**place, "epsilon": epsilon, "rows": part}
                    found += [{**at, **row} for row in _figures(values, split.y_test, rows, epsilon, known)]
    except Exception as error:  # a benchmark of hours goes on, and names what failed
        return [{**place, "error": f"{method} on {data}: {type(error).__name__}: {error}"[:300]}]
    return found


def _figures(
    values: NDArray[np.float64],
    y: NDArray[Any],
    rows: NDArray[np.int64],
    epsilon: float,
    known: dict[str, Any],
) -> Iterator[dict[str, Any]]:
    """Yield exact figures of all test rows, and what `private_evaluate` publishes of some, with intervals."""
    of_labels = not known
    as_is, clipped = (exact(values, y, of_labels, **least) for least in ({}, {"least": CLIP}))
    estimates = publish(values, y, rows, epsilon, known)
    for name in (name for name in TITLES if name in as_is):
        one = estimates[name]
        figures = {"value": one.value, "lower": one.lower, "upper": one.upper}
        yield {"figure": name, "exact": as_is[name], "clipped": clipped[name], **figures}


def publish(
    values: NDArray[np.float64],
    y: NDArray[Any],
    rows: NDArray[np.int64],
    epsilon: float,
    known: dict[str, Any],
) -> dict[str, Any]:
    """Return what `private_evaluate` publishes of some test rows."""
    model, X = as_model(values, not known)
    return dict(private_evaluate(model, X[rows], y[rows], epsilon, **known).metrics)


def _print_distances(data: str, found: pd.DataFrame) -> None:
    """Print how far published figures are from exact ones, and how often intervals hold these."""
    print(
        f"\n{data}: published less exact, all models and splits: mean, mean size (distance), half the\n"
        "width of intervals; same rows: intervals that hold the exact figure of the evaluated rows (noise\n"
        "alone); a quarter: those of a random quarter of the test rows that hold the figure of all of them."
    )
    columns = {"n": ">6", "mean": ">9+.4f", "distance": ">9.4f", "width": ">8.4f", "same rows, %": ">13.1f"}
    columns |= {"a quarter, %": ">13.1f", "not said, %": ">12.1f"}
    table = Table(("epsilon", "<8g"), ("figure", "<32"), *columns.items(), indent=2)
    comparable = found.dropna(subset="clipped").sort_values("epsilon", kind="stable")
    for (epsilon, figure), part in comparable.groupby(["epsilon", "figure"], sort=False):
        asked = part[part.rows == "all"]
        said = part.dropna(subset="value")
        whole = said[said.rows == "all"]
        off, width = whole.value - whole.clipped, (whole.upper - whole.lower).mean() / 2
        held = (said.lower <= said.clipped) & (said.clipped <= said.upper)
        shares = 100 * held.groupby(said.rows).mean()
        unsaid = 100 * (1 - len(whole) / len(asked))
        shown = (len(whole), off.mean(), off.abs().mean(), width, shares["all"], shares["a quarter"], unsaid)
        table.row(epsilon, TITLES[figure], *shown)
