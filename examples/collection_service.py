# SPDX-License-Identifier: BSD-3-Clause
"""
A service that collects reports from people's own devices
=========================================================

Starlette, uvicorn and SQLite (``pip install skprivate[serve]``)::

    skprivate collection tokens 1000 tokens.txt accepted.txt
    python examples/collection_service.py serve study.state study.db accepted.txt --port 8000
    python examples/collection_service.py export study.state study.db reports
    skprivate collection curator add study.state reports/*.bin

Give each person one line of tokens.txt, as ``https://.../#LINE``. A report is on disk before the service
answers with 204. The service neither logs nor stores who sent which report: for a token it stores only
whether it was used. The page is ``collection_page.html``, its client is in ``clients/javascript``, and
``/status`` shows sums.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import logging
import math
import os
import sqlite3
import warnings
from pathlib import Path

import numpy as np
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from skprivate.collection import ReportWriter, TreeCurator

HERE = Path(__file__).parent
FILES = {
    "/": (HERE / "collection_page.html", "text/html"),
    **{
        f"/{name}": (HERE.parent / "clients" / "javascript" / name, "text/javascript")
        for name in ("skprivate-client.js", "more.js")
    },
}
# Tokens are in the order of their hashes and reports in that of random numbers, so no order links them.
SCHEMA = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS study (hash TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (hash BLOB PRIMARY KEY, used INTEGER DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (id BLOB PRIMARY KEY, report BLOB, batch TEXT) WITHOUT ROWID;
"""
# Number of new reports before the status page changes: its readers cannot see what one report adds.
NEW_AT_ONCE = 100
POLICY = "default-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
ONE, BATCH = "application/octet-stream", "application/json"
SECONDS, MOST_WAITING, MOST_IN_A_GROUP, MOST_IN_A_BATCH = 10, 5000, 500, 1000
log = logging.getLogger("collection")


class Refused(Exception):
    """A request that is answered with an error: its code, and a reason that shows nothing of the request."""


def open_database(path, specification):
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.executescript(SCHEMA)
    database.execute("INSERT OR IGNORE INTO study VALUES (?)", (specification.hash,))
    if database.execute("SELECT count(*) FROM study").fetchone()[0] > 1:
        database.execute("DELETE FROM study WHERE hash = ?", (specification.hash,))
        raise SystemExit(f"{path} holds reports of another specification: choose another file.")
    forget_order(database)
    return database


def forget_order(database):
    """Rewrite the pages in the order of the keys, and empty the log: both reveal the order of arrival."""
    with contextlib.suppress(sqlite3.Error):
        database.execute("VACUUM")
    empty_log(database)


def empty_log(database):
    """Empty the log of the database, without waiting for readers."""
    with contextlib.suppress(sqlite3.Error):
        database.executescript("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute("PRAGMA busy_timeout = 5000")


def store(database, requests):
    """Store the reports of a group of requests, all or none, and return the code of each."""
    try:
        database.execute("BEGIN IMMEDIATE")
        codes = [store_one(database, pairs) for pairs in requests]
        database.execute("COMMIT")
        return codes
    except sqlite3.Error as error:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        log.error("507 nothing stored: %s", error)
        return [507] * len(requests)


def store_one(database, pairs):
    known = "SELECT count(*) FROM tokens WHERE hash = ?"
    if not all(database.execute(known, (token,)).fetchall()[0][0] for token, _ in pairs):
        return 403
    for token, report in pairs:
        # The first report counts; a repeat is dropped, and answered like the first.
        if database.execute("UPDATE tokens SET used = 1 WHERE hash = ? AND NOT used", (token,)).rowcount:
            database.execute("INSERT INTO reports VALUES (?, ?, NULL)", (os.urandom(16), report))
    return 204


async def store_groups(database, waiting):
    """Store waiting requests: one transaction for all that arrived during the one before."""
    while True:
        group = [await waiting.get()]
        while len(group) < MOST_IN_A_GROUP and not waiting.empty():
            group.append(waiting.get_nowait())
        codes = await asyncio.to_thread(store, database, [pairs for pairs, _ in group])
        for (_, answer), code in zip(group, codes, strict=True):
            if not answer.done():
                answer.set_result(code)
        if waiting.empty():
            # The log of the database holds tokens and reports in the order of arrival.
            await asyncio.to_thread(empty_log, database)


async def read_body(request, most):
    if int(request.headers.get("content-length", 0)) > most:
        raise Refused(413, "body too large")
    body = b""
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise Refused(413, "body too large")
    except TimeoutError:
        raise Refused(408, "body too slow") from None
    return body


def kind_of(request):
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def read_pairs(request, body, specification):
    """Return the hashes of tokens, and the reports, of a request."""
    size = specification.randomizer.report_bytes
    try:
        if kind_of(request) == BATCH:
            batch = json.loads(body)
            tokens, reports = batch["tokens"], [bytes.fromhex(text) for text in batch["reports"]]
        else:
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            tokens, reports = [token] if kind.lower() == "bearer" else [], [body]
        pairs = [
            (hashlib.sha256(token.encode()).digest(), one) for token, one in zip(tokens, reports, strict=True)
        ]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise Refused(400, "no token for every report") from None
    if any(len(report) != size for report in reports) or len(reports) > MOST_IN_A_BATCH:
        raise Refused(409, "reports of another size")
    try:
        specification.randomizer.aggregate(specification.unpack(b"".join(reports)))
    except ValueError:
        raise Refused(422, "an impossible report") from None
    return pairs


def alarm_of(randomizer, reports):
    """Return whether a row of the mechanism occurs more often than by chance in one of a million studies."""
    if randomizer.name != "hadamard" or not len(reports):
        return "none for this mechanism"
    n_rows = randomizer.n_padded // randomizer.n_blocks
    most, mean = np.bincount((reports >> 1) % n_rows).max(), len(reports) / n_rows
    return bool(most * math.log(most / mean) - most + mean > math.log(1e6 * n_rows))


def status_of(state, path, before):
    """Return the content of the status page: shares with their noise, from reports that are each private."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("BEGIN")
        if database.execute("SELECT count(*) FROM reports").fetchone()[0] < before["reports"] + NEW_AT_ONCE:
            return before
        reports = b"".join(report for (report,) in database.execute("SELECT report FROM reports"))
    curator = TreeCurator.from_bytes(state).without_reports()
    curator.update(reports)
    alarm = alarm_of(curator.specification.randomizer, curator.specification.unpack(reports))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = curator.release()
    values = tree.leaf_values_ if curator.specification.classes is None else tree.leaf_proba_
    leaves = {
        name: np.round(found, 3).tolist() for name, found in (("value", values), ("error", tree.leaf_errors_))
    }
    return {"reports": curator.n_reports, "alarm": alarm, "label": str(tree.privacy_spent_), "leaves": leaves}


class Service:
    def __init__(self, state, path, accepted=()):
        self.state, self.path = state, path
        self.specification = TreeCurator.from_bytes(state).specification
        self.database, self.waiting = open_database(path, self.specification), asyncio.Queue()
        hashes = [(bytes.fromhex(line),) for line in accepted]
        self.database.execute("BEGIN")
        self.database.executemany("INSERT OR IGNORE INTO tokens (hash) VALUES (?)", hashes)
        self.database.execute("COMMIT")
        self.page, self.one_at_a_time = {"reports": 0}, asyncio.Lock()

    async def accept(self, request):
        """Return when the reports of a request are on disk, or raise `Refused`."""
        kind, size = kind_of(request), self.specification.randomizer.report_bytes
        if kind not in (ONE, BATCH):
            raise Refused(415, "content type")
        if request.headers.get("specification") != self.specification.hash:
            raise Refused(409, "another specification")
        if self.waiting.qsize() >= MOST_WAITING:
            raise Refused(429, "too many wait")
        body = await read_body(request, size if kind == ONE else MOST_IN_A_BATCH * (2 * size + 100))
        answer = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait((read_pairs(request, body, self.specification), answer))
        code = await answer
        if code != 204:
            raise Refused(code, "unknown token" if code == 403 else "disk")

    async def post(self, request):
        try:
            await self.accept(request)
        except Refused as error:
            code, reason = error.args
            if code != 507:  # logged once for a group
                log.warning("%s %s", code, reason)
            return Response(f"{reason}\n", code, {"connection": "close", "retry-after": "1"})
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(status_code=204)

    async def status(self, _):
        async with self.one_at_a_time:
            self.page = await asyncio.to_thread(status_of, self.state, self.path, self.page)
        return JSONResponse(self.page)

    async def publish(self, _):
        text = self.specification.to_json()
        return Response(text, media_type="application/json", headers={"cache-control": "no-store"})

    async def file(self, request):
        name, media_type = FILES[request.url.path]
        return FileResponse(name, media_type=media_type, headers={"content-security-policy": POLICY})

    @contextlib.asynccontextmanager
    async def live(self, _):
        task = asyncio.create_task(store_groups(self.database, self.waiting))
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        forget_order(self.database)
        self.database.close()


def make_app(state, path, accepted=()):
    service = Service(state, path, accepted)
    routes = [
        Route("/reports", service.post, methods=["POST"]),
        Route("/specification", service.publish),
        Route("/status", service.status),
        *(Route(path, service.file) for path in FILES),
    ]
    return Starlette(routes=routes, lifespan=service.live)


def export(state, path, folder):
    """Write all reports to files; a curator counts each file once, however often it is written."""
    specification = TreeCurator.from_bytes(state).specification
    Path(folder).mkdir(exist_ok=True)
    with contextlib.closing(open_database(path, specification)) as database:
        database.execute("UPDATE reports SET batch = ? WHERE batch IS NULL", (os.urandom(16).hex(),))
        for (batch,) in database.execute("SELECT DISTINCT batch FROM reports").fetchall():
            file = Path(folder, f"{batch}.bin")
            rows = database.execute("SELECT report FROM reports WHERE batch = ?", (batch,))
            if not file.exists():
                with ReportWriter(file, specification, batch_id=batch) as writer:
                    writer.write(b"".join(report for (report,) in rows))
        forget_order(database)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["serve", "export"])
    parser.add_argument("state", type=Path, help="the curator's file")
    parser.add_argument("database", help="made at the first start")
    parser.add_argument("other", help="serve: accepted.txt; export: a folder")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if options.command == "export":
        return export(options.state.read_bytes(), options.database, options.other)
    import uvicorn

    logging.basicConfig(format="%(asctime)s %(message)s")
    app = make_app(options.state.read_bytes(), options.database, Path(options.other).read_text().split())
    # No access log: it would hold the address and the time of every report.
    limits = {
        "limit_concurrency": 2000,
        "timeout_keep_alive": SECONDS,
        "h11_max_incomplete_event_size": 2**14,
    }
    uvicorn.run(app, host=options.host, port=options.port, access_log=False, log_level="warning", **limits)
    return None


if __name__ == "__main__":
    main()
