# SPDX-License-Identifier: BSD-3-Clause
"""Around a fit: a paid evaluation, a private description of a table, and a plan before anything is spent."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._description.result import TableDescription as TableDescription
    from ._private_describe import private_describe as private_describe

_HOMES = {
    "TableDescription": "._description.result",
    "private_describe": "._private_describe",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "TableDescription",
    "private_describe",
]
