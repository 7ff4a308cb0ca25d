# SPDX-License-Identifier: BSD-3-Clause
"""Partitions of a dask DataFrame as tables of a source."""

from collections.abc import Callable, Iterator
from typing import Any

from ._reading.columns import TableColumns


class DaskPartitions:
    """A dask DataFrame to whose partitions a function is mapped, by the scheduler that is active.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    columns : TableColumns
        What is read of it: where features are named, partitions are made with no other column.

    Raises
    ------
    TypeError
        It is another object of dask.
    ValueError
        A column is missing, or is there twice.

    Notes
    -----
    A partition's id is its number, in every round and when a task is run again. So each partition must hold
    the same rows every time that it is computed: those of files do, those of a random sample do not.
    """

    def __init__(self, frame: Any, columns: TableColumns) -> None:
        import dask.dataframe

        if not isinstance(frame, dask.dataframe.DataFrame):
            raise TypeError(f"of dask, a source takes a DataFrame, not {type(frame).__name__}.")
        names = columns.choose(list(frame.columns))
        self._frame = frame if columns.features is None else frame[[*names, *columns.others]]

    def map_partitions(self, function: Callable[[Any, int], bytes]) -> Iterator[bytes]:
        """Yield what the function returns of every partition."""
        import dask

        # Not pure: dask would keep the sums of two equal calls on a worker, as one result.
        call = dask.delayed(function, pure=False)
        tasks = [call(table, number) for number, table in enumerate(self._frame.to_delayed())]
        yield from dask.compute(*tasks)
