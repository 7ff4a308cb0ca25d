# SPDX-License-Identifier: BSD-3-Clause
"""Every way in which a ledger's file can be wrong ends in `LedgerError`, never in a smaller total."""

import contextlib
import os
import pickle
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from skprivate.accounting import PrivacyLedger, PrivacySpent, _store
from skprivate.exceptions import LedgerError

SPENT = PrivacySpent(
    mechanism="discrete Laplace",
    epsilon=Fraction(1, 10),
    relation="replace-one",
    noise_scale=4,
    noise_source="os-entropy",
    deployment="curator",
    claim="dp",
)
ONE = (Fraction(1, 10), 0)


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=1)
    ledger.charge(SPENT, "Tree")
    return ledger


def assert_refused(ledger, match):
    """Every operation of the object and of a pickle, and opening again, raise and write nothing."""
    path = ledger.path
    before = path.read_bytes() if path.is_file() else None
    for known in (ledger, pickle.loads(pickle.dumps(ledger))):
        for operation in (
            known.spent,
            known.entries,
            known.remaining,
            known.report,
            lambda k=known: k.charge(SPENT, "T"),
        ):
            with pytest.raises(LedgerError, match=match):
                operation()
    if before is not None or path.exists():
        with pytest.raises(LedgerError, match=match):
            PrivacyLedger(path, epsilon=1)
    assert (path.read_bytes() if path.is_file() else None) == before


def execute(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_deleted_is_not_created_again(ledger):
    ledger.path.unlink()
    assert_refused(ledger, "missing")
    assert not ledger.path.exists()


def test_deleted_between_check_and_use_is_not_created_again(ledger, monkeypatch):
    monkeypatch.setattr(_store, "_check_file", lambda path: path.unlink(missing_ok=True))
    with pytest.raises(LedgerError, match="could not be used"):
        ledger.spent()
    assert not ledger.path.exists()


def test_moved(ledger):
    target = ledger.path.with_name("moved")
    ledger.path.rename(target)
    assert_refused(ledger, "missing")
    with pytest.raises(LedgerError, match=r"created as .*study\.ledger and then moved or copied"):
        PrivacyLedger(target, epsilon=1)
    target.rename(ledger.path)
    assert ledger.spent() == ONE


def test_copied(ledger):
    target = ledger.path.with_name("copy")
    shutil.copy(ledger.path, target)
    with pytest.raises(LedgerError, match="moved or copied"):
        PrivacyLedger(target, epsilon=1)
    assert ledger.spent() == ONE


def test_hard_link_is_a_copy(ledger):
    target = ledger.path.with_name("link")
    os.link(ledger.path, target)
    with pytest.raises(LedgerError, match="moved or copied"):
        PrivacyLedger(target, epsilon=1)


def test_replaced_by_another_ledger(ledger):
    backup = ledger.path.rename(ledger.path.with_name("backup"))
    PrivacyLedger(ledger.path, epsilon=1)
    for known in (ledger, pickle.loads(pickle.dumps(ledger))):
        with pytest.raises(LedgerError, match="another ledger"):
            known.charge(SPENT, "Tree")
    backup.replace(ledger.path)
    assert ledger.spent() == ONE


@pytest.mark.parametrize("arguments", [{}, {"epsilon": 2}, {"epsilon": 1, "delta": 1e-6}])
def test_another_ceiling(ledger, arguments):
    with pytest.raises(LedgerError, match="created with the ceiling epsilon = 1, delta = 0, not with"):
        PrivacyLedger(ledger.path, **arguments)
    assert ledger.spent() == ONE


def test_ceiling_raised_in_the_file(ledger):
    execute(ledger.path, "UPDATE meta SET value = '5/1' WHERE key = 'epsilon'")
    with pytest.raises(LedgerError, match="another ledger"):
        ledger.charge(SPENT, "Tree")


def test_rolled_back(ledger):
    backup = ledger.path.with_name("backup")
    shutil.copy(ledger.path, backup)
    ledger.charge(SPENT, "Tree")
    latest = ledger.path.read_bytes()
    shutil.copy(backup, ledger.path)
    for operation in (ledger.spent, lambda: ledger.charge(SPENT, "Tree")):
        with pytest.raises(LedgerError, match="holds 1 entries, but 2 were seen"):
            operation()
    ledger.path.write_bytes(latest)
    assert ledger.spent() == (Fraction(2, 10), 0)


def test_rolled_back_after_opening(ledger):
    backup = ledger.path.read_bytes()
    ledger.charge(SPENT, "Tree")
    opened = PrivacyLedger(ledger.path, epsilon=1)
    ledger.path.write_bytes(backup)
    with pytest.raises(LedgerError, match="seen"):
        opened.spent()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries",
        "UPDATE entries SET epsilon = '1/20'",
        "UPDATE entries SET epsilon = '1/0'",
        "UPDATE entries SET epsilon = 0.1",
        "UPDATE entries SET epsilon = x'00ff'",
        "UPDATE entries SET delta = '-1/10'",
        "UPDATE meta SET value = '0' WHERE key = 'count'",
        "UPDATE meta SET value = x'00' WHERE key = 'uuid'",
        "UPDATE meta SET value = '?' WHERE key = 'delta'",
        "UPDATE meta SET value = '?' WHERE key = 'schema'",
        "DELETE FROM meta WHERE key = 'epsilon'",
        "DELETE FROM meta WHERE key = 'schema'",
        "DELETE FROM meta WHERE key = 'total_epsilon'",
        "DROP TABLE entries",
        "DROP TABLE meta",
    ],
)
def test_changed_content(ledger, statement):
    execute(ledger.path, statement)
    assert_refused(ledger, "damaged")


@pytest.mark.parametrize("statement", ["UPDATE entries SET time = '?'", "UPDATE entries SET time = 7"])
def test_unreadable_entry(ledger, statement):
    execute(ledger.path, statement)
    for operation in (ledger.entries, ledger.report):
        with pytest.raises(LedgerError, match="damaged"):
            operation()


@pytest.mark.parametrize("junk", [b"\x00", b"\xff", b"7"])
def test_overwritten_bytes_never_change_the_total_unnoticed(ledger, junk):
    for _ in range(4):
        ledger.charge(SPENT, "Tree")
    good = ledger.path.read_bytes()
    refused = 0
    for start in range(0, len(good), 64):
        ledger.path.write_bytes(good[:start] + junk * 64 + good[start + 64 :])
        try:
            assert ledger.spent() == (Fraction(5, 10), 0)
        except LedgerError:
            refused += 1
    assert refused >= 5
    ledger.path.write_bytes(good)
    assert ledger.spent() == (Fraction(5, 10), 0)


def test_truncated(ledger):
    good = ledger.path.read_bytes()
    for size in (1, 50, 100, 2000, len(good) - 4096):
        ledger.path.write_bytes(good[:size])
        assert_refused(ledger, "damaged|no ledger")
    ledger.path.write_bytes(good)
    assert ledger.spent() == ONE


def test_no_database(ledger):
    ledger.path.write_text("a text of some length, which is no database at all\n" * 100)
    assert_refused(ledger, "damaged, or is no ledger")


def test_foreign_database(ledger):
    ledger.path.unlink()
    execute(ledger.path, "CREATE TABLE meta (key TEXT, value TEXT)")
    assert_refused(ledger, "no ledger of skprivate")


def test_empty_file(ledger):
    ledger.path.write_bytes(b"")
    assert_refused(ledger, "is an empty file")


def test_folder(ledger):
    ledger.path.unlink()
    ledger.path.mkdir()
    assert_refused(ledger, "not a file")


def test_read_only_file(ledger):
    ledger.path.chmod(0o444)
    assert_refused(ledger, "read-only")
    ledger.path.chmod(0o644)
    ledger.charge(SPENT, "Tree")


def test_missing_folder(tmp_path):
    with pytest.raises(LedgerError, match=r"folder .* does not exist"):
        PrivacyLedger(tmp_path / "none" / "study.ledger")
    assert not (tmp_path / "none").exists()


def test_vanished_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    ledger = PrivacyLedger(folder / "study.ledger")
    shutil.rmtree(folder)
    assert_refused(ledger, "does not exist")


def test_loop_of_links(tmp_path):
    os.symlink(tmp_path / "a", tmp_path / "b")
    os.symlink(tmp_path / "b", tmp_path / "a")
    with pytest.raises(LedgerError):
        PrivacyLedger(tmp_path / "a")


def test_newer_schema(ledger):
    execute(ledger.path, f"UPDATE meta SET value = '{_store.SCHEMA + 1}' WHERE key = 'schema'")
    assert_refused(ledger, "newer skprivate.*Upgrade")


def test_network_file_system(ledger, monkeypatch):
    monkeypatch.setattr(_store, "read_mount_table", lambda: "server:/ / nfs4 rw 0 0\n")
    assert_refused(ledger, r"network file system \(nfs4\)")
    with pytest.raises(LedgerError, match="on a network file system"):
        PrivacyLedger(ledger.path.with_name("new"))
    assert not ledger.path.with_name("new").exists()


def test_busy(ledger, monkeypatch):
    monkeypatch.setattr(_store, "TIMEOUT", 0.05)
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="held by other processes"):
            ledger.charge(SPENT, "Tree")
        assert ledger.spent() == ONE
        other.execute("ROLLBACK")
    ledger.charge(SPENT, "Tree")


def test_full_disk_charges_nothing(ledger, monkeypatch):
    insert = _store.insert

    def insert_on_a_full_disk(connection, row, totals):
        connection.execute("PRAGMA max_page_count = 1")
        insert(connection, (row[0], "x" * 100_000, *row[2:]), totals)

    monkeypatch.setattr(_store, "insert", insert_on_a_full_disk)
    with pytest.raises(LedgerError, match=r"full.*nothing was charged"):
        ledger.charge(SPENT, "Tree")
    assert ledger.spent() == ONE
    assert list(ledger.path.parent.iterdir()) == [ledger.path]


def test_an_error_inside_a_charge_writes_nothing(ledger, monkeypatch):
    def stop(connection, totals):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_store, "_write_totals", stop)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(SPENT, "Tree")
    assert ledger.spent() == ONE
    assert len(ledger.entries()) == 1


def no_link(source, target):
    raise OSError("links are not supported")


def test_creation_without_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_link)
    path = tmp_path / "study.ledger"
    PrivacyLedger(path).charge(SPENT, "Tree")
    assert PrivacyLedger(path).spent() == ONE
    assert list(tmp_path.iterdir()) == [path]


def test_creation_without_links_refuses_a_second_creator(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_link)
    lock = tmp_path / "study.ledger.creating"
    lock.touch()
    with pytest.raises(LedgerError, match="Another process is creating"):
        PrivacyLedger(tmp_path / "study.ledger")
    assert list(tmp_path.iterdir()) == [lock]


@pytest.mark.parametrize("links", [True, False])
def test_the_first_creator_wins(tmp_path, monkeypatch, links):
    path = tmp_path / "study.ledger"
    fill = _store._fill
    first = []

    def overtaken(unfinished, target, identity):
        fill(unfinished, target, identity)
        monkeypatch.setattr(_store, "_fill", fill)
        first.append(PrivacyLedger(path, epsilon=1))
        first[0].charge(SPENT, "Tree")

    monkeypatch.setattr(_store, "_fill", overtaken)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    second = PrivacyLedger(path, epsilon=1)
    assert second == first[0]
    assert second.spent() == ONE
    assert list(tmp_path.iterdir()) == [path]


def test_failed_creation_leaves_nothing(tmp_path, monkeypatch):
    def fail(*arguments):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(_store, "_fill", fail)
    with pytest.raises(LedgerError, match="could not be created"):
        PrivacyLedger(tmp_path / "study.ledger")
    assert list(tmp_path.iterdir()) == []


def test_permission_to_open_is_missing(ledger, monkeypatch):
    def refuse(self, **_):
        raise PermissionError("no")

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(_store, "check_folder", lambda path: None)
    with pytest.raises(LedgerError, match="out of reach"):
        ledger.spent()
