# SPDX-License-Identifier: BSD-3-Clause
"""Masks added to rows of two numbers modulo 2^256, each of eight words of 32 bits, the lowest first."""

import numpy as np
from numpy.typing import NDArray

def mask_rows(
    rows: NDArray[np.int64], masks: bytes | bytearray | memoryview, n_before: int, out: bytearray
) -> None: ...
