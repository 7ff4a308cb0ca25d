# SPDX-License-Identifier: BSD-3-Clause
"""One level of a CART partition: bins of the rows, choice of a cut per cell, routing of the rows."""

import numpy as np
from numpy.typing import NDArray

def place_cuts(
    values: NDArray[np.float64], scratch: NDArray[np.uint64], cuts: NDArray[np.float64]
) -> None: ...
def bin_rows(X: NDArray[np.float64], cuts: NDArray[np.float64], bins: NDArray[np.uint8]) -> None: ...
def choose_cuts(
    bins: NDArray[np.uint8],
    labels: NDArray[np.int32],
    start: NDArray[np.int64],
    x_log_x: NDArray[np.float64],
    least: int,
    copies: int,
    counts: NDArray[np.int32],
    sums: NDArray[np.int32],
    feature: NDArray[np.int32],
    cut: NDArray[np.int32],
    rows_left: NDArray[np.int64],
) -> None: ...
def part_rows(
    bins: NDArray[np.uint8],
    labels: NDArray[np.int32],
    start: NDArray[np.int64],
    feature: NDArray[np.int32],
    cut: NDArray[np.int32],
    rows_left: NDArray[np.int64],
    place: NDArray[np.int64],
    new_bins: NDArray[np.uint8],
    new_labels: NDArray[np.int32],
) -> None: ...
