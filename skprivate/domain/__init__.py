# SPDX-License-Identifier: BSD-3-Clause
"""Declared columns: what is publicly known of a table, through which its rows are read; NumPy is enough."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
