# SPDX-License-Identifier: BSD-3-Clause
"""Backups of a ledger hold all of it, and come back without forgetting what is newer."""

import os
import pickle
import shutil
from fractions import Fraction

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger import sqlite_store as backup_module
from skprivate.accounting._ledger.records import mark_path
from skprivate.exceptions import BudgetExceededError, LedgerError
from tests.accounting.records import execute

LIMITS = {"epsilon": Fraction(1, 2), "delta": Fraction(1, 10**6), "max_failures": 3}


@pytest.fixture
def ledger(tmp_path, tenth):
    folder = tmp_path / "live"
    folder.mkdir()
    ledger = PrivacyLedger(folder / "study.ledger", **LIMITS)
    ledger.charge(tenth, "Tree", charge_id="round 1")
    ledger.count_failure("Tree")
    return ledger


@pytest.fixture
def backup(ledger, tmp_path):
    ledger.backup(tmp_path / "backup")
    return tmp_path / "backup"


def test_a_restored_ledger_goes_on(ledger, backup, tenth):
    entries = ledger.entries()
    shutil.rmtree(ledger.path.parent)
    ledger.path.parent.mkdir()
    restored = PrivacyLedger.restore(backup, ledger.path)
    assert restored == ledger
    assert restored.entries() == entries
    assert (restored.epsilon, restored.delta, restored.max_failures) == tuple(LIMITS.values())
    assert restored.n_failures == 1
    assert restored.charge(tenth, "Tree", charge_id="round 1") is False
    for _ in range(4):
        restored.charge(tenth, "Tree")
    with pytest.raises(BudgetExceededError):
        ledger.charge(tenth, "Tree")
    assert backup.exists()


def test_a_backup_is_no_ledger_where_it_is(backup):
    with pytest.raises(LedgerError, match=r"moved or copied.*PrivacyLedger.restore"):
        PrivacyLedger(backup, **LIMITS)
    assert not mark_path(backup).exists()


def test_a_backup_replaces_an_earlier_one_and_nothing_else(ledger, backup, tmp_path, tenth):
    ledger.charge(tenth, "Tree")
    ledger.backup(backup)
    ledger.path.unlink()
    assert len(PrivacyLedger.restore(backup, ledger.path).entries()) == 2
    notes = tmp_path / "notes"
    notes.write_text("no backup")
    other = PrivacyLedger(tmp_path / "other.ledger")
    for target in (notes, other.path):
        before = target.read_bytes()
        with pytest.raises(LedgerError, match="no backup of this ledger"):
            ledger.backup(target)
        assert target.read_bytes() == before


def test_a_backup_never_replaces_the_ledger(ledger, tmp_path):
    os.symlink(ledger.path, tmp_path / "symbolic")
    os.link(ledger.path, tmp_path / "hard")
    ends = ("", ".lock", ".mark", ".mark.unfinished", "-journal")
    own = [ledger.path.with_name(ledger.path.name + end) for end in ends]
    for target in (*own, tmp_path / "symbolic", tmp_path / "hard"):
        with pytest.raises(ValueError, match="belongs to it"):
            ledger.backup(target)
    assert len(ledger.entries()) == 1


def test_a_backup_that_cannot_be_written_leaves_nothing(ledger, tmp_path):
    with pytest.raises(LedgerError, match="could not be written"):
        ledger.backup(tmp_path / "none" / "backup")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["live"]


@pytest.mark.parametrize("lose_mark", [False, True])
@pytest.mark.parametrize("lose_file", [False, True])
def test_newer_entries_are_not_forgotten_unless_told(ledger, backup, lose_file, lose_mark, tenth):
    ledger.charge(tenth, "Tree")
    ledger.charge(tenth, "Tree")
    if lose_file:
        ledger.path.unlink()
    if lose_mark:
        mark_path(ledger.path).unlink()
    if not (lose_file and lose_mark):
        before = {one.name: one.read_bytes() for one in ledger.path.parent.iterdir()}
        with pytest.raises(LedgerError, match=r"older state .* 2 newer entries would be forgotten"):
            PrivacyLedger.restore(backup, ledger.path)
        assert {one.name: one.read_bytes() for one in ledger.path.parent.iterdir()} == before
    restored = PrivacyLedger.restore(backup, ledger.path, discard_newer=True)
    assert len(restored.entries()) == 1
    assert len(pickle.loads(pickle.dumps(ledger)).entries()) == 1
    with pytest.raises(LedgerError, match=r"older state"):  # this object has seen more
        ledger.charge(tenth, "Tree")


def test_a_newer_failure_is_not_forgotten_unless_told(ledger, backup):
    ledger.count_failure("Tree")
    with pytest.raises(LedgerError, match="1 newer failed fits would be forgotten"):
        PrivacyLedger.restore(backup, ledger.path)
    assert PrivacyLedger.restore(backup, ledger.path, discard_newer=True).n_failures == 1


def test_a_backup_copied_over_the_ledger_is_named_and_can_be_accepted(ledger, backup, tenth):
    ledger.charge(tenth, "Tree")
    shutil.copy(backup, ledger.path)
    for operation in (
        lambda: PrivacyLedger(ledger.path, **LIMITS),
        lambda: PrivacyLedger.restore(ledger.path, ledger.path),
    ):
        with pytest.raises(LedgerError, match=r"older state.* 1 newer entries would be forgotten"):
            operation()
    accepted = PrivacyLedger.restore(ledger.path, ledger.path, discard_newer=True)
    assert len(accepted.entries()) == 1
    accepted.charge(tenth, "Tree")


def test_histories_that_parted_are_noticed(ledger, backup, tmp_path, tenth):
    ledger.charge(tenth, "Tree")
    newer = tmp_path / "newer"
    ledger.backup(newer)
    other = PrivacyLedger.restore(backup, ledger.path, discard_newer=True)
    other.charge(tenth, "Forest")
    with pytest.raises(LedgerError, match="have different entries"):
        PrivacyLedger.restore(newer, ledger.path)


def test_a_damaged_ledger_is_replaced_if_the_backup_holds_all_that_was_acknowledged(ledger, backup):
    ledger.path.write_bytes(b"no database")
    assert len(PrivacyLedger.restore(backup, ledger.path).entries()) == 1
    ledger.path.write_bytes(b"no database")
    mark_path(ledger.path).unlink()
    with pytest.raises(LedgerError, match="no mark records"):
        PrivacyLedger.restore(backup, ledger.path)
    assert len(PrivacyLedger.restore(backup, ledger.path, discard_newer=True).entries()) == 1


def test_a_backup_goes_only_where_its_ledger_was(ledger, backup, tmp_path):
    with pytest.raises(LedgerError, match=r"is a backup of the ledger .*study\.ledger, not of"):
        PrivacyLedger.restore(backup, tmp_path / "elsewhere")
    for one in (ledger.path, mark_path(ledger.path)):
        one.unlink()
    PrivacyLedger(ledger.path, **LIMITS)
    for discard in (False, True):
        with pytest.raises(LedgerError, match="another ledger"):
            PrivacyLedger.restore(backup, ledger.path, discard_newer=discard)


def test_what_is_no_backup_or_was_altered_is_refused(ledger, backup, tmp_path):
    wrong = tmp_path / "wrong"
    for content in (None, b"", b"text" * 1000):
        if content is not None:
            wrong.write_bytes(content)
        with pytest.raises(LedgerError, match=r"backup .* (does not exist|cannot be read)|damaged|no ledger"):
            PrivacyLedger.restore(wrong, ledger.path, discard_newer=True)
    execute(backup, "UPDATE entries SET epsilon = '1/20'")
    with pytest.raises(LedgerError, match="damaged"):
        PrivacyLedger.restore(backup, ledger.path)
    assert len(ledger.entries()) == 1


def test_a_restore_whose_lock_was_deleted_replaces_nothing(ledger, backup, monkeypatch, tenth):
    ledger.charge(tenth, "Tree")
    check = backup_module._check

    def lose_the_lock(*arguments):
        found = check(*arguments)
        ledger.path.with_name(f"{ledger.path.name}.lock").unlink()
        ledger.charge(tenth, "Tree")
        return found

    monkeypatch.setattr(backup_module, "_check", lose_the_lock)
    with pytest.raises(LedgerError, match="deleted while it was held"):
        PrivacyLedger.restore(backup, ledger.path, discard_newer=True)
    assert len(ledger.entries()) == 3
