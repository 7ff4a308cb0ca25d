# SPDX-License-Identifier: BSD-3-Clause
"""Splits and searches that keep public and private rows apart."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
