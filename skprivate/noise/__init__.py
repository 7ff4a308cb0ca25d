# SPDX-License-Identifier: BSD-3-Clause
"""Exact noise: integer samplers over random words, and the mechanisms made of them."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
