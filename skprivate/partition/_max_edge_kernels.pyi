# SPDX-License-Identifier: BSD-3-Clause
"""One level of a partition by halving: sides of the rows, counts, choice of an edge, routing of the rows."""

import numpy as np
from numpy.typing import NDArray

def mark_sides(
    X: NDArray[np.float64],
    cell: NDArray[np.int32],
    midpoint: NDArray[np.float64],
    side: NDArray[np.uint8],
) -> None: ...
def count_right(
    side: NDArray[np.uint8],
    cell: NDArray[np.int32],
    labels: NDArray[np.int32],
    right: NDArray[np.int32],
) -> None: ...
def route_rows(
    side: NDArray[np.uint8],
    feature: NDArray[np.int32],
    child: NDArray[np.int32],
    cell: NDArray[np.int32],
) -> None: ...
def choose_by_gini(
    right: NDArray[np.int32],
    total: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    feature: NDArray[np.int32],
) -> None: ...
def choose_by_entropy(
    right: NDArray[np.int32],
    total: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    x_log_x: NDArray[np.float64],
    feature: NDArray[np.int32],
) -> None: ...
