# SPDX-License-Identifier: BSD-3-Clause
"""Partitions of a public box into cells, grown on public rows."""

from ._column_bins import ColumnBins
from ._derived import DerivedColumns
from ._grow import CRITERIA, RULES, build_partition
from ._leaf_kernels import count_leaves
from ._partition import Partition
from ._table_cells import TableCells

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
