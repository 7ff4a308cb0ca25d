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
# Raise it when any estimator's rounds, their noise or their shares of the budget change: earlier releases
# would otherwise be read, and charged, as something else. The version of the package is checked as well.
_VERSION = 8
_FIELDS = ("fit", "package", "run", "key", "rounds")
# 128 bits: no two runs draw the same id.
_RUN_BYTES = 16


class Noise(Protocol):
    """Turns exact sums into released integers."""

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the released integers."""


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a private fit: what is summed, what it costs, and the noise. All of it is public.

    Attributes
    ----------
    plan : Plan
    noise : Noise
    spent : PrivacySpent or None
        What is charged before rows are read. None: the charge of an earlier round covers this one.
    release : ReleaseRecord or None
        Description for statements. None: the statement exists already.
    """

    plan: Plan
    noise: Noise
    spent: PrivacySpent | None = None
    release: ReleaseRecord | None = None


#: A generator that yields rounds, is sent what each released, and returns the fit.
Rounds = Generator[Round, IntArray, Result]


def with_releases(rounds: Rounds[Result], spent: PrivacySpent) -> Rounds[tuple[Result, PrivacySpent]]:
    """Yield rounds; return their result, and the statement with a list of their releases."""
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
    """Holds rows, and returns sums over all of them."""

    def prepare(self, number: int, plan: Plan) -> None:
        """Raise every error that can be found before anything is charged."""

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the exact sums over all rows."""


class RowsInMemory:
    """Validated rows in memory.

    Sums are computed before the charge, because validation is part of the computation. Nobody sees them
    before the charge. Plans over codes or standardised rows use the coded rows of earlier rounds again.
    """

    def __init__(self, rows: PreparedRows) -> None:
        self._rows = rows
        self._sums: IntArray | None = None
        self._coded: CodedRows | None = None
        self._binned: BinnedRows | None = None
        self._standard: tuple[tuple[Any, ...], list[Tiles]] = (), []

    def prepare(self, number: int, plan: Plan) -> None:
        """Compute the sums."""
        self._sums = self._sums_of(plan)

    def sums(self, number: int, plan: Plan) -> IntArray:
        """Return the prepared sums."""
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
    """Run all rounds over a source.

    Parameters
    ----------
    rounds : generator
        It yields a `Round`, is sent the released integers, and returns the result.
    source : RowSource
    entropy : Entropy
        Source of the noise.
    charge : callable
        Called with the cost of a round before its noise is drawn, and before rows of a remote source are
        read: an error of reading reveals something about them. If the record is kept on disk, it is also
        called with an id of the charge.
    record : RunRecord, default=None
        Releases of rounds that were complete before the driver was stopped. They are not repeated.

    Returns
    -------
    result : object
        What the generator returned.

    Notes
    -----
    **Privacy.** The exact sums of a round are kept until its noise is drawn. Each plan depends only on public
    values and on the releases of earlier rounds.
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
                # Rounds on record are charged, too: a ledger that has counted the id charges nothing, another
                # ledger charges the whole cost.
                charge(step.spent, **({} if charge_id is None else {"charge_id": charge_id}))
            if released is None:
                released = step.noise.randomize(source.sums(number, step.plan), entropy)
                if record is not None:
                    record.add(step.plan, released)
            elif not entropy.private:
                # A seeded simulation continues at the same place of its stream.
                step.noise.randomize(np.zeros(step.plan.n_sums, dtype=np.int64), entropy)
            number += 1
            step = rounds.send(released)
    except StopIteration as end:
        return end.value
    finally:
        rounds.close()


class RunRecord:
    """The id of a run and the releases of its rounds, in memory or also in a file.

    Parameters
    ----------
    path : path-like or None
        The file, which is read if it exists. None: nothing is written.
    fit : str
        Hash of everything public about the fit. The record of another fit is refused.

    Notes
    -----
    **Privacy.** Only released integers and public facts are written, and each round is written before it is
    used. If a run is stopped between drawing noise and writing it, it draws new noise when it continues:
    nobody has seen the lost noise.
    """

    def __init__(self, path: str | os.PathLike[str] | None, fit: str) -> None:
        self._path, self._fit = None if path is None else Path(path), fit
        self.run, self.key = os.urandom(_RUN_BYTES).hex(), b""
        self._rounds: list[tuple[str, IntArray]] = []
        if self._path is not None and self._path.exists():
            self._read(self._path.read_bytes())

    def begin(self, key: bytes) -> bytes:
        """Return the key of the run: the one on record, otherwise `key`. Write the id of the run."""
        self.key = self.key or key
        self._write()
        return self.key

    def charge_id(self, number: int) -> str | None:
        """Return the id of a round's charge. None: the round cannot be resumed and needs no id."""
        return None if self._path is None else f"{self.run}-{number}"

    def released(self, number: int, plan: Plan) -> IntArray | None:
        """Return what a round released before the driver was stopped; None: it is not complete."""
        if number >= len(self._rounds):
            return None
        found, released = self._rounds[number]
        if found != digest(plan.to_dict()):
            raise ValueError(
                "the checkpoint is of a run with other rounds: public rows or the package changed."
            )
        return released

    def add(self, plan: Plan, released: IntArray) -> None:
        """Record what a round released."""
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
                "the checkpoint cannot be used: it is damaged, or of another program or version. Move it "
                "away. What was charged stays charged."
            )
        if package != __version__:
            raise ValueError(
                "the checkpoint is of another version of the package, whose rounds may have had other noise. "
                "Continue with that version, or move the file away. What was charged stays charged."
            )
        if fit != self._fit:
            raise ValueError(
                "the checkpoint is of another fit: other parameters, columns, public rows or number of rows."
            )
        self.run, self.key, self._rounds = run, key, rounds


@contextlib.contextmanager
def open_record(path: str | os.PathLike[str] | None, fit: str) -> Iterator[RunRecord]:
    """Lock the record of a run: two processes that continue from one file would be charged only once.

    Raises
    ------
    BlockingIOError
        Another process uses it.
    """
    with contextlib.ExitStack() as stack:
        if path is not None:
            try:
                stack.enter_context(locked(path, wait=False))
            except BlockingIOError:
                raise BlockingIOError(f"another fit continues from the checkpoint {path} now.") from None
        yield RunRecord(path, fit)


def _read_round(item: Any) -> tuple[str, IntArray]:
    plan, shape, values = item
    if type(plan) is not str or type(shape) is not list or not all(type(side) is int for side in shape):
        raise ValueError("a round must have a plan, a shape and integers")
    released: IntArray = unpack_integers(values, tuple(shape))
    return plan, np.ascontiguousarray(released)
