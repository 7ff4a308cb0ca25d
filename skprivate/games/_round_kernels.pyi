# SPDX-License-Identifier: BSD-3-Clause
from typing import Any

import numpy as np
from numpy.typing import NDArray

def fill_broadcast(
    private_part: NDArray[np.float64],
    public_part: NDArray[np.float64],
    steps: float,
    limit: float,
    noise: NDArray[np.int64],
    out: NDArray[np.float64],
) -> bool: ...
def clip_rows(rows: NDArray[np.float64], bound: float) -> None: ...
def average_rows(
    start: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[np.float64],
    rows: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
def count_components(
    start: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[np.float64],
    least: float,
    parent: NDArray[Any],
) -> int: ...
