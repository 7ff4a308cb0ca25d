# SPDX-License-Identifier: BSD-3-Clause
"""Preprocessing that reads nothing from private rows."""

from ._bounds import BoundsScaler

__all__ = ["BoundsScaler"]
