# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from numpy.typing import NDArray

LANES: int

def fill_logits(
    block: NDArray[np.float64] | NDArray[np.int32],
    labels: NDArray[np.int32],
    factor: NDArray[np.float64],
    shift: NDArray[np.float64],
    radius: float,
    squares: bool,
    span: float,
    theta: NDArray[np.float64],
    unit: float,
    fine: float,
    work: NDArray[np.float64],
    gradient: NDArray[np.float64],
    rows: NDArray[np.float64],
    residuals: NDArray[np.float64],
    curvatures: NDArray[np.float64],
) -> None: ...
