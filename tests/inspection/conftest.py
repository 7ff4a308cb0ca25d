# SPDX-License-Identifier: BSD-3-Clause
"""Axes that no window shows."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

mpl.use("Agg")


@pytest.fixture
def axes():
    return Figure(figsize=(12, 6)).subplots()


@pytest.fixture
def edges_of():
    """Return lower and upper ends of a filled band, at its places."""

    def read(band):
        points = band.get_paths()[0].vertices
        n = (len(points) - 3) // 2
        return np.column_stack([points[1 : 1 + n, 1], points[2 + n : 2 + 2 * n, 1][::-1]])

    return read


@pytest.fixture
def boxes_of():
    """Return corners (x0, y0, x1, y1) of drawn boxes."""

    def read(patches):
        return np.array([path.get_extents().extents for path in patches.get_paths()])

    return read
