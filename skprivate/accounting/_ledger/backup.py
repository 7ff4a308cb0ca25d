# SPDX-License-Identifier: BSD-3-Clause
"""Backups of a ledger, and their way back unless entries that they do not hold would be forgotten."""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ...exceptions import LedgerError
from ...utils._files import replace_file
from .high_water_mark import mark_path, read_mark, refuse_own_files, write_mark
from .sqlite_records import SQLiteRecords, copy_database
from .sqlite_store import SQLiteStore
from .store import Identity, LedgerRecords, LedgerState, damaged, replay, verify

_ADVICE = "Restore a newer backup, or pass discard_newer=True and count what they spent."


def backup(records: LedgerRecords, path: Path, target: Path) -> None:
    """Copy the ledger at ``path`` to a file, in place of nothing but an earlier backup."""
    refuse_own_files(path, target)
    try:
        if os.path.lexists(target) and not _is_backup(target, path, records.identity):
            raise LedgerError(f"{target} exists and is no backup of this ledger. Choose another path.")
        records.backup(target)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(
            f"The backup {target} could not be written ({error}). Choose a folder with free space, in which "
            "files may be created."
        ) from error


def _is_backup(target: Path, path: Path, identity: Identity) -> bool:
    try:
        with _opened(target, "ro") as connection:
            return SQLiteRecords(connection, path, file=target).identity.uuid == identity.uuid
    except (LedgerError, sqlite3.Error, UnicodeError):
        return False


def restore(source: Path, target: Path, *, discard_newer: bool) -> Identity:
    """Replace the ledger at ``target`` by a backup of it, and return who it is."""
    store = SQLiteStore(target)
    with store.locked() as holds_lock:
        try:
            # In a folder beside the target: the same file system, and nothing is left behind after an error.
            with tempfile.TemporaryDirectory(prefix=".skprivate-ledger-", dir=target.parent) as folder:
                unfinished = Path(folder, "ledger")
                _copy(source, unfinished)
                identity, state = _check(unfinished, source, target, store, discard_newer)
                store.require_lock(holds_lock)
                # SQLite would undo parts of the new file by the journal of the old one.
                target.with_name(f"{target.name}-journal").unlink(missing_ok=True)
                replace_file(unfinished, target)
            # After the file: a process that is killed in between leaves a ledger that is refused as older.
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
        with _opened(source, "ro") as connection:
            copy_database(connection, unfinished)
    except (sqlite3.Error, UnicodeError) as error:
        raise LedgerError(f"The backup {source} cannot be read ({error}). Take another one.") from error


def _check(
    unfinished: Path, source: Path, target: Path, store: SQLiteStore, discard_newer: bool
) -> tuple[Identity, LedgerState]:
    """Check the whole copy, and that it holds what is known to have been acknowledged."""
    with _opened(unfinished, "rw") as connection:
        try:
            records = SQLiteRecords(connection, target, file=source)
            records.check_structure()
            rows = verify(records, None, source, full=True)
        except (sqlite3.Error, UnicodeError) as error:
            raise damaged(source) from error
    known = _known_states(target, records.identity, store, discard_newer)
    if not discard_newer:
        for state in known:
            _require_nothing_lost(records.state, state, source, target)
        if replay(LedgerState(), rows, known) is None:
            raise LedgerError(
                f"The backup {source} and the ledger {target} went on from the same entries in different "
                f"ways: entries would be forgotten. {_ADVICE}"
            )
    return records.identity, records.state


def _known_states(
    target: Path, identity: Identity, store: SQLiteStore, discard_newer: bool
) -> list[LedgerState]:
    """Return what the mark and the file in place say was acknowledged."""
    mark = read_mark(target)
    found = [] if mark is None else [mark]
    if os.path.lexists(target):
        try:
            with store.connect() as connection:
                connection.execute("BEGIN IMMEDIATE")  # undoes what a killed process left half done
                present = SQLiteRecords(connection, target, file=target)
                found.append((present.identity.uuid, present.state))
        except (LedgerError, sqlite3.Error, UnicodeError) as error:
            if not discard_newer and mark is None:
                raise LedgerError(
                    f"The file {target} is damaged, and no mark tells how many entries it held: some may be "
                    f"newer than the backup. {_ADVICE}"
                ) from error
    if any(uuid != identity.uuid for uuid, _ in found):
        raise LedgerError(
            f"The backup is of another ledger than the one at {target}. Move that one away with its mark "
            f"{mark_path(target)}, or choose the right backup."
        )
    return [state for _, state in found]


def _require_nothing_lost(state: LedgerState, known: LedgerState, source: Path, target: Path) -> None:
    what = state.lacks(known)
    if what:
        raise LedgerError(
            f"The backup {source} is an older state of the ledger {target}: {what} would be forgotten. "
            f"{_ADVICE}"
        )


@contextlib.contextmanager
def _opened(file: Path, mode: str) -> Iterator[sqlite3.Connection]:
    address = f"{file.as_uri()}?mode={mode}"
    with contextlib.closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        yield connection
