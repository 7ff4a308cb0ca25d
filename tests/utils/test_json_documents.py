# SPDX-License-Identifier: BSD-3-Clause
"""Where documents are read from: text, bytes and files are told apart by type, and wrong ones by name."""

import json
from pathlib import Path

import pytest

from skprivate.accounting import LedgerAudit, PrivacyLedger, PrivacyReport, PrivacySpent
from skprivate.collaborative._protocols.messages import SiteCard
from skprivate.collection import TreeCurator, TreeSpecification
from skprivate.domain import TableDomain
from skprivate.exceptions import ConsentError, LedgerError
from skprivate.linear_model import MomentAccumulator
from skprivate.partition import Partition
from skprivate.randomizers import HadamardRandomizer
from skprivate.rounds._sources import TableFacts
from skprivate.rounds._task import PartialSums, RoundTask

DOMAIN = TableDomain({"age": (0, 100), "ward": ["Süd", "north"]})
SPECIFICATION = TreeSpecification(
    Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0]),
    HadamardRandomizer(1.0, n_cells=2),
    ["no", "yes"],
    ["age"],
    "smokes",
)
DOCUMENTS = pytest.mark.parametrize("document", [DOMAIN, SPECIFICATION], ids=["domain", "specification"])
BOM = "\ufeff"
NO_FILE = "not JSON, and there is no file of this name"


class Named:
    """A path-like object that is no `pathlib.Path`."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)


@DOCUMENTS
@pytest.mark.parametrize("mark", ["", BOM, f"{BOM}\n ", "\n "])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_text_bytes_and_files_are_the_same_document(document, mark, ascii_only, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = mark + json.dumps(json.loads(document.to_json()), ensure_ascii=ascii_only)
    content = text.encode()
    # Windows PowerShell writes the last.
    for name, written in {"a.json": content, "b": content, "c.json": text.encode("utf-16")}.items():
        Path(name).write_bytes(written)
        for source in (name, Path(name), Named(name), Path(name).read_bytes(), str(Path(name).resolve())):
            assert type(document).from_json(source) == document
    for source in (text, bytearray(content), memoryview(content)):
        assert type(document).from_json(source) == document


@pytest.mark.parametrize(
    ("source", "error", "match"),
    [
        ("", ValueError, NO_FILE),
        *((it, ValueError, NO_FILE) for it in (BOM, ".", "a secret", "secret\0", "secret" * 1000)),
        ('{"a secret', ValueError, "this text is no .*: it is not JSON"),
        ("[ secret", ValueError, "this text is no .*: it is not JSON"),
        (BOM + '{"secret": NaN}', ValueError, "holds NaN"),
        (b"", ValueError, "these bytes hold is no .*: it is not JSON"),
        (b"\xffsecret", ValueError, "these bytes hold is no .*: it is not JSON"),
        ("none.json", FileNotFoundError, "none.json"),
        (Path("none"), FileNotFoundError, "none"),
        (Path("."), OSError, "."),
        (None, TypeError, "from JSON text, bytes or the path of a file, not NoneType"),
        ({"a": "secret"}, TypeError, "from JSON text, bytes or the path of a file, not dict"),
    ],
)
def test_what_is_no_document_is_named_by_its_type(source, error, match, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=match) as refused:
        TableDomain.from_json(source)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("source", ["", '{"format": 1}', Path("state.bin"), None, 10**12, [1]])
@pytest.mark.parametrize("kind", [TreeCurator, MomentAccumulator, RoundTask, PartialSums, TableFacts])
def test_what_is_restored_from_bytes_says_how_to_read_a_file(kind, source):
    with pytest.raises(TypeError, match=r"takes bytes, not \w+: for a file, pass Path\(\.\.\.\)\.read_bytes"):
        kind.from_bytes(source)


def test_a_sealed_state_may_have_a_mark_of_its_byte_order():
    facts = TableFacts("0", 5, 5, ("a",), ("number",), True)
    assert TableFacts.from_bytes(BOM.encode() + facts.to_bytes()) == facts


@pytest.mark.parametrize("kind", [PrivacySpent, PrivacyReport])
def test_a_statement_is_not_read_from_text(kind):
    with pytest.raises(TypeError, match=r"got str: of JSON, pass what json\.loads returns"):
        kind.from_dict("{}")


def test_a_message_that_is_text():
    with pytest.raises(ConsentError, match="it is not bytes"):
        SiteCard.from_bytes("text")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_an_export_of_a_ledger(encoding, tmp_path):
    text = PrivacyLedger(tmp_path / "study.ledger", epsilon=2).to_json()
    (tmp_path / "export").write_bytes(text.encode(encoding))
    assert LedgerAudit(tmp_path / "export").remaining() == (2, 0)
    for source in (text, BOM + text, "secret" * 1000):
        with pytest.raises(LedgerError, match=r"text of an export|does not exist") as refused:
            LedgerAudit(source)
        assert "format" not in str(refused.value)
