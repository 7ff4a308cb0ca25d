# SPDX-License-Identifier: BSD-3-Clause
"""Feed a private fit from dask."""

import dask
import dask.dataframe as dd

from skprivate import DPLogLocationScaleRegressor, MomentAccumulator

bounds = {"load": (0, 10), "speed": (0, 1)}
empty = MomentAccumulator(bounds, (10, 20_000), max_rows=10**6, target="hours").to_bytes()


@dask.delayed
def gather(part, number):
    return MomentAccumulator.from_bytes(empty).update(part, batch_id=f"part {number}").to_bytes()


parts = dd.read_parquet("rows/*.parquet").to_delayed()
moments = MomentAccumulator.from_bytes(empty)
for state in dask.compute(*[gather(part, number) for number, part in enumerate(parts)]):
    moments.merge(MomentAccumulator.from_bytes(state))
model = moments.release(DPLogLocationScaleRegressor(epsilon=1.0))
