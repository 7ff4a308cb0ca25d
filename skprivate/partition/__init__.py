# SPDX-License-Identifier: BSD-3-Clause
"""Partitions of a public box into cells, grown on public rows."""

from ._column_cells import ColumnBins, TableCells
from ._growth import CRITERIA, RULES, build_partition
from ._leaf_kernels import count_leaves
from ._partition import DerivedColumns, Partition

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
