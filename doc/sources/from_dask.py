# SPDX-License-Identifier: BSD-3-Clause
"""Fit to a dask DataFrame on dask's workers."""

import dask.dataframe as dd

from skprivate import DPLogLocationScaleRegressor
from skprivate.rounds import TableSource, fit_rounds

rows = dd.read_parquet("rows/*.parquet")
source = TableSource(rows, target="hours", features=["load", "speed"])
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=[(0, 0), (10, 1)], bounds_y=(10, 20_000))
model = fit_rounds(model, source)
