# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.partition` and their modules."""

from ._column_cells import ColumnBins as ColumnBins
from ._column_cells import TableCells as TableCells
from ._growth import CRITERIA as CRITERIA
from ._growth import RULES as RULES
from ._growth import build_partition as build_partition
from ._leaf_kernels import count_leaves as count_leaves
from ._partition import DerivedColumns as DerivedColumns
from ._partition import Partition as Partition

__all__ = [
    "CRITERIA",
    "RULES",
    "ColumnBins",
    "DerivedColumns",
    "Partition",
    "TableCells",
    "build_partition",
    "count_leaves",
]
