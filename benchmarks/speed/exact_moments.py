# SPDX-License-Identifier: BSD-3-Clause
"""Times of exact integer moments against one ``X.T @ X``, on one thread; ten million rows from a file."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from skprivate.rounds._plans.moments import MomentGrid, exact_gram

from .._memory import process_megabytes
from .._tables import Table, verdict
from .._timing import compare, median_seconds, timed

N_ROWS = 1_000_000
# Values of a table of many columns, 240 MB.
MOST_VALUES = 30_000_000
PAIRS = 15
GOAL_RATIO = 2.0
N_STREAMED, N_STREAMED_FEATURES = 10_000_000, 10
ROW_GROUP = 2**17
GOAL_MEGABYTES = 500


def make_grid(n_features: int, **options: Any) -> MomentGrid:
    bound = np.full(n_features, 4.0)
    return MomentGrid(lower=-bound, upper=bound, target=(-4.0, 4.0), exponent=20, **options)


def bench_gram(table: Table, n_features: int, name: str, dtype: Any = np.float64, **options: Any) -> None:
    """Print the milliseconds of both and the median ratio of neighbouring runs."""
    rng = np.random.default_rng(0)
    n_rows = min(N_ROWS, MOST_VALUES // n_features)
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    y = rng.normal(size=n_rows)
    grid = make_grid(n_features, **options)
    ours, theirs, ratio = compare(lambda: exact_gram(grid, X, y), lambda: X.T @ X, PAIRS)
    table.row(n_features, name, 1e3 * ours, 1e3 * theirs, ratio, verdict(GOAL_RATIO, ratio <= GOAL_RATIO))


def bench_least_squares(table: Table, n_features: int) -> None:
    """Print the milliseconds of scikit-learn's least squares, which are neither exact nor private."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N_ROWS, n_features)), rng.normal(size=N_ROWS)
    took = median_seconds(lambda: LinearRegression().fit(X, y), 3)
    table.row(n_features, "scikit-learn's fit", 1e3 * took, None, None, "")


def write_rows(path: Path) -> None:
    """Write lifetimes to a parquet file, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(N_STREAMED_FEATURES)]
    schema = pa.schema([(name, pa.float64()) for name in (*names, "hours")])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, N_STREAMED, ROW_GROUP):
            count = min(ROW_GROUP, N_STREAMED - first)
            X = rng.normal(size=(N_STREAMED_FEATURES, count))
            hours = np.exp(5 + 0.3 * X[0]) * rng.weibull(2.0, size=count)
            writer.write_table(pa.table([*X, hours], schema=schema))


def stream(path: str) -> None:
    """Gather the moments of a file; print seconds, and the process's peak megabytes after and before."""
    import pyarrow.parquet as pq

    from skprivate.linear_model._accumulator import MomentAccumulator

    bound = np.full(N_STREAMED_FEATURES, 4.0)
    moments = MomentAccumulator((-bound, bound), (1.0, 1000.0), N_STREAMED, target="hours")
    before = process_megabytes("VmHWM")

    def update() -> None:
        # By default pyarrow reads ahead, and keeps, the whole file.
        file = pq.ParquetFile(path, pre_buffer=False)
        for number, batch in enumerate(file.iter_batches(batch_size=ROW_GROUP)):
            moments.update(batch, batch_id=number)

    print(timed(update)[0], process_megabytes("VmHWM"), before)


def bench_stream() -> None:
    """Stream in a process of its own, so that the peak is that of streaming alone."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_rows(path)
        command = f"from benchmarks.speed.exact_moments import stream; stream({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
        size = path.stat().st_size / 1e6
    took, peak, before = map(float, done.stdout.split())
    print(
        f"n = {N_STREAMED:,}, d = {N_STREAMED_FEATURES} streamed from {size:.0f} MB of parquet: {took:.1f} s,"
        f" peak {peak:.0f} MB, of which {before:.0f} MB before the first row"
        f" ({verdict(GOAL_MEGABYTES, peak <= GOAL_MEGABYTES)})",
        flush=True,
    )


def run() -> None:
    print(f"n = {N_ROWS:,}, or fewer for tables of 240 MB; median of {PAIRS} interleaved pairs")
    table = Table(
        ("d", ">3"),
        ("bounds", "<18"),
        ("ms", ">8.1f"),
        ("X.T @ X, ms", ">8.1f"),
        ("ratio", ">6.2f"),
        ("", "<18"),
    )
    for n_features in (5, 50, 100):
        bench_gram(table, n_features, "cube")
    for n_features in (10, 30):
        bench_gram(table, n_features, "cube")
        bench_gram(table, n_features, "float32", np.float32)
        bench_gram(table, n_features, "L1 ball", x_norm=4.0, norm_order=1)
        bench_gram(table, n_features, "L2 ball", x_norm=4.0, norm_order=2)
        bench_least_squares(table, n_features)
    bench_stream()
