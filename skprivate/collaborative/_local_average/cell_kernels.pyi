# SPDX-License-Identifier: BSD-3-Clause
"""Averages over the cubes of a grid, found by a hash table of the cubes that hold rows."""

import numpy as np
from numpy.typing import NDArray

def fill_cells(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    side: float,
    slots: NDArray[np.int64],
    cells: NDArray[np.float64],
    means: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int: ...
def cell_averages(
    X: NDArray[np.float64],
    ranges: NDArray[np.float64],
    side: float,
    slots: NDArray[np.int64],
    cells: NDArray[np.float64],
    means: NDArray[np.float64],
    values: NDArray[np.float64],
    support: NDArray[np.uint8],
    column: int,
) -> None: ...
