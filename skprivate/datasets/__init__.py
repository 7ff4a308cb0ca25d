# SPDX-License-Identifier: BSD-3-Clause
"""Data sets and generators for examples, tests and benchmarks."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
