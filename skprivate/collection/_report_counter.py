# SPDX-License-Identifier: BSD-3-Clause
"""Counting of reports, each once, with checkpoints on disk.

**Claim.** Acknowledged reports stay in the file: no save drops a report that the file counts.

**Proof.** One object in one process holds the lock, so that no other saves between the check and the save. A
file is only replaced by a state of the same specification that counts at least as many reports of every batch
in the file. The counted reports of a batch are its first ones. A file of reports is counted in its order.
Reports without a file are counted under an id that the curator drew itself, and a copy of the curator does
not continue it.
"""

import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from .._typing import IntArray
from ..utils._files import acquire_lock, holds_lock, release_lock, write_atomically
from ..utils._private_fit import one_thread_at_a_time
from ._client import ClientOptions, TreeClient
from ._curator_state import CuratorState
from ._report_files import ReportReader

# File of a curator: its lock, and the check before the file is replaced.


class Checkpoint:
    """The lock of a curator's file, held until `close`, or until the object or the process ends.

    Parameters
    ----------
    path : str or path-like
        File of the curator. A symbolic link shares the lock of its file.

    Raises
    ------
    ValueError
        Another object or process holds it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))
        try:
            self._lock = acquire_lock(self.path, wait=False)
        except BlockingIOError:
            raise ValueError(
                f"{path} is in use by another process, or by another TreeCurator in this one: close it "
                "first, or choose another file."
            ) from None
        self._release = weakref.finalize(self, release_lock, self._lock)

    def protects(self, path: str | os.PathLike[str]) -> bool:
        """Whether this object, in this process, still holds the lock of this file."""
        same = self.path == Path(os.path.realpath(path))
        return same and self._lock.process == os.getpid() and holds_lock(self._lock)

    def check(self, state: CuratorState) -> None:
        """Raise ValueError if writing this state would lose reports in the file."""
        data = self.path.read_bytes() if self.path.exists() else b""
        if not data:
            return
        try:
            found = CuratorState.from_bytes(data)
        except ValueError as error:
            raise ValueError(f"{self.path} is not overwritten: {error}") from None
        counted = {batch: numbers[0] for batch, numbers in state.history.items()}
        kept = all(counted.get(batch, -1) >= numbers[0] for batch, numbers in found.history.items())
        if found.specification != state.specification or not kept:
            raise ValueError(
                f"{self.path} holds reports, or a specification, that this curator does not have: "
                "continue with TreeCurator.from_file, or choose another file."
            )

    def save(self, state: CuratorState) -> None:
        """Replace the file; after an error it is not changed."""
        write_atomically(self.path, state.to_bytes())

    def close(self) -> None:
        """Release the lock, or in a fork its copy."""
        self._release()


# Number of bytes of small reports that are added up together.
_BYTES_AT_ONCE = 2**20
_SECONDS_BETWEEN_CHECKPOINTS = 5.0
_LARGEST_COUNT = 2**63 - 1


class ReportCounter:
    """The methods by which a curator of either phase counts the reports of its specification."""

    #: Whether this class restores the state of a first phase; see `SplitCurator`.
    _shapes: bool
    _checkpoint: Checkpoint | None

    def _start(self, state: CuratorState) -> None:
        if state.shapes != self._shapes:
            other = "SplitCurator" if state.shapes else "TreeCurator"
            raise ValueError(f"this is the state of a {other}: restore it with {other}.from_bytes.")
        self._state = state
        self._checkpoint = None
        # A copy continues under its own id, so that equal counts of one id belong to the same reports. It is
        # stored with the process that drew it: a fork continues under another id.
        self._own_stream: tuple[int, str] | None = None
        self.specification = state.specification

    @property
    def n_reports(self) -> int:
        """Number of reports counted."""
        return self._state.n_reports

    @property
    def history(self) -> dict[str, tuple[int, int]]:
        """Batch id -> number of its reports that are counted, and that it has."""
        return dict(self._state.history)

    def client(self, **options: Unpack[ClientOptions]) -> TreeClient:
        """Return a client of this specification, with options as in `TreeClient`."""
        return TreeClient(self.specification, **options)

    def without_reports(self) -> Self:
        """Return a curator of the same specification without reports, for another round."""
        curator = type(self).__new__(type(self))
        curator._start(self._open_state().without_reports())
        return curator

    def update(self, reports: Any) -> None:
        """Count reports without a file.

        Parameters
        ----------
        reports : bytes-like, ndarray of shape (n, \\*report_shape), or iterable of these
            One or several reports, as clients, the randomizer and `TreeSpecification.randomize_many` return
            them. If they are passed twice, they count twice.

        Raises
        ------
        TypeError, ValueError
            One cannot be a report of this specification, or the counts are external (`from_counts`). None is
            counted.
        """
        randomizer = self._open_state().randomizer
        counts, n = np.zeros(randomizer.counts_shape, dtype=np.int64), 0
        for batch in self._batches(reports):
            counts = _add_counts(counts, randomizer.aggregate(batch))
            n += len(batch)
        if n:
            self._count(counts, n)

    @one_thread_at_a_time
    def _count(self, counts: IntArray, n: int) -> None:
        state = self._open_state()
        process, own = os.getpid(), self._own_stream
        stream = own[1] if own is not None and own[0] == process else os.urandom(16).hex()
        counted = state.history.get(stream, (0, 0))[0] + n
        counts = _add_counts(state.counts, counts)
        # Set first, so that no id is drawn again for counted reports after an interrupt.
        self._own_stream = process, stream
        self._state = state.with_counts(counts, {stream: (counted, counted)}, stream)

    @one_thread_at_a_time
    def update_file(
        self,
        path: str | os.PathLike[str],
        progress: Callable[[int, int], object] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> bool:
        """Count the reports of a file, unless they are already counted.

        Parameters
        ----------
        path : str or path-like
            File of a `ReportWriter`. Memory does not grow with its size.
        progress : callable, default=None
            Called as ``progress(counted, total)`` after every piece.
        checkpoint : str or path-like, default=None
            File for `save`, every few seconds and at the end, also if the batch was counted before. When this
            method returns, the file holds the reports. After the process was killed, continue from this file
            (`from_file`) with the same reports. The curator holds the file until `close`.

        Returns
        -------
        counted : bool
            False if the batch was counted before, and was therefore ignored.

        Raises
        ------
        OSError, ValueError
            The file cannot be read, is cut short, has another format or a newer version, or belongs to
            another specification. Or a report in it is impossible. The message names the file and the byte.
            Earlier counts stay valid. Or the counts are external (`from_counts`). Or the checkpoint is
            refused, as in `save`, and then nothing is counted.
        """
        state = self._open_state()
        if checkpoint is not None:
            self._hold(checkpoint)
        with ReportReader(path, self.specification) as reader:
            counted, total = state.history.get(reader.batch_id, (0, reader.n_reports))
            if total != reader.n_reports and not reader.grows:
                raise reader.error(64, f"a batch of this id had {total} reports, not {reader.n_reports}")
            # Copies of a growing file have the same beginning: the rest of a longer one is new, and a shorter
            # one has nothing new.
            total = reader.n_reports
            if counted >= total and reader.batch_id in state.history:
                # The call that counted it may have ended before it saved, or may have saved elsewhere.
                self._save_if_asked(checkpoint)
                return False
            saved = time.monotonic()
            for first, reports in reader.chunks(counted):
                if self._state.history.get(reader.batch_id, (0, total))[0] != first:
                    raise reader.error(
                        reader.byte_offset(first), "this batch was counted by another call meanwhile"
                    )
                try:
                    counts = state.randomizer.aggregate(reports)
                    counted = first + len(reports)
                    counts = _add_counts(self._state.counts, counts)
                    self._state = self._state.with_counts(counts, {reader.batch_id: (counted, total)})
                except ValueError as error:
                    raise reader.error(reader.byte_offset(first), f"from here on: {error}") from None
                if progress is not None:
                    progress(counted, total)
                if checkpoint is not None and time.monotonic() - saved > _SECONDS_BETWEEN_CHECKPOINTS:
                    self.save(checkpoint)
                    saved = time.monotonic()
            if not total:
                self._state = self._state.with_counts(self._state.counts, {reader.batch_id: (0, 0)})
        self._save_if_asked(checkpoint)
        return True

    def merge(self, other: "ReportCounter") -> None:
        """Add the counts of another curator, which does not change.

        Parameters
        ----------
        other : curator
            A curator of the same class and specification.

        Raises
        ------
        TypeError, ValueError
            `other` is not such a curator, both have counted the same batch in part or in full, or the counts
            are external (`from_counts`). Nothing changes.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"other must be a {type(self).__name__}, not {type(other).__name__}.")
        # The other's state is one object, which is replaced and never changed, so it needs no lock.
        self._merge(other._open_state())

    @one_thread_at_a_time
    def _merge(self, theirs: CuratorState) -> None:
        mine = self._open_state()
        if theirs.specification != mine.specification:
            raise ValueError("the curators have different specifications: their counts do not add up.")
        shared = sorted(mine.history.keys() & theirs.history.keys())
        if shared:
            raise ValueError(
                f"both curators have counted the batch {shared[0]}, and {len(shared) - 1} more: merging them "
                "would count reports twice."
            )
        self._state = mine.with_counts(_add_counts(mine.counts, theirs.counts), theirs.history)

    def to_bytes(self) -> bytes:
        """Return the whole curator as JSON: public inputs, counts, and the counted batches.

        Returns
        -------
        data : bytes
            Write them to a file, or use `save` or ``update_file(..., checkpoint=...)``.

        Raises
        ------
        TypeError, ValueError
            A parameter of the tree has a type that JSON cannot hold, or the counts are external
            (`from_counts`).
        """
        return self._open_state().to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a curator from `to_bytes`.

        Parameters
        ----------
        data : bytes
            Nothing in them is executed, and everything is checked.

        Returns
        -------
        curator : curator
            A curator of this class.

        Raises
        ------
        TypeError
            `data` is not bytes.
        ValueError
            The data are damaged, have another format or a newer version, or belong to the other phase.
        """
        curator = cls.__new__(cls)
        curator._start(CuratorState.from_bytes(data))
        return curator

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Restore a curator from a file, and hold the file until `close`.

        Parameters
        ----------
        path : str or path-like
            File of `save`, or of ``update_file(..., checkpoint=...)``.

        Returns
        -------
        curator : TreeCurator

        Raises
        ------
        OSError, ValueError
            There is no such file, another object or process holds it, or as in `from_bytes`.
        """
        # First, so that a wrong name leaves no lock file behind.
        os.stat(path)
        checkpoint = Checkpoint(path)
        try:
            curator = cls.from_bytes(checkpoint.path.read_bytes())
        except BaseException as error:
            checkpoint.close()
            if isinstance(error, ValueError):
                raise ValueError(f"{os.fspath(path)}: {error}") from error
            raise
        curator._checkpoint = checkpoint
        return curator

    @one_thread_at_a_time
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the curator to a file atomically and durably, and hold the file until `close`.

        Parameters
        ----------
        path : str or path-like
            A new file, or one whose reports this curator has all counted, for example one that it saved or
            was read from. If two curators shared a file, the last writer would lose the other's counts. The
            command line uses the same lock, the file ``path`` with ".lock" at its end.

        Raises
        ------
        OSError
            The file cannot be written. It is not changed.
        TypeError, ValueError
            Another object or process holds the file, it has reports that this curator has not counted, or it
            is not the file of a curator. Or as in `to_bytes`. The file is not changed.
        """
        self._hold(path).save(self._open_state())

    @one_thread_at_a_time
    def close(self) -> None:
        """Release the file of `save`, `update_file` or `from_file`, as the end of a ``with`` block does."""
        # In this order: after an interrupt a curator must not use a file that is no longer locked.
        checkpoint, self._checkpoint = self._checkpoint, None
        if checkpoint is not None:
            checkpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hold(self, path: str | os.PathLike[str]) -> Checkpoint:
        """Return the lock of a file; the file that was held before is released."""
        if self._checkpoint is not None and self._checkpoint.protects(path):
            return self._checkpoint
        self.close()
        checkpoint = Checkpoint(path)
        try:
            checkpoint.check(self._open_state())
        except BaseException:
            checkpoint.close()
            raise
        self._checkpoint = checkpoint
        return checkpoint

    def _save_if_asked(self, path: str | os.PathLike[str] | None) -> None:
        if path is not None:
            self.save(path)

    def _open_state(self) -> CuratorState:
        """Return the state, if reports may be added to it."""
        return self._state

    def __getstate__(self) -> dict[str, Any]:
        # Only one object holds a file, and a copy continues under another id.
        return {**vars(self), "_checkpoint": None, "_own_stream": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.specification!r}, n_reports={self.n_reports})"

    def _batches(self, reports: Any) -> Iterator[NDArray[Any]]:
        if isinstance(reports, np.ndarray):
            yield reports
        elif isinstance(reports, bytes | bytearray | memoryview):
            yield self.specification.unpack(reports)
        elif isinstance(reports, str | Mapping) or not isinstance(reports, Iterable):
            raise TypeError("reports must be bytes, an array of reports, or an iterable of these.")
        else:
            for batch in _join_reports(reports, self._state.randomizer.report_bytes):
                yield self.specification.unpack(batch) if isinstance(batch, bytes) else batch


def _join_reports(pieces: Iterable[Any], size: int) -> Iterator[bytes | NDArray[Any]]:
    """Join reports in bytes into batches of about a mebibyte; arrays of reports are passed on."""
    held, length = [], 0
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            yield piece
            continue
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise TypeError(f"an iterable of reports must hold bytes or arrays, not {type(piece).__name__}.")
        if len(piece) % size:
            raise ValueError(f"{len(piece)} bytes are not a whole number of reports of {size} bytes.")
        held.append(piece)
        length += len(piece)
        if length >= _BYTES_AT_ONCE:
            yield b"".join(held)
            held, length = [], 0
    yield b"".join(held)


def _add_counts(counts: IntArray, more: IntArray) -> IntArray:
    """Add exactly; ValueError if the sum is too large: forged reports of Laplace mechanisms can be huge."""
    # int(): the magnitude of the lowest int64 is not an int64.
    largest = sum(max(int(part.max()), -int(part.min())) for part in (counts, more))
    if largest > _LARGEST_COUNT:
        raise ValueError("the counts would exceed 2^63: some of these reports must be forged.")
    return counts + more
