# SPDX-License-Identifier: BSD-3-Clause
"""Around a fit: a paid evaluation, a private description of a table, and a plan before anything is spent."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
