# SPDX-License-Identifier: BSD-3-Clause
"""Masses of numbers on a grid, and sums of masses by leaf."""

import numpy as np
from numpy.typing import NDArray

def fill_terms(
    y: NDArray[np.float64], center: float, half: float, one: int, out: NDArray[np.int64]
) -> bool: ...
def multiply(masses: NDArray[np.int64], steps: NDArray[np.float64], largest: int) -> bool: ...
def add_masses(
    leaves: NDArray[np.int32],
    first: NDArray[np.int32],
    masses: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None: ...
