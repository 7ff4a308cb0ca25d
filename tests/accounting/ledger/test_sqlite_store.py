# SPDX-License-Identifier: BSD-3-Clause
"""Places and files in which there is no ledger, or another one, end in `LedgerError`."""

import contextlib
import os
import pickle
import shutil
import sqlite3
from pathlib import Path

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger import records, sqlite_store
from skprivate.accounting._ledger.records import mark_path
from skprivate.accounting._ledger.sqlite_store import network_file_system
from skprivate.exceptions import BudgetExceededError, LedgerError
from tests.accounting.records import TENTH, execute


@pytest.mark.parametrize("copy", [shutil.copy, os.link])
def test_a_copy_or_hard_link_is_refused(ledger, copy):
    target = ledger.path.with_name("copy")
    copy(ledger.path, target)
    with pytest.raises(LedgerError, match="moved or copied"):
        PrivacyLedger(target, epsilon=1)
    assert ledger.spent() == (TENTH, 0)


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
    with pytest.raises(LedgerError, match=r"another ledger than the one of the mark"):
        PrivacyLedger(ledger.path, epsilon=1)
    mark_path(ledger.path).unlink()
    assert ledger.spent() == (TENTH, 0)


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


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"a text of some length\n" * 200, "damaged, or is no ledger"), (b"", "is an empty file")],
)
def test_a_file_that_is_no_ledger_is_refused(ledger, assert_refused, content, told):
    ledger.path.write_bytes(content)
    assert_refused(ledger, told)


def test_a_foreign_database_or_a_folder_is_refused(ledger, assert_refused):
    ledger.path.unlink()
    execute(ledger.path, "CREATE TABLE meta (key TEXT, value TEXT)")
    assert_refused(ledger, "no ledger of skprivate")
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


def test_loop_of_links(tmp_path):
    os.symlink(tmp_path / "a", tmp_path / "b")
    os.symlink(tmp_path / "b", tmp_path / "a")
    with pytest.raises(LedgerError):
        PrivacyLedger(tmp_path / "a")


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
        assert ledger.spent() == (TENTH, 0)
        other.execute("ROLLBACK")
    ledger.charge(tenth, "Tree")


def test_an_error_inside_a_charge_writes_nothing(ledger, monkeypatch, tenth):
    def stop(connection, values):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(records, "write_meta", stop)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(tenth, "Tree")
    assert ledger.spent() == (TENTH, 0)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("name", ["x" * 240, "x" * 252, "lone \udcff"], ids=["mark", "lock", "text"])
def test_a_name_that_no_charge_could_be_marked_under_is_refused_at_once(tmp_path, name):
    with pytest.raises(LedgerError, match=r"could not be (created|used)"):
        PrivacyLedger(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_an_export_never_replaces_a_file_of_the_ledger(ledger):
    for end in ("", ".lock", ".mark", ".mark.unfinished", "-journal"):
        with pytest.raises(ValueError, match="belongs to it"):
            ledger.to_json(f"{ledger.path}{end}")
    assert ledger.spent() == (TENTH, 0)


TABLE = """\
/dev/vda / ext4 rw 0 0
proc /proc proc rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local xfs rw 0 0
//server/share /mnt/my\\040share cifs rw 0 0
me@host: /mnt/ssh fuse.sshfs rw 0 0
tmpfs /over nfs rw 0 0
tmpfs /over tmpfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/ledger", None),
        ("/home/ledger", "nfs4"),
        ("/home/a/b/ledger", "nfs4"),
        ("/homework/ledger", None),
        ("/home/local/ledger", None),
        ("/mnt/my share/ledger", "cifs"),
        ("/mnt/ssh/ledger", "fuse.sshfs"),
        ("/over/ledger", None),
    ],
)
def test_deepest_and_latest_mount_decides(path, kind):
    assert network_file_system(Path(path), TABLE) == kind


KINDS = "nfs nfs4 cifs smb3 smbfs fuse.sshfs lustre gpfs beegfs ceph glusterfs fuse.glusterfs afs"


@pytest.mark.parametrize("kind", KINDS.split())
def test_kinds_of_network_file_systems(kind):
    assert network_file_system(Path("/x/ledger"), f"a / ext4 rw 0 0\nb /x {kind} rw 0 0\n") == kind


def test_no_table_detects_nothing(monkeypatch, tmp_path):
    assert network_file_system(tmp_path, "") is None
    monkeypatch.setattr(sqlite_store, "_MOUNT_TABLE", tmp_path / "none")
    assert sqlite_store.read_mount_table() == ""
