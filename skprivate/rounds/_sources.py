# SPDX-License-Identifier: BSD-3-Clause
"""Sources of rows: tables in memory, on disk or on an engine, to which a public function is mapped."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any

import joblib

from .._config import get_config
from .._typing import IntArray
from ..domain import TableDomain
from ..domain._life_data import EventCoding
from ..utils import check_int, is_frame
from ..utils._public_module import public_module
from ._inspection import InspectFunction, SourceFacts, TableFacts
from ._plans.plan import Plan
from ._reading.columns import TableColumns
from ._reading.schema import RowSchema
from ._sums import PartialSums, SumsCollector
from ._task import PartitionFunction, RoundTask


@public_module("skprivate.rounds")
class TableSource:
    """Rows in one table or in many, which stay where they are: a plan goes to each, and sums come back.

    Parameters
    ----------
    tables : table, list of tables, pyarrow Dataset, dask DataFrame, or object with ``map_partitions``
        A table is a data frame of pandas or polars, an object with ``__arrow_c_stream__`` (pyarrow, DuckDB),
        a tuple of arrays ``(X, y)`` or ``(X, y, groups)``, or a function without parameters that returns one
        of these, each time anew: rows are read in every round. An object with a method
        ``map_partitions(function)`` stands for an engine: the method calls ``function(table, batch_id)`` for
        every partition, wherever that is, and returns an iterable of the bytes that the function returned.
    target : str, default=None
        Name of the target's column. Tuples of arrays need none.
    event : str, default=None
        Name of a boolean column: True where the target is the time of an event, False where it is censored;
        or of a column that holds the values of `happened`.
    features : list of str, default=None
        Names of the columns of X, in their order. None: all that have no other role.
    groups : str or bool, default=None
        Name of the column with the person of every row, where the person is to be protected; True for tuples
        of arrays that hold groups.
    groups_within_tables : bool, default=False
        Declares that all rows of a person are in one table, one after the other as in the whole: partition
        the data by the person. With several tables and ``groups`` it must be True. In strict mode rows
        without a usable name are one person's in each table.
    n_rows : int, default=None
        Number of rows, or with ``groups`` of persons, if it is known. None: the tables are looked at before
        anything is charged, which for files may be one more pass.
    n_jobs : int, default=None
        Tables that are worked on at once, by threads, as joblib counts them. An engine has its own workers.
    lower, upper : str, default=None
        Names of two columns in place of `target`: the event came after lower, and not after upper. See
        `skprivate.life_data`, which says what equal, zero and infinite ends mean.
    entry : str, default=None
        Name of the column of the time from which a row was watched; 0: from the start.
    happened, censored : str, int, float, bool or a collection of these, default=None
        Values of the column `event` which mean that the event happened, and that it had not happened yet, as
        in `skprivate.life_data`.

    See Also
    --------
    fit_rounds : Fits an estimator to a source.
    MomentAccumulator : The same by hand, for one round.

    Notes
    -----
    **Privacy.** To the tables go the plan of a round, which is public, and how columns are read. From them
    come exact sums, which are private: they stay within the trust boundary, that of the driver and of those
    who hold the tables, and whoever can read the engine's messages or its spilled files is inside it. Noise
    is drawn by the driver alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> from skprivate.rounds import TableSource, fit_rounds
    >>> rng = np.random.default_rng(0)
    >>> def month(number):
    ...     rng = np.random.default_rng(number)
    ...     load = rng.uniform(0, 10, size=(4000, 1))
    ...     return load, np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=4000)
    >>> source = TableSource([lambda number=number: month(number) for number in range(5)])
    >>> model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(0, 10), bounds_y=(10, 20000))
    >>> model = fit_rounds(model, source)
    >>> bool(abs(model.coef_[0] + 0.2) < 0.05)
    True
    """

    def __init__(
        self,
        tables: Any,
        *,
        target: str | None = None,
        event: str | None = None,
        features: Sequence[str] | None = None,
        groups: str | bool | None = None,
        groups_within_tables: bool = False,
        n_rows: int | None = None,
        n_jobs: int | None = None,
        lower: str | None = None,
        upper: str | None = None,
        entry: str | None = None,
        happened: Any = None,
        censored: Any = None,
    ) -> None:
        if isinstance(features, str):
            raise TypeError("features must be a list of names.")
        if isinstance(groups, bool):
            groups = "groups" if groups else None
        names = None if features is None else tuple(features)
        if names == ():
            raise ValueError("features must name a column, or be None for all that have no other role.")
        self.columns = TableColumns(
            names, target, event, groups, lower, upper, entry, EventCoding.of(happened, censored)
        )
        self.n_rows = None if n_rows is None else check_int(n_rows, "n_rows", least=1)
        if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
            raise ValueError("n_jobs must be an int other than 0, or None.")
        if n_rows is not None and self.columns.has_target and names is None:
            raise ValueError("with n_rows nobody looks at the tables beforehand: name the features.")
        self.n_jobs = n_jobs
        self.hook = _hook_of(tables, self.columns)
        self.tables = None if self.hook is not None else _list_of(tables, self.columns)
        alone = self.tables is not None and len(self.tables) == 1
        if groups is not None and not (groups_within_tables or alone):
            raise ValueError(
                "the rows of one person may be in several tables: partition the data by the person, and say "
                "so with groups_within_tables=True."
            )

    def inspect(self, *, domain: TableDomain | None = None, classes: Any = None) -> SourceFacts:
        """Return the public facts of all tables; nothing is charged for them."""
        function = InspectFunction(self.columns, get_config()["strict"], domain, classes)
        if self.hook is not None:
            return SourceFacts.of(TableFacts.from_bytes(data) for data in self.hook(function))
        return SourceFacts.of(self._map(function.inspect))

    def partial_sums(self, task: RoundTask) -> Iterator[PartialSums]:
        """Yield the sums of every table."""
        function = PartitionFunction(task.to_bytes())
        if self.hook is not None:
            return (PartialSums.from_bytes(data) for data in self.hook(function))
        return self._map(function.sum_partition)

    def _map(self, function: Callable[[Any, int], Any]) -> Iterator[Any]:
        tables: Any = self.tables
        calls = (joblib.delayed(_apply)(function, table, place) for place, table in enumerate(tables))
        if self.n_jobs in (None, 1):
            return (_apply(function, table, place) for place, table in enumerate(tables))
        results: Iterator[Any] = joblib.Parallel(
            n_jobs=self.n_jobs, prefer="threads", return_as="generator_unordered"
        )(calls)
        return results


class SourceRun:
    """A source during one fit: plans become tasks, and answers are checked and added up.

    Parameters
    ----------
    source : TableSource
    schema : RowSchema
    facts : SourceFacts
    run : str
        Id of the run.
    """

    def __init__(self, source: TableSource, schema: RowSchema, facts: SourceFacts, run: str) -> None:
        self._source, self._schema, self._facts, self._run = source, schema, facts, run

    def task(self, number: int, plan: Plan) -> RoundTask:
        """Return what goes to the tables in a round."""
        return RoundTask(self._run, number, self._schema, plan)

    def prepare(self, number: int, plan: Plan) -> None:
        """Refuse what public facts forbid."""
        plan.check_room(self._facts.n_rows)

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the exact sums over all rows."""
        task = self.task(number, plan)
        collector = SumsCollector(task.id, plan, self._facts.batches)
        for part in self._source.partial_sums(task):
            collector.add(part)
        values, n_units = collector.result()
        if self._facts.n_is_public and n_units != self._facts.n_units:
            raise ValueError("the source does not have the number of rows that was declared.")
        return values


def _apply(function: Callable[[Any, int], Any], table: Any, place: int) -> Any:
    return function(table() if callable(table) else table, place)


def _hook_of(tables: Any, columns: TableColumns) -> Callable[[Any], Iterable[bytes]] | None:
    """Return the engine's method, where there is one."""
    if type(tables).__module__.partition(".")[0].startswith("dask"):
        from ._dask import DaskPartitions

        return DaskPartitions(tables, columns).map_partitions
    return getattr(tables, "map_partitions", None)


class DatasetFile:
    """One file of a pyarrow Dataset, as a table that is read anew each time and never held whole.

    Parameters
    ----------
    fragment : pyarrow.dataset.Fragment
    schema : pyarrow.Schema
        Of the whole Dataset: a file of another one is read as this.
    columns : TableColumns
        Where features are named, no other column is read.
    """

    def __init__(self, fragment: Any, schema: Any, columns: TableColumns) -> None:
        self._fragment, self._schema, self._columns = fragment, schema, columns

    @property
    def num_rows(self) -> int:
        """Number of rows, which a parquet file knows without being read."""
        return int(self._fragment.count_rows())

    @property
    def schema(self) -> Any:
        """The columns of the file, and those that its path tells."""
        from pyarrow.dataset import get_partition_keys

        found = self._fragment.physical_schema
        for name in get_partition_keys(self._fragment.partition_expression):
            found = found if name in found.names else found.append(self._schema.field(name))
        return found

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        # Of a column that the file does not have pyarrow would make nulls.
        names = self._columns.choose(list(self.schema.names))
        wanted = None if self._columns.features is None else [*names, *self._columns.others]
        scanner = self._fragment.scanner(schema=self._schema, columns=wanted)
        return scanner.to_reader().__arrow_c_stream__(requested_schema)


def _list_of(tables: Any, columns: TableColumns) -> list[Any]:
    if hasattr(tables, "get_fragments"):
        return [DatasetFile(fragment, tables.schema, columns) for fragment in tables.get_fragments()]
    listed = list(tables) if isinstance(tables, list) else [tables]
    if not listed:
        raise ValueError("the source is empty: it has no table.")
    for table in listed:
        if hasattr(table, "read_next_batch"):
            raise TypeError(
                "a stream can be read once, and rounds read again: pass a function that opens it, such as "
                "lambda: dataset.scanner().to_reader()."
            )
        if isinstance(table, tuple) and len(table) not in (2, 3):
            raise TypeError("a tuple of arrays must be (X, y) or (X, y, groups).")
        if isinstance(table, dict) or not (callable(table) or _is_table(table)):
            raise TypeError(
                f"a table must be a frame, Arrow data, arrays or a function: {type(table).__name__}."
            )
    return listed


def _is_table(table: Any) -> bool:
    return (
        is_frame(table)
        or isinstance(table, tuple)
        or hasattr(table, "__arrow_c_stream__")
        or hasattr(table, "__array__")
    )
