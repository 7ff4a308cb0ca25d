# SPDX-License-Identifier: BSD-3-Clause
"""A ledger in a SQLite file: its lock, its transactions, and the outcome of a commit that failed.

**Exclusion.** SQLite locks by POSIX record locks, which a process loses when it closes any descriptor of the
file: one ``open(path).read()``, or a copy in another thread, is enough. So every transaction, of readers too,
holds the lock of a file of its own, ``<name>.lock``, which nothing but this module opens: by ``flock``, which
belongs to one open descriptor and which no read or copy of the lock file can drop (on Windows
``LockFileEx``). SQLite's locks stand behind it against programs that do not know of it.
"""

import contextlib
import functools
import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from ...exceptions import LedgerError
from ...utils import _files
from .high_water_mark import check_names, mark_path, write_mark
from .network_mounts import network_file_system, read_mount_table
from .sqlite_records import SQLiteRecords, fill
from .store import Identity, LedgerState, LedgerStore, damaged

TIMEOUT = 60.0  # seconds to wait for other processes
_RESTORE = (
    "Restore the latest backup with PrivacyLedger.restore, or start a new ledger under another name and "
    "count what was lost."
)
# SQLite's codes for a disk that is full, gone or read-only.
_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)

# Held during every transaction: the process must not fork inside one, or the child would hold its lock too.
_NO_FORK = threading.RLock()


class SQLiteStore(LedgerStore):
    """A ledger in one SQLite file, with a lock and a mark beside it.

    Parameters
    ----------
    path : Path
        Absolute path of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, identity: Identity) -> None:
        """Create the file unless another process is first; it appears complete or not at all."""
        with self.locked() as holds_lock:
            if os.path.lexists(self._path):
                return
            if os.path.lexists(mark_path(self._path)):
                raise LedgerError(
                    f"There was a ledger {self._path}, by the mark {mark_path(self._path)}, and its file is "
                    "gone. Restore its latest backup with PrivacyLedger.restore; if it is given up, delete "
                    "the mark and count what it had spent."
                )
            try:
                check_names(self._path)
                self._publish(identity, holds_lock)
            except (OSError, UnicodeError, sqlite3.Error) as error:
                raise LedgerError(
                    f"The ledger {self._path} could not be created ({error}). Choose a short name of letters "
                    "in a folder on a local disk with free space, in which files may be created."
                ) from error

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[SQLiteRecords]:
        """Open the file, run the body as one transaction, close; an error in the body writes nothing."""
        with self.locked() as holds_lock:
            self._check_file()
            connection = records = None
            # No ExitStack: one that is interrupted keeps what it holds until garbage is collected.
            try:
                with self._explained():
                    connection = self._open()
                    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                    records = SQLiteRecords(connection, self._path)
                    before = records.state
                    yield records
                self.require_lock(holds_lock)
                self._commit(connection, before, records, write)
            finally:
                if connection is not None:
                    if records is not None:
                        with contextlib.suppress(sqlite3.ProgrammingError):  # closed: the commit failed
                            records.is_kept = not connection.in_transaction
                    connection.close()

    @contextlib.contextmanager
    def locked(self) -> Iterator[Callable[[], bool]]:
        """Hold the ledger's lock; yields a function that tells whether the lock file is still there."""
        check_folder(self._path)
        _hold_forks()
        with _NO_FORK:
            try:
                # Whoever may read the ledger may lock it.
                lock = _files.acquire_lock(self._path, timeout=TIMEOUT, mode=0o666)
            except TimeoutError as error:
                raise self._busy() from error
            except OSError as error:
                raise LedgerError(
                    f"The lock file of the ledger {self._path} could not be used ({error}); nothing was "
                    "charged. Check the disk and the rights to write its folder."
                ) from error
            try:
                yield functools.partial(_files.holds_lock, lock)
            finally:
                _files.release_lock(lock)

    @contextlib.contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open the file; without a commit nothing is written."""
        connection = self._open()
        # No `closing`: an interrupt as it begins would leave the file open as long as the traceback lives.
        try:
            yield connection
        finally:
            connection.close()

    def _open(self) -> sqlite3.Connection:
        # mode=rw: a file that vanished is never created again.
        address = f"{self._path.as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=TIMEOUT, isolation_level=None)
        try:
            # Without the folder's flush a power cut right after a commit could undo it.
            connection.execute("PRAGMA synchronous = EXTRA")
        except BaseException:
            connection.close()
            raise
        return connection

    def _commit(
        self, connection: sqlite3.Connection, before: LedgerState, records: SQLiteRecords, write: bool
    ) -> None:
        verb = "charged" if records.state.count > before.count else "recorded"
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            connection.close()
            raise LedgerError(
                f"The ledger {self._path} failed while it was written ({error}); "
                f"{self._outcome(before, records.state, verb)}"
            ) from error
        if records.state == records.mark:
            return
        try:
            write_mark(self._path, records.identity.uuid, records.state)
        except OSError as error:
            if write:
                raise LedgerError(
                    f"The run was {verb} in the ledger {self._path}, but the high-water mark "
                    f"{mark_path(self._path)} could not be written ({error}). Check the disk; the amount is "
                    "spent."
                ) from error

    def _outcome(self, before: LedgerState, after: LedgerState, verb: str) -> str:
        """Say what a failed commit left behind: the file knows, once SQLite has undone what is half done."""
        try:
            with self.connect() as connection:
                connection.execute("BEGIN IMMEDIATE")
                state = SQLiteRecords(connection, self._path).state
        except (sqlite3.Error, UnicodeError, LedgerError):
            return (
                f"the run may have been {verb}. Count it as spent, repair the disk, and look at entries() "
                "before you run it again."
            )
        if state == after:
            return f"the run was {verb}, and was stopped: its amount is spent. Check the disk."
        if state == before:
            return f"the run was not {verb}. Check the disk, then run it again."
        return f"the run may have been {verb}. Count it as spent, and look at entries()."

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of SQLite before the commit into ours."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:  # SQLite quotes damaged names in its messages
            # The low byte is the primary code; SQLite's own message holds no value of any row.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise self._busy() from error
            if code in _DISK:
                raise LedgerError(
                    f"The ledger {self._path} could not be used ({error}); nothing was charged. Check the "
                    "disk and the rights to write the file and its folder."
                ) from error
            raise damaged(self._path) from error

    def _busy(self) -> LedgerError:
        return LedgerError(
            f"The ledger {self._path} was held by other processes for {TIMEOUT:g} seconds; nothing was "
            "charged. Try again."
        )

    def require_lock(self, holds_lock: Callable[[], bool]) -> None:
        """Refuse to write without the lock."""
        # Whoever came after the lock file was deleted locked another one.
        if not holds_lock():
            raise LedgerError(
                f"The lock file of the ledger {self._path} was deleted while it was held; nothing was "
                "charged. Try again, and leave that file where it is."
            )

    def _publish(self, identity: Identity, holds_lock: Callable[[], bool]) -> None:
        # In a folder beside the target: the same file system, and nothing is left behind after an error.
        with tempfile.TemporaryDirectory(prefix=".skprivate-ledger-", dir=self._path.parent) as folder:
            unfinished = Path(folder, "ledger")
            fill(unfinished, self._path, identity)
            self.require_lock(holds_lock)
            os.rename(unfinished, self._path)

    def _check_file(self) -> None:
        path = self._path
        try:
            status = path.stat()
        except OSError as error:
            raise LedgerError(
                f"The ledger {path} is missing or out of reach; it is not created again, for what was spent "
                f"is in it. {_RESTORE}"
            ) from error
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(f"The ledger {path} is not a file. Give the path of a file.")
        if not status.st_size:
            raise LedgerError(
                f"The ledger {path} is an empty file. Delete it if it never was a ledger. {_RESTORE}"
            )
        # The mode too: to root every file is writable.
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise LedgerError(
                f"The ledger {path} is read-only. Make the file writable for the user who runs fits."
            )


def check_folder(path: Path) -> None:
    """Refuse a missing folder and a network file system."""
    if not path.parent.is_dir():
        raise LedgerError(f"The folder of the ledger {path} does not exist. Create the folder first.")
    kind = network_file_system(path, read_mount_table())
    if kind is not None:
        raise LedgerError(
            f"The ledger {path} would be on a network file system ({kind}), where two machines can spend the "
            "same budget. Put it on a local disk of the one machine that runs the fits."
        )


@functools.cache
def _hold_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_NO_FORK.acquire, after_in_parent=_NO_FORK.release, after_in_child=_NO_FORK.release
        )
