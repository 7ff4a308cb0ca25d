# SPDX-License-Identifier: BSD-3-Clause
"""Declared columns: public knowledge about a table, by which its rows are read; it needs only NumPy."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
