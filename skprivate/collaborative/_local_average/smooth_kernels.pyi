# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian and Laplace averages: every row has a weight, but far blocks of rows no visible one."""

import numpy as np
from numpy.typing import NDArray

def scale_rows(X: NDArray[np.float64], ranges: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
def smooth_averages(
    X: NDArray[np.float64],
    ranges: NDArray[np.float64],
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    boxes: NDArray[np.float64],
    feature: NDArray[np.int32],
    gap: NDArray[np.float64],
    factors: NDArray[np.float64],
    squared: bool,
    invisible: float,
    values: NDArray[np.float64],
) -> None: ...
