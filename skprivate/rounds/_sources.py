# SPDX-License-Identifier: BSD-3-Clause
"""Sources of rows (tables in memory, on disk or on an engine), and their public facts."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import joblib
import numpy as np

from .._config import config_context, get_config
from .._typing import IntArray
from ..base._public_facts import PublicShape
from ..domain import TableDomain
from ..domain._labels import refuse_label_types
from ..domain._life_data import EventCoding
from ..utils import check_int, is_frame, is_structured
from ..utils._arguments import exact_names, number_units
from ..utils._json_documents import Fields, restore_in_silence, seal_document
from ..utils._private_fit import public_errors, redact_errors
from ..utils._public_module import public_module
from ._codec import Record, maybe, stored, texts
from ._driver import RunRecord
from ._kept import forget, store_of
from ._rows import check_form, find_roles
from ._schema import RowSchema
from ._tables import TableColumns, arrow_records, has_names, holds_arrow, read_pieces
from ._task import PartialSums, PartitionFunction, Plan, RoundTask, SumsCollector, check_batch_id

_FORMAT, _VERSION = "skprivate.inspection", 2
# Rows of a table: more than exact sums can hold.
_MOST = 2**62
# Kinds of columns, by NumPy's letters and by the first letters of Arrow's names. All numbers are one kind.
_NUMBERS = "biuf"
_CELLS = "cells"
_ARROW_NUMBERS = ("int", "uint", "float", "double", "half", "bool", "decimal")


@dataclass(frozen=True)
class TableFacts(Record):
    """Public facts of one table.

    Attributes
    ----------
    batch : str
        Id of the table.
    n_rows, n_units : int
        Numbers of rows, and of persons (of rows, if the unit is the row).
    features : tuple of str, or None
        Names of the columns of X; None: they have none.
    kinds : tuple of str
        Kinds of the columns of X: "number", "other", or "cells" if each cell is read by itself.
    has_target : bool
        Whether there is a target.
    roles : tuple of str
        Fields of the target, such as event and time; empty if it has no fields.
    """

    batch: str = stored(Fields.text)
    n_rows: int = stored(Fields.integer, 0, _MOST)
    n_units: int = stored(Fields.integer, 0, _MOST)
    features: tuple[str, ...] | None = stored(maybe, texts)
    kinds: tuple[str, ...] = stored(texts)
    has_target: bool = stored(Fields.flag)
    roles: tuple[str, ...] = stored(texts, default=())
    _what: ClassVar[str] = "it"

    def to_bytes(self) -> bytes:
        """Return the facts as JSON with a checksum."""
        return seal_document(_FORMAT, _VERSION, self.to_dict())

    @classmethod
    def from_bytes(cls, data: Any) -> "TableFacts":
        """Restore the facts; ValueError for bytes that `to_bytes` would not write."""
        return restore_in_silence(data, _FORMAT, _VERSION, cls._names(), cls._from_sealed, "facts of a table")


@dataclass(frozen=True)
class SourceFacts:
    """Public facts of a source.

    Attributes
    ----------
    n_rows : int
    n_units : int
    features : tuple of str, or None
    n_features : int
    has_target : bool
        False: it is known that there is none.
    roles : tuple of str
        Fields of the target; empty if it has no fields.
    batches : dict from str to int, or None
        Units of every batch; None: they were not counted.
    n_is_public : bool, default=True
        False: the number of rows is private, so that no error may depend on it.
    """

    n_rows: int
    n_units: int
    features: tuple[str, ...] | None
    n_features: int
    has_target: bool
    roles: tuple[str, ...]
    batches: dict[str, int] | None
    n_is_public: bool = True

    @property
    def structured(self) -> bool:
        """Whether the target has fields."""
        return bool(self.roles)

    @classmethod
    def of(cls, tables: Iterable[TableFacts]) -> "SourceFacts":
        """Join the facts of tables, which must have the same columns; a repeated table counts once."""
        seen: dict[str, TableFacts] = {}
        for facts in tables:
            if seen.setdefault(facts.batch, facts) != facts:
                raise ValueError(
                    f"the batch {facts.batch!r} was received twice, with different rows or columns."
                )
        # A table without rows may also lack columns.
        full = [facts for facts in seen.values() if facts.n_rows]
        full = full or [max(seen.values(), key=lambda facts: len(facts.kinds))]
        layouts = {(facts.features, facts.kinds, facts.has_target, facts.roles) for facts in full}
        if len(layouts) > 1:
            raise ValueError("the tables of the source differ in their columns, or in the types of columns.")
        features, kinds, has_target, roles = layouts.pop()
        return cls(
            n_rows=sum(facts.n_rows for facts in seen.values()),
            n_units=sum(facts.n_units for facts in seen.values()),
            features=features,
            n_features=len(kinds),
            has_target=has_target,
            roles=roles,
            batches={name: facts.n_units for name, facts in seen.items()},
        )

    def shape(self, grouped: bool, public_labels: Any = None) -> PublicShape:
        """Return the shape of the rows as estimators check it."""
        return PublicShape(
            n_features=self.n_features,
            feature_names=self.features,
            n_rows=self.n_units,
            grouped=grouped,
            structured=self.structured,
            public_labels=public_labels,
        )

    def complete(self, columns: TableColumns) -> TableColumns:
        """Return the columns with the names found, so that all tables are read by name and in one order."""
        return replace(columns, features=self.features) if columns.features is None else columns

    def require_target(self) -> None:
        """Raise ValueError if the source has no target."""
        if not self.has_target:
            raise ValueError("the source has no target: name its column with target=..., or pass (X, y).")

    def name_columns(self, estimator: Any) -> None:
        """Set the number and the names of the columns on an estimator."""
        estimator.n_features_in_ = self.n_features
        if self.features is not None:
            estimator.feature_names_in_ = np.array(self.features, dtype=object)
        else:
            vars(estimator).pop("feature_names_in_", None)


class InspectFunction:
    """The function that an engine maps over partitions to find their public facts; it can be pickled.

    Parameters
    ----------
    columns : TableColumns
    strict : bool
    domain : TableDomain, default=None
        Declaration of the columns of X, whose types may then differ between tables.
    classes : array-like, default=None
        Declared classes; the target must have their type.
    """

    def __init__(
        self, columns: TableColumns, strict: bool, domain: TableDomain | None = None, classes: Any = None
    ) -> None:
        self.columns, self.strict, self.domain, self.classes = columns, strict, domain, classes

    def __call__(self, table: Any, batch_id: str | int) -> bytes:
        """Return the facts of one partition, as bytes."""
        return self.inspect(table, batch_id).to_bytes()

    def inspect(self, table: Any, batch_id: str | int) -> TableFacts:
        """Return the facts of one table."""
        batch = check_batch_id(batch_id)
        with config_context(strict=self.strict):
            if isinstance(table, tuple):
                facts = self._of_arrays(batch, *table)
            elif holds_arrow(table):
                facts = self._of_arrow(batch, table)
            elif has_names(table):
                facts = self._of_frame(batch, table)
            else:
                facts = self._of_arrays(batch, table)
        if self.domain is None and not self.strict:
            return facts
        # One odd cell can change the type of a pandas column. In strict mode, it must not cause an error.
        return replace(facts, kinds=(_CELLS,) * len(facts.kinds))

    def _of_arrays(self, batch: str, X: Any, y: Any = None, groups: Any = None) -> TableFacts:
        with public_errors():
            refuse_label_types(y, self.classes)
        if _is_typed(X):
            self._refuse_types((X[:0], y[:0] if _is_typed(y) else None))
        n_rows = len(X) if hasattr(X, "__len__") else np.shape(X)[0]
        names: tuple[str, ...] | None = None
        if is_frame(X):
            chosen = self.columns.choose_features(X)
            kinds = [_kind_of(np.asarray(X[name]).dtype) for name in chosen]
            names = tuple(chosen) if has_names(X) else None
        elif isinstance(X, Mapping):
            names, n_rows = tuple(map(str, X)), len(next(iter(X.values()), ()))
            kinds = [_CELLS] * len(names)
        elif isinstance(X, list) and X and isinstance(X[0], Mapping):
            names = tuple(map(str, X[0]))
            kinds = [_CELLS] * len(names)
        elif isinstance(X, list):
            # The type of a list depends on its cells, so each cell is read by itself.
            kinds = [_CELLS] * (np.size(X[0]) if X else 0)
        else:
            array = np.asarray(X)
            if array.ndim != 2:
                raise ValueError("X must have two dimensions.")
            kinds = [_kind_of(array.dtype)] * array.shape[1]
        n_units = self._count_units(groups, n_rows)
        roles = find_roles(y) if y is not None and is_structured(y) else ()
        # Sorted: the order of fields may differ between tables.
        return TableFacts(batch, n_rows, n_units, names, tuple(kinds), y is not None, tuple(sorted(roles)))

    def _of_frame(self, batch: str, table: Any) -> TableFacts:
        names = self.columns.choose(list(table.columns))
        self._check_types(table.__getitem__)
        kinds = tuple(_kind_of(np.asarray(table[name][:0]).dtype) for name in names)
        event = self.columns.event
        self.columns.refuse_codes(event is None or _may_hold_booleans(table[event][:0]))
        self._refuse_types(table[:0])
        group = None if self.columns.group is None else exact_names(table[self.columns.group])
        n_units = self._count_units(group, len(table))
        return TableFacts(batch, len(table), n_units, names, kinds, *self._target())

    def _of_arrow(self, batch: str, table: Any) -> TableFacts:
        group = self.columns.group
        n_rows, groups = getattr(table, "num_rows", None), []
        kinds: tuple[str, ...] = ()
        if n_rows is None or group is not None:
            schema, records = arrow_records(table)
            names = self.columns.choose(list(schema))
            n_rows = 0
            for record in records:
                n_rows += record.num_rows
                kinds = self._arrow_kinds(record.schema, names)
                if group is not None:
                    groups.append(exact_names(record.column(group)))
        else:
            names = self.columns.choose(list(table.schema.names))
            kinds = self._arrow_kinds(table.schema, names)
        n_units = self._count_units(np.concatenate(groups) if groups else None, n_rows)
        return TableFacts(batch, n_rows, n_units, names, kinds, *self._target())

    def _arrow_kinds(self, schema: Any, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the kinds of the columns of X; raise TypeError for types that cannot be read."""
        import pyarrow

        self._check_types(schema.field)
        types = (str(schema.field(name).type) for name in names)
        event = self.columns.event
        self.columns.refuse_codes(event is None or str(schema.field(event).type) == "bool")
        self._refuse_types(pyarrow.RecordBatch.from_pylist([], schema=schema))
        return tuple("number" if kind.startswith(_ARROW_NUMBERS) else "other" for kind in types)

    @public_errors()
    def _check_types(self, column_of: Callable[[str], Any]) -> None:
        self.columns.refuse_types(column_of, self.classes)

    @public_errors()
    def _refuse_types(self, no_rows: Any) -> None:
        """Read a table without its rows: an error can then only depend on the types of its columns."""
        for piece in read_pieces(no_rows, self.columns, self.domain, self.classes):
            if piece.target is not None and is_structured(piece.target):
                check_form(piece.target, False, strict=self.strict)

    def _target(self) -> tuple[bool, tuple[str, ...]]:
        return self.columns.has_target, tuple(sorted(self.columns.roles))

    def _count_units(self, groups: Any, n_rows: int) -> int:
        if self.columns.group is None or not n_rows:
            return n_rows
        units = number_units(groups, np.ones(n_rows, dtype=bool), strict=self.strict)
        if units is None:
            raise ValueError("every table must name the person of every row.")
        return units.n_units


def _kind_of(dtype: np.dtype[Any]) -> str:
    return "number" if dtype.kind in _NUMBERS else "other"


def _is_typed(part: Any) -> bool:
    """Return whether the type of a part is public; that of a list depends on its cells."""
    return is_frame(part) or hasattr(part, "dtype") or hasattr(part, "type")


def _may_hold_booleans(events: Any) -> bool:
    # Nullable booleans are objects in some frames; their cells are checked one by one.
    is_text = str(events.dtype).lower().startswith("str")
    return not is_text and np.asarray(events).dtype.kind in "bO"


@public_module("skprivate.rounds")
class TableSource:
    """Rows in one or many tables. The rows stay in place: each table receives a plan and returns sums.

    Parameters
    ----------
    tables : table, list of tables, pyarrow Dataset, dask DataFrame, or object with ``map_partitions``
        A table is a data frame of pandas or polars, an object with ``__arrow_c_stream__`` (pyarrow, DuckDB),
        or a tuple of arrays ``(X, y)`` or ``(X, y, groups)``. It may also be a function without parameters
        that returns a new one at each call, because rows that are not kept are read again. An engine is an
        object with a method ``map_partitions(function)``. The method calls ``function(table, batch_id)`` for
        every partition, where it is stored, and returns an iterable of the returned bytes.
    target : str, default=None
        Name of the target's column. Tuples of arrays need none.
    event : str, default=None
        Name of a boolean column (True: the target is the time of an event, False: it is censored), or of a
        column with the values of `happened`. None: the target has no events.
    features : list of str, default=None
        Names of the columns of X, in their order. None: all columns without another role.
    groups : str or bool, default=None
        Name of the column with the person of every row, if persons are the protected unit. True for tuples of
        arrays that hold groups. None: the unit is the row.
    groups_within_tables : bool, default=False
        Declares that all rows of a person are in one table, in the same order as in the whole: partition the
        data by person. With several tables and ``groups``, it must be True. In strict mode, rows without a
        usable name count as one person in each table.
    n_rows : int, default=None
        Number of rows, or of persons with ``groups``, if it is known. None: the tables are inspected before
        anything is charged, which may take another pass over files.
    n_jobs : int, default=None
        Number of tables that are read at the same time by threads, as in joblib. An engine has its own
        workers.
    lower, upper : str, default=None
        Names of two columns in place of `target`: the event came after lower, and not after upper.
        `skprivate.life_data` explains equal, zero and infinite ends.
    entry : str, default=None
        Name of the column with the time at which observation of a row began; 0: at the start. None: all rows
        were observed from the start.
    happened, censored : str, int, float, bool or a collection of these, default=None
        Values of the column `event` which mean that the event happened, and that it had not happened yet, as
        in `skprivate.life_data`. None: the column is boolean.
    cache_bytes : int, default=2**30
        Bytes of memory for coded rows, in every process that reads tables. Rows in the cache are not read
        again in later rounds. 0: no rows are kept in memory.
    cache_folder : path, None or False, default=None
        Folder, on the machine that reads, for a temporary file of the coded rows beyond `cache_bytes`. None:
        the system's folder for temporary files. False: no file; these rows are read again in every round. If
        the file cannot be written, for example because the disk is full, a warning is issued and rows are
        read again as well.

    See Also
    --------
    fit_rounds : Fits an estimator to a source.
    MomentAccumulator : The same by hand, for one round.

    Notes
    -----
    **Privacy.** Tables receive the plan of a round and the schema of the columns, which are public. They
    return exact sums, which are private. The trust boundary contains the driver, the holders of the tables,
    and everybody who can read the engine's messages or its spilled files. Only the driver draws noise. Rows
    that are kept between rounds are private. They stay in the processes that read them, and in their
    temporary files, until the fit ends; on an engine, until ten minutes after its last task. Such a file has
    mode 0600 and no name (on Windows: a name until it is closed). Freeing its space does not erase the data
    on the disk.

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
        cache_bytes: int = 2**30,
        cache_folder: str | os.PathLike[str] | bool | None = None,
    ) -> None:
        if isinstance(features, str):
            raise TypeError("features must be a list of names.")
        if isinstance(groups, bool):
            groups = "groups" if groups else None
        names = None if features is None else tuple(features)
        if names == ():
            raise ValueError("features must name a column, or be None for all columns without another role.")
        self.columns = TableColumns(
            names, target, event, groups, lower, upper, entry, EventCoding.of(happened, censored)
        )
        self.n_rows = None if n_rows is None else check_int(n_rows, "n_rows", least=1)
        if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
            raise ValueError("n_jobs must be an int other than 0, or None.")
        if n_rows is not None and self.columns.has_target and names is None:
            raise ValueError("with n_rows the tables are not inspected beforehand: name the features.")
        self.n_jobs = n_jobs
        # A text, to be sent to workers.
        folder = cache_folder if cache_folder in (None, False) else os.fsdecode(cache_folder)  # type: ignore[arg-type]
        self.keep: tuple[int, Any] = check_int(cache_bytes, "cache_bytes", least=0), folder
        self.hook = _hook_of(tables, self.columns)
        self.tables = None if self.hook is not None else _list_of(tables, self.columns)
        alone = self.tables is not None and len(self.tables) == 1
        if groups is not None and not (groups_within_tables or alone):
            raise ValueError(
                "the rows of one person may be in several tables: partition the data by person, and declare "
                "it with groups_within_tables=True."
            )

    def inspect(self, *, domain: TableDomain | None = None, classes: Any = None) -> SourceFacts:
        """Return the public facts of all tables; nothing is charged for them."""
        function = InspectFunction(self.columns, get_config()["strict"], domain, classes)
        if self.hook is not None:
            return SourceFacts.of(TableFacts.from_bytes(data) for data in self.hook(function))
        return SourceFacts.of(
            self._map(lambda table, place: function.inspect(table() if callable(table) else table, place))
        )

    def partial_sums(self, task: RoundTask) -> Iterator[PartialSums]:
        """Yield the sums of every table."""
        if self.hook is not None:
            function = PartitionFunction(task.to_bytes(), self.keep)
            return (PartialSums.from_bytes(data) for data in self.hook(function))
        store = store_of(task.run, *self.keep)
        return self._map(redact_errors(lambda table, place: task.sum_batch(table, str(place), store)))

    def _map(self, function: Callable[[Any, int], Any]) -> Iterator[Any]:
        tables: Any = self.tables
        if self.n_jobs in (None, 1):
            return (function(table, place) for place, table in enumerate(tables))
        calls = (joblib.delayed(function)(table, place) for place, table in enumerate(tables))
        results: Iterator[Any] = joblib.Parallel(
            n_jobs=self.n_jobs, prefer="threads", return_as="generator_unordered"
        )(calls)
        return results


class SourceRun:
    """A source during one fit: sends plans as tasks, checks the answers and adds them up.

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
        self._engine: Any = getattr(source.hook, "__self__", None)

    def prepare(self, number: int, plan: Plan) -> None:
        """Raise errors that follow from public facts."""
        plan.check_room(self._facts.n_rows)
        # Sites that agreed to certain rounds are asked before the charge.
        if hasattr(self._engine, "before_charge"):
            self._engine.before_charge(RoundTask(self._run, number, self._schema, plan))

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the exact sums over all rows."""
        task = RoundTask(self._run, number, self._schema, plan)
        collector = SumsCollector(task.id, plan, self._facts.batches)
        for part in self._source.partial_sums(task):
            collector.add(part)
        values, n_units = collector.result()
        if self._facts.n_is_public and n_units != self._facts.n_units:
            raise ValueError("the source does not have the declared number of rows.")
        return values

    def finish(self, record: RunRecord) -> None:
        """Delete the record of a fit; not for sites, which would not answer again if the fit is lost."""
        if not hasattr(self._engine, "before_charge"):
            record.end()

    def end(self) -> None:
        """Delete the rows that this process has kept."""
        forget(self._run)
        if isinstance(self._engine, DaskPartitions):
            # The next fit may have another cluster.
            self._engine.marked = []


def _hook_of(tables: Any, columns: TableColumns) -> Callable[[Any], Iterable[bytes]] | None:
    """Return the engine's method, None if `tables` is no engine."""
    if type(tables).__module__.partition(".")[0].startswith("dask"):
        return DaskPartitions(tables, columns).map_partitions
    return getattr(tables, "map_partitions", None)


class DatasetFile:
    """One file of a pyarrow Dataset, as a table that is read again each time and never held as a whole.

    Parameters
    ----------
    fragment : pyarrow.dataset.Fragment
    schema : pyarrow.Schema
        Schema of the whole Dataset, by which each file is read.
    columns : TableColumns
        If features are named, no other column is read.
    """

    def __init__(self, fragment: Any, schema: Any, columns: TableColumns) -> None:
        self._fragment, self._schema, self._columns = fragment, schema, columns
        self._size: int | None = None

    @property
    def num_rows(self) -> int:
        """Number of rows, which a parquet file stores in its footer."""
        return int(self._fragment.count_rows())

    @property
    def file_version(self) -> tuple[int, int] | None:
        """Size and time of the file, on any file system; None if it is no file."""
        system = getattr(self._fragment, "filesystem", None)
        if system is None:
            return None
        found = system.get_file_info(self._fragment.path)
        return found.size, found.mtime_ns

    @property
    def schema(self) -> Any:
        """The columns of the file, and those in its path."""
        from pyarrow.dataset import get_partition_keys

        found = self._fragment.physical_schema
        for name in get_partition_keys(self._fragment.partition_expression):
            found = found if name in found.names else found.append(self._schema.field(name))
        return found

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        version = self.file_version
        size = None if version is None else version[0]
        if self._size not in (None, size):
            # pyarrow does not read the facts of a file again.
            raise ValueError(f"the file {self._fragment.path} has another size than when it was first read.")
        self._size = size
        # pyarrow would fill a column that the file lacks with nulls.
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
                "a stream can be read only once, but each round reads the rows again: pass a function that "
                "opens it, such as lambda: dataset.scanner().to_reader()."
            )
        if isinstance(table, tuple) and len(table) not in (2, 3):
            raise TypeError("a tuple of arrays must be (X, y) or (X, y, groups).")
        forms = ("__arrow_c_stream__", "__array__")
        is_table = is_frame(table) or isinstance(table, tuple) or any(hasattr(table, form) for form in forms)
        if isinstance(table, dict) or not (callable(table) or is_table):
            raise TypeError(
                f"a table must be a frame, Arrow data, arrays or a function: {type(table).__name__}."
            )
    return listed


class DaskPartitions:
    """A dask DataFrame; a function is mapped over its partitions by the active scheduler.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    columns : TableColumns
        If features are named, partitions contain no other column.

    Raises
    ------
    TypeError
        It is another object of dask.
    ValueError
        A column is missing or exists twice.

    Notes
    -----
    A partition's id is its number, in every round and when a task is run again. Each partition must therefore
    have the same rows every time that it is computed. This holds for files, and not for a random sample.

    If processes may keep rows, a task receives the graph of its partition, and computes it only if its rows
    are not kept. A mark that stays on one worker makes the scheduler prefer that worker for the partition's
    tasks.
    """

    def __init__(self, frame: Any, columns: TableColumns) -> None:
        import dask.dataframe

        if not isinstance(frame, dask.dataframe.DataFrame):
            raise TypeError(f"a source accepts a DataFrame of dask, not {type(frame).__name__}.")
        names = columns.choose(list(frame.columns))
        self._frame = frame if columns.features is None else frame[[*names, *columns.others]]
        self.marked: list[tuple[_DaskTable, Any]] = []

    def map_partitions(self, function: Callable[[Any, int], bytes]) -> Iterator[bytes]:
        """Yield the function's result for every partition."""
        import dask

        if getattr(function, "keep", None) is None:
            found = [(table, None) for table in self._frame.to_delayed()]
        else:
            # Locked: each of two simultaneous fits gets every partition once.
            with _MARKING:
                if not self.marked:
                    tables = [_DaskTable(dask.optimize(table)[0]) for table in self._frame.to_delayed()]
                    marks = dask.persist(
                        *(dask.delayed(_mark, pure=False)(place) for place in range(len(tables)))
                    )
                    self.marked = list(zip(tables, marks, strict=True))
                found = self.marked
        # Not pure: otherwise dask would keep the sums on a worker, as one result of equal calls.
        call = dask.delayed(_call, pure=False)
        tasks = [call(function, table, number, mark) for number, (table, mark) in enumerate(found)]
        yield from dask.compute(*tasks)


_MARKING = threading.Lock()


class _DaskTable:
    """A partition that is computed when it is called; dask would compute it earlier inside a dataclass."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __call__(self) -> Any:
        return self._graph.compute(scheduler="synchronous")


def _mark(place: int) -> int:
    return place


def _call(function: Callable[[Any, int], bytes], table: Any, number: int, _: Any) -> bytes:
    return function(table, number)
