# SPDX-License-Identifier: BSD-3-Clause
"""Messages between the driver and the rows: a task (a public plan and a schema), and exact sums in reply."""

import functools
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from .._typing import IntArray
from ..utils import check_characters
from ..utils._json_documents import (
    UNREADABLE,
    Fields,
    as_bytes,
    digest,
    pack_integers,
    restore_in_silence,
    restore_sealed,
    seal_document,
    unpack_integers,
)
from ..utils._private_fit import redact_errors
from ..utils._public_module import public_module
from ._codec import Record, of_kind, record, stored
from ._kept import AS_THEY_ARE, LostRows, RowStore, store_of
from ._plans.boosting import CodeCountsPlan, ColumnResidualsPlan, ResidualsPlan
from ._plans.cells import CellsPlan
from ._plans.descriptions import DescriptionPlan
from ._plans.linear_residuals import LinearResidualsPlan
from ._plans.logits import ColumnMomentsPlan, LogitsPlan
from ._plans.masses import HistogramsPlan, MassesPlan, MassHistogramsPlan
from ._plans.moments import GradientsPlan, LooksPlan, MomentsPlan
from ._plans.probabilities import ProbabilitiesPlan
from ._rows import PreparedRows
from ._schema import RowSchema

_TASK, _TASK_VERSION = "skprivate.round", 1
_SUMS, _SUMS_VERSION, _SUMS_FIELDS = "skprivate.sums", 1, ("task", "values", "batches")
_FACTS = ("n_rows", "n_units", "digest")
# Far more than the rounds of any estimator here; it limits numbers in hostile bytes.
_MOST_ROUNDS = 10**6
# Rows of a batch, and of all batches: more than exact sums can hold.
_MOST_ROWS = 2**62
_PLANS = (
    *(
        CellsPlan,
        MomentsPlan,
        GradientsPlan,
        HistogramsPlan,
        CodeCountsPlan,
        ColumnResidualsPlan,
        ResidualsPlan,
        LinearResidualsPlan,
    ),
    *(ColumnMomentsPlan, LogitsPlan, LooksPlan, MassesPlan, MassHistogramsPlan, ProbabilitiesPlan),
    DescriptionPlan,
)


class Plan(Protocol):
    """A public description of integer sums over rows.

    The contribution of a row depends only on the plan and on the row. Sums of batches therefore add up to the
    sums over all rows, exactly and in any order.
    """

    kind: ClassVar[str]

    @property
    def n_sums(self) -> int:
        """Number of integers."""

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums over rows, int64 of shape (n_sums,)."""

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for this number of rows; the message repeats no sum."""

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might exceed 64 bits."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, including ``kind``."""


def plan_from_dict(content: Any) -> Plan:
    """Restore a plan of any kind; ValueError for anything that no plan would write."""
    return of_kind(content, _PLANS, "it is a plan of an unknown kind")


@dataclass(frozen=True, repr=False)
class BatchFacts:
    """Facts of one batch by which it is recognised."""

    n_rows: int
    n_units: int
    digest: str


@public_module("skprivate.rounds")
@dataclass(frozen=True, eq=False, repr=False)
class PartialSums:
    """Exact sums over the rows of some batches. They are private and must stay within the trust boundary.

    Attributes
    ----------
    task : str
        Id of the task that they answer.
    values : ndarray of int64
        The sums.
    batches : mapping from str to BatchFacts
        The batches in the sums, by their ids.

    Notes
    -----
    Engines that merge answers before returning them use `from_bytes`, `merge` and `to_bytes`.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds import PartialSums
    >>> first = PartialSums.of_batch("a task", "monday", np.array([3, 1]), n_rows=4, n_units=4)
    >>> second = PartialSums.of_batch("a task", "tuesday", np.array([2, 0]), n_rows=2, n_units=2)
    >>> both = first.merge(second).merge(first)
    >>> both.values, both.n_rows, sorted(both.batches)
    (array([5, 1]), 6, ['monday', 'tuesday'])
    """

    task: str
    values: IntArray
    batches: Mapping[str, BatchFacts]

    @classmethod
    def of_batch(cls, task: str, batch_id: str, values: IntArray, n_rows: int, n_units: int) -> Self:
        """Return the sums over one batch."""
        digest = hashlib.sha256(values.astype("<i8").tobytes()).hexdigest()
        return cls(task, values, {batch_id: BatchFacts(n_rows, n_units, digest)})

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(facts.n_rows for facts in self.batches.values())

    @property
    def n_units(self) -> int:
        """Number of persons, if no person is in two batches."""
        return sum(facts.n_units for facts in self.batches.values())

    def merge(self, other: "PartialSums") -> "PartialSums":
        """Return the sums over the batches of both; if one holds all batches of the other, it is returned.

        Raises
        ------
        ValueError
            They answer different tasks, or share only some of their batches, which would count twice.
        """
        if self.task != other.task:
            raise ValueError("the sums are those of another plan.")
        shared = self.batches.keys() & other.batches.keys()
        if any(self.batches[name] != other.batches[name] for name in shared):
            raise ValueError(f"the batch {min(shared)!r} was received twice, with different rows.")
        if other.batches.keys() <= self.batches.keys():
            return self
        if self.batches.keys() <= other.batches.keys():
            return other
        if shared:
            raise ValueError(
                f"the batch {min(shared)!r} is in two sums that were already merged: merge each batch once."
            )
        with np.errstate(over="raise"):
            return PartialSums(self.task, self.values + other.values, {**self.batches, **other.batches})

    def to_bytes(self) -> bytes:
        """Return the sums as JSON with a checksum; never publish them."""
        batches = {name: list(vars(facts).values()) for name, facts in sorted(self.batches.items())}
        content = {"task": self.task, "values": pack_integers(self.values), "batches": batches}
        return seal_document(_SUMS, _SUMS_VERSION, content)

    @classmethod
    def from_bytes(cls, data: Any) -> "PartialSums":
        """Restore the sums; ValueError, without any content, for bytes that `to_bytes` would not write."""
        return restore_in_silence(data, _SUMS, _SUMS_VERSION, _SUMS_FIELDS, cls._from_dict, "bytes of sums")

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> "PartialSums":
        fields = Fields(content, ("format", "version", *_SUMS_FIELDS))
        batches = {}
        for name, facts in fields.mapping("batches").items():
            if type(facts) is not list or len(facts) != 3:
                raise ValueError("a batch must have three facts")
            numbers = Fields(dict(zip(_FACTS, facts, strict=True)), _FACTS)
            rows, units = (numbers.integer(count, 0, _MOST_ROWS) for count in _FACTS[:2])
            batches[name] = BatchFacts(rows, units, numbers.text("digest"))
        return cls(fields.text("task"), unpack_integers(fields.text("values"), (-1,)), batches)


class SumsCollector:
    """Adds up the sums of batches in any order, each batch once.

    Parameters
    ----------
    task : str
        Id of the task that they must answer.
    plan : Plan
    expected : mapping from str to int, or None
        Units of each existing batch; None: any batch is accepted.
    """

    def __init__(self, task: str, plan: Plan, expected: Mapping[str, int] | None = None) -> None:
        self._task, self._plan, self._expected = task, plan, expected
        self._values = np.zeros(plan.n_sums, dtype=np.int64)
        self._seen: dict[str, BatchFacts] = {}
        self._n_rows = 0

    def add(self, part: PartialSums) -> None:
        """Add sums; sums that were added before are ignored.

        Raises
        ------
        ValueError
            The sums are of another plan, impossible, of unknown batches, or of a batch that was received
            before with different rows. No sum is in the message.
        """
        if part.task != self._task or part.values.shape != self._values.shape:
            raise ValueError("the sums are those of another plan.")
        again = part.batches.keys() & self._seen.keys()
        if any(self._seen[name] != part.batches[name] for name in again):
            raise ValueError(f"the batch {min(again)!r} was received twice, with different rows.")
        if again and len(again) == len(part.batches):
            return
        if again:
            raise ValueError(f"the batch {min(again)!r} is in two sums that were merged: merge each once.")
        for name, facts in part.batches.items():
            if self._expected is not None and self._expected.get(name) != facts.n_units:
                raise ValueError(f"the batch {name!r} has changed since the source was inspected.")
        self._plan.check_room(self._n_rows + part.n_rows)
        self._plan.check_sums(part.values, part.n_rows)
        self._values += part.values
        self._n_rows += part.n_rows
        self._seen.update(part.batches)

    def result(self) -> tuple[IntArray, int]:
        """Return the sums and their number of units."""
        missing = sorted((self._expected or {}).keys() - self._seen.keys())
        if missing:
            raise ValueError(f"the batch {missing[0]!r} was not received: some rows would not count.")
        return self._values, sum(facts.n_units for facts in self._seen.values())


@dataclass(frozen=True, eq=False)
class RoundTask(Record):
    """One round of one run, as it is sent to workers. It is public.

    Attributes
    ----------
    run : str
        Random id of the run: the same plan of another run is another task.
    number : int
        Number of the round, from 0.
    schema : RowSchema
    plan : Plan
    """

    run: str = stored(Fields.text)
    number: int = stored(Fields.integer, 0, _MOST_ROUNDS)
    schema: RowSchema = stored(record, RowSchema.from_dict)
    plan: Plan = stored(record, plan_from_dict)
    _what: ClassVar[str] = "it"

    @functools.cached_property
    def id(self) -> str:
        """Id by which sums and the charge refer to the task."""
        return digest(self.to_dict())

    def sum_batch(
        self, table: Any, batch_id: str, store: RowStore | None = None, *, room: bool = True
    ) -> PartialSums:
        """Return the exact sums over one batch; its rows are taken from a store, or read if it has none.

        Without ``room``, the number of rows is not checked: the sums are then right modulo 2^64.

        Raises
        ------
        TypeError, ValueError, OverflowError
            The batch cannot be read, or has too many rows.
        """
        if isinstance(self.plan, DescriptionPlan):
            if self.schema.domain is None:
                raise ValueError("a description needs a domain.")
            counts, n = self.plan.table_sums(table() if callable(table) else table, self.schema.domain)
            return PartialSums.of_batch(self.id, batch_id, counts, n, n)
        # A plan without a coding reads the rows again.
        coding, version = getattr(self.plan, "coding", None), version_of(table)
        # The last round reads and counts the rows again if changes of the table could not be noticed.
        unseen = version is None and isinstance(self.plan, ProbabilitiesPlan)
        if store is None or unseen:
            coding = None
        pieces: Any
        if store is None or coding is None:
            pieces = ((rows, rows.n_rows, units) for rows, units in self._read(table))
        else:
            known = digest(self.schema.to_dict()), version
            pieces = store.pieces(batch_id, coding, known, lambda: self._read(table))
        sums = self.plan.sums if coding in (None, AS_THEY_ARE) else self.plan.coded_sums  # type: ignore[attr-defined]
        n_rows = n_units = 0
        values = np.zeros(self.plan.n_sums, dtype=np.int64)
        try:
            with closing(pieces):
                for rows, count, units in pieces:
                    n_rows, n_units = n_rows + count, n_units + units
                    if room:
                        self.plan.check_room(n_rows)
                    values += sums(rows)
        except LostRows:
            return self.sum_batch(table, batch_id, room=room)
        return PartialSums.of_batch(self.id, batch_id, values, n_rows, n_units)

    def _read(self, table: Any) -> Iterator[tuple[PreparedRows, int]]:
        classes = self.schema.classes
        for rows, units in self.schema.read(table() if callable(table) else table):
            if classes is not None and rows.labels is not None:
                rows = replace(rows, labels=rows.labels.astype(np.min_scalar_type(len(classes)), copy=False))
            yield rows, units

    def to_bytes(self) -> bytes:
        """Return the task as JSON with a checksum."""
        return seal_document(_TASK, _TASK_VERSION, self.to_dict())

    @classmethod
    def from_bytes(cls, data: Any) -> "RoundTask":
        """Restore a task; ValueError for bytes that `to_bytes` would not write."""
        data = as_bytes(data)
        try:
            return restore_sealed(data, _TASK, _TASK_VERSION, cls._names(), cls._from_sealed)
        except UNREADABLE as error:
            reason = str(error)
        raise ValueError(f"these are not the bytes of a usable round: {reason}.")


@public_module("skprivate.rounds")
class PartitionFunction:
    """The function that an engine maps over partitions. It can be pickled, and holds only public bytes.

    Parameters
    ----------
    task : bytes
        A round, as written by the driver.
    keep : tuple of int and str, default=None
        Bytes of memory, and folder, for rows that the process keeps for later rounds (`TableSource`). None:
        no rows are kept.

    Notes
    -----
    **Privacy.** It returns exact sums over private rows. Send them only to the driver, who is trusted. Kept
    rows stay in the process, and are deleted ten minutes after its last task of the run.

    Examples
    --------
    An engine in one process; other engines send the function to the partitions:

    >>> import numpy as np
    >>> from skprivate import DPNormalLLSRegressor
    >>> from skprivate.rounds import TableSource, fit_rounds
    >>> class Loop:
    ...     def __init__(self, partitions):
    ...         self.partitions = partitions
    ...
    ...     def map_partitions(self, function):
    ...         return [function(table, number) for number, table in enumerate(self.partitions)]
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40_000, 1)), rng.normal(size=40_000)
    >>> engine = Loop([(X[:10_000], y[:10_000] + X[:10_000, 0]), (X[10_000:], y[10_000:] + X[10_000:, 0])])
    >>> model = DPNormalLLSRegressor(epsilon=2.0, bounds_X=(-4, 4), bounds_y=(-8, 8))
    >>> fit_rounds(model, TableSource(engine)).coef_.round(0)
    array([1.])
    """

    def __init__(self, task: bytes, keep: tuple[int, str | bool | None] | None = None) -> None:
        self.task, self.keep = task, keep

    def __call__(self, table: Any, batch_id: str | int) -> bytes:
        """Return the sums over one partition, as bytes.

        Parameters
        ----------
        table : data frame, Arrow data, or tuple of arrays
            All rows of the partition.
        batch_id : str or int
            Id of the partition. It must be the same in every round, and when a task is run again.

        Returns
        -------
        sums : bytes
            JSON. The driver counts each batch id once.

        Raises
        ------
        TypeError, ValueError
            The table has other columns or types, or a value that cannot be used. No message repeats a value.
        """
        return self.sum_partition(table, batch_id).to_bytes()

    @redact_errors
    def sum_partition(self, table: Any, batch_id: str | int) -> PartialSums:
        """Return the sums as an object, for a driver in the same process."""
        task, batch = _restored(self.task), check_batch_id(batch_id)
        return task.sum_batch(table, batch, None if self.keep is None else store_of(task.run, *self.keep))


# Rows of a table in memory that are compared before its kept rows are used.
_GLANCE = 32


def version_of(table: Any) -> Any:
    """Return facts about a table that are known without reading it; None: there are none.

    These are the size and time of its file, or its number of rows and some rows spread over the table.
    """
    parts = table if isinstance(table, tuple) else (table,)
    if callable(parts[0]):
        return None
    # Looked up on the class: the columns of a frame are attributes of the instance.
    if hasattr(type(parts[0]), "file_version"):
        return parts[0].file_version
    sized = [part for part in parts if hasattr(part, "num_rows") or hasattr(part, "__len__")]
    return [_glance(part) for part in sized] if sized else None


def _glance(part: Any) -> tuple[int, str]:
    """Return the number of rows, and some of the rows as text."""
    size = int(part.num_rows if hasattr(part, "num_rows") else len(part))
    step, rows = max(size // _GLANCE, 1), ""
    # A cell that fails when it is printed must not matter.
    with suppress(Exception):
        if hasattr(part, "iloc"):
            rows = repr(part.iloc[::step].to_numpy().tolist())
        elif hasattr(part, "gather_every"):
            rows = repr(part.gather_every(step).rows())
        elif hasattr(part, "to_pydict"):
            rows = repr(part.take(list(range(0, size, step))).to_pydict())
        elif isinstance(part, np.ndarray):
            rows = repr(part[::step].tolist())
    return size, rows


def check_batch_id(batch_id: Any) -> str:
    """Return the id of a batch as text."""
    if isinstance(batch_id, bool) or not isinstance(batch_id, str | int | np.integer):
        raise TypeError(f"batch_id must be a str or an int, not {type(batch_id).__name__}.")
    check_characters(str(batch_id), "batch_id")
    return str(batch_id)


# A worker sees many partitions of one round.
@functools.lru_cache(maxsize=4)
def _restored(task: bytes) -> RoundTask:
    return RoundTask.from_bytes(task)
