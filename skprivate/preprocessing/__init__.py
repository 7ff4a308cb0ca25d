# SPDX-License-Identifier: BSD-3-Clause
"""Preprocessing that reads nothing from private rows, or pays for what it reads."""

from ._bounds import BoundsScaler
from ._estimate_bounds import estimate_bounds

__all__ = ["BoundsScaler", "estimate_bounds"]
