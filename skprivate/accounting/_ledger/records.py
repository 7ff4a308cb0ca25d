# SPDX-License-Identifier: BSD-3-Clause
"""Records of a ledger: the tables of its SQLite file, the high-water mark beside it, and their checks.

The mark holds the last acknowledged state. It is written after the commit, under the ledger's lock, and
before the charge returns. If a process is killed in between, the mark is behind the ledger. The next
transaction brings it up to date; the charge in between was acknowledged to nobody. If a ledger is behind its
mark, it has lost entries.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ...exceptions import LedgerError
from ...utils._files import replace_file
from ...utils._json_documents import UNREADABLE, Fields, parse_json
from .._privacy_amounts import from_text, running_sum_from_text, running_sum_to_text, to_text
from .._statements.spent import LedgerEntry
from .state import REMEDY, Identity, LedgerState, Row, damaged, undamaged

SCHEMA = 6
_APPLICATION = 0x736B7072  # "skpr", in the header of the file: marks a ledger among other databases
_ROW = """
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, estimator TEXT NOT NULL,
    mechanism TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, relation TEXT NOT NULL,
    unit TEXT NOT NULL, private INTEGER NOT NULL, label TEXT,
    data TEXT, rho TEXT, sensitivity TEXT, noise_scale TEXT,
    purpose TEXT, person TEXT, approver TEXT, expiry TEXT
"""
_TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries ({_ROW});
CREATE TABLE refusals ({_ROW});
CREATE TABLE failures (estimator TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE charge_ids (id TEXT PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entries (id)) WITHOUT ROWID;
"""
_COLUMNS = ", ".join(field.name for field in fields(LedgerEntry))
# Fields of a state: its counts, and its sums with their keys in the table `meta`.
_COUNTS = ("count", "failures", "places_taken", "places_returned")
_KEYS_OF_SUMS = {"epsilon": "total_epsilon", "delta": "total_delta"}


class SQLiteRecords:
    """The records of a ledger's file, inside a transaction of SQLite.

    Parameters
    ----------
    connection : sqlite3.Connection
        The open file, in a transaction.
    path : Path
        Path at which the ledger was created; a file that records another path is refused.
    file : Path, default=None
        The open file, if it is another one: a backup. It has no mark.

    Attributes
    ----------
    identity : Identity
        Identity that the file records.
    state : LedgerState
        State that the file records; every method that writes updates it.
    mark : LedgerState or None
        The last acknowledged state, kept apart from the entries. None: it was lost, or never written.
    is_kept : bool
        Whether the written data are committed. An interrupt may reach the caller before or after that.
    checked : list of tuple
        The entries that `verify` has checked.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, file: Path | None = None) -> None:
        self.connection, self._path, self._file = connection, path, file or path
        self.is_kept = False
        self.checked: list[Row] = []
        with undamaged(self._file):
            meta = self._read_meta()
            self.identity = self._read_identity(meta)
            self.state = self._read_state(meta)
        self.mark = None if file else self._read_mark()

    def rows(self, after: int = 0) -> list[Row]:
        """Return the entries except the first ``after``, oldest first; ids count from 1 without a gap."""
        query = f"SELECT {_COLUMNS} FROM entries WHERE id > ? ORDER BY id"
        return self.connection.execute(query, (after,)).fetchall()

    def append(self, row: Row, state: LedgerState, charge_id: str | None = None) -> None:
        """Add one entry, the state after it, and the id of its charge."""
        self._insert("entries", state.count, row)
        if charge_id is not None:
            self.connection.execute("INSERT INTO charge_ids VALUES (?, ?)", (charge_id, state.count))
        self._write_state(state)

    def charged(self, charge_id: str) -> Row | None:
        """Return the entry of a charge's id, or None."""
        query = "SELECT entry FROM charge_ids WHERE id = ?"
        entry = self.connection.execute(query, (charge_id,)).fetchone()
        if entry is None:
            return None
        query = f"SELECT {_COLUMNS} FROM entries WHERE id = ?"
        row: Row | None = self.connection.execute(query, entry).fetchone()
        if row is None:
            raise damaged(self._file)
        return row

    def refusals(self) -> list[Row]:
        """Return the charges that a limit refused, oldest first; neither totals nor the chain count them."""
        return self.connection.execute(f"SELECT {_COLUMNS} FROM refusals ORDER BY id").fetchall()

    def add_refusal(self, row: Row) -> None:
        """Record a refused charge."""
        self._insert("refusals", None, row)

    def failures(self) -> dict[str, int]:
        """Return the number of failed fits of each estimator."""
        query = "SELECT estimator, count FROM failures ORDER BY estimator"
        return dict(self.connection.execute(query).fetchall())

    def add_failure(self, estimator: str) -> None:
        """Count one failed fit."""
        self.connection.execute(
            "INSERT INTO failures VALUES (?, 1) ON CONFLICT (estimator) DO UPDATE SET count = count + 1",
            (estimator,),
        )
        self._write_state(replace(self.state, failures=self.state.failures + 1))

    def take_place(self) -> None:
        """Count one fit that has begun."""
        self._write_state(replace(self.state, places_taken=self.state.places_taken + 1))

    def return_place(self) -> None:
        """Count one fit that has ended."""
        self._write_state(replace(self.state, places_returned=self.state.places_returned + 1))

    def check_structure(self) -> None:
        """Let SQLite search for damaged pages, and for ids of missing entries."""
        with undamaged(self._file):  # SQLite quotes damaged names
            damages = self.connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]
            damages = damages or bool(self.connection.execute("PRAGMA foreign_key_check").fetchall())
        if damages:
            raise damaged(self._file)

    def _read_meta(self) -> dict[str, str]:
        if self.connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
            raise LedgerError(f"{self._file} is a database, but no ledger of skprivate. Choose another path.")
        rows = dict(self.connection.execute("SELECT key, value FROM meta").fetchall())
        if not all(isinstance(text, str) for pair in rows.items() for text in pair):
            raise damaged(self._file)
        schema = rows.get("schema", "")
        if not schema.isdecimal():
            raise damaged(self._file)
        if schema != str(SCHEMA):
            raise LedgerError(
                f"The ledger {self._file} was written by another version of skprivate (schema {schema:.9}; "
                f"this version reads {SCHEMA}). Use that version, or start a new ledger under another name "
                "and count the entries of this one."
            )
        return rows

    def _read_identity(self, meta: Mapping[str, str]) -> Identity:
        recorded, path = meta.get("path"), self._path
        if recorded != str(path) and self._file != path:
            raise LedgerError(
                f"The file {self._file} is a backup of the ledger {recorded}, not of {path}. Restore it "
                "there."
            )
        if recorded != str(path):
            raise LedgerError(
                f"The ledger {path} was created as {recorded} and then moved or copied. With a copy its "
                "budget could be spent twice. Move it back (a backup with PrivacyLedger.restore), or start a "
                "new ledger under another name and count the entries of this one."
            )
        epsilon = None if meta["epsilon"] == "none" else from_text(meta["epsilon"])
        limit = None if meta["max_failures"] == "none" else int(meta["max_failures"])
        return Identity(meta["uuid"], epsilon, from_text(meta["delta"]), limit)

    def _read_state(self, meta: dict[str, str]) -> LedgerState:
        counts = {name: int(meta[name]) for name in _COUNTS}
        sums = {name: meta[key] for name, key in _KEYS_OF_SUMS.items()}
        state = _decode_state({**counts, **sums, "chain": meta["chain"]})
        # This needs no scan, unlike counting rows.
        last = self.connection.execute("SELECT MAX(id) FROM entries").fetchone()[0] or 0
        if last != state.count or state.failures < 0 or not 0 <= state.places_returned <= state.places_taken:
            raise ValueError("counts")
        return state

    def _read_mark(self) -> LedgerState | None:
        found = read_mark(self._path)
        if found is None:
            return None
        uuid, state = found
        if uuid != self.identity.uuid:
            raise LedgerError(
                f"The file {self._path} is another ledger than the one of the mark {mark_path(self._path)}. "
                "Restore that ledger. If it is given up, delete the mark and count its spent budget."
            )
        return state

    def _insert(self, table: str, number: int | None, row: Row) -> None:
        values = ", ".join("?" * (len(row) + 1))
        self.connection.execute(f"INSERT INTO {table} (id, {_COLUMNS}) VALUES ({values})", (number, *row))

    def _write_state(self, state: LedgerState) -> None:
        write_meta(self.connection, _state_as_meta(state))
        self.state = state


def fill(file: Path, path: Path, identity: Identity) -> None:
    """Write the file of a new ledger that will be at ``path``."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.executescript(f"BEGIN; PRAGMA application_id = {_APPLICATION}; {_TABLES}")
        values = {
            "schema": str(SCHEMA),
            "path": str(path),
            "uuid": identity.uuid,
            "epsilon": "none" if identity.epsilon is None else to_text(identity.epsilon),
            "delta": to_text(identity.delta),
            "max_failures": "none" if identity.max_failures is None else str(identity.max_failures),
        }
        write_meta(connection, values | _state_as_meta(LedgerState()))
        connection.execute("COMMIT")


def recorded_path(connection: sqlite3.Connection) -> Path | None:
    """Return the path at which a file's ledger was created, None if the file does not record it."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
        return None
    row = connection.execute("SELECT value FROM meta WHERE key = 'path'").fetchone()
    return Path(row[0]) if row and isinstance(row[0], str) else None


def write_meta(connection: sqlite3.Connection, values: Mapping[str, str]) -> None:
    """Write keys and values of the table `meta`."""
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _state_as_meta(state: LedgerState) -> dict[str, str]:
    return {_KEYS_OF_SUMS.get(name, name): str(value) for name, value in _encode_state(state).items()}


def _encode_state(state: LedgerState) -> dict[str, Any]:
    return {
        **{name: getattr(state, name) for name in _COUNTS},
        **{name: running_sum_to_text(getattr(state, name)) for name in _KEYS_OF_SUMS},
        "chain": state.chain,
    }


def _decode_state(values: Mapping[str, Any]) -> LedgerState:
    sums = {name: running_sum_from_text(values[name]) for name in _KEYS_OF_SUMS}
    return LedgerState(**{**values, **sums})


# The high-water mark.

_MARK_FORMAT = "skprivate.ledger-mark"
_MARK_FIELDS = ("format", "ledger", *_COUNTS, *_KEYS_OF_SUMS, "chain", "checksum")
_MOST = 2**62  # SQLite's numbers of rows end at 2^63
# Ends of the names of files beside a ledger: of this module, of the lock and of SQLite.
_ENDS = (".mark", ".mark.unfinished", ".lock", "-journal")


def mark_path(ledger: Path) -> Path:
    """Return the name of a ledger's mark."""
    return ledger.with_name(f"{ledger.name}.mark")


def refuse_own_files(ledger: Path, path: Path) -> None:
    """Refuse to write to the ledger's file, under any name, and to the files beside it that belong to it."""
    own = ledger, *(ledger.with_name(f"{ledger.name}{end}") for end in _ENDS)
    if path in own or (path.exists() and ledger.exists() and path.samefile(ledger)):
        raise ValueError("path is the ledger itself, or a file that belongs to it. Choose another one.")


def check_names(ledger: Path) -> None:
    """Raise OSError if the names of the files beside a ledger are too long for its folder."""
    for end in _ENDS:
        with contextlib.suppress(FileNotFoundError):
            os.lstat(f"{ledger}{end}")


def write_mark(ledger: Path, uuid: str, state: LedgerState) -> None:
    """Replace the mark; call it under the ledger's lock only."""
    content = {"format": _MARK_FORMAT, "ledger": uuid, **_encode_state(state)}
    text = json.dumps({**content, "checksum": _checksum(content)}, indent=1) + "\n"
    path = mark_path(ledger)
    # One name for all processes, as the lock is held: a killed process leaves at most one file, which the
    # next process replaces.
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    with open(unfinished, "x", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    # The folder is not flushed. After a power cut the mark may be older than the ledger, which is harmless.
    replace_file(unfinished, path)


def read_mark(ledger: Path) -> tuple[str, LedgerState] | None:
    """Return the UUID and the state of the mark, None if there is no mark."""
    path = mark_path(ledger)
    try:
        content = parse_json(path.read_bytes())
        found = Fields(content, _MARK_FIELDS)
        checksum = content.pop("checksum")
        if checksum != _checksum(content) or content["format"] != _MARK_FORMAT:
            raise ValueError("wrong checksum or format")
        counts = {name: found.integer(name, 0, _MOST) for name in _COUNTS}
        sums = {name: content[name] for name in _KEYS_OF_SUMS}
        return found.text("ledger"), _decode_state({**counts, **sums, "chain": found.text("chain")})
    except FileNotFoundError:
        return None
    except (OSError, *UNREADABLE) as error:
        raise LedgerError(
            f"The high-water mark {path} of the ledger cannot be read; nothing was charged. Check the disk "
            "and the rights to read it. If it is damaged and you know that the ledger is in its latest "
            "state, delete the mark."
        ) from error


def _checksum(content: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# The check of the entries against the known states.


def verify(records: SQLiteRecords, seen: LedgerState | None, place: Path, *, full: bool = False) -> None:
    """Check the entries after the last verified state, and keep them as ``records.checked``.

    Parameters
    ----------
    records : SQLiteRecords
        The ledger, inside a transaction.
    seen : LedgerState or None
        State that the caller has verified before; None: nothing.
    place : Path
        Path of the ledger, for messages.
    full : bool, default=False
        Whether to check every entry.

    Raises
    ------
    LedgerError
        The ledger is in an older state than the one seen or acknowledged, or was altered.

    Notes
    -----
    A process had verified the state of the mark before it wrote the mark. The ledger is accepted if its
    entries lead from the earlier of both states through the later one to the state that the ledger records.
    An entry before both is not read: its alteration shows at the next full check.
    """
    known = [state for state in (seen, records.mark) if state is not None]
    for state in known:
        if lost := records.state.lacks(state):
            raise LedgerError(
                f"The ledger {place} is in an older state than seen before: it holds {records.state.count} "
                f"entries, and {lost} would be forgotten. {REMEDY}. With discard_newer=True it forgets them, "
                "and you must count their spent budget."
            )
    start = LedgerState() if full or not known else min(known, key=lambda state: state.count)
    with undamaged(place):
        rows = records.rows(start.count)
        reached = replay(start, rows, known)
        n_failures = sum(records.failures().values()) if full else records.state.failures
    if reached is None:
        raise LedgerError(
            f"The ledger {place} is damaged: its entries do not lead to the acknowledged state. They were "
            f"altered, or the file was replaced by an older state and then charged. {REMEDY}."
        )
    if not reached.agrees(records.state) or n_failures != records.state.failures:
        raise damaged(place)
    records.checked = rows


def replay(start: LedgerState, rows: list[Row], known: list[LedgerState]) -> LedgerState | None:
    """Return the state after some entries, or None if they contradict a known state on the way."""
    waypoints = {state.count: [other for other in known if other.count == state.count] for state in known}
    reached = start
    for row in (*rows, None):
        if any(not state.agrees(reached) for state in waypoints.get(reached.count, ())):
            return None
        if row is not None:
            reached = reached.after(row)
    return reached
