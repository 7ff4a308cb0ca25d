# SPDX-License-Identifier: BSD-3-Clause
"""Rows to integers: centre, scale, clip, round toward zero, pack side by side for BLAS."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def pack_cube(
    X: NDArray[Any],
    y: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    y_center: float,
    y_scale: float,
    bound: float,
    out: NDArray[np.float64],
) -> bool: ...
def pack_ball(
    X: NDArray[Any],
    y: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    y_center: float,
    y_scale: float,
    bound: float,
    squares: bool,
    row: NDArray[np.float64],
    out: NDArray[np.float64],
) -> bool: ...
def has_vectors() -> bool: ...
def add_products(
    left: NDArray[np.float64], right: NDArray[np.float64], sums: NDArray[np.float64]
) -> None: ...
