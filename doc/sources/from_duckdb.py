# SPDX-License-Identifier: BSD-3-Clause
"""Fit to the result of a DuckDB query, which is a stream: it is never in memory as a whole."""

import duckdb

from skprivate import DPLogLocationScaleRegressor
from skprivate.rounds import TableSource, fit_rounds

query = "select load, speed, hours from 'rows/*.parquet' where hours is not null"
source = TableSource(lambda: duckdb.sql(query), target="hours", features=["load", "speed"])
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=[(0, 0), (10, 1)], bounds_y=(10, 20_000))
model = fit_rounds(model, source)
