# SPDX-License-Identifier: BSD-3-Clause
"""Times and memory of private fits over parquet files against reading these.

``SKPRIVATE_BENCH_ROWS=10000000 python -m benchmarks rounds_parquet`` takes more rows than a million.
"""

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from skprivate import (
    DPBoostingClassifier,
    DPLogisticRegression,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    MomentAccumulator,
)
from skprivate.rounds import TableSource, fit_rounds

from .._memory import forget_peak, process_megabytes
from ._goals import Measured, SideBySide

# Rows, those of a file, and pairs.
SIZES = {False: (int(os.environ.get("SKPRIVATE_BENCH_ROWS", "1000000")), 500_000, 3), True: (400, 200, 0)}
FEATURES = [f"x{j}" for j in range(10)]
N_JOBS = 2
BATCH = 2**17
BOUNDS: dict[str, Any] = {"bounds": (0, 1), "classes": [0, 1]}
NUMBERS: dict[str, Any] = {"bounds_X": (0, 1), "bounds_y": (0, 1)}
FEW_PASSES = {"leaf counts": DPTreeClassifier(1.0, **BOUNDS), "moments": DPNormalLLSRegressor(1.0, **NUMBERS)}
MANY_PASSES = {
    "boosting": DPBoostingClassifier(1.0, delta=1e-6, **BOUNDS),
    "logistic regression": DPLogisticRegression(1.0, delta=1e-6, **BOUNDS),
}
#: Files with numbers of all digits, and of few: pyarrow stores these by a dictionary.
FILES = {"64 bits": (None, FEW_PASSES | MANY_PASSES), "3 decimals": (3, FEW_PASSES)}


class CountedSource(TableSource):
    """A source that counts its rounds; only some of them read the tables."""

    passes = 0

    def partial_sums(self, task: Any) -> Any:
        """Return the sums of one round."""
        self.passes += 1
        return super().partial_sums(task)


def write_rows(folder: Path, n_rows: int, file_rows: int, decimals: int | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng = np.random.default_rng(0)
    for first in range(0, n_rows, file_rows):
        X = rng.uniform(size=(len(FEATURES), min(file_rows, n_rows - first)))
        X = X if decimals is None else X.round(decimals)
        y = (X[:3].sum(axis=0) + rng.normal(0, 0.2, X.shape[1]) > 1.5).astype(np.int64)
        table = pa.table(dict(zip(FEATURES, X, strict=True)) | {"y": y})
        pq.write_table(table, folder / f"{first:012}.parquet", row_group_size=BATCH)


def read(folder: Path) -> None:
    """Read the files, each whole, by two threads, and forget them."""
    import pyarrow.parquet as pq

    for path in sorted(folder.iterdir()):
        pq.read_table(path)


def accumulate(folder: Path, n_rows: int) -> None:
    """Gather moments, batch by batch, by one thread."""
    import pyarrow.parquet as pq

    moments = MomentAccumulator(
        (0, 1), (0, 1), n_rows, distribution="normal", feature_names=FEATURES, target="y"
    )
    for path in sorted(folder.iterdir()):
        # By default pyarrow reads ahead, and keeps, the whole file.
        file = pq.ParquetFile(path, pre_buffer=False)
        for number, batch in enumerate(file.iter_batches(batch_size=BATCH)):
            moments.update(batch, batch_id=f"{path.name}, {number}")


def usage(fit: Callable[[], Any], source: CountedSource) -> str:
    """Fit once more; return how many rounds there are, and the peak memory of this process, on Linux."""
    before, source.passes = process_megabytes("VmRSS"), 0
    forget_peak()
    fit()
    peak = process_megabytes("VmHWM")
    return f"{max(source.passes, 1)} rounds, peak {peak:.0f} MB, before {before:.0f}"


def bench_files(table: SideBySide, folder: Path, n_rows: int, models: dict[str, Any]) -> None:
    """Print the times and the memory of fits over the files of a folder."""
    import pyarrow.dataset as ds

    known: dict[str, Any] = {"target": "y", "features": FEATURES, "n_rows": n_rows, "n_jobs": N_JOBS}
    source = CountedSource(ds.dataset(folder), **known)
    fits = {name: partial(fit_rounds, model, source) for name, model in models.items()}
    fits["moments, batch by batch"] = partial(accumulate, folder, n_rows)
    for name, fit in fits.items():
        goal = f"{name} over parquet" if name in MANY_PASSES else ""
        reading, note = partial(read, folder), partial(usage, fit, source)
        pairs = 0 if goal else None
        table.row(name, "reading once", fit, reading, goal=goal, note=note, pairs=pairs)


def run(small: bool = False) -> Measured:
    """Print times and memory; data are written into a temporary folder and deleted."""
    warnings.simplefilter("ignore")
    n_rows, file_rows, pairs = SIZES[small]
    table = SideBySide(pairs, clock=perf_counter)
    with TemporaryDirectory() as place:
        for kind, (decimals, models) in FILES.items():
            folder = Path(place) / kind
            write_rows(folder, n_rows, file_rows, decimals)
            table.heading(f"{n_rows:,} rows of {len(FEATURES)} numbers ({kind}), {N_JOBS} threads")
            bench_files(table, folder, n_rows, models)
    return table.measured
