# SPDX-License-Identifier: BSD-3-Clause
"""An interrupted ledger holds what was acknowledged, is not locked, and says the same in a new object."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.utils._files import locked

ABOUT = ("accounting/_ledger/sqlite_store.py", "accounting/_ledger/ledger.py")
FILES = {"study.ledger", "study.ledger.lock", "study.ledger.mark"}


@pytest.fixture
def start(tenth, charge):

    def act(folder, n_charges=1):
        ledger = PrivacyLedger(folder / "study.ledger", epsilon=2)
        for _ in range(n_charges):
            ledger.charge(tenth, "Tree")
        return SimpleNamespace(ledger=ledger, folder=folder, acknowledged=n_charges)

    return act


def check(objects, most=1):
    """The object, a copy that has seen nothing and a new object agree; what was acknowledged is there."""
    ledger = objects.ledger
    with locked(ledger.path, wait=False):  # the interrupted operation must not hold it
        pass
    found, anew = ledger._account(), PrivacyLedger(ledger.path, epsilon=2)._account()
    assert found == anew, "objects disagree"
    n_entries = len(found.entries)
    assert objects.acknowledged <= n_entries <= objects.acknowledged + most
    assert found.state.epsilon.upper == Fraction(n_entries, 10)
    left = {one.name for one in objects.folder.iterdir() if not one.name.endswith(".unfinished")}
    assert left - {"copy"} <= FILES, "files are left"
    assert (set(ledger._said), ledger._data) == ({None}, None)


@pytest.fixture
def charge(tenth):

    def act(objects):
        objects.ledger.charge(tenth, "Tree")

    return act


@pytest.fixture
def charge_again(charge):
    """The charge without a release is lost; the next one is acknowledged, and belongs to no block."""

    def act(objects):
        before = len(objects.ledger.entries())
        charge(objects)
        entries = objects.ledger.entries()
        objects.acknowledged = len(entries)
        assert objects.acknowledged == before + 1
        assert (entries[-1].label, entries[-1].data) == (None, None)

    return act


def test_a_charge(interrupted, operation, start, charge, charge_again):
    interrupted(operation("ledger.charge", start, charge, check, charge_again, about=ABOUT))


@pytest.mark.slow
def test_a_charge_in_a_block(interrupted, operation, start, charge, charge_again):
    def act(objects):
        with objects.ledger.label("nightly"), objects.ledger.data("hospital A"):
            charge(objects)

    interrupted(
        operation(
            "ledger.charge in label and data",
            start,
            act,
            check,
            charge_again,
            # Not all lines of ledger.py: nothing can undo an interrupt at the end of a block.
            about=("accounting/_ledger/records.py",),
        )
    )


def test_a_refused_charge(interrupted, operation, start, charge, tenth):
    def act(objects):
        with pytest.raises(Exception, match="ceiling"):
            objects.ledger.charge(tenth, "Tree")

    def full(folder):
        objects = start(folder, 0)
        objects.ledger.charge(replace(tenth, epsilon=Fraction(2)), "Tree")
        return objects

    def check_full(objects):
        assert objects.ledger.spent() == PrivacyLedger(objects.ledger.path, epsilon=2).spent() == (2, 0)

    interrupted(operation("ledger.charge, refused", full, act, check_full, act, about=()))


def test_a_counted_failure(interrupted, operation, start, charge_again):
    interrupted(
        operation(
            "ledger.count_failure",
            start,
            lambda objects: objects.ledger.count_failure("Tree"),
            lambda objects: check(objects, 0),
            charge_again,
        )
    )


def test_a_new_ledger(interrupted, operation, charge_again):
    def open_ledger(objects):
        objects.ledger = PrivacyLedger(objects.folder / "study.ledger", epsilon=2)

    def check_new(objects):
        if objects.ledger is None:
            open_ledger(objects)
        check(objects)

    interrupted(
        operation(
            "PrivacyLedger(path)",
            lambda folder: SimpleNamespace(ledger=None, folder=folder, acknowledged=0),
            open_ledger,
            check_new,
            charge_again,
        )
    )


def test_a_backup(interrupted, operation, start):
    def back_up(objects):
        objects.ledger.backup(objects.folder / "copy")

    def end(objects):
        objects.ledger.path.unlink()
        Path(f"{objects.ledger.path}.mark").unlink()
        return len(PrivacyLedger.restore(objects.folder / "copy", objects.ledger.path).entries())

    interrupted(
        operation(
            "ledger.backup",
            start,
            back_up,
            lambda o: check(o, 0),
            back_up,
            end,
        )
    )


def test_a_restore(interrupted, operation, start):
    def damaged(folder):
        objects = start(folder)
        objects.ledger.backup(folder / "copy")
        objects.ledger.path.unlink()
        return objects

    def restore(objects):
        objects.ledger = PrivacyLedger.restore(objects.folder / "copy", objects.folder / "study.ledger")

    def check_restored(objects):
        if objects.ledger.path.exists():
            check(objects, 0)

    interrupted(
        operation(
            "PrivacyLedger.restore",
            damaged,
            restore,
            check_restored,
            restore,
            lambda objects: len(objects.ledger.entries()),
        )
    )
