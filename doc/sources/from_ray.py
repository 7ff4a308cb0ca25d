# SPDX-License-Identifier: BSD-3-Clause
"""Fit to files that ray's workers read."""

import glob

import pyarrow.dataset as ds
import ray

from skprivate import DPLogLocationScaleRegressor
from skprivate.rounds import TableSource, fit_rounds


@ray.remote
def apply(function, path):
    return function(ds.dataset(path).scanner().to_reader(), path)


class RayFiles:
    def __init__(self, paths):
        self.paths = paths

    def map_partitions(self, function):
        waiting = [apply.remote(function, path) for path in self.paths]
        while waiting:
            [done], waiting = ray.wait(waiting)
            yield ray.get(done)


rows = RayFiles(sorted(glob.glob("rows/*.parquet")))
source = TableSource(rows, target="hours", features=["load", "speed"])
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=[(0, 0), (10, 1)], bounds_y=(10, 20_000))
model = fit_rounds(model, source)
