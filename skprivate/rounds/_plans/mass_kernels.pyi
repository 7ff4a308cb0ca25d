# SPDX-License-Identifier: BSD-3-Clause
"""Counts and masses of rows by node, cell, and bin of every column; masses of numbers and their sums."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def find_bins(
    X: NDArray[np.float64],
    nodes: NDArray[np.int32],
    start: NDArray[np.int32],
    guesses: NDArray[np.float64],
    edges: NDArray[np.float64],
    bins: NDArray[Any],
) -> None: ...
def move_rows(
    X: NDArray[np.float64],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    start: NDArray[np.int32],
    guesses: NDArray[np.float64],
    edges: NDArray[np.float64],
    nodes: NDArray[np.int32],
    bins: NDArray[Any],
) -> None: ...
def count_bins(
    bins: NDArray[Any],
    nodes: NDArray[np.int32],
    labels: NDArray[np.int32],
    start: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> None: ...
def add_bins(
    bins: NDArray[Any],
    nodes: NDArray[np.int32],
    first: NDArray[np.int32],
    masses: NDArray[np.int64],
    start: NDArray[np.int32],
    sums: NDArray[np.int64],
) -> None: ...
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
