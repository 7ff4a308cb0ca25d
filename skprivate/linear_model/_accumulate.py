# SPDX-License-Identifier: BSD-3-Clause
"""Exact integer moments."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from ._grid import FloatArray, MomentGrid


def exact_gram(grid: MomentGrid, X: FloatArray, y: FloatArray) -> NDArray[np.int64]:
    """Return the sum of q q' over the rows' integers."""
    assert_all_finite(X, input_name="X")
    x = (X - grid.center) / grid.half
    if grid.x_norm is None:
        x = np.clip(x, -1, 1)
    else:
        x = x / np.maximum(np.linalg.norm(x, ord=grid.norm_order, axis=1, keepdims=True), 1)
    z = np.column_stack([np.ones(len(X)), np.clip((y - grid.y_center) / grid.y_half, -1, 1), x])
    q = np.trunc(z * 2**grid.exponent)
    gram = np.zeros((grid.size, grid.size), dtype=np.int64)
    step = 2**53 // 4**grid.exponent
    for start in range(0, len(q), step):
        block = q[start : start + step]
        gram += (block.T @ block).astype(np.int64)
    return gram
