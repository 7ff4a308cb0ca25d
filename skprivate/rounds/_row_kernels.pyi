# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from numpy.typing import NDArray

def join_columns(columns: list[NDArray[np.float64]], out: NDArray[np.float64]) -> bool: ...
