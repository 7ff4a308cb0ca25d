# SPDX-License-Identifier: BSD-3-Clause
"""Aggregative games: private Nash equilibrium seeking, and the leakage of its broadcasts."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
