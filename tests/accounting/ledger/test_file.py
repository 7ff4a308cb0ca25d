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

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger import records, sqlite_store
from skprivate.accounting._ledger.records import mark_path
from skprivate.exceptions import BudgetExceededError, LedgerError

ONE = (Fraction(1, 10), 0)


@pytest.fixture
def assert_refused(tenth):
    """Every operation of the object and of a pickle, and opening again, raise and write nothing."""

    def check(ledger, match):
        path = ledger.path
        before = path.read_bytes() if path.is_file() else None
        for known in (ledger, pickle.loads(pickle.dumps(ledger))):
            for operation in (
                known.spent,
                known.entries,
                known.remaining,
                known.report,
                lambda k=known: k.charge(tenth, "T"),
            ):
                with pytest.raises(LedgerError, match=match):
                    operation()
        if before is not None or path.exists():
            with pytest.raises(LedgerError, match=match):
                PrivacyLedger(path, epsilon=1)
        assert (path.read_bytes() if path.is_file() else None) == before

    return check


def execute(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_deleted_is_not_created_again(ledger, assert_refused):
    ledger.path.unlink()
    assert_refused(ledger, "missing")
    assert not ledger.path.exists()


def test_deleted_between_check_and_use_is_not_created_again(ledger, monkeypatch):
    check = lambda store: ledger.path.unlink(missing_ok=True)  # noqa: E731
    monkeypatch.setattr(sqlite_store.SQLiteStore, "_check_file", check)
    with pytest.raises(LedgerError, match="could not be used"):
        ledger.spent()
    assert not ledger.path.exists()


def test_moved(ledger, assert_refused):
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


def test_replaced_by_another_ledger(ledger, tenth):
    backup = ledger.path.rename(ledger.path.with_name("backup"))
    with pytest.raises(LedgerError, match="There was a ledger"):
        PrivacyLedger(ledger.path, epsilon=1)
    mark_path(ledger.path).unlink()
    PrivacyLedger(ledger.path, epsilon=1)
    for known in (ledger, pickle.loads(pickle.dumps(ledger))):
        with pytest.raises(LedgerError, match="another ledger"):
            known.charge(tenth, "Tree")
    backup.replace(ledger.path)
    with pytest.raises(LedgerError, match=r"another ledger than the one that was here, by the mark"):
        PrivacyLedger(ledger.path, epsilon=1)
    mark_path(ledger.path).unlink()
    assert ledger.spent() == ONE


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"epsilon": 2}, "the ceiling epsilon = 2, delta = 0. "),
        ({"epsilon": 1, "delta": 1e-6}, "the ceiling epsilon = 1, delta = 1e-06. "),
        ({"max_failures": 3}, "the ceiling epsilon = 1, delta = 0 and at most 3 failed fits. "),
    ],
)
def test_other_limits_are_an_error_that_says_both_and_what_to_write(ledger, arguments, told):
    with pytest.raises(LedgerError) as caught:
        PrivacyLedger(ledger.path, **arguments)
    said = str(caught.value)
    assert f"was created with the ceiling epsilon = 1, delta = 0, not with {told}" in said
    assert said.endswith(f"PrivacyLedger({str(ledger.path)!r}), which takes them over.")
    assert ledger.spent() == ONE


LIMITS = {"epsilon": Fraction(5, 3), "delta": 1e-6, "max_failures": 2}


@pytest.mark.parametrize("given", [(), ("epsilon", "delta"), ("max_failures",), tuple(LIMITS)])
@pytest.mark.parametrize("limits", [LIMITS, {"max_failures": 0}, {"epsilon": 1}, {}])
def test_limits_that_are_not_given_are_those_of_the_file(tmp_path, limits, given):
    PrivacyLedger(tmp_path / "study.ledger", **limits)
    again = PrivacyLedger(
        tmp_path / "study.ledger", **{name: limits[name] for name in given if name in limits}
    )
    kept = again.epsilon, again.delta, again.max_failures
    assert kept == (limits.get("epsilon"), Fraction(limits.get("delta", 0)), limits.get("max_failures"))


def test_a_ledger_without_a_ceiling_gets_none_later(tmp_path):
    PrivacyLedger(tmp_path / "study.ledger")
    with pytest.raises(LedgerError, match="with no ceiling, not with the ceiling epsilon = 1"):
        PrivacyLedger(tmp_path / "study.ledger", epsilon=1)


def test_a_ceiling_that_was_taken_over_refuses(ledger, tenth):
    again = PrivacyLedger(ledger.path)
    for _ in range(9):
        again.charge(tenth, "Tree")
    with pytest.raises(BudgetExceededError, match="ceiling epsilon = 1, delta = 0"):
        again.charge(tenth, "Tree")


def test_ceiling_raised_in_the_file(ledger, tenth):
    execute(ledger.path, "UPDATE meta SET value = '5/1' WHERE key = 'epsilon'")
    with pytest.raises(LedgerError, match="another ledger"):
        ledger.charge(tenth, "Tree")


@pytest.fixture
def rolled_back(ledger, tenth):
    """A ledger of three entries whose file was put back to one."""
    older = ledger.path.read_bytes()
    ledger.charge(tenth, "Tree")
    ledger.charge(tenth, "Tree")
    ledger.path.write_bytes(older)
    return ledger


def test_rolled_back(rolled_back, assert_refused):
    assert_refused(rolled_back, "holds 1 entries, and 2 newer entries would be forgotten")


def test_rolled_back_and_charged_by_a_program_that_knows_no_mark(rolled_back, tenth, assert_refused):
    mark = mark_path(rolled_back.path)
    acknowledged = mark.read_bytes()
    mark.unlink()
    other = PrivacyLedger(rolled_back.path, epsilon=1)
    for _ in range(3):
        other.charge(tenth, "Tree")
    mark.write_bytes(acknowledged)
    assert_refused(rolled_back, "damaged")
    with pytest.raises(LedgerError, match="do not lead to those that were acknowledged"):
        rolled_back.entries()


def test_an_object_notices_what_its_mark_does_not(rolled_back):
    mark_path(rolled_back.path).unlink()
    with pytest.raises(LedgerError, match="2 newer entries"):
        rolled_back.spent()
    # A restore of both is not noticed by anything that has not seen more.
    assert PrivacyLedger(rolled_back.path, epsilon=1).spent() == ONE


def test_a_lost_failure_is_noticed(ledger, assert_refused):
    older = ledger.path.read_bytes()
    ledger.count_failure("Tree")
    ledger.path.write_bytes(older)
    assert_refused(ledger, "1 newer failed fits")


def test_a_mark_behind_its_ledger_is_caught_up(ledger, tenth):
    mark = mark_path(ledger.path)
    behind = mark.read_bytes()
    ledger.charge(tenth, "Tree")
    latest = mark.read_bytes()
    for known in (ledger, pickle.loads(pickle.dumps(ledger))):
        mark.write_bytes(behind)
        assert known.spent() == (Fraction(2, 10), 0)
        assert mark.read_bytes() == latest


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b"7", b'{"checksum": 1}', b"[" * 10**5])
def test_a_damaged_mark(ledger, content, assert_refused):
    mark = mark_path(ledger.path)
    good = mark.read_bytes()
    for bad in (content, good.replace(b'"count": 1', b'"count": 0')):
        mark.write_bytes(bad)
        assert_refused(ledger, "mark .* cannot be read.*nothing was charged")
    mark.unlink()
    assert ledger.spent() == ONE
    assert mark.read_bytes() == good


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries",
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
def test_changed_content(ledger, statement, assert_refused):
    execute(ledger.path, statement)
    assert_refused(ledger, "damaged")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET epsilon = '1/20'",
        "UPDATE entries SET epsilon = '1/0'",
        "UPDATE entries SET epsilon = 0.1",
        "UPDATE entries SET epsilon = x'00ff'",
        "UPDATE entries SET delta = '-1/10'",
        "UPDATE entries SET time = '?'",
        "UPDATE entries SET time = 7",
        "UPDATE entries SET estimator = 'Forest'",
        "INSERT INTO failures VALUES ('Tree', 1)",
    ],
)
def test_an_altered_entry_shows_at_the_next_full_check(ledger, statement):
    execute(ledger.path, statement)
    target = ledger.path.with_name("backup")
    for operation in (
        *(ledger.entries, ledger.report, ledger.to_json, ledger.composition),
        lambda: ledger.backup(target),
        lambda: PrivacyLedger(ledger.path, epsilon=1),
    ):
        with pytest.raises(LedgerError, match="damaged"):
            operation()
    assert not target.exists()


@pytest.mark.parametrize("in_worker", [False, True])
def test_a_charge_reads_no_entry_that_was_verified(ledger, in_worker, tenth):
    known = pickle.loads(pickle.dumps(ledger)) if in_worker else ledger
    execute(ledger.path, "UPDATE entries SET epsilon = '1/20' WHERE id = 1")
    known.charge(tenth, "Tree")
    assert known.spent() == (Fraction(2, 10), 0)


def test_entries_of_others_are_verified_before_a_charge(ledger, tenth):
    other = PrivacyLedger(ledger.path, epsilon=1)
    ledger.charge(tenth, "Tree")
    execute(ledger.path, "UPDATE entries SET epsilon = '1/20' WHERE id = 2")
    with pytest.raises(LedgerError, match="damaged"):
        other.charge(tenth, "Tree")


@pytest.mark.parametrize("junk", [b"\x00", b"\xff", b"7"])
def test_overwritten_bytes_never_change_the_total_unnoticed(ledger, junk, tenth):
    for _ in range(4):
        ledger.charge(tenth, "Tree")
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


def test_truncated(ledger, assert_refused):
    good = ledger.path.read_bytes()
    for size in (1, 50, 100, 2000, len(good) - 4096):
        ledger.path.write_bytes(good[:size])
        assert_refused(ledger, "damaged|no ledger")
    ledger.path.write_bytes(good)
    assert ledger.spent() == ONE


def test_no_database(ledger, assert_refused):
    ledger.path.write_text("a text of some length, which is no database at all\n" * 100)
    assert_refused(ledger, "damaged, or is no ledger")


def test_foreign_database(ledger, assert_refused):
    ledger.path.unlink()
    execute(ledger.path, "CREATE TABLE meta (key TEXT, value TEXT)")
    assert_refused(ledger, "no ledger of skprivate")


def test_empty_file(ledger, assert_refused):
    ledger.path.write_bytes(b"")
    assert_refused(ledger, "is an empty file")


def test_folder(ledger, assert_refused):
    ledger.path.unlink()
    ledger.path.mkdir()
    assert_refused(ledger, "not a file")


def test_read_only_file(ledger, tenth, assert_refused):
    ledger.path.chmod(0o444)
    assert_refused(ledger, "read-only")
    ledger.path.chmod(0o644)
    ledger.charge(tenth, "Tree")


def test_missing_folder(tmp_path):
    with pytest.raises(LedgerError, match=r"folder .* does not exist"):
        PrivacyLedger(tmp_path / "none" / "study.ledger")
    assert not (tmp_path / "none").exists()


def test_vanished_folder(tmp_path, assert_refused):
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


@pytest.mark.parametrize("schema", [0, records.SCHEMA - 1, records.SCHEMA + 1])
def test_other_schema(ledger, assert_refused, schema):
    execute(ledger.path, f"UPDATE meta SET value = '{schema}' WHERE key = 'schema'")
    assert_refused(ledger, f"another version of skprivate .schema {schema};")


def test_network_file_system(ledger, monkeypatch, assert_refused):
    monkeypatch.setattr(sqlite_store, "read_mount_table", lambda: "server:/ / nfs4 rw 0 0\n")
    assert_refused(ledger, r"network file system \(nfs4\)")
    with pytest.raises(LedgerError, match="on a network file system"):
        PrivacyLedger(ledger.path.with_name("new"))
    assert not ledger.path.with_name("new").exists()


def test_busy(ledger, monkeypatch, tenth):
    monkeypatch.setattr(sqlite_store, "TIMEOUT", 0.05)
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="held by other processes"):
            ledger.charge(tenth, "Tree")
        assert ledger.spent() == ONE
        other.execute("ROLLBACK")
    ledger.charge(tenth, "Tree")


def test_an_error_inside_a_charge_writes_nothing(ledger, monkeypatch, tenth):
    def stop(connection, values):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(records, "write_meta", stop)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(tenth, "Tree")
    assert ledger.spent() == ONE
    assert len(ledger.entries()) == 1


def test_failed_creation_leaves_nothing(tmp_path, monkeypatch):
    def fail(*arguments):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(sqlite_store, "fill", fail)
    with pytest.raises(LedgerError, match="could not be created"):
        PrivacyLedger(tmp_path / "study.ledger")
    assert [one.name for one in tmp_path.iterdir()] == ["study.ledger.lock"]


def test_permission_to_open_is_missing(ledger, monkeypatch):
    def refuse(self, **_):
        raise PermissionError("no")

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(sqlite_store, "check_folder", lambda path: None)
    with pytest.raises(LedgerError, match="out of reach"):
        ledger.spent()


@pytest.mark.parametrize("name", ["x" * 240, "x" * 252, "lone \udcff"], ids=["mark", "lock", "text"])
def test_a_name_that_no_charge_could_be_marked_under_is_refused_at_once(tmp_path, name):
    with pytest.raises(LedgerError, match=r"could not be (created|used)"):
        PrivacyLedger(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_text_that_no_file_can_hold_is_no_damage(ledger, tenth):
    for name in ("Tree \ud800", "\udcff"):
        with pytest.raises(ValueError, match="surrogates"):
            ledger.charge(tenth, name)
        with pytest.raises(ValueError, match="surrogates"), ledger.label(name):
            pass
    assert ledger.spent() == ONE


def test_an_export_never_replaces_a_file_of_the_ledger(ledger):
    for end in ("", ".lock", ".mark", ".mark.unfinished", "-journal"):
        with pytest.raises(ValueError, match="belongs to it"):
            ledger.to_json(f"{ledger.path}{end}")
    assert ledger.spent() == ONE
