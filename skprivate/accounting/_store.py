# SPDX-License-Identifier: BSD-3-Clause
"""The SQLite file behind a ledger: creation, identity, transactions, and totals that check themselves.

Nothing here opens the file but SQLite: closing any other handle on it would drop this process's locks.
"""

import contextlib
import functools
import hashlib
import os
import sqlite3
import stat
import tempfile
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..exceptions import LedgerError
from ._amounts import exact_sum, from_hex, from_text, to_hex, to_text
from ._mounts import network_file_system, read_mount_table

SCHEMA = 2
TIMEOUT = 60.0  # seconds to wait for other processes
_APPLICATION = 0x736B7072  # "skpr", in the header of the file: tells a ledger from other databases
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, estimator TEXT NOT NULL,
    mechanism TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, relation TEXT NOT NULL,
    unit TEXT NOT NULL, private INTEGER NOT NULL, label TEXT,
    data TEXT, rho TEXT, sensitivity TEXT, noise_scale TEXT
);
"""
_COLUMNS = "time, estimator, mechanism, epsilon, delta, relation, unit, private, label"
_ADDED = ("data", "rho", "sensitivity", "noise_scale")  # by schema 2
_RESTORE = "Restore the latest backup, or start a new ledger under another name and count what was lost."

# Held during every transaction: SQLite must not be inside one when the process forks, or the child would
# believe that it holds its parent's locks.
_NO_FORK = threading.RLock()


@dataclass(frozen=True)
class Identity:
    """What makes a file this ledger and no other; the ceiling is fixed at creation."""

    uuid: str
    epsilon: Fraction | None
    delta: Fraction


@dataclass(frozen=True)
class Totals:
    """Number of entries and their sums."""

    count: int
    epsilon: Fraction
    delta: Fraction


def create(path: Path, epsilon: Fraction | None, delta: Fraction) -> None:
    """Create a ledger at ``path`` unless another process is first; it appears complete or not at all."""
    check_folder(path)
    try:
        # A folder beside the target: the same file system, and nothing is left behind after an error.
        with tempfile.TemporaryDirectory(prefix=".skprivate-ledger-", dir=path.parent) as folder:
            unfinished = Path(folder, "ledger")
            _fill(unfinished, path, Identity(uuid.uuid4().hex, epsilon, delta))
            _publish(unfinished, path)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(
            f"The ledger {path} could not be created ({error}). Choose a folder on a local disk with free "
            "space, in which files may be created."
        ) from error


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


@contextlib.contextmanager
def transaction(path: Path, *, write: bool) -> Iterator[sqlite3.Connection]:
    """Open the file, run the body as one transaction, close; an error in the body writes nothing."""
    _check_file(path)
    _hold_forks()
    # mode=rw: a file that vanished is never created again.
    address = f"{path.as_uri()}?mode=rw"
    try:
        with (
            _NO_FORK,
            contextlib.closing(
                sqlite3.connect(address, uri=True, timeout=TIMEOUT, isolation_level=None)
            ) as connection,
        ):
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            schema = _check_format(connection, path)
            if write and schema < SCHEMA:
                _upgrade(connection)
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise _explain(error, path) from error


def read_identity(connection: sqlite3.Connection, path: Path) -> Identity:
    """Return who the file says it is; refuse one that was created at another path."""
    meta = _meta(connection, path)
    recorded = meta.get("path")
    if recorded != str(path):
        raise LedgerError(
            f"The ledger {path} was created as {recorded} and then moved or copied; a copy would let its "
            "budget be spent twice. Put it back, or start a new ledger under another name and count what "
            "this one holds."
        )
    try:
        epsilon = None if meta["epsilon"] == "none" else from_text(meta["epsilon"])
        return Identity(meta["uuid"], epsilon, from_text(meta["delta"]))
    except (KeyError, ValueError) as error:
        raise damaged(path) from error


def read_totals(connection: sqlite3.Connection, path: Path) -> Totals:
    """Sum the entries, and refuse if they are not what the last charge left."""
    rows = connection.execute(
        "SELECT epsilon, delta, COUNT(*) FROM entries GROUP BY epsilon, delta"
    ).fetchall()
    meta = _meta(connection, path)
    try:
        totals = Totals(
            sum(count for _, _, count in rows),
            exact_sum(from_text(epsilon) * count for epsilon, _, count in rows),
            exact_sum(from_text(delta) * count for _, delta, count in rows),
        )
        recorded = Totals(int(meta["count"]), from_hex(meta["total_epsilon"]), from_hex(meta["total_delta"]))
    except (KeyError, ValueError) as error:
        raise damaged(path) from error
    # An overwritten digit or a lost row is valid SQLite: only the second bookkeeping shows it.
    if totals != recorded:
        raise damaged(path)
    return totals


def insert(connection: sqlite3.Connection, row: tuple[object, ...], totals: Totals) -> None:
    """Append one entry and the totals that it leads to."""
    columns = ", ".join((_COLUMNS, *_ADDED))
    connection.execute(f"INSERT INTO entries ({columns}) VALUES ({', '.join('?' * len(row))})", row)
    _write_totals(connection, totals)
    chain = connection.execute("SELECT value FROM meta WHERE key = 'chain'").fetchone()
    # A chain that was lost stays lost: what follows would not match the entries before it.
    _write_chain(connection, _link(chain[0] if chain else "lost", row))


def read_rows(connection: sqlite3.Connection, path: Path) -> list[tuple[Any, ...]]:
    """Return every entry's columns, oldest first; refuse if one is not what was charged."""
    meta = _meta(connection, path)
    old = meta.get("schema") == "1"
    rows = _select(connection, old)
    # Totals do not show that an entry went to another group of data, kind or rho.
    if not old and meta.get("chain") != functools.reduce(_link, rows, ""):
        raise damaged(path)
    return rows


def check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Let SQLite look for damaged pages."""
    if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise damaged(path)


def damaged(path: Path) -> LedgerError:
    """Return the error for a file whose content cannot be what was written."""
    return LedgerError(f"The ledger {path} is damaged, or is no ledger. {_RESTORE}")


def _fill(unfinished: Path, path: Path, identity: Identity) -> None:
    with contextlib.closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
        connection.executescript(f"BEGIN; PRAGMA application_id = {_APPLICATION}; {_TABLES}")
        values = {
            "schema": str(SCHEMA),
            "path": str(path),
            "uuid": identity.uuid,
            "epsilon": "none" if identity.epsilon is None else to_text(identity.epsilon),
            "delta": to_text(identity.delta),
        }
        connection.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
        _write_totals(connection, Totals(0, Fraction(0), Fraction(0)))
        _write_chain(connection, "")
        connection.execute("COMMIT")


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file of schema 1 up to date, as a part of the transaction that writes to it."""
    for name in _ADDED:
        connection.execute(f"ALTER TABLE entries ADD COLUMN {name} TEXT")
    connection.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(SCHEMA),))
    _write_chain(connection, functools.reduce(_link, _select(connection, False), ""))


def _select(connection: sqlite3.Connection, old: bool) -> list[tuple[Any, ...]]:
    columns = ", ".join((_COLUMNS, *("NULL" if old else name for name in _ADDED)))
    return connection.execute(f"SELECT {columns} FROM entries ORDER BY id").fetchall()


def _link(chain: str, row: tuple[object, ...]) -> str:
    """Hash of an entry and of all before it."""
    return hashlib.sha256(repr((chain, *row)).encode("utf-8", "surrogatepass")).hexdigest()


def _write_chain(connection: sqlite3.Connection, chain: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('chain', ?)", (chain,))


def _write_totals(connection: sqlite3.Connection, totals: Totals) -> None:
    values = {
        "count": str(totals.count),
        "total_epsilon": to_hex(totals.epsilon),
        "total_delta": to_hex(totals.delta),
    }
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _publish(unfinished: Path, path: Path) -> None:
    try:
        os.link(unfinished, path)  # fails if the name is taken, unlike a rename
    except FileExistsError:
        pass  # another process was first: its ledger is the one
    except OSError:
        _publish_without_links(unfinished, path)


def _publish_without_links(unfinished: Path, path: Path) -> None:
    lock = path.with_name(path.name + ".creating")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError as error:
        raise LedgerError(
            f"Another process is creating the ledger {path}, or stopped while it did. Try again; if no "
            f"process is, delete {lock}."
        ) from error
    try:
        if not os.path.lexists(path):
            os.rename(unfinished, path)
    finally:
        os.unlink(lock)


def _check_file(path: Path) -> None:
    check_folder(path)
    try:
        status = path.stat()
    except OSError as error:
        raise LedgerError(
            f"The ledger {path} is missing or out of reach; it is not created again, for what was spent is "
            f"in it. {_RESTORE}"
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


def _check_format(connection: sqlite3.Connection, path: Path) -> int:
    if connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
        raise LedgerError(f"{path} is a database, but no ledger of skprivate. Choose another path.")
    try:
        schema = int(_meta(connection, path)["schema"])
    except (KeyError, ValueError) as error:
        raise damaged(path) from error
    if schema > SCHEMA:
        raise LedgerError(
            f"The ledger {path} was written by a newer skprivate (schema {schema}; this version knows "
            f"{SCHEMA}). Upgrade skprivate."
        )
    if schema < 1:
        raise damaged(path)
    return schema


def _meta(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    rows = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    if not all(isinstance(text, str) for pair in rows.items() for text in pair):
        raise damaged(path)
    return rows


def _explain(error: sqlite3.Error, path: Path) -> LedgerError:
    # The low byte is the primary code; SQLite's own message holds no value of any row.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerError(
            f"The ledger {path} was held by other processes for {TIMEOUT:g} seconds; nothing was charged. "
            "Try again."
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return LedgerError(
            f"The ledger {path} could not be used ({error}); nothing was charged. Check the disk and the "
            "rights to write the file and its folder."
        )
    return damaged(path)


@functools.cache
def _hold_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_NO_FORK.acquire, after_in_parent=_NO_FORK.release, after_in_child=_NO_FORK.release
        )
