# SPDX-License-Identifier: BSD-3-Clause
"""Preprocessing: declared columns, declared bounds, private estimates of bounds, coarsening of queries."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
