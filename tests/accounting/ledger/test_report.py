# SPDX-License-Identifier: BSD-3-Clause
"""What a ledger reports and exports: totals, groups of data, records, refused charges and failed fits."""

import json
import sqlite3
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest

from skprivate.accounting import PrivacyLedger
from skprivate.accounting._ledger import records, report
from skprivate.exceptions import BudgetExceededError
from tests.accounting.records import SEEDED, TENTH, charge, spend

FULL = {"purpose": "Table One", "person": "A. B.", "approver": "board 12/26", "expiry": "2026-12-31"}


@pytest.fixture
def ledger(path):
    return PrivacyLedger(path, epsilon=1)


def test_totals_by_label_and_estimator_and_what_they_mean(path):
    ledger = PrivacyLedger(path, epsilon=2, delta=1e-5)
    charge(ledger, TENTH, 1e-6)
    with ledger.label("search"):
        charge(charge(charge(ledger)))
        ledger.charge(spend(**SEEDED), "Regressor")
    lines = ledger.report().splitlines()
    rows = [line.split() for line in lines]
    assert lines[0] == f"Privacy ledger {path}"
    assert ["-", "Tree", "1", "0.1", "1e-06", "0"] in rows
    assert ["search", "Tree", "3", "0.3", "0", "0"] in rows
    assert ["search", "Regressor", "1", "0.1", "0", "1"] in rows
    assert ["total", "5", "0.5", "1e-06", "1"] in rows
    for line in (
        "Ceiling: epsilon = 2, delta = 1e-05",
        "Remaining: epsilon = 1.5, delta = 9e-06",
        "Not private: 1 of 5 entries, charged their nominal amounts: no total holds for their rows",
        "Relation and unit: replace-one, row",
        "Totals are by basic composition over EVERY entry, as if all touched the same rows.",
    ):
        assert line in lines
    for part in ("GridSearchCV", "cv_results_", "best_score_", "exact functions of private rows"):
        assert part in ledger.report()


def test_entries_of_several_kinds_cannot_be_added(path):
    ledger = PrivacyLedger(path)
    assert "Ceiling: none" in ledger.report()
    assert "Not private: 0 of 0 entries\n" in ledger.report()
    charge(ledger).charge(spend(relation="local"), "Tree")
    assert "Relation and unit: local, row (1 entries)" in ledger.report()
    assert "Entries differ in relation or unit" in ledger.report()


def test_the_dearest_group_counts_and_what_touches_all(ledger):
    charge(ledger)
    with ledger.data("hospital A") as same:
        assert same is ledger
        charge(ledger)
    with ledger.data("hospital B"), ledger.label("pilot"):
        charge(charge(ledger))
    assert ledger.spent() == (Fraction(4, 10), 0)
    assert ledger.remaining() == (Fraction(6, 10), 0)
    composition = ledger.composition()
    assert composition.epsilon == Fraction(3, 10)
    assert composition.parts[0].groups == {"hospital A": (Fraction(2, 10), 0), "hospital B": (3 * TENTH, 0)}
    assert "AS DECLARED" in str(composition)
    report = ledger.report()
    assert "disjoint as declared" in report
    assert "'hospital B': epsilon = 0.2, delta = 0 (2 entries)" in report
    assert "planning on public or simulated data" in report


@pytest.mark.parametrize(
    ("expiry", "expired"),
    [("2026-05-01", True), (" 2026-05-01T23:59 ", True), ("2026-05-02", False), ("2020", False)],
)
def test_only_the_end_of_an_iso_day_is_an_expiry(ledger, expiry, expired):
    with ledger.record(purpose="x", expiry=expiry):
        entry = charge(ledger).entries()[0]
    assert entry.has_expired(date(2026, 5, 2)) is expired


def test_records_are_listed_with_what_they_spent(ledger):
    with ledger.record(**(FULL | {"expiry": "2999-01-01"})):
        charge(charge(ledger))
    told = ledger.report()
    assert (
        "purpose Table One: epsilon = 0.2, delta = 0 (2 entries); person A. B.; approver board 12/26; "
        "expiry 2999-01-01\n"
    ) in told
    assert "EXPIRED" not in told


def test_nothing_is_listed_where_nothing_was_said(ledger):
    assert "purpose -" not in charge(ledger).report()
    with ledger.record(person="A"):
        charge(ledger)
    assert "purpose -: epsilon = 0.1, delta = 0 (1 entries); person -;" in ledger.report()


def test_what_has_expired_is_told_and_what_was_charged_too_late(ledger, monkeypatch):
    today = datetime.now(UTC).date()
    with ledger.record(expiry=today.isoformat()):
        charge(ledger)
    with ledger.record(expiry="1999-01-01"):
        charge(ledger)
    for told in (ledger.report(), ledger.to_html()):
        assert "1999-01-01 (EXPIRED), 1 entries CHARGED AFTER IT" in told

    class Later(datetime):
        @classmethod
        def now(cls, zone):
            return datetime(2999, 1, 1, tzinfo=zone)

    monkeypatch.setattr(report, "datetime", Later)
    assert f"{today} (EXPIRED)" in ledger.report()
    assert f"{today} (EXPIRED), " not in ledger.report()


def test_refused_charges_are_kept_and_cost_nothing(path, ledger):
    charge(ledger)
    with ledger.label("big"), ledger.record(**FULL), ledger.data("A"), pytest.raises(BudgetExceededError):
        charge(ledger, 2)
    again = PrivacyLedger(path, epsilon=1)
    (refusal,) = again.refusals()
    assert (refusal.epsilon, refusal.estimator, refusal.label, refusal.data) == (2, "Tree", "big", "A")
    assert tuple(getattr(refusal, name) for name in FULL) == tuple(FULL.values())
    assert (again.spent(), len(again.entries()), again.n_failures) == ((TENTH, 0), 1, 0)
    assert charge(again).spent() == (Fraction(2, 10), 0)


def test_refused_charges_are_reported(ledger):
    assert "Refused charges, which cost nothing: 0\n" in ledger.report()
    for _ in range(2):
        with ledger.record(purpose="<b>"), pytest.raises(BudgetExceededError):
            charge(ledger, 2)
    assert "Refused charges, which cost nothing: 2\n" in ledger.report()
    told = "epsilon = 2, delta = 0 requested 2 times; purpose "
    assert f"refused, label -, Tree: {told}<b>" in ledger.report()
    assert f"{told}&lt;b&gt;" in ledger.to_html()
    assert [it["epsilon"] for it in json.loads(ledger.to_json())["refusals"]] == ["2/1", "2/1"]


def test_a_limit_of_failures_refuses_too(path):
    ledger = PrivacyLedger(path, max_failures=0)
    ledger.count_failure("Tree")
    with pytest.raises(BudgetExceededError, match="failed fits"):
        charge(ledger)
    assert (len(ledger.refusals()), ledger.entries()) == (1, [])


def test_an_error_of_the_record_hides_no_refusal(ledger, monkeypatch):
    def fail(self, row):
        raise sqlite3.OperationalError("disk I/O error")

    charge(ledger)
    monkeypatch.setattr(records.SQLiteRecords, "add_refusal", fail)
    with pytest.raises(BudgetExceededError, match="exceed the ceiling") as raised:
        charge(ledger, 2)
    assert "could not record the refusal" in raised.value.__notes__[0]
    monkeypatch.undo()
    assert (ledger.spent(), ledger.refusals()) == ((TENTH, 0), [])
    charge(ledger)
