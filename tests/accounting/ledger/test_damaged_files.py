# SPDX-License-Identifier: BSD-3-Clause
"""Damaged ledgers, backups and exports are a LedgerError, or can be reported whole."""

import contextlib
import json
import random
import sqlite3

import pytest

from skprivate.accounting import LedgerAudit, LedgerEntry, PrivacyLedger, PrivacySpent, study_page
from skprivate.accounting._ledger.state import LedgerState
from skprivate.exceptions import BudgetExceededError, LedgerError

VALUES = (
    None,
    True,
    -1,
    2**70,
    0.5,
    "",
    "x",
    "A\nB",
    "1/0",
    "0x1/0x2",
    "é",
    [],
    {},
    [1],
    {"x": 1},
    "2026-01-01",
)


@pytest.fixture
def full(path, tenth):
    """A ledger that holds something of everything."""
    ledger = PrivacyLedger(path, epsilon=1, max_failures=9)
    with ledger.label("a"), ledger.data("A"), ledger.record(purpose="x", expiry="2026-01-01"):
        ledger.charge(tenth, "Tree")
    ledger.charge(tenth, "Tree", charge_id="c")
    ledger.count_failure("Tree")
    with pytest.raises(BudgetExceededError):
        ledger.charge(PrivacySpent.from_dict(tenth.to_dict() | charged(3)), "Forest")
    return ledger


def charged(epsilon):
    amount = {"exact": f"{epsilon}/1", "value": float(epsilon)}
    amounts = {"epsilon": amount, "delta": {"exact": "0/1", "value": 0.0}}
    return {"charged": amounts | {"rho": None}, "guarantee": amounts | {"rho": None}}


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


def change(content, dice):
    """Return an export with one value replaced and, at times, hash and totals made to fit."""
    export = json.loads(content)
    holders = [export, *export["entries"], *export["refusals"], export["failures"], export["ceiling"]]
    holder = dice.choice(holders)
    holder[dice.choice(sorted(holder))] = dice.choice(VALUES)
    if dice.randrange(2):
        with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError):
            state = LedgerState()
            for entry in export["entries"]:
                state = state.after(tuple({**entry, "private": int(entry["private"])}.values()))
            export["chain"] = state.chain
    return json.dumps(export, ensure_ascii=bool(dice.randrange(2))).encode()


def show(ledger):
    """Make every view of a ledger."""
    ledger.report(), ledger.to_html(), ledger._repr_html_(), ledger.to_json(), ledger.remaining()
    ledger.composition()
    study_page(ledger, {}, title="Study")


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


@pytest.mark.parametrize("name", ["relation", "unit"])
def test_an_unknown_relation_or_unit_is_named(full, tmp_path, name):
    export = json.loads(full.to_json())
    for part in ("entries", "refusals"):
        changed = json.loads(json.dumps(export))
        changed[part][0][name] = "friendship"
        state = LedgerState()
        for entry in changed["entries"]:
            state = state.after(tuple({**entry, "private": int(entry["private"])}.values()))
        changed["chain"] = state.chain
        (tmp_path / "export").write_text(json.dumps(changed), "utf-8")
        with pytest.raises(LedgerError, match=f"{name} must be one of"):
            LedgerAudit(tmp_path / "export")
    with contextlib.closing(sqlite3.connect(full.path)) as connection:
        connection.execute(f"UPDATE refusals SET {name} = 'friendship'")
        connection.commit()
    for read in (full.report, lambda: LedgerAudit(full.path)):
        with pytest.raises(LedgerError, match=f"{name} must be one of"):
            read()
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        LedgerEntry.from_dict(export["entries"][0] | {name: "friendship"})
