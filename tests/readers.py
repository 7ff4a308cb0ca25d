# SPDX-License-Identifier: BSD-3-Clause
"""Every reader of the package, with right documents, and a fuzzer that counts what damaged ones do."""

import contextlib
import hashlib
import json
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._timing import timed
from skprivate import LocallyPrivateTreeClassifier, MomentAccumulator
from skprivate.accounting import PrivacyGuarantee, PrivacyLedger, PrivacyReport, PrivacySpent, StepReport
from skprivate.accounting._ledger.records import mark_path, read_mark, write_mark
from skprivate.collaborative import ConsentBox, MaskedSum
from skprivate.collaborative._protocols.messages import Answer, Query, SiteCard, make_query
from skprivate.collection import ReportWriter, TreeClient, TreeCurator, TreeSpecification
from skprivate.collection._client import _Memory
from skprivate.collection._report_files import ReportReader
from skprivate.exceptions import ConsentError, LedgerError
from skprivate.partition import Partition
from skprivate.preprocessing import estimate_bounds
from skprivate.randomizers import HadamardRandomizer
from skprivate.utils._json_documents import canonical, digest
from tests.mutated_documents import mutate_bytes, mutate_json, write_json

# An input that takes longer is given up.
PATIENCE = 10.0


@dataclass(frozen=True)
class Parser:
    """One reader: right documents, how to close a changed one, how to read and to write again."""

    name: str
    documents: list[Any]
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    #: From changed JSON to a document with right checksums; None: the documents are bytes without any.
    seal: Callable[[Any], Any] | None = None
    #: The JSON in a document.
    content: Callable[[Any], Any] = json.loads


@dataclass
class Outcome:
    """What the inputs of one parser did."""

    inputs: int = 0
    accepted: int = 0
    clean: int = 0
    slowest: float = 0.0
    others: Counter[str] = field(default_factory=Counter)


def fuzz(parser: Parser, n_inputs: int, seed: int = 0) -> Outcome:
    """Read so many damaged documents."""
    rng, outcome = np.random.default_rng(seed), Outcome(n_inputs)
    for _ in range(n_inputs):
        document = _damaged(parser, rng)
        # Others may load the machine.
        took, problem = timed(partial(_read, parser, document, outcome), time.process_time)
        outcome.slowest = max(outcome.slowest, took)
        if problem:
            outcome.others[problem] += 1
    return outcome


def _damaged(parser: Parser, rng: np.random.Generator) -> Any:
    document = parser.documents[rng.integers(len(parser.documents))]
    if parser.seal is None or (isinstance(document, bytes) and rng.random() < 0.25):
        return mutate_bytes(document, rng)
    return parser.seal(mutate_json(parser.content(document), rng, written=isinstance(document, bytes)))


def _read(parser: Parser, document: Any, outcome: Outcome) -> str:
    """Read a document, count what came of it, and return what should not have."""
    try:
        with _limited():
            found = parser.read(document)
    except (ValueError, ConsentError, LedgerError) as error:
        if isinstance(error, UnicodeError | json.JSONDecodeError):
            return type(error).__name__
        if len(str(error).split()) < 4:
            return f"no sentence: {error}"
        outcome.clean += 1
        return ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return type(error).__name__
    outcome.accepted += 1
    content = parser.content if parser.seal else _same
    with contextlib.suppress(Exception):
        # What was accepted is written again as it was read.
        if content(parser.write(found)) == content(document):
            return ""
    return "written otherwise"


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def all_parsers(folder: Path) -> list[Parser]:
    """Return every parser, with documents of today's data; files go to a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = (_moments(), _specification(), _curator(), _memory(), _report_file(folder), _reports())
        return [*ours, *_messages(), _consent(), _masked(), *_statements(), _mark(folder)]


def _same(value: Any) -> Any:
    return value


def _sealed(name: str, digest: Callable[[Any], str] = digest) -> Callable[[Any], bytes]:
    """Return the function that writes JSON with the digest of the rest in this field."""

    def seal(content: Any) -> bytes:
        if not isinstance(content, dict):
            return write_json(content)
        content.pop(name, None)
        text = write_json(content)
        with contextlib.suppress(ValueError, RecursionError):
            # Of what a reader parses: fields that stand twice count once, and so on.
            checksum = digest(json.loads(text))
            return text[:-1] + f'{"," if content else ""}"{name}":"{checksum}"}}'.encode()
        return text

    return seal


def _moments() -> Parser:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(50, 2)), rng.uniform(1, 2, size=50)
    both = {"a": (0, 1), "b": (0, 1)}
    named = MomentAccumulator(both, (1, 2), max_rows=100, target="t", max_sample_weight=2.0)
    paid = estimate_bounds(X, epsilon=1.0, random_state=0)
    accumulators = [
        MomentAccumulator((0, 1), (1, 2), max_rows=100),
        MomentAccumulator((0, 1), (1, 2), max_rows=100).update(X, y, batch_id="day"),
        named,
        MomentAccumulator(paid, (1, 2), max_rows=100, max_rows_per_group=2).update(X, y),
        MomentAccumulator(None, (1, 2), max_rows=100, x_norm=1.0, mechanism="gaussian").update(X, y),
    ]
    documents = [accumulator.to_bytes() for accumulator in accumulators]
    read, write = MomentAccumulator.from_bytes, MomentAccumulator.to_bytes
    return Parser("moments", documents, read, write, _sealed("checksum"))


def _make_specification() -> TreeSpecification:
    partition = Partition.from_splits([0, 1, -1, -1, -1], [40.0, 0.5], [0.0, 0.0], [100.0, 1.0])
    columns = ["no", "yes"], ["age", "x"], "ill"
    return TreeSpecification(partition, HadamardRandomizer(1.0, n_cells=3), *columns)


def _make_curators() -> list[TreeCurator]:
    X = np.random.default_rng(0).uniform(size=(200, 2))
    y = (X[:, 0] > 0.5).astype(int)
    curators = []
    for parameters in (
        {"bounds": (0, 1), "classes": [0, 1]},
        {"epsilon": Fraction(1, 3), "mechanism": "krr", "bounds": {0: (0, 1), 1: (0.0, 1.0)}},
        {"protect": "label", "mechanism": "auto", "prune": True},
        {"bounds": estimate_bounds(X, epsilon=1.0, random_state=0)},
    ):
        tree = LocallyPrivateTreeClassifier(1.0, max_depth=2).set_params(**parameters)
        curator = TreeCurator(tree, X[:20], y[:20], n_clients=100)
        randomizer = curator.specification.randomizer
        curator.update(randomizer.randomize(np.zeros(5, dtype=np.int64)))
        curators.append(curator)
    return curators


def _specification() -> Parser:
    documents = [one.specification.to_json().encode() for one in _make_curators()]
    documents.append(_make_specification().to_json().encode())

    def read(data: bytes) -> TreeSpecification:
        # As it comes from a file, whose bytes may be no text.
        text = data.decode("utf-8", "replace")
        return TreeSpecification.from_json(text if text.lstrip().startswith("{") else "{" + text)

    return Parser("tree specification", documents, read, TreeSpecification.to_json, _sealed("hash"))


def _curator() -> Parser:
    documents = [curator.to_bytes() for curator in _make_curators()]

    def seal(content: Any) -> bytes:
        inner = content.get("specification") if isinstance(content, dict) else None
        if isinstance(inner, dict):
            inner.pop("hash", None)
            with contextlib.suppress(ValueError, RecursionError):
                inner["hash"] = digest(json.loads(write_json(inner)))
        return _sealed("checksum")(content)

    return Parser("curator", documents, TreeCurator.from_bytes, TreeCurator.to_bytes, seal)


def _memory() -> Parser:
    client = TreeClient(_make_specification(), lifetime_epsilon=Fraction(7, 3))
    client.randomize([34, 0.1], "yes")

    def read(data: bytes) -> _Memory:
        return _Memory.from_bytes(data, Path("memory"))

    return Parser("client memory", [client._own.to_bytes()], read, _Memory.to_bytes, _sealed("checksum"))


def _report_file(folder: Path) -> Parser:
    specification, path = _make_specification(), folder / "reports.bin"
    with ReportWriter(path, specification) as writer:
        writer.write(specification.randomizer.randomize(np.arange(6)))

    def read(data: bytes) -> bytes:
        path.write_bytes(data)
        with ReportReader(path, specification) as reader:
            for _, reports in reader.chunks():
                specification.randomizer.aggregate(reports)
        return data

    return Parser("report file", [path.read_bytes()], read, lambda data: data)


def _reports() -> Parser:
    curator = _make_curators()[0]
    specification = curator.specification
    reports = specification.pack(specification.randomizer.randomize(np.zeros(5, dtype=np.int64)))

    def read(data: bytes) -> Any:
        curator.update(data)
        return specification.unpack(data)

    return Parser("reports", [reports], read, specification.pack)


def _packed(content: Any) -> bytes:
    """Close a message: length, header in its one form, digest of the body, body."""
    head, body = content["head"], bytes.fromhex(content["body"])
    if isinstance(head, dict):
        head["sha256"] = hashlib.sha256(body).hexdigest()
    text = write_json(head)
    with contextlib.suppress(ValueError, RecursionError, TypeError):
        text = canonical(json.loads(text))
    return len(text).to_bytes(4, "little") + text + body


def _unpacked(message: bytes) -> Any:
    end = 4 + int.from_bytes(message[:4], "little")
    return {"head": json.loads(message[4:end]), "body": message[end:].hex()}


def _message(name: str, kind: Any, documents: list[bytes]) -> Parser:
    def seal(content: Any) -> bytes:
        # The envelope of this test itself may have been changed.
        changed = content if isinstance(content, dict) else {}
        body = changed.get("body")
        usable = isinstance(body, str) and not set(body) - set("0123456789abcdef") and not len(body) % 2
        return _packed({"head": changed.get("head", changed), "body": body if usable else ""})

    return Parser(name, documents, kind.from_bytes, kind.to_bytes, seal, _unpacked)


def _messages() -> list[Parser]:
    numeric = make_query(np.array([[1.0, 2.0], [3.0, 4.5]]), ["age", "dose"], bytes(32))
    table = make_query(np.array([["a", 1, None], [True, 2.5, float("nan")]], dtype=object))
    answer = Answer(numeric.query_id, "north", 40, np.array([[0.5], [np.nan]]), numeric.digest)
    cards = [SiteCard("north", 40, 2, ("no", "yes"), 100, ("age", "dose")), SiteCard("süd", 40, 2, (0, 1.5))]
    return [
        _message("query", Query, [numeric.to_bytes(), table.to_bytes()]),
        _message("answer", Answer, [answer.to_bytes()]),
        _message("site card", SiteCard, [card.to_bytes() for card in cards]),
    ]


def _consent() -> Parser:
    box, keys, opener = ConsentBox.simulate(["north", "south"])
    query = box.new_query([[38.5], [40.0]])
    sealed = {name: box.seal(name, keys[name], query, [1.0, 2.0]) for name in keys}
    consents = {name: box.consent(name, keys[name], query, sealed) for name in keys}

    def read(message: bytes) -> bytes:
        column = {**sealed, "north": message} if len(message) >= len(sealed["north"]) else sealed
        box.open(opener, query, column, {**consents, "south": message})
        return message

    return Parser("consent", [sealed["north"], consents["south"]], read, lambda message: message)


def _masked() -> Parser:
    total, keys, platform = MaskedSum.simulate(["north", "south", "west"])
    query = total.new_query([[38.5], [40.0]])
    messages = {name: total.mask(name, key, query, [0.25, -1.0], 10) for name, key in keys.items()}

    def read(message: bytes) -> bytes:
        total.open(platform, query, {**messages, "west": message})
        return message

    return Parser("masked sum", [messages["west"]], read, lambda message: message)


def _statements() -> list[Parser]:
    guarantee = PrivacyGuarantee(
        epsilon=0.5, status="estimate", criterion="pml", subject="your report", prior="two", confidence=0.9
    )
    raw = {"day": (date(2020, 1, 1), timedelta(days=1)), "raw": b"ab"}
    # What most statements lack.
    rare: dict[str, Any] = {"rho": Fraction(1, 50), "unit": "group", "max_rows_per_unit": 3}
    rare |= {"sensitivity": Fraction(1, 2), "public_inputs": ("bounds",), "leakage": guarantee}
    rare |= {"unprotected": {"n": 100, "x": (Fraction(1, 2), float("inf")), "when": raw}}
    spent = _spent("discrete Gaussian", delta=Fraction(1, 10**6), **rare)
    seeded = _spent(noise_source="seeded", claim="not-private", reasons=("seeded",))
    audited = PrivacySpent.with_audit(seeded, 0.5, 0.99, "fixed event")
    steps = (
        StepReport(path="a", estimator="A", status="paid", reason="drew noise", spent=spent),
        StepReport(path="b", estimator="B", status="unpaid", reason="read rows"),
    )
    return [
        _statement("statement", PrivacySpent, [spent, seeded, audited]),
        _statement("guarantee", PrivacyGuarantee, [guarantee]),
        _statement("pipeline report", PrivacyReport, [PrivacyReport(steps)]),
    ]


def _spent(mechanism: str = "discrete Laplace", **more: Any) -> PrivacySpent:
    known = {"noise_source": "os-entropy", "relation": "replace-one", "deployment": "curator", "claim": "dp"}
    return PrivacySpent(mechanism=mechanism, **{**known, "epsilon": Fraction(1, 3), "noise_scale": 4, **more})


def _statement(name: str, kind: Any, made: list[Any]) -> Parser:
    documents = [json.loads(json.dumps(one.to_dict())) for one in made]
    # A mapping that is already parsed: what it may hold, text need not be able to say.
    return Parser(name, documents, kind.from_dict, kind.to_dict, _same, _same)


def _mark(folder: Path) -> Parser:
    ledger = PrivacyLedger(folder / "ledger")
    ledger.charge(_spent(), "DPTreeClassifier")
    path = mark_path(ledger.path)

    def read(data: bytes) -> Any:
        path.write_bytes(data)
        return read_mark(ledger.path)

    def write(found: Any) -> bytes:
        write_mark(ledger.path, *found)
        return path.read_bytes()

    def sorted_digest(content: Any) -> str:
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    return Parser("ledger mark", [path.read_bytes()], read, write, _sealed("checksum", sorted_digest))
