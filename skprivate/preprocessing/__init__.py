# SPDX-License-Identifier: BSD-3-Clause
"""Preprocessing that reads nothing from private rows, or pays for what it reads."""

from ._bounds import BoundsScaler
from ._estimate_bounds import estimate_bounds
from ._tqma import TQMATransformer

__all__ = ["BoundsScaler", "TQMATransformer", "estimate_bounds"]
