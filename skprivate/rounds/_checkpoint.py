# SPDX-License-Identifier: BSD-3-Clause
"""What a run has released so far, on disk: a driver that was stopped goes on, and charges nothing twice."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import IntArray
from ..utils._files import locked, write_atomically
from ..utils._groups import KEY_BYTES
from ..utils._json_documents import (
    UNREADABLE,
    Fields,
    digest,
    pack_integers,
    read_sealed,
    seal_document,
    unpack_integers,
)
from ._plans.plan import Plan

_FORMAT = "skprivate.run"
# Raised when any estimator's rounds, their noise or their shares of the budget change: what was released
# before would be read, and paid for, as something else. Versions of the package are told apart besides.
_VERSION = 4
_FIELDS = ("fit", "package", "run", "key", "rounds")
# 128 bits: no two runs draw the same id.
_RUN_BYTES = 16


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
        facts = {"fit": self._fit, "package": _package(), "run": self.run, "key": self.key.hex()}
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
        if package != _package():
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


def _package() -> str:
    from .. import __version__

    return __version__


def _read_round(item: Any) -> tuple[str, IntArray]:
    plan, shape, values = item
    if type(plan) is not str or type(shape) is not list or not all(type(side) is int for side in shape):
        raise ValueError("a round must have a plan, a shape and integers")
    released: IntArray = unpack_integers(values, tuple(shape))
    return plan, np.ascontiguousarray(released)
