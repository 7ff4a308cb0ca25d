# SPDX-License-Identifier: BSD-3-Clause
"""File of a curator: its lock, and the check before it is replaced.

**Claim.** What was acknowledged stays in the file: no save drops a report that the file counts.

**Proof.** One process and object holds the lock, so that no other saves between the check and the save. A
file is replaced by a state of the same specification that counts, of every batch in the file, at least as
many reports. Of a batch, counts are those of its first reports: a file of reports is counted in its order,
and a curator without a file counts under an id that it drew itself, which no copy of it goes on with.
"""

import os
import weakref
from pathlib import Path
from typing import Self

from ..utils._atomic_state import one_thread_at_a_time
from ..utils._files import acquire_lock, holds_lock, release_lock, write_atomically
from ._curator_state import CuratorState


class Checkpoint:
    """The lock of a curator's file, held until `close`, or until the object or the process is gone.

    Parameters
    ----------
    path : str or path-like
        A symbolic link shares the lock of its file.

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
                f"{path} is in use by another process, or by another TreeCurator of this one: close that "
                "first, or choose another file."
            ) from None
        self._release = weakref.finalize(self, release_lock, self._lock)

    def protects(self, path: str | os.PathLike[str]) -> bool:
        """Whether this object, in this process, still holds the lock of this file."""
        same = self.path == Path(os.path.realpath(path))
        return same and self._lock.process == os.getpid() and holds_lock(self._lock)

    def check(self, state: CuratorState) -> None:
        """Raise ValueError if to write this state would lose what the file holds."""
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
                f"{self.path} holds reports, or a specification, that this curator does not have: go on "
                "with TreeCurator.from_file, or choose another file."
            )

    def save(self, state: CuratorState) -> None:
        """Replace the file, or leave it as it was."""
        write_atomically(self.path, state.to_bytes())

    def close(self) -> None:
        """Release the lock; in a fork, the copy of it."""
        self._release()


class SavedCurator:
    """The methods of a `TreeCurator` that read and write its file."""

    _checkpoint: Checkpoint | None

    def _open_state(self) -> CuratorState:
        raise NotImplementedError

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a curator from bytes."""
        raise NotImplementedError

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Restore a curator from a file, which it holds from before it is read until `close`.

        Parameters
        ----------
        path : str or path-like
            What `save`, or ``update_file(..., checkpoint=...)``, wrote.

        Returns
        -------
        curator : TreeCurator

        Raises
        ------
        OSError, ValueError
            There is no such file; another object or process holds it; or as `from_bytes`.
        """
        # First, so that a mistaken name leaves no lock behind.
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
        """Write the curator to a file, whole and through a power cut; then hold the file until `close`.

        Parameters
        ----------
        path : str or path-like
            A new file, or one of which this curator holds all reports: one that it saved or was read from. Of
            two curators with one file, the last writer would lose what the other counted; the command line
            holds the same lock, ``path`` with ".lock" at its end.

        Raises
        ------
        OSError
            The file cannot be written; it is as it was.
        TypeError, ValueError
            Another object or process holds the file; it has reports that this curator has not counted, or is
            no curator's; or as `to_bytes`. The file is as it was.
        """
        self._hold(path).save(self._open_state())

    @one_thread_at_a_time
    def close(self) -> None:
        """Let others have the file of `save`, `update_file` or `from_file`; a ``with`` block does it, too."""
        # In this order: an interrupt must not leave a curator with a file that others may have.
        checkpoint, self._checkpoint = self._checkpoint, None
        if checkpoint is not None:
            checkpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hold(self, path: str | os.PathLike[str]) -> Checkpoint:
        """Return the file, held; one that was held before is let go."""
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
