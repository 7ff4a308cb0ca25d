# SPDX-License-Identifier: BSD-3-Clause
"""Accounting: what a fit spent, what is claimed for it, what it leaks, and the ledger that adds it up."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
