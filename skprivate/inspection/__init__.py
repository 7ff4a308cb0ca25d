# SPDX-License-Identifier: BSD-3-Clause
"""Displays of estimators and ledgers; they need matplotlib, which is imported when something is drawn."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
