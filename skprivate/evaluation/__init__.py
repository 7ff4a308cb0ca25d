# SPDX-License-Identifier: BSD-3-Clause
"""Around a fit: a paid evaluation, a private description of a table, and a plan before anything is spent."""

from ..utils import lazy_exports

_HOMES: dict[str, str] = {}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__: list[str] = []
