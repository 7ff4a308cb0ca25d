# SPDX-License-Identifier: BSD-3-Clause
"""Declared columns: what is publicly known of a table, through which its rows are read; NumPy is enough."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._columns import BooleanColumn as BooleanColumn
    from ._columns import CategoricalColumn as CategoricalColumn
    from ._columns import DateColumn as DateColumn
    from ._columns import NumberColumn as NumberColumn
    from ._columns import StressColumn as StressColumn
    from ._life_data import life_data as life_data
    from ._table_domain import TableDomain as TableDomain

_HOMES = {
    "BooleanColumn": "._columns",
    "CategoricalColumn": "._columns",
    "DateColumn": "._columns",
    "NumberColumn": "._columns",
    "StressColumn": "._columns",
    "TableDomain": "._table_domain",
    "life_data": "._life_data",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "BooleanColumn",
    "CategoricalColumn",
    "DateColumn",
    "NumberColumn",
    "StressColumn",
    "TableDomain",
    "life_data",
]
