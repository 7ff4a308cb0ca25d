# SPDX-License-Identifier: BSD-3-Clause
"""Products of every player's matrix with its vector, for all players at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...utils._public_module import public_module

FloatArray = NDArray[np.float64]

# Up to this many dimensions einsum is faster on a stack of matrices than matmul (measured: 1.3 ms against
# 3.0 ms for 1e5 players and 2 dimensions, 173 us against 85 us for 1e3 and 20).
_EINSUM_DIMS = 8


@public_module("skprivate.games")
class LinearMap:
    """A matrix for all players, or one each, applied to the rows of an array in the cheapest way."""

    def __init__(self, matrices: FloatArray) -> None:
        identity = np.eye(matrices.shape[-1])
        diagonal = np.ascontiguousarray(np.diagonal(matrices, axis1=-2, axis2=-1))
        self._factor: Any = None
        self._matrices = matrices
        if np.array_equal(matrices, diagonal[..., None] * identity):
            common = matrices.ndim == 2 and (diagonal == diagonal[0]).all()
            self._factor = float(diagonal[0]) if common else diagonal

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return M_i z_i; rows of shape (n_players, n_dims), or (n_dims,) for one z."""
        if self._factor is not None:
            return rows * self._factor
        if self._matrices.ndim == 2:
            return rows @ self._matrices.T
        if rows.ndim == 1:
            return self._matrices @ rows
        if rows.shape[1] <= _EINSUM_DIMS:
            return np.einsum("ijk,ik->ij", self._matrices, rows)
        return np.matmul(self._matrices, rows[:, :, None])[:, :, 0]
