# SPDX-License-Identifier: BSD-3-Clause
"""Feed a private fit from ray."""

import glob

import pyarrow.parquet as pq
import ray

from skprivate import DPLogLocationScaleRegressor, MomentAccumulator

bounds = {"load": (0, 10), "speed": (0, 1)}
empty = MomentAccumulator(bounds, (10, 20_000), max_rows=10**6, target="hours").to_bytes()


@ray.remote
def gather(path):
    return MomentAccumulator.from_bytes(empty).update(pq.read_table(path), batch_id=path).to_bytes()


moments = MomentAccumulator.from_bytes(empty)
for state in ray.get([gather.remote(path) for path in sorted(glob.glob("rows/*.parquet"))]):
    moments.merge(MomentAccumulator.from_bytes(state))
model = moments.release(DPLogLocationScaleRegressor(epsilon=1.0))
