# SPDX-License-Identifier: BSD-3-Clause
"""Network file systems are recognised from the mount table."""

from pathlib import Path

import pytest

from skprivate.accounting._ledger import sqlite_store
from skprivate.accounting._ledger.sqlite_store import network_file_system

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


KINDS = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "fuse.sshfs",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "glusterfs",
    "fuse.glusterfs",
    "afs",
)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    assert network_file_system(Path("/x/ledger"), f"a / ext4 rw 0 0\nb /x {kind} rw 0 0\n") == kind


def test_no_table_detects_nothing(monkeypatch, tmp_path):
    assert network_file_system(tmp_path, "") is None
    monkeypatch.setattr(sqlite_store, "_MOUNT_TABLE", tmp_path / "none")
    assert sqlite_store.read_mount_table() == ""
