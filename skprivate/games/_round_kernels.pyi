# SPDX-License-Identifier: BSD-3-Clause
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
