# SPDX-License-Identifier: BSD-3-Clause
"""Feed a private fit from Spark."""

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from skprivate import DPLogLocationScaleRegressor, MomentAccumulator

bounds = {"load": (0, 10), "speed": (0, 1)}
empty = MomentAccumulator(bounds, (10, 20_000), max_rows=10**6, target="hours").to_bytes()


def gather(batches):
    moments = MomentAccumulator.from_bytes(empty)
    for number, batch in enumerate(batches):
        moments.update(batch, batch_id=f"part {TaskContext.get().partitionId()}, batch {number}")
    yield pa.RecordBatch.from_pydict({"state": [moments.to_bytes()]})


rows = SparkSession.builder.getOrCreate().read.parquet("rows").select("load", "speed", "hours")
moments = MomentAccumulator.from_bytes(empty)
for row in rows.mapInArrow(gather, "state binary").toLocalIterator():
    moments.merge(MomentAccumulator.from_bytes(bytes(row.state)))
model = moments.release(DPLogLocationScaleRegressor(epsilon=1.0))
