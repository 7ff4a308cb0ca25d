# SPDX-License-Identifier: BSD-3-Clause
"""Splitting and searching that respect the line between public and private rows."""

from typing import TYPE_CHECKING

from ..utils._public_module import lazy_exports

if TYPE_CHECKING:
    from ._private_search import PrivateGridSearch, PrivateRandomizedSearch
    from ._split import PublicPrivateSplit

_HOMES = {
    "PrivateGridSearch": "._private_search",
    "PrivateRandomizedSearch": "._private_search",
    "PublicPrivateSplit": "._split",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = ["PrivateGridSearch", "PrivateRandomizedSearch", "PublicPrivateSplit"]
