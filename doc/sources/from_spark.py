# SPDX-License-Identifier: BSD-3-Clause
"""Fit to a Spark DataFrame on its executors."""

from itertools import chain

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from skprivate import DPLogLocationScaleRegressor
from skprivate.rounds import TableSource, fit_rounds


class SparkRows:
    def __init__(self, frame):
        self.frame = frame

    def map_partitions(self, function):
        def apply(batches):
            for first in batches:  # none in a partition without rows
                rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
                sums = function(rows, TaskContext.get().partitionId())
                yield pa.RecordBatch.from_pydict({"sums": [sums]})

        return (bytes(row.sums) for row in self.frame.mapInArrow(apply, "sums binary").collect())


rows = SparkRows(SparkSession.builder.getOrCreate().read.parquet("rows"))
source = TableSource(rows, target="hours", features=["load", "speed"])
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=[(0, 0), (10, 1)], bounds_y=(10, 20_000))
model = fit_rounds(model, source)
