# SPDX-License-Identifier: BSD-3-Clause
"""Values to the centres of their cells."""

import numpy as np
from numpy.typing import NDArray

def coarsen(X: NDArray[np.float64], plan: NDArray[np.intp], table: NDArray[np.float64]) -> None: ...
