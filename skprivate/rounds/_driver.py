# SPDX-License-Identifier: BSD-3-Clause
"""The driver of rounds (plan, charge, exact sums, noise, the next plan), and its record on disk."""

import contextlib
import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from .._typing import IntArray
from .._version import __version__
from ..accounting import PrivacySpent, ReleaseRecord
from ..noise._mechanisms import Entropy
from ..utils._arguments import KEY_BYTES
from ..utils._files import locked, write_atomically
from ..utils._json_documents import (
    UNREADABLE,
    Fields,
    digest,
    pack_integers,
    read_sealed,
    seal_document,
    unpack_integers,
)
from ._plans.boosting import CodeCountsPlan, CodedRows, ColumnResidualsPlan, ResidualsPlan
from ._plans.linear_residuals import LinearResidualsPlan
from ._plans.logits import LogitsPlan, Tiles
from ._plans.masses import BinnedRows, HistogramsPlan
from ._plans.probabilities import LinearModel, ProbabilitiesPlan
from ._rows import PreparedRows
from ._task import Plan

Result = TypeVar("Result")

_FORMAT = "skprivate.run"
# Raised when any estimator's rounds, their noise or their shares of the budget change: what was released
# before would be read, and paid for, as something else. Versions of the package are told apart besides.
_VERSION = 7
_FIELDS = ("fit", "package", "run", "key", "rounds")
# 128 bits: no two runs draw the same id.
_RUN_BYTES = 16


class Noise(Protocol):
    """What turns exact sums into released integers."""

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return what is released of the sums."""


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a private fit, public: what is summed, what it costs, and the noise.

    Attributes
    ----------
    plan : Plan
    noise : Noise
    spent : PrivacySpent or None
        What is charged before rows are read; None: an earlier round has paid for this one.
    release : ReleaseRecord or None
        What statements say about it; None where the statement was made before.
    """

    plan: Plan
    noise: Noise
    spent: PrivacySpent | None = None
    release: ReleaseRecord | None = None


#: A generator that yields rounds, is sent what each released, and returns the fit.
Rounds = Generator[Round, IntArray, Result]


def with_releases(rounds: Rounds[Result], spent: PrivacySpent) -> Rounds[tuple[Result, PrivacySpent]]:
    """Yield rounds; return their result, and the statement that lists what each of them released."""
    found: list[ReleaseRecord] = []
    try:
        step = next(rounds)
        while True:
            assert step.release is not None
            found.append(step.release)
            step = rounds.send((yield step))
    except StopIteration as end:
        return end.value, spent.with_releases(found)
    finally:
        rounds.close()


class RowSource(Protocol):
    """Where rows are; sums over all of them come from it."""

    def prepare(self, number: int, plan: Plan) -> None:
        """Raise what can be raised before anything is charged."""

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the exact sums over all rows."""


class RowsInMemory:
    """Rows that were validated and are at hand.

    Their sums are made before the charge, as validation is part of them: nobody sees them before it. Plans
    over codes or standardised rows find what earlier rounds made of the rows.
    """

    def __init__(self, rows: PreparedRows) -> None:
        self._rows = rows
        self._sums: IntArray | None = None
        self._coded: CodedRows | None = None
        self._binned: BinnedRows | None = None
        self._standard: tuple[tuple[Any, ...], list[Tiles]] = (), []

    def prepare(self, number: int, plan: Plan) -> None:
        """Make the sums."""
        self._sums = self._sums_of(plan)

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the sums that were prepared."""
        prepared, self._sums = self._sums, None
        return self._sums_of(plan) if prepared is None else prepared

    def _sums_of(self, plan: Plan) -> IntArray:
        if isinstance(plan, LogitsPlan):
            kind = plan.rows, plan.grid, plan.n_labels
            if self._standard[0] != kind:
                self._standard = kind, list(plan.tiles(self._rows))
            return plan.tile_sums(self._standard[1])
        if isinstance(plan, HistogramsPlan):
            sums, self._binned = plan.binned_sums(self._rows, self._binned)
            return sums
        over_codes = (
            CodeCountsPlan | ColumnResidualsPlan | LinearResidualsPlan | ResidualsPlan | ProbabilitiesPlan
        )
        if not isinstance(plan, over_codes) or isinstance(getattr(plan, "model", None), LinearModel):
            return plan.sums(self._rows)
        if self._coded is None:
            self._coded = CodedRows(self._rows)
        return plan.coded_sums(self._coded)


def drive(
    rounds: Rounds[Result],
    source: RowSource,
    entropy: Entropy,
    charge: Callable[..., object] = bool,
    record: "RunRecord | None" = None,
) -> Result:
    """Run rounds over a source to their end.

    Parameters
    ----------
    rounds : generator
        It yields a `Round`, is sent the integers that it released, and returns the result.
    source : RowSource
    entropy : Entropy
        Of the noise.
    charge : callable
        Called with what a round costs, before its noise is drawn, and before rows that are elsewhere are
        read: that reading fails is an answer about them. With a record that is kept on disk, also with an id
        of the charge.
    record : RunRecord, default=None
        What rounds released before the driver was stopped, which are not done again.

    Returns
    -------
    result : object
        What the generator returned.

    Notes
    -----
    **Privacy.** The exact sums of a round live until its noise is drawn. Each plan is made of public values
    and of what earlier rounds released.
    """
    number = 0
    try:
        step = next(rounds)
        while True:
            released = None if record is None else record.released(number, step.plan)
            charge_id = None if record is None else record.charge_id(number)
            if released is None:
                source.prepare(number, step.plan)
            if step.spent is not None:
                # Of a round on record, too: a ledger that has counted its id takes nothing, another one takes
                # the whole cost.
                charge(step.spent, **({} if charge_id is None else {"charge_id": charge_id}))
            if released is None:
                released = step.noise.randomize(source.sums(number, step.plan), entropy)
                if record is not None:
                    record.add(step.plan, released)
            elif not entropy.private:
                # A seeded simulation goes on where its stream was.
                step.noise.randomize(np.zeros(step.plan.n_sums, dtype=np.int64), entropy)
            number += 1
            step = rounds.send(released)
    except StopIteration as end:
        return end.value
    finally:
        rounds.close()


class RunRecord:
    """The id of a run, and what its rounds released; in memory, or also in a file.

    Parameters
    ----------
    path : path-like or None
        The file, which is read if it is there. None: nothing is written.
    fit : str
        Hash of everything public about the fit: the record of another one is refused.

    Notes
    -----
    **Privacy.** Released integers and public facts alone are written, and a round's before they are used. A
    run that is stopped between its noise and the file draws anew when it goes on: nobody saw that noise.
    """

    def __init__(self, path: str | os.PathLike[str] | None, fit: str) -> None:
        self._path, self._fit = None if path is None else Path(path), fit
        self.run, self.key = os.urandom(_RUN_BYTES).hex(), b""
        self._rounds: list[tuple[str, IntArray]] = []
        if self._path is not None and self._path.exists():
            self._read(self._path.read_bytes())

    def begin(self, key: bytes) -> bytes:
        """Return the key of the run, this one if none was drawn before; from now on the run has an id."""
        self.key = self.key or key
        self._write()
        return self.key

    def charge_id(self, number: int) -> str | None:
        """Return the id that a round is charged by; None: it cannot be resumed, and needs none."""
        return None if self._path is None else f"{self.run}-{number}"

    def released(self, number: int, plan: Plan) -> IntArray | None:
        """Return what a round released before the driver was stopped; None: it is still to be done."""
        if number >= len(self._rounds):
            return None
        found, released = self._rounds[number]
        if found != digest(plan.to_dict()):
            raise ValueError(
                "the checkpoint is of a run whose rounds were others: public rows or the package changed."
            )
        return released

    def add(self, plan: Plan, released: IntArray) -> None:
        """Keep what a round released."""
        if self._path is None:
            return
        self._rounds.append((digest(plan.to_dict()), released))
        self._write()

    def end(self) -> None:
        """Delete the file: the fit is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        if self._path is None:
            return
        rounds = [[plan, list(values.shape), pack_integers(values)] for plan, values in self._rounds]
        facts = {"fit": self._fit, "package": __version__, "run": self.run, "key": self.key.hex()}
        content = {**facts, "rounds": rounds}
        write_atomically(self._path, seal_document(_FORMAT, _VERSION, content))

    def _read(self, data: bytes) -> None:
        try:
            fields = Fields(read_sealed(data, _FORMAT, _VERSION, _FIELDS), ("format", "version", *_FIELDS))
            rounds = [_read_round(item) for item in fields.items("rounds")]
            fit, run, key = fields.text("fit"), fields.text("run"), bytes.fromhex(fields.text("key"))
            package = fields.text("package")
            if len(key) not in (0, KEY_BYTES):
                raise ValueError("a key has eight bytes")
        except UNREADABLE:
            fit = None
        if fit is None:
            raise ValueError(
                "the checkpoint cannot be used: damaged, foreign, or of another version of the package. Move "
                "it away; what was charged stays charged."
            )
        if package != __version__:
            raise ValueError(
                "the checkpoint is of another version of the package, whose rounds may have had other noise: "
                "go on with that version, or move the file away; what was charged stays charged."
            )
        if fit != self._fit:
            raise ValueError(
                "the checkpoint is of another fit: other parameters, columns, public rows or number of rows."
            )
        self.run, self.key, self._rounds = run, key, rounds


@contextlib.contextmanager
def open_record(path: str | os.PathLike[str] | None, fit: str) -> Iterator[RunRecord]:
    """Hold the record of a run; two processes that went on from one file would be charged once.

    Raises
    ------
    BlockingIOError
        Another process has it.
    """
    with contextlib.ExitStack() as stack:
        if path is not None:
            try:
                stack.enter_context(locked(path, wait=False))
            except BlockingIOError:
                raise BlockingIOError(f"another fit goes on from the checkpoint {path} now.") from None
        yield RunRecord(path, fit)


def _read_round(item: Any) -> tuple[str, IntArray]:
    plan, shape, values = item
    if type(plan) is not str or type(shape) is not list or not all(type(side) is int for side in shape):
        raise ValueError("a round must have a plan, a shape and integers")
    released: IntArray = unpack_integers(values, tuple(shape))
    return plan, np.ascontiguousarray(released)
