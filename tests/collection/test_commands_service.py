# SPDX-License-Identifier: BSD-3-Clause
"""The example's service: right codes, nothing lost, none twice, and no address or report in a log."""

import asyncio
import hashlib
import importlib.util
import logging
import sqlite3
from pathlib import Path

import pytest

from skprivate.collection import TreeCurator
from skprivate.collection._commands import main
from skprivate.randomizers import HadamardRandomizer
from tests.collection.studies import label_plan

pytest.importorskip("starlette")
PATH = Path(__file__).parents[2] / "examples" / "collection_service.py"
KINDS = {"one": "application/octet-stream", "batch": "application/json"}


@pytest.fixture(scope="module")
def service():
    specification = importlib.util.spec_from_file_location("collection_service", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def study(tmp_path):
    """A curator, tokens and their hashes."""
    curator = TreeCurator(label_plan(bounds=(0, 1), classes=[0, 1]), n_clients=1000, features=["a"])
    tokens, accepted = tmp_path / "tokens.txt", tmp_path / "accepted.txt"
    assert main(["tokens", "30", str(tokens), str(accepted)]) == 0
    assert tokens.stat().st_mode & 0o077 == 0
    made, hashes = tokens.read_text().split(), accepted.read_text().split()
    assert hashes == sorted(hashlib.sha256(token.encode()).hexdigest() for token in made)
    return curator, made, hashes, str(tmp_path / "study.db")


def talk(app, *requests, look=lambda: None):
    """Send requests to the app in one life of it, by ASGI, and return their codes and bodies."""

    async def one(method, path, headers, parts):
        sent, parts = [], [parts] if isinstance(parts, bytes) else list(parts)

        async def receive():
            part = parts.pop(0) if parts else None
            if part is None:  # a client that does not go on
                await asyncio.sleep(30)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message):
            sent.append(message)

        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
        scope |= {
            "client": ("192.0.2.7", 4711),
            "http_version": "1.1",
            "scheme": "http",
            "server": ("test", 80),
        }
        await app(scope, receive, send)
        return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:])

    async def run():
        async with app.router.lifespan_context(app):
            found = await asyncio.gather(*(one(*request) for request in requests))
            await asyncio.sleep(0.2)
            look()
            return found

    return asyncio.run(run())


def post(curator, body, token=None, kind="one", **changes):
    headers = {"content-type": KINDS[kind], "specification": curator.specification.hash}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return "POST", "/reports", headers | changes, body


def stored(path):
    with sqlite3.connect(path) as database:
        return database.execute(
            "SELECT (SELECT count(*) FROM reports), (SELECT count(*) FROM tokens WHERE used)"
        ).fetchone()


def test_codes(service, study, caplog, monkeypatch):
    monkeypatch.setattr(service, "SECONDS", 0.2)
    curator, tokens, hashes, path = study
    report = curator.client().randomize([0.5], 1)
    size = len(report)
    pairs = '{"tokens": ["%s", "%s"], "reports": ["%s", "%s"]}'
    wanted = [
        (204, post(curator, report, tokens[0])),
        (204, post(curator, bytes(size), tokens[0])),  # a repeat is dropped
        (204, post(curator, (pairs % (*tokens[:2], report.hex(), report.hex())).encode(), kind="batch")),
        (403, post(curator, report, "forged")),
        (
            403,
            post(curator, (pairs % (tokens[2], "forged", report.hex(), report.hex())).encode(), kind="batch"),
        ),
        (400, post(curator, report)),
        *(
            (400, post(curator, text, kind="batch"))
            for text in (b"{", b"[]", b"{}", b'{"tokens": [1], "reports": [""]}')
        ),
        (400, post(curator, b"[" * 100_000, kind="batch")),
        (409, post(curator, report[:-1], tokens[3])),
        (409, post(curator, report, tokens[3], specification="0" * 64)),
        (413, post(curator, report + b"x", tokens[3])),
        (413, post(curator, report, tokens[3], **{"content-length": "10000000000"})),
        (415, post(curator, report, tokens[3], **{"content-type": "text/plain"})),
        (
            204,
            post(
                curator,
                report,
                **{"authorization": f"bearer {tokens[0]}", "content-type": f"{KINDS['one']}; x=1"},
            ),
        ),
        (422, post(curator, b"\xff" * size, tokens[3])),
        (408, post(curator, [report[:1], None], tokens[3])),
        (404, ("GET", "/study.db", {}, b"")),
        (405, ("GET", "/reports", {}, b"")),
        (200, ("GET", "/specification", {}, b"")),
    ]
    with caplog.at_level(logging.INFO):
        found = talk(service.make_app(curator.to_bytes(), path, hashes), *(request for _, request in wanted))
    assert [code for code, _ in found] == [code for code, _ in wanted]
    assert found[-1][1].decode() == curator.specification.to_json()
    assert stored(path) == (2, 2)
    lines = [record.getMessage() for record in caplog.records if record.name == "collection"]
    assert len(lines) == sum(400 <= code not in (404, 405) for code, _ in wanted)
    for secret in ("192.0.2.7", "4711", report.hex(), tokens[0], hashes[0]):
        assert secret not in caplog.text


def test_used_tokens_stay_used_and_reports_count_once(service, study, tmp_path, monkeypatch):
    curator, tokens, hashes, path = study
    state, report = curator.to_bytes(), curator.client().randomize([0.5], 1)
    for _ in range(2):  # a restart, with the same list of tokens
        requests = [post(curator, report, token) for token in tokens]
        assert {code for code, _ in talk(service.make_app(state, path, hashes), *requests)} == {204}
    assert stored(path) == (30, 30)
    ((_, page),) = talk(service.make_app(state, path), ("GET", "/status", {}, b""))
    assert page == b'{"reports":0}'  # fewer than are shown at once
    monkeypatch.setattr(service, "NEW_AT_ONCE", 10)
    app = service.make_app(state, path)
    (_, page), (_, again) = talk(app, *[("GET", "/status", {}, b"")] * 2)
    assert page == again
    assert b'"reports":30' in page
    assert b"epsilon: 2" in page
    for _ in range(2):
        service.export(state, path, tmp_path / "reports")
    (file,) = (tmp_path / "reports").iterdir()
    assert [curator.update_file(file) for _ in range(2)] == [True, False]
    file.unlink()
    service.export(state, path, tmp_path / "reports")
    assert not curator.update_file(file)
    assert (curator.n_reports, curator.without_reports().n_reports) == (30, 0)
    other = TreeCurator(label_plan(bounds=(0, 2), classes=[0, 1]), n_clients=1000, features=["a"])
    with pytest.raises(SystemExit, match="another specification"):
        service.make_app(other.to_bytes(), path)


def test_no_order_is_common_to_tokens_and_reports(service, study):
    curator, tokens, hashes, path = study
    size = curator.specification.randomizer.report_bytes
    requests = [
        post(curator, number.to_bytes(size, "little"), token) for number, token in enumerate(tokens[:8])
    ]
    sizes, log = [], Path(f"{path}-wal")
    app = service.make_app(curator.to_bytes(), path, hashes)
    talk(app, *requests, look=lambda: sizes.append(log.stat().st_size))
    assert sizes == [0]
    with sqlite3.connect(path) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = {
            name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")] for name in tables
        }
        with pytest.raises(sqlite3.OperationalError, match="rowid"):
            database.execute("SELECT rowid FROM tokens")
        with pytest.raises(sqlite3.OperationalError, match="rowid"):
            database.execute("SELECT rowid FROM reports")
    assert columns == {"study": ["hash"], "tokens": ["hash", "used"], "reports": ["id", "report", "batch"]}


def test_a_crash_leaves_no_order_and_a_reader_does_not_hold_the_service_up(service, study):
    curator, _, hashes, path = study
    service.make_app(curator.to_bytes(), path, hashes)
    log, database = Path(f"{path}-wal"), service.open_database(path, curator.specification)
    for number, one in enumerate(hashes):
        assert service.store(database, [[(bytes.fromhex(one), bytes([number, 0]))]]) == [204]
    with sqlite3.connect(path) as reader:
        reader.execute("BEGIN")
        assert stored(path) == reader.execute("SELECT count(*), count(*) FROM reports").fetchone() == (30, 30)
        service.empty_log(database)  # does not wait for the reader
        assert log.stat().st_size
    reader.close()

    def places():
        data = Path(path).read_bytes()
        return [data.rfind(one) for (one,) in database.execute("SELECT id FROM reports ORDER BY id")]

    # Killed here; what starts again finds a log.
    again = service.open_database(path, curator.specification)
    assert log.stat().st_size == 0
    assert places() == sorted(places(), reverse=True)
    for one in (database, again):
        one.close()


def test_a_full_disk_stores_nothing_and_says_so(service, study, caplog):
    curator, tokens, hashes, path = study
    report = curator.client().randomize([0.5], 1)
    app = service.make_app(curator.to_bytes(), path, hashes)
    database = service.open_database(path, curator.specification)
    database.execute("PRAGMA max_page_count = 1")
    pairs = [(bytes.fromhex(hashes[0]), bytes(10**6))]
    assert service.store(database, [pairs, pairs]) == [507, 507]
    assert [record.getMessage() for record in caplog.records] == [
        "507 nothing stored: database or disk is full"
    ]
    database.execute("PRAGMA max_page_count = 1000")
    # Nothing of a group is stored if one of its requests fails, and the next group is.
    first = [(bytes.fromhex(hashes[0]), bytes(2))]
    assert service.store(database, [first, [(bytes.fromhex(hashes[1]), object())]]) == [507, 507]
    assert stored(path) == (0, 0)
    assert service.store(database, [first]) == [204]
    database.close()
    token = next(one for one in tokens if hashlib.sha256(one.encode()).hexdigest() != hashes[0])
    assert talk(app, post(curator, report, token)) == [(204, b"")]
    assert stored(path) == (2, 2)


def test_too_many_that_wait_are_sent_away(service, study, monkeypatch):
    curator, tokens, hashes, path = study
    monkeypatch.setattr(service, "MOST_WAITING", 0)
    app = service.make_app(curator.to_bytes(), path, hashes)
    assert talk(app, post(curator, curator.client().randomize([0.5], 1), tokens[0]))[0][0] == 429


def test_the_alarm_hears_a_row_that_is_taken_too_often(service):
    randomizer = HadamardRandomizer(1.0, 64)
    reports = randomizer.randomize([0] * 3000, random_state=0)
    assert service.alarm_of(randomizer, reports) is False
    reports[:300] = 1
    assert service.alarm_of(randomizer, reports) is True
