# SPDX-License-Identifier: BSD-3-Clause
"""Rule "random": a longest edge of every cell, drawn with a public seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._halving import EdgeChoice


def random_edges(seed: int) -> EdgeChoice:
    """Return the rule as a function, which draws one word a cell."""
    # Raw words: NumPy keeps a bit generator's stream for good, but not what its methods make of it.
    words = np.random.default_rng(seed).bit_generator
    return lambda right, total, allowed: _draw(allowed, words.random_raw(len(allowed)))


def _draw(allowed: NDArray[np.bool_], words: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Draw one allowed feature per cell, -1 where there is none."""
    choices = allowed.sum(axis=1)
    rank = (words % np.maximum(choices, 1).astype(np.uint64)).astype(np.int64)
    feature = np.argmax(np.cumsum(allowed, axis=1) > rank[:, np.newaxis], axis=1)
    return np.where(choices > 0, feature, -1).astype(np.int32)
