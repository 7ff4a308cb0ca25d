# SPDX-License-Identifier: BSD-3-Clause
"""Private classification trees: partitions of public data, with leaves estimated from private rows."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
