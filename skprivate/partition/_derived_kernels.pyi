# SPDX-License-Identifier: BSD-3-Clause
"""Columns that a tree compares, made of encoded rows."""

import numpy as np
from numpy.typing import NDArray

def derive_rows(
    X: NDArray[np.float64],
    kind: NDArray[np.int32],
    first: NDArray[np.int32],
    n_levels: NDArray[np.int32],
    indicator: NDArray[np.int32],
    offset: NDArray[np.int32],
    numbers: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
