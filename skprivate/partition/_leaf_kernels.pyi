# SPDX-License-Identifier: BSD-3-Clause
"""Assignment of rows to leaves, and counts of rows by leaf and label."""

import numpy as np
from numpy.typing import NDArray

def apply_rows(
    X: NDArray[np.float64],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    leaf_index: NDArray[np.int32],
    depth: int,
    out: NDArray[np.int32],
) -> None: ...
def count_leaves(leaves: NDArray[np.int32], labels: NDArray[np.int32], out: NDArray[np.int64]) -> None: ...
