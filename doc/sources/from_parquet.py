# SPDX-License-Identifier: BSD-3-Clause
"""Fit to files, two at a time."""

import pyarrow.dataset as ds

from skprivate import DPLogLocationScaleRegressor
from skprivate.rounds import TableSource, fit_rounds

rows = ds.dataset("rows")
source = TableSource(rows, target="hours", features=["load", "speed"], n_jobs=2)
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=[(0, 0), (10, 1)], bounds_y=(10, 20_000))
model = fit_rounds(model, source)
