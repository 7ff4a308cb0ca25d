# SPDX-License-Identifier: BSD-3-Clause
"""Splitting and searching that respect the line between public and private rows."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
