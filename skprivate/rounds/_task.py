# SPDX-License-Identifier: BSD-3-Clause
"""What travels to the rows: a public plan and how to read them, as bytes that are checked; no pickle."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..utils import check_characters
from ..utils._json_documents import (
    UNREADABLE,
    Fields,
    as_bytes,
    digest,
    restore_sealed,
    seal_document,
)
from ..utils._private_fit import redact_errors
from ..utils._public_module import public_module
from ._plans.plan import Plan, plan_from_dict
from ._reading.schema import RowSchema
from ._sums import PartialSums

_FORMAT = "skprivate.round"
_VERSION = 1
_FIELDS = ("run", "number", "schema", "plan")
# Far beyond the rounds of any estimator here; a number in hostile bytes ends at it.
_MOST_ROUNDS = 10**6


@dataclass(frozen=True, eq=False)
class RoundTask:
    """One round of one run, as workers get it: public.

    Attributes
    ----------
    run : str
        Drawn at random for every run: the same plan of another run is another task.
    number : int
        Of the round, from 0.
    schema : RowSchema
    plan : Plan
    """

    run: str
    number: int
    schema: RowSchema
    plan: Plan

    @functools.cached_property
    def id(self) -> str:
        """The id that sums, and the charge, name."""
        return digest(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "run": self.run,
            "number": self.number,
            "schema": self.schema.to_dict(),
            "plan": self.plan.to_dict(),
        }

    def sum_batch(self, table: Any, batch_id: str) -> PartialSums:
        """Return the exact sums over one batch.

        Raises
        ------
        TypeError, ValueError, OverflowError
            The batch cannot be read, or has too many rows.
        """
        n_rows = n_units = 0
        values = np.zeros(self.plan.n_sums, dtype=np.int64)
        for rows, units in self.schema.read(table):
            n_rows, n_units = n_rows + rows.n_rows, n_units + units
            self.plan.check_room(n_rows)
            values += self.plan.sums(rows)
        return PartialSums.of_batch(self.id, batch_id, values, n_rows, n_units)

    def to_bytes(self) -> bytes:
        """Return the task as JSON with a checksum."""
        return seal_document(_FORMAT, _VERSION, self.to_dict())

    @classmethod
    def from_bytes(cls, data: Any) -> "RoundTask":
        """Restore a task; ValueError for what `to_bytes` would not write."""
        data = as_bytes(data)
        try:
            return restore_sealed(data, _FORMAT, _VERSION, _FIELDS, cls._from_sealed)
        except UNREADABLE as error:
            reason = str(error)
        raise ValueError(f"these are no bytes of a round that can be used: {reason}.")

    @classmethod
    def _from_sealed(cls, content: dict[str, Any]) -> "RoundTask":
        return cls.from_dict({name: content[name] for name in _FIELDS})

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "RoundTask":
        """Restore a task; ValueError for what `to_dict` would not write."""
        fields = Fields(content, _FIELDS)
        return cls(
            fields.text("run"),
            fields.integer("number", 0, _MOST_ROUNDS),
            RowSchema.from_dict(fields.mapping("schema")),
            plan_from_dict(fields.mapping("plan")),
        )


@public_module("skprivate.rounds")
class PartitionFunction:
    """The function that an engine maps over partitions; it can be pickled, and holds public bytes alone.

    Parameters
    ----------
    task : bytes
        A round, as the driver wrote it.

    Notes
    -----
    **Privacy.** What it returns are exact sums over private rows. They travel to the driver, who is trusted,
    and nowhere else.

    Examples
    --------
    An engine in one process; others send the function to where the partitions are:

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

    def __init__(self, task: bytes) -> None:
        self.task = task

    def __call__(self, table: Any, batch_id: str | int) -> bytes:
        """Return the sums over one partition, as bytes.

        Parameters
        ----------
        table : data frame, Arrow data, or tuple of arrays
            All rows of the partition.
        batch_id : str or int
            Names the partition; the same in every round, and when a task is run again.

        Returns
        -------
        sums : bytes
            JSON. The driver counts those of one batch id once.

        Raises
        ------
        TypeError, ValueError
            The table has other columns or types, or a value that cannot be used; no value is repeated.
        """
        return self.sum_partition(table, batch_id).to_bytes()

    @redact_errors
    def sum_partition(self, table: Any, batch_id: str | int) -> PartialSums:
        """Return the sums as an object, where they need not travel."""
        return _restored(self.task).sum_batch(table, check_batch_id(batch_id))


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
