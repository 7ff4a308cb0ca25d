# SPDX-License-Identifier: BSD-3-Clause
"""Cells of rows, their scores, and the sums of their residuals, one row after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def fill_codes(values: NDArray[np.float64], thresholds: NDArray[np.float64], codes: NDArray[Any]) -> None: ...
def add_cells(
    codes: NDArray[Any], groups: NDArray[np.int32], size: int, cells: NDArray[np.int32]
) -> None: ...
def add_code_weights(codes: NDArray[Any], weights: NDArray[np.int64], scores: NDArray[np.int64]) -> None: ...
def add_cell_weights(
    cells: NDArray[np.int32], weights: NDArray[np.int64], scores: NDArray[np.int64]
) -> None: ...
def add_numbers(codes: NDArray[Any], numbers: NDArray[np.int64], sums: NDArray[np.int64]) -> None: ...
def add_binary(
    scores: NDArray[np.int64],
    labels: NDArray[np.int32],
    cells: NDArray[np.int32],
    unit: float,
    limit: float,
    one: int,
    sums: NDArray[np.int64],
) -> None: ...
def add_softmax(
    scores: NDArray[np.int64],
    labels: NDArray[np.int32],
    cells: NDArray[np.int32],
    unit: float,
    limit: float,
    one: int,
    odds: NDArray[np.float64],
    sums: NDArray[np.int64],
) -> None: ...
def add_squared(
    scores: NDArray[np.int64],
    target: NDArray[np.float64],
    cells: NDArray[np.int32],
    unit: float,
    center: float,
    half: float,
    clip: float,
    one: int,
    sums: NDArray[np.int64],
) -> None: ...
