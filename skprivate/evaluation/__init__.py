# SPDX-License-Identifier: BSD-3-Clause
"""Around a fit: private evaluation, private description of a table, and plans before budget is spent."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
