# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.rounds` and their modules."""

from ._fit import fit_rounds as fit_rounds
from ._sources import TableSource as TableSource
from ._task import PartialSums as PartialSums
from ._task import PartitionFunction as PartitionFunction

__all__ = [
    "PartialSums",
    "PartitionFunction",
    "TableSource",
    "fit_rounds",
]
