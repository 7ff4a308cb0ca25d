# SPDX-License-Identifier: BSD-3-Clause
"""Splitting and searching that respect the line between public and private rows."""

from typing import TYPE_CHECKING

from ..utils._lazy import lazy_exports

if TYPE_CHECKING:
    from ._private_search import PrivateGridSearchCV as PrivateGridSearchCV
    from ._private_search import PrivateRandomizedSearchCV as PrivateRandomizedSearchCV
    from ._split import PublicPrivateSplit as PublicPrivateSplit

_HOMES = {
    "PrivateGridSearchCV": "._private_search",
    "PrivateRandomizedSearchCV": "._private_search",
    "PublicPrivateSplit": "._split",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = ["PrivateGridSearchCV", "PrivateRandomizedSearchCV", "PublicPrivateSplit"]
