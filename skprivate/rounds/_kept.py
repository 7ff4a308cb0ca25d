# SPDX-License-Identifier: BSD-3-Clause
"""Coded rows that a process keeps between the rounds of a fit: in memory, then in an unnamed file."""

import copy
import errno
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from time import monotonic
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from ._rows import PreparedRows

#: A process deletes the rows of a run that has sent no task for this time.
IDLE_SECONDS = 600.0
# Lookups a row after which rows in the file are written again: they take as long as writing 20 bytes.
_MOST_WORK = 16
_ALIGNED = 8


# A coding is a public description of how rows are coded before they are summed. `key` is its hash. `is_small`
# is True if coded rows are so much smaller than the table that they may be written to a file. `code(rows)`
# returns an object whose arrays are attributes. `holds(other)` is True if its rows serve another coding as
# well.


class AsTheyAre:
    """The coding of plans that read validated rows."""

    key, is_small = "rows", False

    def code(self, rows: PreparedRows) -> PreparedRows:
        """Return the rows."""
        return rows

    def holds(self, other: Any) -> bool:
        """Return whether another coding is this one."""
        return other is self


AS_THEY_ARE = AsTheyAre()


class LostRows(Exception):
    """Kept rows cannot be read any more: read them from their table again."""


@dataclass(eq=False)
class _Piece:
    """Some rows of a batch: in memory, or without their arrays, which are in the file at `place`."""

    rows: Any
    n_rows: int
    n_units: int
    size: int
    place: int | None = None
    layout: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...] = ()


@dataclass(eq=False)
class _Batch:
    """The pieces of a batch, their coding, and the version of the table. No coding: pieces are missing."""

    pieces: list[_Piece] = field(default_factory=list)
    coding: Any = None
    version: Any = None
    lock: Any = field(default_factory=threading.Lock)


def _arrays(rows: Any) -> dict[str, NDArray[Any]]:
    return {name: part for name, part in vars(rows).items() if isinstance(part, np.ndarray)}


def _room(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _size(rows: Any) -> int:
    return sum(_room(part.nbytes) for part in _arrays(rows).values())


class RowStore:
    """Coded rows of one run in one process.

    Parameters
    ----------
    most_bytes : int
        Largest size in memory.
    folder : str, None or False
        Folder of the file for the rows beyond it. None: the system's folder for temporary files; False: no
        file.

    Notes
    -----
    **Privacy.** It holds private rows. Only the owner can read and write its file, which never has a name:
    its space is free when the process ends, also after a crash. Deleted data may still be found on the disk.
    """

    def __init__(self, most_bytes: int, folder: Any) -> None:
        self._most, self._folder, self._used = most_bytes, folder, 0
        self._batches: dict[str, _Batch] = {}
        self._lock = threading.Lock()
        self._file: Any = None
        self._end, self._free = 0, dict[int, list[int]]()
        self._timer = threading.Timer(0, bool)
        self.used_at = monotonic()

    def pieces(
        self,
        batch_id: str,
        coding: Any,
        version: Any,
        read: Callable[[], Iterator[tuple[PreparedRows, int]]],
    ) -> Iterator[tuple[Any, int, int]]:
        """Yield the coded rows of a batch, with the numbers of rows and units; keep them if there is room.

        Parameters
        ----------
        batch_id : str
        coding : Coding
        version : object
            Facts about the table that are known without reading it. If they change, rows are read again.
        read : callable
            Reads the rows and numbers of units, piece by piece.
        """
        self.used_at = monotonic()
        batch = self._batches.setdefault(batch_id, _Batch())
        # Two runs of one task must not overlap: scores are changed in place.
        with batch.lock:
            kept, complete = batch.coding is not None and batch.version == version, True
            if kept and (batch.coding.key == coding.key or batch.coding.holds(coding)):
                batch.coding = None
                for piece in batch.pieces:
                    rows = piece.rows if piece.place is None else self._load(piece)
                    yield rows, piece.n_rows, piece.n_units
                    complete = complete and self._settle(piece, rows, coding.is_small)
                self._end_batch(batch, coding if complete else None, version)
                return
            self._end_batch(batch, None, None)
            for rows, n_units in read():
                coded = coding.code(rows)
                yield coded, rows.n_rows, n_units
                piece = _Piece(coded, rows.n_rows, n_units, 0)
                complete = complete and self._settle(piece, coded, coding.is_small)
                if complete:
                    batch.pieces.append(piece)
            self._end_batch(batch, coding if complete else None, version)

    def _end_batch(self, batch: _Batch, coding: Any, version: Any) -> None:
        batch.coding, batch.version = coding, version
        while batch.pieces and coding is None:
            self._release(batch.pieces.pop())

    def _settle(self, piece: _Piece, rows: Any, is_small: bool) -> bool:
        """Keep rows as a plan left them, in memory or in the file; return whether there was room."""
        if piece.place is not None and getattr(rows, "work", 0) <= _MOST_WORK:
            return True
        in_memory, size = piece.place is None, _size(rows)
        if in_memory:
            with self._lock:
                fits = self._used + size - piece.size <= self._most
                self._used += size - piece.size if fits else 0
            if fits:
                piece.size = size
                return True
        self._release(piece)
        return is_small and self._write(piece, rows)

    def _release(self, piece: _Piece) -> None:
        with self._lock:
            if piece.place is None:
                self._used -= piece.size
            else:
                self._free.setdefault(piece.size, []).append(piece.place)
        piece.size, piece.place = 0, None

    def _write(self, piece: _Piece, rows: Any) -> bool:
        if self._folder is False:
            return False
        if hasattr(rows, "strip"):
            rows.strip()
        size = _size(rows)
        buffer, at, parts = np.zeros(size, dtype=np.uint8), 0, _arrays(rows)
        for part in parts.values():
            buffer[at : at + part.nbytes] = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            at += _room(part.nbytes)
        with self._lock:
            # Another thread may have failed to make the file, or closed it.
            if self._folder is False:
                return False
            place = self._free[size].pop() if self._free.get(size) else self._end
            try:
                if self._file is None:
                    # Of mode 0600, and without a name from now on; on Windows deleted when it is closed.
                    self._file = TemporaryFile(prefix="skprivate-", dir=self._folder, buffering=0)  # noqa: SIM115
                    finalize(self, self._file.close)
                self._file.seek(place)
                _move_all(self._file.write, buffer)
            except OSError as error:
                problem, self._folder = os.strerror(error.errno or errno.EIO), False
                with suppress(OSError, AttributeError):
                    self._file.truncate(self._end)
            else:
                self._end = max(self._end, place + size)
                piece.rows, piece.size, piece.place = copy.copy(rows), size, place
                piece.layout = tuple((name, part.dtype, part.shape) for name, part in parts.items())
                vars(piece.rows).update(dict.fromkeys(parts))
                return True
        warnings.warn(
            f"no more rows can be kept in the folder for temporary files ({problem}): some are read again in "
            "every round. Pass another folder, TableSource(..., cache_folder=...), or increase cache_bytes.",
            stacklevel=2,
        )
        return False

    def _load(self, piece: _Piece) -> Any:
        buffer, at, found = np.empty(piece.size, dtype=np.uint8), 0, {}
        try:
            with self._lock:
                self._file.seek(piece.place)
                _move_all(self._file.readinto, buffer)
        except (OSError, ValueError):
            # Also if the file was closed.
            raise LostRows from None
        for name, dtype, shape in piece.layout:
            count = int(np.prod(shape))
            found[name] = buffer[at : at + count * dtype.itemsize].view(dtype).reshape(shape)
            at += _room(count * dtype.itemsize)
        rows = copy.copy(piece.rows)
        vars(rows).update(found)
        return rows

    def forget_when_idle(self, forget: Callable[[], None], seconds: float = IDLE_SECONDS) -> None:
        """Call a function when no rows were requested for so many seconds."""

        def look() -> None:
            left = self.used_at + IDLE_SECONDS - monotonic()
            if left > 0:
                self.forget_when_idle(forget, left)
            else:
                forget()

        self._timer = threading.Timer(seconds, look)
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        """Delete all rows, and free the file's space."""
        self._timer.cancel()
        self._batches.clear()
        with self._lock:
            self._folder, self._most = False, 0
            if self._file is not None:
                self._file.close()


def _move_all(move: Callable[[Any], int | None], buffer: Any) -> None:
    """Write or read a whole buffer; one call may move only a part."""
    done = 0
    while done < len(buffer):
        moved = move(memoryview(buffer)[done:])
        if not moved:
            raise OSError(errno.EIO, "the file ends")
        done += moved


# The key includes the process: a forked child has its parent's stores, and must not use their files.
_stores: dict[tuple[int, str], RowStore] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stores.clear)


def store_of(run: str, most_bytes: int, folder: Any) -> RowStore | None:
    """Return the store of a run in this process; None if nothing may be kept."""
    if not most_bytes and folder is False:
        return None
    key, new = (os.getpid(), run), RowStore(most_bytes, folder)
    if _stores.setdefault(key, new) is new:
        new.forget_when_idle(lambda: forget(run))
    return _stores.get(key)


def forget(run: str) -> None:
    """Delete the rows of a run in this process."""
    store = _stores.pop((os.getpid(), run), None)
    if store is not None:
        store.close()
