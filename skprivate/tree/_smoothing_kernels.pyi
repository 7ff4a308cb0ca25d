# SPDX-License-Identifier: BSD-3-Clause
from .._typing import FloatArray

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
