# SPDX-License-Identifier: BSD-3-Clause
"""Sums over batches passed by hand: each batch counts once, sums can be merged, and released once."""

import os
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from .._typing import IntArray
from ..utils._json_documents import Fields, pack_integers, restore_in_silence, seal_document, unpack_integers
from ..utils._private_fit import assign, lock_of, one_thread_at_a_time, redact_errors, refused_within_another
from ._driver import Rounds, drive
from ._schema import RowSchema
from ._tables import has_names, holds_arrow
from ._task import Plan, RoundTask, check_batch_id

_FORMAT = "skprivate.batches"
_VERSION = 1
_FIELDS = ("kind", "task", "max_rows", "n_rows", "sums", "batches")
# Rows of all batches: the most for which 64-bit sums cannot overflow.
_MOST_ROWS = 2**61


class BatchAccumulator:
    """Base of the accumulators: ids of batches, merging and the one release. An error changes nothing."""

    _sums: IntArray | None
    _n_rows: int
    _batches: frozenset[str]
    _own_id: str | None
    _result: Any

    def _start_empty(self, sums: IntArray) -> None:
        self._sums, self._n_rows, self._batches = sums, 0, frozenset()
        self._own_id = self._result = None

    @property
    def batch_ids(self) -> tuple[str, ...]:
        """Ids of the batches added so far, sorted."""
        return tuple(sorted(self._batches))

    @property
    def released(self) -> bool:
        """Whether the sums were released and wiped."""
        return self._sums is None

    def merge(self, other: Any) -> Self:
        """Add the rows of another accumulator, which does not change.

        Parameters
        ----------
        other : accumulator
            Of the same class and parameters.

        Returns
        -------
        self : accumulator

        Raises
        ------
        RuntimeError
            The sums of one were released.
        TypeError, ValueError
            `other` is no such accumulator, or has other parameters; both hold the same batch; the rows
            together are too many. Nothing changes then.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"other must be a {type(self).__name__}, not {type(other).__name__}.")
        # Both locks in one order: two accumulators that are merged into each other at once cannot deadlock.
        first, second = sorted((self, other), key=id)
        with lock_of(first), lock_of(second):
            return self._merge(other)

    @refused_within_another
    def _merge(self, other: Any) -> Self:
        self._require_unreleased()
        other._require_unreleased()
        sums, changes = self._join(other)
        shared = sorted(self._batches & other._batches)
        if shared:
            more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
            raise ValueError(
                f"both accumulators hold the batch {shared[0]}{more}: merging them would count rows twice."
            )
        n_rows = self._check_count(self._n_rows + other._n_rows)
        assign(self, **changes, _sums=sums, _n_rows=n_rows, _batches=self._batches | other._batches)
        return self

    @abstractmethod
    def _join(self, other: Any) -> tuple[IntArray, dict[str, Any]]:
        """Return the sums of both, and the other changed attributes; ValueError if they do not match."""

    @abstractmethod
    def _check_count(self, n_rows: int) -> int:
        """Return the number of rows; ValueError if they are too many."""

    def _add(self, sums: IntArray, n_rows: int, batch: str, batch_id: Any, **changes: Any) -> None:
        """Add the sums of one batch: all of them or none."""
        assign(
            self,
            **changes,
            _sums=sums,
            _n_rows=n_rows,
            _batches=self._batches | {batch},
            _own_id=batch if batch_id is None else self._own_id,
        )

    def _check_id(self, batch_id: Any) -> str:
        if batch_id is None:
            return self._own_id or os.urandom(16).hex()
        batch = check_batch_id(batch_id)
        if batch in self._batches:
            raise ValueError(f"the batch {batch} was added before: rows would count twice.")
        return batch

    def _wipe(self, result: Any) -> None:
        """Wipe the sums, and keep the result."""
        sums = self._require_unreleased()
        assign(self, _sums=None, _n_rows=0, _result=result)
        sums[...] = 0

    def _require_unreleased(self) -> IntArray:
        if self._sums is None:
            raise RuntimeError("the sums were released and wiped. They can be released only once.")
        return self._sums

    @one_thread_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        # A copy continues with its own id and its own sums.
        state["_own_id"] = None
        state["_sums"] = None if self._sums is None else self._sums.copy()
        return state


class PlanAccumulator(BatchAccumulator):
    """Base of the accumulators whose plan is that of one round.

    Parameters
    ----------
    schema : RowSchema
    plan : Plan
    max_rows : int
        Bound on the number of rows.
    """

    #: Distinguishes the bytes of one class from those of another.
    _kind: str

    def _start(self, schema: RowSchema, plan: Plan, max_rows: int) -> None:
        # The task belongs to no run: the release is specified when it is made.
        self._task = RoundTask("", 0, schema, plan)
        self._max_rows = max_rows
        plan.check_room(max_rows)
        self._start_empty(np.zeros(plan.n_sums, dtype=np.int64))

    @redact_errors
    @refused_within_another
    def update(self, X: Any, y: Any = None, *, batch_id: Any = None) -> Self:
        """Add the rows of a batch: all of them or, after an error, none.

        Parameters
        ----------
        X : array-like of shape (n, n_features), data frame, or Arrow data
            Data frames (pandas, polars) and objects with ``__arrow_c_stream__`` (pyarrow, DuckDB, ...), which
            need pyarrow, may hold the target too.
        y : array-like of shape (n,), default=None
            Target. None: the column `target` of the batch, if the accumulator needs one.
        batch_id : str or int, default=None
            Name of the batch; public. A batch with the same name cannot be added again. None: the same batch
            can be added again by mistake.

        Returns
        -------
        self : accumulator

        Raises
        ------
        ImportError
            The batch is Arrow data, and pyarrow is not installed.
        RuntimeError
            The sums were released.
        TypeError, ValueError
            A batch with this id was added before; the rows would be too many; columns are missing; outside
            strict mode, a value cannot be used. The message contains no value.
        """
        held = self._require_unreleased()
        batch = self._check_id(batch_id)
        self._check_columns(X)
        part = self._task.sum_batch(X if y is None else (X, y), batch)
        self._add(held + part.values, self._check_count(self._n_rows + part.n_rows), batch, batch_id)
        return self

    def _check_columns(self, X: Any) -> None:
        schema = self._task.schema
        if schema.columns.features is None and schema.domain is None and (has_names(X) or holds_arrow(X)):
            # Columns would be matched by position, although two batches may order them differently.
            raise ValueError("the batch has column names, the accumulator has none. Name the features there.")

    def _restore(self, schema: RowSchema) -> None:
        """Set the further attributes of a subclass, of an object that is read from bytes."""

    def _join(self, other: Any) -> tuple[IntArray, dict[str, Any]]:
        if self._task.id != other._task.id or self._max_rows != other._max_rows:
            raise ValueError("the accumulators have different parameters: their sums cannot be added.")
        return self._require_unreleased() + other._require_unreleased(), {}

    def _check_count(self, n_rows: int) -> int:
        if n_rows > self._max_rows:
            raise ValueError("there would be more rows than declared.")
        return n_rows

    def _drive(self, rounds: Rounds[Any], entropy: Any, charge: Any) -> Any:
        """Run the one round over the sums so far."""
        return drive(rounds, _SumsAtHand(self._require_unreleased(), self._task.plan), entropy, charge)

    @one_thread_at_a_time
    def to_bytes(self) -> bytes:
        """Return the accumulator as JSON. It contains exact sums over private rows: never publish it."""
        content = {
            "kind": self._kind,
            "task": self._task.to_dict(),
            "max_rows": self._max_rows,
            "n_rows": self._n_rows,
            "sums": pack_integers(self._require_unreleased()),
            "batches": list(self.batch_ids),
        }
        return seal_document(_FORMAT, _VERSION, content)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore an accumulator from `to_bytes`.

        Parameters
        ----------
        data : bytes
            Validated. Nothing in it is executed.

        Returns
        -------
        accumulator : accumulator

        Raises
        ------
        TypeError
            `data` is not bytes.
        ValueError
            The bytes are damaged, of another program, class or version.
        """
        return restore_in_silence(data, _FORMAT, _VERSION, _FIELDS, cls._from_dict, "bytes of an accumulator")

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> Self:
        fields = Fields(content, ("format", "version", *_FIELDS))
        if fields.text("kind") != cls._kind:
            raise ValueError("it is an accumulator of another class")
        task = RoundTask.from_dict(fields.mapping("task"))
        accumulator = cls.__new__(cls)
        accumulator._restore(task.schema)
        max_rows = fields.integer("max_rows", 1, _MOST_ROWS)
        sums = unpack_integers(fields.text("sums"), (task.plan.n_sums,))
        accumulator._start(task.schema, task.plan, max_rows)
        n_rows, batches = fields.integer("n_rows", 0, max_rows), fields.texts("batches")
        if batches != sorted(set(batches)):
            raise ValueError("the batches must be sorted, and all different")
        task.plan.check_sums(sums, n_rows)
        accumulator._sums, accumulator._n_rows = sums, n_rows
        accumulator._batches = frozenset(batches)
        return accumulator

    def __repr__(self) -> str:
        end = ", released" if self.released else f", batches={len(self._batches)}"
        return f"{type(self).__name__}(n_features={self._task.schema.n_features}{end})"


class _SumsAtHand:
    """The sums of an accumulator, as a source of one round."""

    def __init__(self, sums: IntArray, plan: Plan) -> None:
        self._sums, self._plan = sums, plan

    def prepare(self, number: int, plan: Plan) -> None:
        """Raise ValueError if the sums are those of another plan."""
        if number or plan.to_dict() != self._plan.to_dict():
            raise ValueError(
                "the sums are those of another plan: the parameters are not those of the accumulator."
            )

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return a copy, for a release that was charged."""
        return self._sums.copy()
