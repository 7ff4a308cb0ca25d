# SPDX-License-Identifier: BSD-3-Clause
"""Content that was changed, lost or put back ends in `LedgerError`, never in a smaller total."""

import pickle
from fractions import Fraction

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger import records
from skprivate.accounting._ledger.records import mark_path
from skprivate.exceptions import LedgerError
from tests.accounting.records import TENTH, execute


@pytest.fixture
def rolled_back(ledger, tenth):
    """A ledger of three entries whose file was put back to one."""
    older = ledger.path.read_bytes()
    ledger.charge(tenth, "Tree")
    ledger.charge(tenth, "Tree")
    ledger.path.write_bytes(older)
    return ledger


def test_rolled_back_and_charged_by_a_program_that_knows_no_mark(rolled_back, tenth, assert_refused):
    mark = mark_path(rolled_back.path)
    acknowledged = mark.read_bytes()
    mark.unlink()
    other = PrivacyLedger(rolled_back.path, epsilon=1)
    for _ in range(3):
        other.charge(tenth, "Tree")
    mark.write_bytes(acknowledged)
    assert_refused(rolled_back, "damaged")
    with pytest.raises(LedgerError, match="do not lead to the acknowledged state"):
        rolled_back.entries()


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
    assert ledger.spent() == (TENTH, 0)
    assert mark.read_bytes() == good


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries",
        *(f"UPDATE meta SET value = '{it}' WHERE key = 'count'" for it in (0, "?")),
        "UPDATE meta SET value = x'00' WHERE key = 'uuid'",
        "UPDATE meta SET value = '?' WHERE key = 'delta'",
        "UPDATE meta SET value = '?' WHERE key = 'schema'",
        *(f"DELETE FROM meta WHERE key = '{key}'" for key in ("epsilon", "schema", "total_epsilon", "chain")),
        *("DROP TABLE entries", "DROP TABLE meta"),
    ],
)
def test_changed_content(ledger, statement, assert_refused):
    execute(ledger.path, statement)
    assert_refused(ledger, "damaged")


@pytest.mark.parametrize("change", ["DROP TABLE charge_ids", "UPDATE charge_ids SET entry = 9"])
def test_changed_ids_are_refused(path, tenth, change):
    ledger = PrivacyLedger(path)
    ledger.charge(tenth, "Tree", charge_id="a")
    execute(path, "INSERT INTO charge_ids VALUES ('b', 9)")
    with pytest.raises(LedgerError, match="damaged"):
        PrivacyLedger(path)
    execute(path, change)
    with pytest.raises(LedgerError, match="damaged"):
        ledger.charge(tenth, "Tree", charge_id="a")


@pytest.mark.parametrize(
    "statement",
    [
        *(f"UPDATE entries SET epsilon = {it}" for it in ("'1/20'", "'1/0'", "0.1", "x'00ff'")),
        "UPDATE entries SET delta = '-1/10'",
        *(f"UPDATE entries SET time = {it}" for it in ("'?'", "7")),
        *(
            f"UPDATE entries SET {name} = 'other'"
            for name in ("estimator", "data", "label", "person", "expiry")
        ),
        *(f"UPDATE entries SET {name} = NULL" for name in ("purpose", "approver", "data")),
        *(f"UPDATE entries SET {name} = '1/1000'" for name in ("rho", "sensitivity", "noise_scale")),
        "UPDATE entries SET private = 1 - private",
        "INSERT INTO failures VALUES ('Tree', 1)",
    ],
)
def test_an_altered_entry_shows_at_the_next_full_check(path, tenth, statement):
    ledger = PrivacyLedger(path, epsilon=1)
    with ledger.record(purpose="P", person="A", approver="B", expiry="E"), ledger.data("D"):
        ledger.charge(tenth, "Tree")
    execute(path, statement)
    target = path.with_name("backup")
    for operation in (
        *(ledger.entries, ledger.report, ledger.to_json, ledger.composition),
        lambda: ledger.backup(target),
        lambda: PrivacyLedger(path, epsilon=1),
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


@pytest.mark.parametrize("junk", [b"\x00", b"7"])
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
    assert ledger.spent() == (TENTH, 0)


@pytest.mark.parametrize("schema", [0, records.SCHEMA - 1, records.SCHEMA + 1])
def test_other_schema(ledger, assert_refused, schema):
    execute(ledger.path, f"UPDATE meta SET value = '{schema}' WHERE key = 'schema'")
    assert_refused(ledger, f"another version of skprivate .schema {schema};")
