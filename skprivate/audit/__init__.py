# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on what is released, lower bounds on epsilon, and a battery of checks for private estimators."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
