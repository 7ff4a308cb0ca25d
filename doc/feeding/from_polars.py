# SPDX-License-Identifier: BSD-3-Clause
"""Feed a private fit from polars, lazily."""

import polars as pl

from skprivate import DPLogLocationScaleRegressor, MomentAccumulator

moments = MomentAccumulator({"load": (0, 10), "speed": (0, 1)}, (10, 20_000), max_rows=10**6, target="hours")
rows = pl.scan_parquet("rows/*.parquet").select("load", "speed", "hours")
for number, batch in enumerate(rows.collect_batches()):
    moments.update(batch, batch_id=f"batch {number}")
model = moments.release(DPLogLocationScaleRegressor(epsilon=1.0))
