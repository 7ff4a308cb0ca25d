# SPDX-License-Identifier: BSD-3-Clause
"""Fit to polars frames, which are collected one by one."""

import glob

import polars as pl

from skprivate import DPLogLocationScaleRegressor
from skprivate.rounds import TableSource, fit_rounds

lazy = [pl.scan_parquet(path) for path in sorted(glob.glob("rows/*.parquet"))]
source = TableSource([table.collect for table in lazy], target="hours", features=["load", "speed"])
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=[(0, 0), (10, 1)], bounds_y=(10, 20_000))
model = fit_rounds(model, source)
