# SPDX-License-Identifier: BSD-3-Clause
"""Feed a private fit from DuckDB."""

import duckdb

from skprivate import DPLogLocationScaleRegressor, MomentAccumulator

moments = MomentAccumulator({"load": (0, 10), "speed": (0, 1)}, (10, 20_000), max_rows=10**6, target="hours")
rows = duckdb.sql("select load, speed, hours from 'rows/*.parquet' where hours is not null")
moments.update(rows, batch_id="all")  # an Arrow stream: never held whole
model = moments.release(DPLogLocationScaleRegressor(epsilon=1.0))
