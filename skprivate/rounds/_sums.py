# SPDX-License-Identifier: BSD-3-Clause
"""Exact sums over some batches of rows: merged in any order, each batch counted once."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._typing import IntArray
from ..utils._json_documents import (
    Fields,
    pack_integers,
    restore_in_silence,
    seal_document,
    unpack_integers,
)
from ..utils._public_module import public_module
from ._plans.plan import Plan

_FORMAT = "skprivate.sums"
_VERSION = 1
_FIELDS = ("task", "values", "batches")
_FACTS = ("rows", "units", "digest")
# Rows of a batch, and of all of them: exact sums have room for fewer.
_MOST_ROWS = 2**62


@dataclass(frozen=True, repr=False)
class BatchFacts:
    """What is kept of one batch: enough to know it again."""

    n_rows: int
    n_units: int
    digest: str


@public_module("skprivate.rounds")
@dataclass(frozen=True, eq=False, repr=False)
class PartialSums:
    """Exact sums over the rows of some batches. They are private: they stay within the trust boundary.

    Attributes
    ----------
    task : str
        Id of the task that they answer.
    values : ndarray of int64
        The sums.
    batches : mapping from str to BatchFacts
        The batches that are in the sums, by their ids.

    Notes
    -----
    For engines that merge answers before they come back: `from_bytes`, `merge`, `to_bytes`.

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
        """Number of persons, where no person is in two batches."""
        return sum(facts.n_units for facts in self.batches.values())

    def merge(self, other: "PartialSums") -> "PartialSums":
        """Return the sums over the batches of both; what both hold alike is counted once.

        Raises
        ------
        ValueError
            They answer different tasks; or they share batches and are not the same, so that it is unknown
            what to count once.
        """
        if self.task != other.task:
            raise ValueError("the sums are those of another plan.")
        shared = self.batches.keys() & other.batches.keys()
        if any(self.batches[name] != other.batches[name] for name in shared):
            raise ValueError(f"the batch {min(shared)!r} came twice, with other rows.")
        if other.batches.keys() <= self.batches.keys():
            return self
        if self.batches.keys() <= other.batches.keys():
            return other
        if shared:
            raise ValueError(
                f"the batch {min(shared)!r} is in two sums that were merged already: merge each batch once."
            )
        with np.errstate(over="raise"):
            return PartialSums(self.task, self.values + other.values, {**self.batches, **other.batches})

    def to_bytes(self) -> bytes:
        """Return the sums as JSON with a checksum; never publish them."""
        batches = {
            name: [facts.n_rows, facts.n_units, facts.digest] for name, facts in sorted(self.batches.items())
        }
        content = {"task": self.task, "values": pack_integers(self.values), "batches": batches}
        return seal_document(_FORMAT, _VERSION, content)

    @classmethod
    def from_bytes(cls, data: Any) -> "PartialSums":
        """Restore the sums; ValueError, which repeats nothing, for what `to_bytes` would not write."""
        return restore_in_silence(data, _FORMAT, _VERSION, _FIELDS, cls._from_dict, "bytes of sums")

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> "PartialSums":
        fields = Fields(content, ("format", "version", *_FIELDS))
        batches = {}
        for name, facts in fields.mapping("batches").items():
            if type(facts) is not list or len(facts) != 3:
                raise ValueError("a batch must have three facts")
            numbers = Fields(dict(zip(_FACTS, facts, strict=True)), _FACTS)
            rows, units = (numbers.integer(count, 0, _MOST_ROWS) for count in ("rows", "units"))
            batches[name] = BatchFacts(rows, units, numbers.text("digest"))
        return cls(fields.text("task"), unpack_integers(fields.text("values"), (-1,)), batches)


class SumsCollector:
    """Adds up the sums of batches as they come, in any order, each once.

    Parameters
    ----------
    task : str
        Id of the task that they must answer.
    plan : Plan
    expected : mapping from str to int, or None
        Units of the batches that there are; None: whatever comes.
    """

    def __init__(self, task: str, plan: Plan, expected: Mapping[str, int] | None = None) -> None:
        self._task, self._plan, self._expected = task, plan, expected
        self._values = np.zeros(plan.n_sums, dtype=np.int64)
        self._seen: dict[str, BatchFacts] = {}
        self._n_rows = 0

    def add(self, part: PartialSums) -> None:
        """Add sums, or know them again.

        Raises
        ------
        ValueError
            They are those of another plan, impossible, of unknown batches, or of a batch that came before
            with other rows. No sum is in the message.
        """
        if part.task != self._task or part.values.shape != self._values.shape:
            raise ValueError("the sums are those of another plan.")
        again = part.batches.keys() & self._seen.keys()
        if any(self._seen[name] != part.batches[name] for name in again):
            raise ValueError(f"the batch {min(again)!r} came twice, with other rows.")
        if again and len(again) == len(part.batches):
            return
        if again:
            raise ValueError(f"the batch {min(again)!r} is in two sums that were merged: merge each once.")
        self._check_batches(part)
        self._plan.check_room(self._n_rows + part.n_rows)
        self._plan.check_sums(part.values, part.n_rows)
        self._values += part.values
        self._n_rows += part.n_rows
        self._seen.update(part.batches)

    def _check_batches(self, part: PartialSums) -> None:
        if self._expected is None:
            return
        for name, facts in part.batches.items():
            if self._expected.get(name) != facts.n_units:
                raise ValueError(f"the batch {name!r} is not as it was when the source was looked at.")

    def result(self) -> tuple[IntArray, int]:
        """Return the sums, and the number of units that are in them."""
        missing = sorted((self._expected or {}).keys() - self._seen.keys())
        if missing:
            raise ValueError(f"the batch {missing[0]!r} did not come: some rows would not count.")
        return self._values, sum(facts.n_units for facts in self._seen.values())
