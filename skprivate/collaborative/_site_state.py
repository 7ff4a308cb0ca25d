# SPDX-License-Identifier: BSD-3-Clause
"""A site's state on disk: its key, its one roster, and what it answered, committed before it is sent."""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import IntArray
from .._version import __version__
from ..exceptions import ConsentError
from ..rounds._kept import store_of
from ..rounds._schema import RowSchema
from ..rounds._sources import InspectFunction, TableFacts
from ..rounds._tables import arrow_records, has_names, holds_arrow
from ..rounds._task import RoundTask
from ..utils import check_int
from ..utils._files import OWNER_ONLY
from ..utils._json_documents import Fields, canonical, digest, unpack_bytes
from ..utils._private_fit import redact_errors
from ..utils._public_module import public_module
from ._protocols.consortium import Consortium, read_plain, without_key
from ._protocols.keys import SiteKey, framed
from ._protocols.messages import Query
from ._site import CollaborativeSite, different_columns

#: The id of a request, the columns of its entry, and what makes the masked content of its reply.
Prepared = tuple[str, Callable[[sqlite3.Connection], dict[str, Any]], Callable[[], bytes]]

_VERSION = 1
# What SQLite reports of a file that holds something else; other errors are of the disk, or pass.
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
#: What a reply in the open begins with, to somebody who shares no secret with this site.
REFUSED = b"skprivate refused: "
#: What a sealed reply begins with.
ANSWERED, DENIED = b"+", b"-"
# Bytes of free disk before a fit: a thousand replies of the longest rounds of a tree.
_LEAST_FREE = 2**26
# Seconds to wait for another process of the same site.
_TIMEOUT = 60.0
# Bytes of memory for coded rows between the rounds of a fit; nothing of them is written to disk.
_CACHE = 2**30
_TABLES = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE log (number INTEGER PRIMARY KEY, at TEXT, kind TEXT, id TEXT UNIQUE, asker TEXT, "
    "fit INTEGER, run TEXT, round INTEGER, n_rows INTEGER, note TEXT, asked BLOB, reply BLOB, chain BLOB)",
)
_INHERITED: list[sqlite3.Connection] = []
_SHOWN = ("at", "kind", "id", "asker", "fit", "run", "round", "n_rows", "note")
_CHAINED = (*_SHOWN, "asked", "reply")
#: Fields of every kind of request, beside the version.
_REQUESTS = {
    "check": ("task", "nonce"),
    "begin": ("task",),
    "facts": ("fit", "nonce"),
    "sums": ("task",),
    "query": ("query", "asker"),
}
# Of rows, of a model, of a request without form: the driver learns no cause, as one may be a value of a row.
_FAILED = "this request could not be answered here; the site's log names the type of the error."


@public_module("skprivate.collaborative")
class SiteState:
    """What a site keeps on disk for one study: its key, its roster, and every reply before it is sent.

    A site that is killed and started again goes on without loss. A request that it has answered gets the same
    bytes, and everything that would use a mask twice is refused.

    Parameters
    ----------
    path : path-like
        The file, on a local disk. It is made, for its owner alone, if it is not there. Keep it as you keep
        the rows; never copy it, and never put a backup in its place.
    least : int, default=3
        Fewest members of a roster that the site joins, at least 2.
    most : int, default=None
        Most rows of queries for predictions that one asker gets answers to, ever. None: no limit. Askers are
        those of the roster; which of them asks is the driver's word.

    Attributes
    ----------
    public : bytes of length 32
        The site's public key, for the organiser's roster.
    name : str or None
        The site's name on the roster; None before it has joined.
    fingerprint : str or None
        Digest of the roster that was joined.

    Raises
    ------
    ConsentError
        The file is damaged, was moved, copied or put back, or is of another version.

    See Also
    --------
    MaskedSites : The organiser's side.

    Notes
    -----
    **Privacy.** Requests are sealed by the driver, replies to it. *A transport* learns the sender, the
    receiver, the time and the length of each. *The driver* learns sums over all sites, and whether this site
    could answer. Refusals are decided by the request, the log, the roster, and two facts of the table:
    whether it is as the roster says, and as it was. Plans that would fail for some rows are refused before
    any is read. A later failure gets one fixed text and has used its id, and no other round of its run is
    answered. If all members but two pass theirs on to it, it learns the sum over these two
    (:doc:`/proofs/swapping`). *Other sites* learn nothing. Sums over all sites are exact. Plans follow from
    noise that only the driver draws, so a site cannot check them, and plans can be made to isolate a row. So
    the driver is trusted with totals, as the curator of any fit is. A site checks what can be checked: that
    the fit is one of the document's (how rows are read, kinds of plans, numbers of rounds, rows a person),
    that each is begun as often as agreed, that rounds increase, and that its own table stays the same.

    *Why one roster.* If a site answered two rosters that differ in one member, the difference of two opened
    sums would be that member's answer. So a file takes one document, for ever. Compare `fingerprint` with the
    other sites, by telephone for example: whoever makes up members can read the others' sums.

    *Why a file.* Two messages under one mask give away their difference. Every reply that holds a mask is
    committed before it is sent, under the id of its request. The same request gets the same bytes; another
    one under that id is refused. Nothing depends on a clock: the log's times are for people.

    *What is refused.* The file records its own path and inode, and its entries are a chain of hashes. A file
    that was changed, cut, moved or copied is not opened, and neither is one that is older than the mark
    beside it (``path`` with ``.mark`` appended). It is not noticed if a file is put back together with its
    mark under the same path and inode number, as on a copied disk. Requests that the file has then forgotten
    may be asked again, of other rows. (Numbers of devices are not compared: they may change when a machine
    starts.)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skprivate.collaborative import SiteState
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state = SiteState(Path(folder, "north.state"))
    ...     again = SiteState(Path(folder, "north.state"))
    ...     state.public == again.public, state.name, [entry["kind"] for entry in state.log()]
    (True, None, ['created'])
    """

    def __init__(self, path: str | os.PathLike[str], *, least: int = 3, most: int | None = None) -> None:
        self._path = Path(os.path.realpath(path))
        self.least = check_int(least, "least", least=2)
        self.most = None if most is None else check_int(most, "most", least=0)
        self._lock, self._head = threading.Lock(), (0, b"")
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._joined: Consortium | None = None
        self._site: tuple[Any, CollaborativeSite] | None = None
        if not os.path.lexists(self._path):
            self._create()
        with self._open() as connection:
            self._key = self._verify(connection)

    # The file.

    def _create(self) -> None:
        unfinished = self._path.with_name(f".{self._path.name}.{os.urandom(8).hex()}.unfinished")
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))
        try:
            key = SiteKey.generate().to_bytes()
            place = unfinished.stat().st_ino
            with contextlib.closing(sqlite3.connect(unfinished)) as connection, connection:
                # A log that is written ahead, beside the file while it is open: one flush a commit.
                connection.execute("PRAGMA journal_mode = WAL")
                for table in _TABLES:
                    connection.execute(table)
                facts = {"version": _VERSION, "key": key, "path": str(self._path), "place": place}
                connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
                self._append(connection, "created")
            # Before the file: one without a mark is refused.
            self._write_mark(0)
            # Fails where another process was first, whose file is then used.
            with contextlib.suppress(FileExistsError):
                os.link(unfinished, self._path)
        finally:
            unfinished.unlink()

    @property
    def _mark(self) -> Path:
        return self._path.with_name(self._path.name + ".mark")

    def _write_mark(self, count: int) -> None:
        # One call, of one length, and no flush but of the first: a mark that is behind the file does no harm.
        with open(os.open(self._mark, os.O_CREAT | os.O_WRONLY, OWNER_ONLY), "wb", buffering=0) as mark:
            mark.write(b"%020d" % count)
            if not count:
                os.fsync(mark.fileno())

    def _damaged(self, how: str) -> ConsentError:
        return ConsentError(
            f"the state file {self._path.name} {how}: it is not used, as a mask might be used twice. Leave "
            "the study, and join a new one with a new file."
        )

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, which is committed at the end, and on the disk then."""
        try:
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
            facts = dict(connection.execute("SELECT name, value FROM facts"))
            if not {"version", "key", "path", "place"} <= facts.keys():
                raise self._damaged("is damaged")
            if facts["version"] != _VERSION:
                raise self._damaged("is of another version of skprivate")
            if facts["path"] != str(self._path) or facts["place"] != self._path.stat().st_ino:
                raise self._damaged("was moved, copied or put back")
            number, chain = self._head
            found = connection.execute("SELECT chain FROM log WHERE number = ?", (number,)).fetchone()
            if number and (found is None or found[0] != chain):
                raise self._damaged("is older than it was")
            yield connection
            head = self._last(connection)
            connection.execute("COMMIT")
            if head != self._head:
                self._head = head
                self._write_mark(head[0])
        except (sqlite3.Error, OSError, UnicodeError) as error:
            # The low byte is the primary code.
            code = getattr(error, "sqlite_errorcode", None)
            if isinstance(error, OSError) or (code is not None and code & 0xFF not in _DAMAGE):
                problem = (
                    f"the state file {self._path.name} cannot be used now: {type(error).__name__}; try again."
                )
                raise ConsentError(problem) from None
            raise self._damaged("is damaged") from None
        finally:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.rollback()

    def _connect(self) -> sqlite3.Connection:
        """Return this process's connection, which stays open: one flush a commit, and none to close it."""
        if self._connection is None or self._process != os.getpid():
            if self._connection is not None:
                # A fork must neither use nor close its parent's.
                _INHERITED.append(self._connection)
            address = f"{self._path.as_uri()}?mode=rw"
            options: dict[str, Any] = {"uri": True, "timeout": _TIMEOUT, "isolation_level": None}
            connection = sqlite3.connect(address, check_same_thread=False, **options)
            self._connection, self._process = connection, os.getpid()
            weakref.finalize(self, _close, connection, self._process)
            connection.execute("PRAGMA synchronous = EXTRA")
        return self._connection

    @staticmethod
    def _last(connection: sqlite3.Connection) -> tuple[int, bytes]:
        row = connection.execute("SELECT number, chain FROM log ORDER BY number DESC LIMIT 1").fetchone()
        return (0, b"") if row is None else (row[0], row[1])

    def _verify(self, connection: sqlite3.Connection) -> SiteKey:
        """Check the whole file, adopt what it holds, and return the site's key."""
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise self._damaged("is damaged")
        facts = dict(connection.execute("SELECT name, value FROM facts"))
        chain = _start_of_chain(facts)
        rows = connection.execute(f"SELECT number, chain, {', '.join(_CHAINED)} FROM log ORDER BY number")
        count = 0
        for count, (number, found, *values) in enumerate(rows, 1):
            chain = _next(chain, values)
            if (number, found) != (count, chain):
                raise self._damaged("is damaged")
        mark = self._mark.read_bytes() if self._mark.is_file() else b""
        if not mark.isdigit() or int(mark) > count:
            raise self._damaged("is older than the mark beside it, or the mark is gone")
        self._head = count, chain
        self._joined = self._roster(connection)
        return SiteKey.from_bytes(facts["key"])

    @staticmethod
    def _roster(connection: sqlite3.Connection) -> Consortium | None:
        joined = connection.execute("SELECT reply FROM log WHERE kind = 'joined'").fetchone()
        return None if joined is None else Consortium(joined[0])

    def _append(self, connection: sqlite3.Connection, kind: str, **values: Any) -> None:
        """Add an entry to the log."""
        number, chain = self._last(connection)
        if not number:
            chain = _start_of_chain(dict(connection.execute("SELECT name, value FROM facts")))
        at = datetime.now(UTC).isoformat(timespec="seconds")
        entry = [{"kind": kind, "at": at, **values}.get(name) for name in _CHAINED]
        connection.execute(
            f"INSERT INTO log (number, chain, {', '.join(_CHAINED)}) VALUES (?{', ?' * (len(entry) + 1)})",
            (number + 1, _next(chain, entry), *entry),
        )

    # What people do.

    @property
    def public(self) -> bytes:
        """The site's public key."""
        return self._key.public

    @property
    def name(self) -> str | None:
        """The site's name on the roster; None before it has joined."""
        return None if self._joined is None else self._joined.name_of(self._key)

    @property
    def fingerprint(self) -> str | None:
        """Digest of the roster that was joined; None before."""
        return None if self._joined is None else self._joined.fingerprint

    def __repr__(self) -> str:
        return f"SiteState({str(self._path)!r}, name={self.name!r}, public={self.public.hex()[:8]}...)"

    def enrol(self, roster: bytes, fingerprint: str) -> str:
        """Join a study, once and for ever.

        Parameters
        ----------
        roster : bytes
            The document that the organiser sent (`MaskedSites.roster`). Read it: it says who takes part,
            what will be fitted, at which epsilon, and which ledger counts it.
        fingerprint : str
            What `MaskedSites.fingerprint` shows of the document, as you heard it from the other sites over a
            channel that you trust, and not as it came with the document.

        Returns
        -------
        name : str
            This site's name.

        Raises
        ------
        ConsentError
            The document is no such roster, has another fingerprint, lacks this site's key, or has fewer
            members than ``least``; or this file has joined another one.
        """
        consortium = Consortium(roster)
        name = consortium.name_of(self._key)
        if "".join(fingerprint.split()).lower() != consortium.fingerprint.replace(" ", ""):
            raise ConsentError(
                f"the document's fingerprint is {consortium.fingerprint}, and not the one that was given: "
                "ask the organiser and the other sites which document they have."
            )
        if len(consortium.members) < self.least:
            raise ConsentError(
                f"the roster has fewer than {self.least} members: a sum would hide too little."
            )
        with self._lock, self._open() as connection:
            found = self._roster(connection)
            if found is not None and found.fingerprint != consortium.fingerprint:
                raise ConsentError(
                    "this file has joined another roster, and a site that answers two gives away sums of "
                    "single sites: another roster is a new study, and a new file."
                )
            if found is None:
                self._append(connection, "joined", id="joined", asked=consortium._digest, reply=bytes(roster))
        self._joined = consortium
        return name

    def log(self) -> list[dict[str, Any]]:
        """Return who asked what, and when, the oldest first; no reply and no row.

        Returns
        -------
        entries : list of dict
            With ``at`` (UTC, by this machine's clock), ``kind`` ("created", "joined", "table", "asked",
            then "facts", "sums" or "query" where it was answered, or "refused"), ``id``, ``asker`` (of a
            query, as the driver says), ``fit`` (place in the document), ``run``, ``round``, ``n_rows`` (of a
            query) and ``note`` (the kind of the plan, why something was refused, or the type of an error).
        """
        with self._lock, self._open() as connection:
            rows = connection.execute(f"SELECT {', '.join(_SHOWN)} FROM log ORDER BY number").fetchall()
        return [dict(zip(_SHOWN, row, strict=True)) for row in rows]

    def answer(self, request: bytes, table: Any = None, model: Any = None) -> bytes:
        """Answer one request of the driver; the whole work of a site's server.

        Parameters
        ----------
        request : bytes
            As it came.
        table : data frame, Arrow table, dict, tuple (X, y), or function that returns one, default=None
            This site's rows, the same in every round; of a stream, a function that opens it, which is called
            two or three times in a round. None: the site takes part in no fit.
        model : CollaborativeSite, or function from int to one, default=None
            The model that answers queries, the same for all: no roster says which it is. A function gets the
            roster's number of rows of all sites, to which a local average is refined. It is kept with its
            model until another is given. None: the site makes no predictions.

        Returns
        -------
        reply : bytes
            To be sent back, whatever it is: a refusal is a reply, too. If reading rows or a model fails, the
            driver learns only that there was an error. The log has the name of its type.
        """
        try:
            if self._joined is None:
                # Another process of this site may have joined meanwhile.
                with self._lock, self._open() as connection:
                    self._joined = self._roster(connection)
            joined = self._joined
            if joined is None:
                return REFUSED + b"this site has not joined a study yet."
            name = joined.name_of(self._key)
            plain = joined.read_request(name, self._key, bytes(request))
        except ConsentError as error:
            return REFUSED + str(error).encode()
        try:
            return self._answer(joined, name, plain, table, model)
        except ConsentError as error:
            problem = note = str(error)
        except Exception as error:
            problem, note = _FAILED, type(error).__name__
        with contextlib.suppress(ConsentError), self._lock, self._open() as connection:
            self._append(connection, "refused", asked=joined.binding(plain), note=note)
        return joined.seal_reply(name, self._key, plain, DENIED + problem.encode())

    # What is answered.

    def _answer(self, joined: Consortium, name: str, plain: bytes, table: Any, model: Any) -> bytes:
        """Return the sealed reply to a request of the driver."""
        content = read_plain(plain)
        kind = content.get("ask")
        if content.get("version") != __version__:
            raise ConsentError(f"it has version {__version__} of skprivate, and the driver another one.")
        if kind not in _REQUESTS:
            raise ConsentError("the request is of an unknown kind.")
        fields = Fields(content, ("ask", "version", *_REQUESTS[kind]), what="a request")
        if kind == "check":
            found = canonical({"problems": self._problems(joined, fields, table)})
            return joined.seal_reply(name, self._key, plain, ANSWERED + found)
        prepare = {"facts": self._facts, "query": self._query}.get(kind, self._sums)
        label, entry, work = prepare(joined, fields, plain, model if kind == "query" else table)
        asked = joined.binding(canonical(content | {"ask": "sums"}) if kind == "begin" else plain)
        with self._lock, self._open() as connection:
            # Before any row is read: another request under this id is refused even where this one fails.
            found = connection.execute("SELECT asked FROM log WHERE id = ?", (label,)).fetchone()
            if found is None:
                columns = entry(connection)
                self._append(connection, "asked", id=label, asked=asked, **columns)
            elif found[0] != asked:
                raise ConsentError(
                    "this site was asked otherwise under the same id: other rows, or another task. A second "
                    "driver, or one that lost its checkpoint, must not go on."
                )
            reply = self._reply(connection, label)
        if kind == "begin":
            return joined.seal_reply(name, self._key, plain, ANSWERED)
        if reply is None:
            # What takes long is made outside a transaction.
            masked = work()
            with self._lock, self._open() as connection:
                reply = self._reply(connection, label)
                if reply is None:
                    reply = joined.seal_reply(name, self._key, plain, ANSWERED + masked)
                    row = connection.execute("SELECT run, round FROM log WHERE id = ?", (label,)).fetchone()
                    told = {"run": row[0], "round": row[1], "reply": reply}
                    self._append(connection, kind, id=f"answer to {label}", **told)
        return reply

    @staticmethod
    def _reply(connection: sqlite3.Connection, label: str) -> bytes | None:
        """Return the reply that was given under an id."""
        row = connection.execute("SELECT reply FROM log WHERE id = ?", (f"answer to {label}",)).fetchone()
        return None if row is None else bytes(row[0])

    def _problems(self, joined: Consortium, fields: Fields, table: Any) -> list[str]:
        """Return what prevents this site from answering: of the named round, if there is one."""
        problems = []
        if shutil.disk_usage(self._path.parent).free < _LEAST_FREE:
            problems.append("its disk is full")
        text = fields.maybe(fields.text, "task")
        if text is not None:
            task = joined.read_task(text)
            with self._lock, self._open() as connection:
                self._admit(connection, joined, task)
            try:
                _look(task.schema, _rows_of(table))
            except Exception:
                problems.append("its table is not as the roster says")
            else:
                self._pin(task, _rows_of(table))
        return problems

    def _admit(self, connection: sqlite3.Connection, joined: Consortium, task: RoundTask) -> int:
        """Return which fit a round is of; ConsentError unless it is the next of a run that may be."""
        fits, run = joined.matching(task), _run_of(task)
        # A round that could not be answered ends its run here, unless the same request can be later.
        sql = "SELECT COALESCE(MAX(round), -1) FROM log WHERE kind = 'sums' AND run = ?"
        if task.number > connection.execute(sql, (run,)).fetchone()[0] + 1:
            raise ConsentError("a stale task: its round does not follow the last one of this run here.")
        # Beside MAX(round) SQLite returns the row that has it: a run is of the fit that its last round is of.
        runs = connection.execute("SELECT run, MAX(round), fit FROM log WHERE kind = 'asked' GROUP BY run")
        begun = {one: fit for one, _, fit in runs}
        fit = begun.pop(run, None)
        # Two fits may have the same first rounds; then later ones show which it is.
        sql = "SELECT DISTINCT note FROM log WHERE kind = 'asked' AND run = ?"
        known = connection.execute(sql, (run,)).fetchall()
        fits = [one for one in fits if {note for (note,) in known} <= joined.kinds_of(one)]
        if fit in fits:
            return int(fit)
        others = Counter(begun.values())
        for one in fits:
            if others[one] < joined.fits[one]["runs"]:
                return one
        raise ConsentError(
            "this fit was begun as often as the roster allows: by another driver, or by one without its "
            "checkpoint. Go on from the checkpoint; without it, a new study is needed."
        )

    def _pin(self, task: RoundTask, rows: Any) -> None:
        """Note the digest of the rows, which stays here; ConsentError where they are others now."""
        label, found = f"table {digest(without_key(task.schema))}", _table_digest(rows)
        with self._lock, self._open() as connection:
            row = connection.execute("SELECT asked FROM log WHERE id = ?", (label,)).fetchone()
            if row is None:
                self._append(connection, "table", id=label, asked=found, reply=b"")
            elif row[0] != found:
                raise ConsentError("this site's table is another than when the fit was checked.")

    def _facts(self, joined: Consortium, fields: Fields, plain: bytes, table: Any) -> Prepared:
        """Prepare names and kinds of a fit's columns in the open, and numbers of rows under masks."""
        schema = joined.schemas[fields.integer("fit", 0, len(joined.fits) - 1)]

        def work() -> bytes:
            facts = _look(schema, _rows_of(table))
            shown = canonical(replace(facts, n_rows=0, n_units=0).to_dict())
            sizes = np.array([facts.n_rows, facts.n_units], dtype=np.int64)
            return framed(shown) + joined.mask_integers(self._key, plain, sizes)

        return f"facts {fields.text('nonce')}", lambda connection: {}, work

    def _sums(self, joined: Consortium, fields: Fields, plain: bytes, table: Any) -> Prepared:
        """Prepare the sums of one round under masks, and the numbers of rows and persons behind them."""
        task = joined.read_task(fields.text("task"))

        def entry(connection: sqlite3.Connection) -> dict[str, Any]:
            fit = self._admit(connection, joined, task)
            return {"fit": fit, "run": _run_of(task), "round": task.number, "note": task.plan.kind}

        def work() -> bytes:
            self._pin(task, _rows_of(table))
            return joined.mask_integers(self._key, plain, _sums_of(task, _rows_of(table), str(self._path)))

        return f"sums {task.run} {task.number}", entry, work

    def _query(self, joined: Consortium, fields: Fields, plain: bytes, model: Any) -> Prepared:
        """Prepare answers times rows, and rows, under masks."""
        query, asker = Query.from_bytes(unpack_bytes(fields.text("query"))), fields.text("asker")
        agreed = joined.predictions
        if agreed is None or model is None:
            raise ConsentError("this study, or this site, makes no predictions.")
        if query.roster != joined._digest or list(query.names or ()) != agreed["columns"]:
            raise ConsentError("the query was made for another roster, or of other columns.")
        if asker not in agreed["askers"]:
            raise ConsentError("this asker is not on the roster.")

        def entry(connection: sqlite3.Connection) -> dict[str, Any]:
            sql = "SELECT COALESCE(SUM(n_rows), 0) FROM log WHERE kind = 'asked' AND asker = ?"
            asked = connection.execute(sql, (asker,)).fetchone()[0] + len(query.X)
            if self.most is not None and asked > self.most:
                raise ConsentError(f"this asker has asked more than the {self.most} rows that are allowed.")
            return {"asker": asker, "n_rows": len(query.X)}

        def work() -> bytes:
            if self._site is None or self._site[0] != model:
                self._site = model, _site_of(agreed, model)
            site = self._site[1]
            values = site.respond(site._rows(query))
            if values.shape != (len(query.X), len(agreed["classes"] or [None])):
                raise ConsentError("this site's model has other classes than the roster.")
            active = ~np.isnan(values).any(axis=1, keepdims=True)
            weight = float(min(site.n_samples, agreed["most_rows"] or site.n_samples))
            sizes = np.where(active, weight, 0.0)
            numbers = np.where(active, values, 0.0) * sizes
            return joined.mask_answers(self._key, plain, numbers, sizes[:, 0])

        return f"query {query.query_id.hex()}", entry, work


def _close(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        connection.close()


def _site_of(agreed: Mapping[str, Any], model: Any) -> CollaborativeSite:
    """Return the site's model for the agreed number of rows of all sites, if its columns are the roster's."""
    site = model if isinstance(model, CollaborativeSite) else model(agreed["n_rows"])
    if site.columns is None:
        raise ConsentError("this site's model has no names of columns.")
    difference = different_columns(site.columns, agreed["columns"])
    if difference is not None:
        raise ConsentError(f"this site's model has other columns than the roster: {difference}.")
    classes = None if site.classes is None else [str(one) for one in np.asarray(site.classes).tolist()]
    if classes != (None if agreed["classes"] is None else [str(one) for one in agreed["classes"]]):
        raise ConsentError("this site's model has other classes than the roster.")
    return site


def _look(schema: RowSchema, rows: Any) -> TableFacts:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        look = InspectFunction(schema.columns, schema.strict, schema.domain, schema.classes)
        return look.inspect(rows, "sites")


def _run_of(task: RoundTask) -> str:
    """Return the run, and how its rows are read, which is the same in all of its rounds."""
    return f"{task.run} {digest(task.schema.to_dict())}"


@redact_errors
def _sums_of(task: RoundTask, rows: Any, place: str) -> IntArray:
    # Rows that are kept between rounds are this file's: a process may play several sites. The driver checks,
    # for the total, whether there is room: an error here would reveal this site's number.
    part = task.sum_batch(rows, place, store_of(task.run, _CACHE, False), room=False)
    return np.append(part.values, [part.n_rows, part.n_units])


def _rows_of(table: Any) -> Any:
    if table is None:
        raise ConsentError("this site takes part in no fit: its server was given no table.")
    return table() if callable(table) else table


def _table_digest(table: Any) -> bytes:
    """Return a digest of all cells, and of the names of the columns; it never leaves the site.

    Each column is hashed over all chunks, however many there are.
    """
    found: dict[bytes, Any] = {}

    def add(part: int, name: Any, values: Any) -> None:
        if values.dtype.kind in "biufmM":
            content = np.ascontiguousarray(values).tobytes()
        else:
            # Objects by what they print as.
            content = "".join(f"{one!r}\0" for one in values.tolist()).encode()
        column = framed(str((part, name, values.dtype, values.shape[1:])).encode())
        found.setdefault(column, hashlib.sha256()).update(content)

    for part, rows in enumerate(table if isinstance(table, tuple) else (table,)):
        if holds_arrow(rows):
            for record in arrow_records(rows)[1]:
                for name, column in zip(record.schema.names, record.columns, strict=True):
                    # Missing cells apart: they would give the others of their chunk another type.
                    add(part, (name, "missing"), column.is_null().to_numpy(zero_copy_only=False))
                    add(part, name, column.drop_null().to_numpy(zero_copy_only=False))
        elif isinstance(rows, Mapping) or has_names(rows):
            for name in rows if isinstance(rows, Mapping) else rows.columns:
                add(part, name, np.asarray(rows[name]))
        else:
            add(part, "", np.asarray(rows))
    return hashlib.sha256(b"".join(name + one.digest() for name, one in found.items())).digest()


def _start_of_chain(facts: dict[str, Any]) -> bytes:
    return hashlib.sha256(repr(sorted(facts.items())).encode()).digest()


def _next(chain: bytes, entry: Sequence[Any]) -> bytes:
    return hashlib.sha256(framed(chain, repr(tuple(entry)).encode())).digest()
