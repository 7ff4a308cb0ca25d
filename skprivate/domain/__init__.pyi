# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.domain` and their modules."""

from ._columns import BooleanColumn as BooleanColumn
from ._columns import CategoricalColumn as CategoricalColumn
from ._columns import DateColumn as DateColumn
from ._columns import NumberColumn as NumberColumn
from ._columns import StressColumn as StressColumn
from ._life_data import life_data as life_data
from ._table_domain import TableDomain as TableDomain

__all__ = [
    "BooleanColumn",
    "CategoricalColumn",
    "DateColumn",
    "NumberColumn",
    "StressColumn",
    "TableDomain",
    "life_data",
]
