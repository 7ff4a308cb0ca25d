# SPDX-License-Identifier: BSD-3-Clause
"""Partitions of a public box into cells, grown on public rows."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
