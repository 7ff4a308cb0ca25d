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
