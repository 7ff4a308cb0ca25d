# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from numpy.typing import NDArray

TILE: int

def fill_tiles(
    block: NDArray[np.float64],
    factor: NDArray[np.float64],
    shift: NDArray[np.float64],
    radius: float,
    squares: bool,
    span: float,
    work: NDArray[np.float64],
    tiles: NDArray[np.int32],
    weights: NDArray[np.float64],
) -> None: ...
def add_gradients(
    tiles: NDArray[np.int32],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    factor: NDArray[np.float64],
    shift: NDArray[np.float64],
    theta: NDArray[np.float64],
    unit: float,
    fine: float,
    work: NDArray[np.float64],
    residuals: NDArray[np.int32],
    curvatures: NDArray[np.float64],
    sums: NDArray[np.int64],
) -> None: ...
