# SPDX-License-Identifier: BSD-3-Clause
"""Products of rows with a matrix, each row by the same operations whatever other rows there are."""

import numpy as np
from numpy.typing import NDArray

def add_products(
    rows: NDArray[np.float64], slopes: NDArray[np.float64], out: NDArray[np.float64]
) -> None: ...
def add_dot_products(
    rows: NDArray[np.float64], slopes: NDArray[np.float64], out: NDArray[np.float64]
) -> None: ...
