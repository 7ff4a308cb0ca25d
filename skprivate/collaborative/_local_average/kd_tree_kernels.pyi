# SPDX-License-Identifier: BSD-3-Clause
"""A balanced kd-tree whose rows stand leaf by leaf; nearest rows, and averages over balls."""

import numpy as np
from numpy.typing import NDArray

def build_tree(
    rows: NDArray[np.float64],
    order: NDArray[np.int64],
    feature: NDArray[np.int32],
    gap: NDArray[np.float64],
    size: int,
) -> None: ...
def nearest_averages(
    X: NDArray[np.float64],
    ranges: NDArray[np.float64],
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    index: NDArray[np.int64],
    feature: NDArray[np.int32],
    gap: NDArray[np.float64],
    wanted: NDArray[np.int64],
    values: NDArray[np.float64],
) -> None: ...
def ball_averages(
    X: NDArray[np.float64],
    ranges: NDArray[np.float64],
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    feature: NDArray[np.int32],
    gap: NDArray[np.float64],
    radii: NDArray[np.float64],
    values: NDArray[np.float64],
    support: NDArray[np.uint8],
) -> None: ...
