# SPDX-License-Identifier: BSD-3-Clause
"""Passes of private fits over parquet files against reading these; peak memory; engines beside fit."""

import json
import os
import runpy
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from skprivate import DPLogLocationScaleRegressor, DPNormalLLSRegressor, DPTreeClassifier
from skprivate.rounds import TableSource, fit_rounds

from .._memory import process_megabytes
from .._tables import Table, verdict
from .._timing import compare

N_ROWS = int(os.environ.get("SKPRIVATE_BENCH_ROWS", "10000000"))
FEATURES = [f"x{j}" for j in range(10)]
FILE_ROWS = 500_000
PAIRS = 3
GOAL_RATIO = 1.5
# Peak memory at ten times the rows.
GOAL_GROWTH = 1.05
N_JOBS = 2
ENGINES = {"parquet": "pyarrow", "dask": "dask", "ray": "ray", "spark": "pyspark"}
N_ENGINE_ROWS = 1_000_000
HOME = Path(__file__).parents[2] / "doc/sources"


def write_rows(folder: Path, n_rows: int, decimals: int | None) -> None:
    """Write files of half a million rows; with few decimals, pyarrow stores numbers by a dictionary."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng = np.random.default_rng(0)
    for first in range(0, n_rows, FILE_ROWS):
        X = rng.uniform(size=(len(FEATURES), min(FILE_ROWS, n_rows - first)))
        X = X if decimals is None else X.round(decimals)
        y = (X[:3].sum(axis=0) + rng.normal(0, 0.2, X.shape[1]) > 1.5).astype(np.int64)
        table = pa.table(dict(zip(FEATURES, X, strict=True)) | {"y": y})
        pq.write_table(table, folder / f"{first:012}.parquet")


def make_estimator(name: str) -> Any:
    if name == "leaf counts":
        return DPTreeClassifier(1.0, bounds=(0, 1), classes=[0, 1], random_state=0)
    return DPNormalLLSRegressor(1.0, bounds_X=(0, 1), bounds_y=(0, 1), random_state=0)


def fit(folder: Path, name: str, n_rows: int) -> Any:
    """Fit in one round, which is one pass."""
    import pyarrow.dataset as ds

    source = TableSource(ds.dataset(folder), target="y", features=FEATURES, n_rows=n_rows, n_jobs=N_JOBS)
    return fit_rounds(make_estimator(name), source)


def read(folder: Path) -> None:
    """Read the files, each whole, by two threads, and forget them."""
    import pyarrow.parquet as pq

    for path in sorted(folder.iterdir()):
        pq.read_table(path)


def bench_passes(table: Table, kind: str, folder: Path) -> None:
    """Print the seconds of a pass and of reading, in turns."""
    for name in ("leaf counts", "moments"):
        ours, theirs, ratio = compare(
            lambda name=name: fit(folder, name, N_ROWS), lambda: read(folder), PAIRS
        )
        table.row(name, kind, ours, theirs, ratio, verdict(GOAL_RATIO, ratio <= GOAL_RATIO))


def measure(folder: Path, name: str, n_rows: int) -> float:
    """Return the peak megabytes of a process that fits once."""
    command = [sys.executable, "-m", "benchmarks.speed.rounds_parquet", str(folder), name, str(n_rows)]
    return float(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))


def bench_memory(table: Table, folders: dict[int, Path]) -> None:
    """Print the peak memory at a tenth of the rows and at all."""
    for name in ("leaf counts", "moments"):
        few, many = (measure(folder, name, n_rows) for n_rows, folder in folders.items())
        table.row(name, few, many, many / few, verdict(GOAL_GROWTH, many / few <= GOAL_GROWTH))


def write_lifetimes(folder: Path) -> tuple[Any, Any]:
    """Write what the documentation's scripts read; return all of it as arrays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "rows").mkdir()
    rng = np.random.default_rng(0)
    X = rng.uniform((0, 0), (10, 1), size=(N_ENGINE_ROWS, 2))
    y = np.exp(7 - 0.2 * X[:, 0] + 0.5 * X[:, 1]) * rng.weibull(2.0, N_ENGINE_ROWS)
    for first in range(0, N_ENGINE_ROWS, N_ENGINE_ROWS // 8):
        here = slice(first, first + N_ENGINE_ROWS // 8)
        table = pa.table({"hours": y[here], "speed": X[here, 1], "load": X[here, 0]})
        pq.write_table(table, folder / f"rows/{first:09}.parquet")
    return X, y


def start_engine(name: str) -> None:
    """Start two local workers of an engine."""
    if name == "dask":
        import distributed

        distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    elif name == "ray":
        import ray

        ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    elif name == "spark":
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def bench_engine(table: Table, name: str, X: Any, y: Any) -> None:
    """Print whether the script of an engine gives what fit gives, bit for bit on one seed."""
    if find_spec(ENGINES[name]) is None:
        table.row(name, "not installed")
        return
    start_engine(name)
    script = runpy.run_path(str(HOME / f"from_{name}.py"), run_name="__main__")
    options = {**script["model"].get_params(), "random_state": 0}
    there = fit_rounds(DPLogLocationScaleRegressor(**options), script["source"])
    here = DPLogLocationScaleRegressor(**options).fit(X, y)
    same = np.array_equal(here.coef_, there.coef_) and here.intercept_ == there.intercept_
    table.row(name, "equal to fit" if same else "NOT EQUAL to fit")


def run() -> None:
    """Print times, memory and equality; data are written into a temporary folder and deleted."""
    warnings.simplefilter("ignore")
    print(
        f"{N_ROWS:,} rows of {len(FEATURES)} numbers and a label, in files of {FILE_ROWS:,}; {N_JOBS} threads"
    )
    with TemporaryDirectory() as place:
        folder = Path(place)
        titles = ("sums", "<12"), ("numbers", "<12"), ("pass s", ">8.2f"), ("reading s", ">9.2f")
        table = Table(*titles, ("ratio", ">6.2f"), ("goal", "<14"))
        for kind, decimals in (("64 bits", None), ("3 decimals", 3)):
            write_rows(folder / kind, N_ROWS, decimals)
            bench_passes(table, kind, folder / kind)
        write_rows(folder / "few", N_ROWS // 10, None)
        print("\nPeak megabytes of a process that fits once")
        titles = ("sums", "<12"), (f"{N_ROWS // 10:,}", ">12.0f"), (f"{N_ROWS:,}", ">12.0f")
        table = Table(*titles, ("ratio", ">6.2f"), ("goal", "<14"))
        bench_memory(table, {N_ROWS // 10: folder / "few", N_ROWS: folder / "64 bits"})
        print(f"\nFits to {N_ENGINE_ROWS:,} rows by two local workers")
        table = Table(("engine", "<10"), ("on one seed", "<20"))
        X, y = write_lifetimes(folder)
        os.chdir(folder)
        for name in ENGINES:
            bench_engine(table, name, X, y)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    fit(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    print(process_megabytes("VmHWM"))
