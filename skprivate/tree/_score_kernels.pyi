# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray

def fill_scores(
    table: IntArray, n_bins: NDArray[np.int32], half: int, left: IntArray, out: IntArray
) -> None: ...
def fill_spreads(
    squares: FloatArray,
    noise: FloatArray,
    weight: float,
    spreads: FloatArray,
    local: FloatArray,
    prior: FloatArray,
    likelihood: FloatArray,
    by_level: FloatArray,
    out: FloatArray,
) -> None: ...
