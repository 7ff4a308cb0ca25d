# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of exact sums over rows: what a trusted curator releases, from an array to a cluster."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._fit import fit_rounds as fit_rounds
    from ._sources import TableSource as TableSource
    from ._task import PartialSums as PartialSums
    from ._task import PartitionFunction as PartitionFunction

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "PartialSums": "._task",
        "PartitionFunction": "._task",
        "TableSource": "._sources",
        "fit_rounds": "._fit",
    },
)

__all__ = ["PartialSums", "PartitionFunction", "TableSource", "fit_rounds"]
