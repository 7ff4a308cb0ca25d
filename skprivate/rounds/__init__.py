# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of exact sums over rows: what a trusted curator releases, from an array to a cluster."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
