# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from numpy.typing import NDArray

def fill_residuals(
    block: NDArray[np.float64],
    event: NDArray[np.uint8],
    theta: NDArray[np.float64],
    distribution: int,
    cuts: NDArray[np.float64],
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    residual: NDArray[np.float64],
    weights: NDArray[np.float64],
    places: NDArray[np.float64],
) -> int: ...
def fill_observed(
    block: NDArray[np.float64],
    code: NDArray[np.uint8],
    end: NDArray[np.float64],
    start: NDArray[np.float64],
    entry: NDArray[np.float64],
    theta: NDArray[np.float64],
    distribution: int,
    cuts: NDArray[np.float64],
    units: NDArray[np.float64],
    limits: NDArray[np.float64],
    in_halves: bool,
    residual: NDArray[np.float64],
    moment: NDArray[np.float64],
    weights: NDArray[np.float64],
    places: NDArray[np.float64],
) -> tuple[int, int]: ...
def fill_bins(
    target: NDArray[np.float64],
    event: NDArray[np.uint8],
    center: float,
    half: float,
    bins: int,
    codes: NDArray[np.int64],
) -> bool: ...
