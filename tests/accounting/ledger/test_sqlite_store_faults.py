# SPDX-License-Identifier: BSD-3-Clause
"""What a ledger says when the disk fails under SQLite, and that it is true."""

import _sqlite3
import contextlib
import ctypes
import errno
import os
import pickle
from fractions import Fraction

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger.records import mark_path
from skprivate.exceptions import LedgerError


class FileSystem(ctypes.Structure):
    """The head of SQLite's sqlite3_vfs."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("version", "size", "longest")),
        *((name, ctypes.c_void_p) for name in ("next", "name", "data", "open", "delete", "access", "full")),
        *((f"dynamic_{k}", ctypes.c_void_p) for k in range(4)),
        *((name, ctypes.c_void_p) for name in ("random", "sleep", "time", "error", "time64")),
        (
            "set_system_call",
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
        ),
    ]


CANNOT_OPEN = 14  # SQLite's code
LIBC = ctypes.CDLL(None)
LIBC.pwrite64.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]
LIBC.pwrite64.restype = ctypes.c_ssize_t
UNLINK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, use_errno=True)
WRITE = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
OPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, use_errno=True)


@contextlib.contextmanager
def system_calls(**calls):
    """Replace system calls under SQLite in this process."""
    find = ctypes.CDLL(_sqlite3.__file__).sqlite3_vfs_find
    find.restype = ctypes.POINTER(FileSystem)
    system = find(None)
    if not system or system.contents.version < 3:
        pytest.skip("this SQLite has no replaceable system calls")
    replace = system.contents.set_system_call
    address = ctypes.cast(system, ctypes.c_void_p)
    try:
        for name, call in calls.items():
            replace(address, name.encode(), ctypes.cast(call, ctypes.c_void_p))
        yield
    finally:
        for name in calls:
            replace(address, name.encode(), None)


def failing(kind, code, *, before=None, when=lambda *arguments: True):
    """Return a system call that reports an error, after doing something; without one when it is not time."""

    def call(*arguments):
        result = None if before is None else before(*arguments)
        if not when(*arguments):
            return result
        ctypes.set_errno(code)
        return -1

    return kind(call)


@pytest.fixture
def assert_sound(tenth):
    """The ledger, a new object and a pickle agree on its entries, and it goes on."""

    def check(ledger, entries):
        others = ledger, PrivacyLedger(ledger.path, epsilon=1), pickle.loads(pickle.dumps(ledger))
        assert [len(one.entries()) for one in others] == [entries] * 3
        for one in others:
            one.charge(tenth, "Tree")
        assert ledger.spent() == (Fraction(entries + 3, 10), 0)
        names = {one.name for one in ledger.path.parent.iterdir()}
        assert names == {"study.ledger", "study.ledger.lock", "study.ledger.mark"}

    return check


@pytest.fixture
def charge_fails(tenth):
    """Charge on a failing disk and return the message."""

    def act(ledger, **calls):
        with system_calls(**calls), pytest.raises(LedgerError) as caught:
            ledger.charge(tenth, "Tree")
        return str(caught.value)

    return act


def test_a_commit_that_fails_before_its_end_charges_nothing(ledger, assert_sound, charge_fails):
    # The journal stays, and SQLite undoes the commit when the file is opened again.
    calls = []

    def unlink(name):
        calls.append(name)
        return LIBC.unlink(name) if len(calls) > 1 else -1

    once = failing(UNLINK, errno.EIO, before=unlink, when=lambda _: len(calls) == 1)
    message = charge_fails(ledger, unlink=once)
    assert "failed while it was written (disk I/O error); the run was not charged" in message
    assert_sound(ledger, 1)


def test_a_commit_that_cannot_be_undone_yet_may_have_been_charged(ledger, assert_sound, charge_fails):
    message = charge_fails(ledger, unlink=failing(UNLINK, errno.EIO))
    assert "the run may have been charged. Count it as spent" in message
    assert_sound(ledger, 1)


def test_a_commit_that_fails_at_its_end_was_charged(ledger, assert_sound, charge_fails):
    # Nothing is undone without the journal: "nothing was charged" would be wrong.
    message = charge_fails(ledger, unlink=failing(UNLINK, errno.EIO, before=LIBC.unlink))
    assert "failed while it was written (disk I/O error); the run was charged" in message
    assert "its amount is spent" in message
    assert_sound(ledger, 2)


def test_a_disk_that_is_gone_after_the_commit_may_have_been_charged(ledger, assert_sound, charge_fails):
    gone = []

    def unlink(name):
        gone.append(True)
        return LIBC.unlink(name)

    open_calls = failing(OPEN, errno.EIO, before=LIBC.open, when=lambda *arguments: bool(gone))
    message = charge_fails(ledger, unlink=failing(UNLINK, errno.EIO, before=unlink), open=open_calls)
    assert "the run may have been charged. Count it as spent" in message
    assert_sound(ledger, 2)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EFBIG])
def test_a_disk_that_takes_no_more_charges_nothing(ledger, code, assert_sound, charge_fails):
    write = failing(WRITE, code)
    message = charge_fails(ledger, pwrite64=write, pwrite=write)
    assert "nothing was charged" in message or "the run was not charged" in message
    assert_sound(ledger, 1)


def test_a_disk_that_is_full_in_the_middle_of_a_commit_charges_nothing(ledger, assert_sound, charge_fails):
    for allowed in range(1, 8):
        written = []

        def write(handle, data, size, offset, written=written):
            written.append(size)
            return LIBC.pwrite64(handle, data, size, offset)

        full = failing(
            WRITE, errno.ENOSPC, before=write, when=lambda *_, n=allowed, written=written: len(written) >= n
        )
        message = charge_fails(ledger, pwrite64=full, pwrite=full)
        assert "nothing was charged" in message or "the run was not charged" in message
        assert len(PrivacyLedger(ledger.path, epsilon=1).entries()) == 1
    assert_sound(ledger, 1)


def test_a_power_cut_after_a_charge_cannot_bring_the_journal_back(ledger, tenth):
    # With the journal back, SQLite would undo the charge: its removal is flushed before the charge returns.
    events = []

    def unlink(name):
        events.append(name)
        return LIBC.unlink(name)

    def flush_folder(name, handle):
        events.append("folder")
        return CANNOT_OPEN  # which SQLite ignores, for there are systems without

    folder = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(flush_folder)
    with system_calls(unlink=UNLINK(unlink), openDirectory=folder):
        ledger.charge(tenth, "Tree")
    assert events[-2:] == [os.fsencode(f"{ledger.path}-journal"), "folder"]


def test_a_mark_that_cannot_be_written_says_that_it_was_charged(ledger, tenth, assert_sound):
    obstacle = mark_path(ledger.path).with_name("study.ledger.mark.unfinished")
    obstacle.mkdir()
    with pytest.raises(LedgerError, match=r"run was charged .* mark .* could not be written .* is spent"):
        ledger.charge(tenth, "Tree")
    assert ledger.spent() == (Fraction(2, 10), 0)  # reading needs no mark
    obstacle.rmdir()
    assert_sound(ledger, 2)


def test_creation_on_a_full_disk_leaves_no_ledger(tmp_path, tenth):
    path = tmp_path / "new.ledger"
    write = failing(WRITE, errno.ENOSPC)
    with system_calls(pwrite64=write, pwrite=write), pytest.raises(LedgerError, match="could not be created"):
        PrivacyLedger(path)
    assert not path.exists()
    PrivacyLedger(path).charge(tenth, "Tree")


def test_a_backup_on_a_full_disk_leaves_the_earlier_one(ledger, tmp_path, tenth):
    target = tmp_path / "backup"
    ledger.backup(target)
    before = target.read_bytes()
    ledger.charge(tenth, "Tree")
    write = failing(WRITE, errno.ENOSPC)
    with system_calls(pwrite64=write, pwrite=write), pytest.raises(LedgerError, match="could not be written"):
        ledger.backup(target)
    assert target.read_bytes() == before
    for one in (ledger.path, mark_path(ledger.path)):
        one.unlink()
    PrivacyLedger.restore(target, ledger.path)
