# SPDX-License-Identifier: BSD-3-Clause
"""What a ledger says when the disk fails under SQLite, and that it is true."""

import _sqlite3
import contextlib
import ctypes
import errno
import pickle
from fractions import Fraction

import pytest

from skprivate.accounting import PrivacyLedger, PrivacySpent
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


LIBC = ctypes.CDLL(None)
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
    """Return a system call that does something, or nothing, and reports an error."""

    def call(*arguments):
        if not when(*arguments):
            return before(*arguments)
        if before is not None:
            before(*arguments)
        ctypes.set_errno(code)
        return -1

    return kind(call)


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=1)
    ledger.charge(SPENT, "Tree")
    return ledger


def assert_sound(ledger, entries):
    """The ledger, a new object and a pickle agree on its entries, and it goes on."""
    others = ledger, PrivacyLedger(ledger.path, epsilon=1), pickle.loads(pickle.dumps(ledger))
    assert [len(one.entries()) for one in others] == [entries] * 3
    for one in others:
        one.charge(SPENT, "Tree")
    assert ledger.spent() == (Fraction(entries + 3, 10), 0)
    names = {one.name for one in ledger.path.parent.iterdir()}
    assert names == {"study.ledger", "study.ledger.lock", "study.ledger.mark"}


def test_a_commit_that_fails_when_all_is_written_says_that_it_was_charged(ledger):
    unlink = failing(UNLINK, errno.EIO, before=LIBC.unlink)
    with (
        system_calls(unlink=unlink),
        pytest.raises(LedgerError, match="failed while it was written") as caught,
    ):
        ledger.charge(SPENT, "Tree")
    charged = "the run was charged" in str(caught.value)
    assert charged or "the run was not charged" in str(caught.value)
    assert_sound(ledger, 2 if charged else 1)
