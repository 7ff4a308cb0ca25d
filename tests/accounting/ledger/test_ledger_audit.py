# SPDX-License-Identifier: BSD-3-Clause
"""An audit of a ledger, a backup or an export shows what the ledger shows; damage is a LedgerError."""

import contextlib
import json
import random
from fractions import Fraction

import pytest

from skprivate.accounting import LedgerAudit, PrivacyLedger, study_page
from skprivate.accounting._ledger.state import LedgerState
from skprivate.exceptions import BudgetExceededError, LedgerError
from tests.accounting.records import charge, execute

VALUES = [None, True, -1, 2**70, 0.5, "", "x", "A\nB", "1/0", "0x1/0x2", "é", [], {}, [1], {"x": 1}]
RECORD = {"purpose": "Table One", "person": "A. B.", "approver": "board 12/26", "expiry": "2026-01-01"}


@pytest.fixture
def full(path):
    """A ledger that holds something of everything."""
    ledger = PrivacyLedger(path, epsilon=1, max_failures=9)
    with ledger.record(**RECORD), ledger.label("a"), ledger.data("A"):
        charge(charge(ledger))
    charge(ledger, Fraction(1, 3), charge_id="c")
    ledger.count_failure("Tree")
    with pytest.raises(BudgetExceededError):
        charge(ledger, 3)
    return ledger


def damage(content, dice):
    """Return bytes of which a few are changed, left out, repeated or exchanged."""
    data = bytearray(content)
    for _ in range(dice.choice((1, 1, 1, 2, 5, 50))):
        start = dice.randrange(len(data))
        end = min(len(data), start + dice.choice((1, 1, 2, 8, 64, 4096)))
        kind = dice.randrange(4)
        if kind == 0:
            data[start:end] = dice.randbytes(end - start)
        elif kind == 1 and end - start < len(data):
            del data[start:end]
        elif kind == 2:
            data[start:start] = data[start:end]
        else:
            data[start] ^= 1 << dice.randrange(8)
    return bytes(data)


def chain_of(entries):
    """The hash of entries of an export."""
    state = LedgerState()
    for entry in entries:
        state = state.after(tuple({**entry, "private": int(entry["private"])}.values()))
    return state.chain


def change(content, dice):
    """Return an export with one value replaced and, at times, the hash made to fit."""
    export = json.loads(content)
    holders = [export, *export["entries"], *export["refusals"], export["failures"], export["ceiling"]]
    holder = dice.choice(holders)
    holder[dice.choice(sorted(holder))] = dice.choice(VALUES)
    if dice.randrange(2):
        with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError):
            export["chain"] = chain_of(export["entries"])
    return json.dumps(export, ensure_ascii=bool(dice.randrange(2))).encode()


def show(ledger):
    """Make every view of a ledger."""
    ledger.report(), ledger.to_html(), ledger._repr_html_(), ledger.to_json(), ledger.remaining()
    ledger.composition()
    study_page(ledger, {}, title="Study")


@pytest.fixture(params=["export", "backup", "file", "copy"])
def place(request, full, path, tmp_path):
    target = tmp_path / "elsewhere" / "for the auditor"
    target.parent.mkdir()
    if request.param == "file":
        return path
    if request.param == "copy":
        target.write_bytes(path.read_bytes())
    elif request.param == "backup":
        full.backup(target)
    else:
        full.to_json(target)
    return target


def files_beside(path):
    return sorted((file.name, file.read_bytes()) for file in path.parent.iterdir() if file.is_file())


def test_it_shows_what_the_ledger_shows_and_writes_nothing(full, place):
    before = files_beside(place)
    audit = LedgerAudit(place)
    assert (audit.entries(), audit.refusals()) == (full.entries(), full.refusals())
    assert (audit.spent(), audit.remaining()) == (full.spent(), full.remaining())
    assert audit.failures == {"Tree": 1}
    assert audit.to_json() == full.to_json()
    assert audit.chain == json.loads(full.to_json())["chain"]
    assert audit.report().splitlines()[1:] == full.report().splitlines()[1:]
    assert audit.composition() == full.composition()
    assert files_beside(place) == before
    assert not {"charge", "count_failure", "restore", "backup"} & set(dir(audit))


def test_it_says_what_it_checked(full, path, tmp_path):
    full.to_json(tmp_path / "export")
    assert "agrees with its high-water mark" in " ".join(LedgerAudit(path).checks)
    told = " ".join(LedgerAudit(tmp_path / "export").checks)
    assert "No high-water mark" in told
    assert "accidents, not adversaries" in told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"epsilon": "1/3"', '"epsilon": "1/4"'),
        ('"Table One"', '"Table Two"'),
        ('"private": true', '"private": false'),
        ('"total": 1', '"total": 0'),
        ('"version": 3', '"version": 2'),
        ('"chain": "', '"chain": "0'),
        ('"refusals": [', '"others": ['),
    ],
)
def test_an_altered_export_is_refused(full, tmp_path, old, new):
    text = full.to_json()
    assert old in text
    (tmp_path / "export").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(LedgerError, match="altered"):
        LedgerAudit(tmp_path / "export")


@pytest.mark.parametrize("change", [{"ceiling": 7}, {"ceiling": {"epsilon": "1/1"}}, {"ledger": 7}, None])
def test_an_export_whose_parts_are_not_its_own_is_refused(full, tmp_path, change):
    content = json.loads(full.to_json())
    if change is None:
        content["entries"].reverse()
    (tmp_path / "export").write_text(json.dumps(content | (change or {})), "utf-8")
    with pytest.raises(LedgerError, match="altered"):
        LedgerAudit(tmp_path / "export")


@pytest.mark.parametrize("statement", ["UPDATE entries SET person = 'B'", "DELETE FROM entries"])
def test_an_altered_backup_is_refused(full, tmp_path, statement):
    full.backup(tmp_path / "backup")
    execute(tmp_path / "backup", statement)
    with pytest.raises(LedgerError, match="damaged"):
        LedgerAudit(tmp_path / "backup")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b"SQLite format 3\0", b"null", None])
def test_what_is_none_of_them_is_refused(tmp_path, content):
    execute(tmp_path / "file", "CREATE TABLE meta (key, value)")
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    for name in ("file", "missing", "."):
        with pytest.raises(LedgerError):
            LedgerAudit(tmp_path / name)


def test_an_export_in_place_of_the_ledger_is_refused(path, full):
    with pytest.raises(ValueError, match="the ledger itself"):
        LedgerAudit(path).to_json(path)


@pytest.mark.parametrize("kind", ["export", "backup", "file"])
def test_an_audit_of_a_damaged_file(full, tmp_path, kind):
    dice = random.Random(f"audit {kind}")
    target = tmp_path / "copy" / "study.ledger"
    target.parent.mkdir()
    {"export": full.to_json, "backup": full.backup, "file": full.backup}[kind](target)
    target = full.path if kind == "file" else target
    content, refused, shown = target.read_bytes(), 0, 0
    for round_ in range(334):
        target.write_bytes(
            change(content, dice) if kind == "export" and round_ % 2 else damage(content, dice)
        )
        try:
            audit = LedgerAudit(target)
        except LedgerError as error:
            refused += str(target) in str(error)
        else:
            show(audit)
            shown += 1
    assert refused + shown == 334
    assert refused > 100


def test_a_damaged_ledger_and_a_damaged_backup(full, tmp_path):
    dice = random.Random(0)
    full.backup(tmp_path / "backup")
    ledger, backup = full.path.read_bytes(), (tmp_path / "backup").read_bytes()
    refused = 0
    for _ in range(60):
        full.path.write_bytes(damage(ledger, dice))
        for use in (lambda: PrivacyLedger(full.path, epsilon=1, max_failures=9), lambda: full):
            try:
                show(use())
            except LedgerError:
                refused += 1
        (tmp_path / "backup").write_bytes(damage(backup, dice))
        with contextlib.suppress(LedgerError):
            PrivacyLedger.restore(tmp_path / "backup", full.path)
    assert refused > 20
