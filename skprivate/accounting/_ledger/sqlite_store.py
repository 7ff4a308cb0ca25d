# SPDX-License-Identifier: BSD-3-Clause
"""A ledger in a SQLite file: its lock, its transactions, a failed commit, and backups.

**Exclusion.** SQLite locks with POSIX record locks. A process loses them when it closes any descriptor of the
file: one ``open(path).read()``, or a copy in another thread, is enough. So every transaction, also of
readers, holds the lock of a separate file, ``<name>.lock``, which only this module opens. The lock is a
``flock`` (on Windows ``LockFileEx``). It belongs to one open descriptor, and no read or copy of the lock file
can drop it. SQLite's own locks remain for programs that do not know the lock file.
"""

import contextlib
import functools
import os
import re
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from ...exceptions import LedgerError
from ...utils import _files
from .records import (
    SQLiteRecords,
    check_names,
    fill,
    mark_path,
    read_mark,
    refuse_own_files,
    replay,
    verify,
    write_mark,
)
from .state import REMEDY, Identity, LedgerState, damaged

TIMEOUT = 60.0  # seconds to wait for other processes; set by hand
_RESTORE = f"{REMEDY}, or start a new ledger under another name and count the lost entries."
# SQLite's codes for a disk that is full, missing or read-only.
_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)

_MOUNT_TABLE = Path("/proc/self/mounts")  # on Linux; network file systems of others are not detected
_NETWORK = frozenset(
    {"afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs", "sshfs"}
)
_OCTAL = re.compile(r"\\([0-7]{3})")

# Held during every transaction: a child forked inside a transaction would hold its lock too.
_NO_FORK = threading.RLock()


class SQLiteStore:
    """A ledger in one SQLite file, with a lock and a mark beside it.

    A transaction sees the result of all earlier transactions. No other one runs at the same time, in any
    process. If its block ends without an error, its data are committed and marked as acknowledged. An error
    in the block writes nothing. An error of the store is a LedgerError. Its message reports whether something
    was charged.

    Parameters
    ----------
    path : Path
        Absolute path of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, identity: Identity) -> None:
        """Create the file unless another process has created it; it appears complete or not at all."""
        with self.locked() as holds_lock:
            if os.path.lexists(self._path):
                return
            if os.path.lexists(mark_path(self._path)):
                raise LedgerError(
                    f"There was a ledger {self._path}, as the mark {mark_path(self._path)} shows, and its "
                    "file is gone. Restore its latest backup with PrivacyLedger.restore. If the ledger is "
                    "given up, delete the mark and count its spent budget."
                )
            try:
                check_names(self._path)
                with folder_beside(self._path) as folder:
                    unfinished = Path(folder, "ledger")
                    fill(unfinished, self._path, identity)
                    self.require_lock(holds_lock)
                    os.rename(unfinished, self._path)
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
            # No ExitStack: an interrupted one keeps its connection until garbage is collected.
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
        """Hold the ledger's lock; yields a function that returns whether the lock file is still there."""
        check_folder(self._path)
        _hold_forks()
        with _NO_FORK:
            try:
                # Every user who may read the ledger may lock it.
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

    def present(self, *, file: Path | None = None) -> SQLiteRecords:
        """Return the records of the file, after SQLite has undone an incomplete write of a killed process."""
        connection = self._open()
        # No `closing`: an interrupt at its start would leave the file open as long as the traceback exists.
        try:
            connection.execute("BEGIN IMMEDIATE")
            return SQLiteRecords(connection, self._path, file=file)
        finally:
            connection.close()

    def _open(self) -> sqlite3.Connection:
        # mode=rw: a missing file is never created again.
        address = f"{self._path.as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=TIMEOUT, isolation_level=None)
        try:
            # Without a flush of the folder, a power cut right after a commit could undo the commit.
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
        """Describe the state of the ledger after a failed commit."""
        try:
            state = self.present().state
        except (sqlite3.Error, UnicodeError, LedgerError):
            return (
                f"the run may have been {verb}. Count it as spent, repair the disk, and check entries() "
                "before you run it again."
            )
        if state == after:
            return f"the run was {verb}, and was stopped: its amount is spent. Check the disk."
        if state == before:
            return f"the run was not {verb}. Check the disk, then run it again."
        return f"the run may have been {verb}. Count it as spent, and check entries()."

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of SQLite before the commit into a LedgerError."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:  # SQLite quotes damaged names in its messages
            # The low byte is the primary code. SQLite's own message holds no value of any row.
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
        # A process that comes after the deletion of the lock file locks another file.
        if not holds_lock():
            raise LedgerError(
                f"The lock file of the ledger {self._path} was deleted while it was held; nothing was "
                "charged. Try again, and do not delete that file."
            )

    def _check_file(self) -> None:
        path = self._path
        try:
            status = path.stat()
        except OSError as error:
            raise LedgerError(
                f"The ledger {path} is missing or out of reach. It is not created again, because the spent "
                f"budget is recorded in it. {_RESTORE}"
            ) from error
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(f"The ledger {path} is not a file. Pass the path of a file.")
        if not status.st_size:
            raise LedgerError(
                f"The ledger {path} is an empty file. Delete it if it never was a ledger. {_RESTORE}"
            )
        # The mode is checked too, because root may write every file.
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


def read_mount_table() -> str:
    """Return the kernel's mount table, or an empty text if there is none."""
    try:
        return _MOUNT_TABLE.read_text(errors="surrogateescape")
    except OSError:
        return ""


def network_file_system(path: Path, mount_table: str) -> str | None:
    """Return the type of the network file system that holds the absolute ``path``, or None.

    ``mount_table`` has the format of /proc/mounts: source, mount point and type, separated by spaces.
    """
    best, found = -1, None
    for line in mount_table.split("\n"):
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        # The kernel writes blanks and backslashes of a mount point as three octal digits.
        point = Path(_OCTAL.sub(lambda digits: chr(int(digits[1], 8)), fields[1]))
        # >=: of two mounts on one point, the later one hides the earlier one.
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), fields[2]
    return found if found is not None and found.removeprefix("fuse.") in _NETWORK else None


def folder_beside(path: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a new folder on the file system of a file; it is removed after an error."""
    return tempfile.TemporaryDirectory(prefix=".skprivate-ledger-", dir=path.parent)


@functools.cache
def _hold_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_NO_FORK.acquire, after_in_parent=_NO_FORK.release, after_in_child=_NO_FORK.release
        )


@contextlib.contextmanager
def opened(file: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a file that is not a ledger in use."""
    address = f"{file.as_uri()}?mode={mode}"
    with contextlib.closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        yield connection


# Backups, and their restoration, which is refused if entries missing in the backup would be forgotten.

_ADVICE = "Restore a newer backup, or pass discard_newer=True and count the budget of these entries."


def backup(records: SQLiteRecords, path: Path, target: Path) -> None:
    """Copy the ledger at ``path`` to a file; it may replace only an earlier backup."""
    refuse_own_files(path, target)
    try:
        if os.path.lexists(target) and not _is_backup(target, path, records.identity):
            raise LedgerError(f"{target} exists and is no backup of this ledger. Choose another path.")
        # A copy by SQLite's online backup records the ledger's path, not its own.
        with folder_beside(target) as folder:
            unfinished = Path(folder, "ledger")
            _copy_database(records.connection, unfinished)
            _files.write_atomically(target, unfinished.read_bytes())
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(
            f"The backup {target} could not be written ({error}). Choose a folder with free space, in which "
            "files may be created."
        ) from error


def _copy_database(connection: sqlite3.Connection, target: Path) -> None:
    with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy:
        connection.backup(copy)


def _is_backup(target: Path, path: Path, identity: Identity) -> bool:
    try:
        with opened(target, "ro") as connection:
            return SQLiteRecords(connection, path, file=target).identity.uuid == identity.uuid
    except (LedgerError, sqlite3.Error, UnicodeError):
        return False


def restore(source: Path, target: Path, *, discard_newer: bool) -> Identity:
    """Replace the ledger at ``target`` by a backup of it, and return its identity."""
    store = SQLiteStore(target)
    with store.locked() as holds_lock:
        try:
            with folder_beside(target) as folder:
                unfinished = Path(folder, "ledger")
                _copy(source, unfinished)
                identity, state = _check(unfinished, source, target, store, discard_newer)
                store.require_lock(holds_lock)
                # With the journal of the old file, SQLite would undo parts of the new file.
                target.with_name(f"{target.name}-journal").unlink(missing_ok=True)
                _files.replace_file(unfinished, target)
            # After the file: if the process is killed in between, the ledger is refused as older.
            write_mark(target, identity.uuid, state)
        except OSError as error:
            raise LedgerError(
                f"The backup {source} could not be restored to {target} ({error}). Check the disk and the "
                "rights to write its folder, then restore it again."
            ) from error
    return identity


def _copy(source: Path, unfinished: Path) -> None:
    if not source.is_file():
        raise LedgerError(f"The backup {source} does not exist, or is not a file.")
    try:
        with opened(source, "ro") as connection:
            _copy_database(connection, unfinished)
    except (sqlite3.Error, UnicodeError) as error:
        raise LedgerError(f"The backup {source} cannot be read ({error}). Take another one.") from error


def _check(
    unfinished: Path, source: Path, target: Path, store: SQLiteStore, discard_newer: bool
) -> tuple[Identity, LedgerState]:
    """Check the whole copy, and that it holds all states known to be acknowledged."""
    with opened(unfinished, "rw") as connection:
        try:
            records = SQLiteRecords(connection, target, file=source)
            records.check_structure()
            verify(records, None, source, full=True)
        except (sqlite3.Error, UnicodeError) as error:
            raise damaged(source) from error
    known = _known_states(target, records.identity, store, discard_newer)
    if not discard_newer:
        for state in known:
            if lost := records.state.lacks(state):
                raise LedgerError(
                    f"The backup {source} is an older state of the ledger {target}: {lost} would be "
                    f"forgotten. {_ADVICE}"
                )
        if replay(LedgerState(), records.checked, known) is None:
            raise LedgerError(
                f"The backup {source} and the ledger {target} have different entries after the same first "
                f"ones: entries would be forgotten. {_ADVICE}"
            )
    return records.identity, records.state


def _known_states(target: Path, identity: Identity, store: SQLiteStore, discard: bool) -> list[LedgerState]:
    """Return the acknowledged states that the mark and the present file record."""
    mark = read_mark(target)
    found = [] if mark is None else [mark]
    if os.path.lexists(target):
        try:
            present = store.present(file=target)
            found.append((present.identity.uuid, present.state))
        except (LedgerError, sqlite3.Error, UnicodeError) as error:
            if not discard and mark is None:
                raise LedgerError(
                    f"The file {target} is damaged, and no mark records how many entries it held: some may "
                    f"be newer than the backup. {_ADVICE}"
                ) from error
    if any(uuid != identity.uuid for uuid, _ in found):
        raise LedgerError(
            f"The backup is of another ledger than the one at {target}. Move that one away with its mark "
            f"{mark_path(target)}, or choose the right backup."
        )
    return [state for _, state in found]
