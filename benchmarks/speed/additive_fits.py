# SPDX-License-Identifier: BSD-3-Clause
"""Times of boosting, logistic and label-private fits against peers; growth; passes over 1e7 rows."""

import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from skprivate import DPBoostingClassifier, DPLogisticRegression, LabelPrivateClassifier
from skprivate.rounds import TableSource, fit_rounds

from .._peers.ebm import DPEBM
from .._peers.tasks import Task, tasks
from .._tables import Table
from .._timing import compare, median_seconds, seconds
from .rounds_parquet import FEATURES, N_JOBS, read, write_rows

N_ROWS = int(os.environ.get("SKPRIVATE_BENCH_ROWS", "10000000"))
DELTA = 1e-6
REPEATS = 3
# Seconds from which one fit is enough.
LONG = 5.0
# The middle of each series is common to all.
ROWS, WIDTHS, CLASSES = (10_000, 100_000, 1_000_000), (10, 30, 100), (2, 5, 10)


def ours(n_classes: int = 2) -> dict[str, Any]:
    """Return unfitted models, for columns in [-1, 1]."""
    known: dict[str, Any] = {"bounds": (-1, 1), "classes": list(range(n_classes))}
    return {
        "DPBoostingClassifier": DPBoostingClassifier(1.0, delta=DELTA, **known),
        "DPLogisticRegression": DPLogisticRegression(1.0, delta=DELTA, **known),
        "LabelPrivateClassifier": LabelPrivateClassifier(epsilon=1.0, classes=known["classes"]),
    }


def others(task: Task) -> Iterator[tuple[str, Any]]:
    """Yield names and fits of peers and of models without privacy."""
    yield "HistGradientBoosting", partial(HistGradientBoostingClassifier().fit, task.X, task.y)
    yield "LogisticRegression", partial(LogisticRegression().fit, task.X, task.y)
    if not DPEBM.available():
        print("interpret is not installed: pip install interpret-core")
        return
    lower, upper = (np.full(task.X.shape[1], end) for end in (-1.0, 1.0))
    private = DPEBM(1.0, delta=DELTA, bounds=(lower, upper), random_state=None)
    yield "DP-EBM", partial(private.fit, task.X, task.y, np.zeros(len(task.y), dtype=bool))


def bench_peers(task: Task) -> None:
    """Print milliseconds of fits in turns, and how many times ours theirs are."""
    n, d = task.X.shape
    print(f"Fits to {n:,} rows of {d} numbers, two labels, epsilon 1, delta {DELTA:g}")
    titles = ("ours", "<24"), ("theirs", "<22"), ("ms", ">8.1f"), ("theirs, ms", ">10.1f")
    table = Table(*titles, ("times ours", ">10.2f"), indent=2)
    for name, model in ours().items():
        for other, fit in others(task):
            mine, theirs, ratio = compare(partial(model.fit, task.X, task.y), fit, REPEATS)
            table.row(name, other, 1e3 * mine, 1e3 * theirs, 1 / ratio)


def rows(n: int, d: int, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return columns in [-1, 1], and labels that depend on the first of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d))
    score = X[:, :n_classes] + rng.gumbel(scale=0.5, size=(n, n_classes))
    return X, score.argmax(axis=1)


def bench_growth() -> None:
    """Print milliseconds of fits along one size at a time."""
    print("\nGrowth: milliseconds of a fit")
    table = Table(("rows", ">9,"), ("columns", ">7"), ("classes", ">7"), *((n, ">22.1f") for n in ours()))
    sizes = [(n, WIDTHS[0], CLASSES[0]) for n in ROWS]
    sizes += [(ROWS[1], d, CLASSES[0]) for d in WIDTHS[1:]] + [(ROWS[1], WIDTHS[0], k) for k in CLASSES[1:]]
    for n, d, n_classes in sizes:
        X, y = rows(n, d, n_classes)
        table.row(n, d, n_classes, *(milliseconds(partial(m.fit, X, y)) for m in ours(n_classes).values()))


def milliseconds(fit: Callable[[], object]) -> float:
    """Return the median time of three fits, or that of one which is long."""
    first = seconds(fit)
    return 1e3 * (first if first > LONG else median_seconds(fit, REPEATS))


class CountedSource(TableSource):
    """A source that counts the passes over its tables."""

    passes = 0

    def partial_sums(self, task: Any) -> Any:
        """Return the sums of one pass."""
        self.passes += 1
        return super().partial_sums(task)


def bench_passes() -> None:
    """Print seconds of whole fits over parquet files, a pass of them, and reading the files."""
    import pyarrow.dataset as ds

    print(f"\n{N_ROWS:,} rows of {len(FEATURES)} numbers in parquet files, {N_JOBS} threads")
    titles = ("fit", "<24"), ("seconds", ">8.1f"), ("passes", ">6"), ("s a pass", ">8.2f")
    table = Table(*titles, ("reading, s", ">10.2f"), ("ratio", ">6.2f"), indent=2)
    with TemporaryDirectory() as place:
        folder = Path(place) / "rows"
        write_rows(folder, N_ROWS, None)
        reading = median_seconds(partial(read, folder), REPEATS)
        for name in ("DPBoostingClassifier", "DPLogisticRegression"):
            known = {"target": "y", "features": FEATURES, "n_rows": N_ROWS, "n_jobs": N_JOBS}
            source = CountedSource(ds.dataset(folder), **known)
            took = seconds(partial(fit_rounds, ours()[name], source))
            each = took / source.passes
            table.row(name, took, source.passes, each, reading, each / reading)


def run() -> None:
    """Print all three tables; data are written into a temporary folder and deleted."""
    warnings.simplefilter("ignore")
    bench_peers(next(task for task in tasks() if task.kind == "classification"))
    bench_growth()
    bench_passes()
