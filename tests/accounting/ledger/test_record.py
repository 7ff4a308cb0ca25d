# SPDX-License-Identifier: BSD-3-Clause
"""Purpose, person, approver and expiry of charges, and charges that were refused."""

import contextlib
import json
import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from joblib import Parallel, delayed

from skprivate.accounting import LedgerAudit, LedgerEntry, PrivacyLedger, PrivacySpent
from skprivate.accounting._ledger import records, report
from skprivate.exceptions import BudgetExceededError, LedgerError

TENTH = Fraction(1, 10)
NAMES = "purpose", "person", "approver", "expiry"
FULL = {"purpose": "Table One", "person": "A. B.", "approver": "board 12/26", "expiry": "2026-12-31"}


def spend(epsilon=TENTH, **changes):
    fields = {
        "mechanism": "discrete Laplace",
        "epsilon": epsilon,
        "relation": "replace-one",
        "noise_scale": 4,
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(**{**fields, **changes})


def charge(ledger, *args, **options):
    ledger.charge(spend(*args), "Tree", **options)
    return ledger


def records_of(ledger):
    return [tuple(getattr(entry, name) for name in NAMES) for entry in ledger.entries()]


@pytest.fixture
def ledger(path):
    return PrivacyLedger(path, epsilon=1)


class TestRecord:
    def test_the_innermost_text_of_each_counts(self, ledger):
        with ledger.record(purpose="outer", person="A") as same:
            assert same is ledger
            with ledger.record(purpose="inner", expiry="soon"):
                charge(ledger)
            with pytest.raises(TypeError), ledger.record(approver="lost"):
                ledger.charge(None, "Tree")
            charge(ledger)
        charge(ledger)
        assert records_of(ledger) == [
            ("inner", "A", None, "soon"),
            ("outer", "A", None, None),
            (None, None, None, None),
        ]

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize(("text", "error"), [(1, TypeError), (" ", ValueError), ("\ud800", ValueError)])
    def test_wrong_texts_are_refused(self, ledger, name, text, error):
        with pytest.raises(error, match=name), ledger.record(**{name: text}):
            pass
        assert records_of(charge(ledger)) == [(None,) * 4]

    def test_nothing_to_record_is_refused(self, ledger):
        with pytest.raises(ValueError, match="at least one"), ledger.record():
            pass

    def test_it_travels_in_pickles(self, ledger):
        with ledger.record(**FULL):
            saved = pickle.dumps(ledger)
        assert records_of(charge(pickle.loads(saved))) == [tuple(FULL.values())]

    @pytest.mark.parametrize("backend", ["loky", "threading"])
    def test_it_reaches_the_workers_of_joblib(self, ledger, backend):
        with ledger.record(**FULL):
            Parallel(n_jobs=2, backend=backend)(delayed(charge)(ledger) for _ in range(4))
        assert records_of(ledger) == [tuple(FULL.values())] * 4

    def test_it_reaches_threads(self, ledger):
        with ledger.record(**FULL), ThreadPoolExecutor(2) as pool:
            list(pool.map(charge, [ledger] * 4))
        assert records_of(ledger) == [tuple(FULL.values())] * 4

    def test_an_id_is_the_same_charge_under_another_record(self, ledger):
        with ledger.record(**FULL):
            assert ledger.charge(spend(), "Tree", charge_id="a") is True
        assert ledger.charge(spend(), "Tree", charge_id="a") is False
        assert records_of(ledger) == [tuple(FULL.values())]

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("value", ["'other'", "NULL"])
    def test_the_hash_covers_it(self, path, ledger, name, value):
        with ledger.record(**FULL):
            charge(ledger)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"UPDATE entries SET {name} = {value}")
            connection.commit()
        with pytest.raises(LedgerError, match="damaged"):
            PrivacyLedger(path, epsilon=1)

    def test_entries_go_through_dictionaries(self, ledger):
        with ledger.record(**FULL):
            charge(charge(ledger))
        entry = ledger.entries()[0]
        assert LedgerEntry.from_dict(json.loads(json.dumps(entry.to_dict()))) == entry

    def test_a_wrong_dictionary_is_not_read(self, ledger):
        entry = charge(ledger).entries()[0].to_dict()
        wrong = {"purpose": 1}, {"person": ""}, {"other": None}, {"estimator": 7}, {"relation": "x"}
        for change in (*wrong, {"unit": "x"}):
            with pytest.raises(ValueError, match=r"statement|empty|must be"):
                LedgerEntry.from_dict(entry | change)


@pytest.mark.parametrize(
    ("expiry", "expired"),
    [
        ("2026-05-01", True),
        (" 2026-05-01T23:59 ", True),
        ("2026-05-02", False),
        ("2026-05-03", False),
        ("until the board says otherwise", False),
        ("2020", False),
        (None, False),
    ],
)
def test_only_the_end_of_an_iso_day_is_an_expiry(ledger, expiry, expired):
    with ledger.record(purpose="x", expiry=expiry):
        entry = charge(ledger).entries()[0]
    assert entry.has_expired(date(2026, 5, 2)) is expired


class TestReport:
    def test_records_are_listed_with_what_they_spent(self, ledger):
        with ledger.record(**(FULL | {"expiry": "2999-01-01"})):
            charge(charge(ledger))
        told = ledger.report()
        assert (
            "purpose Table One: epsilon = 0.2, delta = 0 (2 entries); person A. B.; approver board 12/26; "
            "expiry 2999-01-01\n"
        ) in told
        assert "EXPIRED" not in told

    def test_nothing_is_listed_where_nothing_was_said(self, ledger):
        assert "purpose -" not in charge(ledger).report()
        with ledger.record(person="A"):
            charge(ledger)
        assert "purpose -: epsilon = 0.1, delta = 0 (1 entries); person -;" in ledger.report()

    def test_what_has_expired_is_told_and_what_was_charged_too_late(self, ledger, monkeypatch):
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


class TestRefusals:
    def test_they_are_kept_and_cost_nothing(self, path, ledger):
        charge(ledger)
        with ledger.label("big"), ledger.record(**FULL), ledger.data("A"), pytest.raises(BudgetExceededError):
            charge(ledger, 2)
        again = PrivacyLedger(path, epsilon=1)
        (refusal,) = again.refusals()
        assert (refusal.epsilon, refusal.estimator, refusal.label, refusal.data) == (2, "Tree", "big", "A")
        assert tuple(getattr(refusal, name) for name in NAMES) == tuple(FULL.values())
        assert (again.spent(), len(again.entries()), again.n_failures) == ((TENTH, 0), 1, 0)
        assert charge(again).spent() == (Fraction(2, 10), 0)

    def test_they_are_reported(self, ledger):
        assert "Refused charges, which cost nothing: 0\n" in ledger.report()
        for _ in range(2):
            with ledger.record(purpose="<b>"), pytest.raises(BudgetExceededError):
                charge(ledger, 2)
        assert "Refused charges, which cost nothing: 2\n" in ledger.report()
        told = "epsilon = 2, delta = 0 asked for 2 times; purpose "
        assert f"refused, label -, Tree: {told}<b>" in ledger.report()
        assert f"{told}&lt;b&gt;" in ledger.to_html()
        assert [it["epsilon"] for it in json.loads(ledger.to_json())["refusals"]] == ["2/1", "2/1"]

    def test_a_limit_of_failures_refuses_too(self, path):
        ledger = PrivacyLedger(path, max_failures=0)
        ledger.count_failure("Tree")
        with pytest.raises(BudgetExceededError, match="failed fits"):
            charge(ledger)
        assert (len(ledger.refusals()), ledger.entries()) == (1, [])

    def test_an_error_of_the_record_hides_no_refusal(self, ledger, monkeypatch):
        def fail(self, row):
            raise sqlite3.OperationalError("disk I/O error")

        charge(ledger)
        monkeypatch.setattr(records.SQLiteRecords, "add_refusal", fail)
        with pytest.raises(BudgetExceededError, match="pass the ceiling") as raised:
            charge(ledger, 2)
        assert "could not record the refusal" in raised.value.__notes__[0]
        monkeypatch.undo()
        assert (ledger.spent(), ledger.refusals()) == ((TENTH, 0), [])
        charge(ledger)

    def test_an_accepted_charge_writes_nothing_more(self, ledger, monkeypatch):
        monkeypatch.delattr(records.SQLiteRecords, "add_refusal")
        assert charge(ledger).spent() == (TENTH, 0)

    def test_threads_lose_none(self, ledger):
        def refuse(_):
            with pytest.raises(BudgetExceededError):
                charge(ledger, 2)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(refuse, range(12)))
        assert len(ledger.refusals()) == 12

    def test_an_id_may_be_used_after_its_refusal(self, ledger):
        with pytest.raises(BudgetExceededError):
            ledger.charge(spend(2), "Tree", charge_id="a")
        assert ledger.charge(spend(), "Tree", charge_id="a") is True

    def test_a_backup_holds_them(self, path, ledger, tmp_path):
        with pytest.raises(BudgetExceededError):
            charge(ledger, 2)
        ledger.backup(tmp_path / "backup")
        path.unlink()
        assert len(PrivacyLedger.restore(tmp_path / "backup", path).refusals()) == 1


class TestAudit:
    @pytest.fixture
    def full(self, ledger):
        with ledger.record(**FULL), ledger.label("a"), ledger.data("A"):
            charge(charge(ledger))
        charge(ledger, Fraction(1, 3))
        ledger.count_failure("Tree")
        with pytest.raises(BudgetExceededError):
            charge(ledger, 2)
        return ledger

    @pytest.fixture(params=["export", "backup", "file", "copy"])
    def place(self, request, full, path, tmp_path):
        target = tmp_path / "elsewhere" / "for the auditor"
        target.parent.mkdir()
        if request.param == "file":
            return path
        if request.param == "copy":
            target.write_bytes(path.read_bytes())
        elif request.param == "backup":
            full.backup(target)
        else:
            full.to_json(target)
        return target

    def test_it_shows_what_the_ledger_shows_and_writes_nothing(self, full, place):
        before = sorted((file.name, file.read_bytes()) for file in place.parent.iterdir() if file.is_file())
        audit = LedgerAudit(place)
        assert audit.entries() == full.entries()
        assert audit.refusals() == full.refusals()
        assert (audit.spent(), audit.remaining()) == (full.spent(), full.remaining())
        assert audit.failures == {"Tree": 1}
        assert audit.to_json() == full.to_json()
        assert audit.chain == json.loads(full.to_json())["chain"]
        assert audit.report().splitlines()[1:] == full.report().splitlines()[1:]
        assert audit.composition() == full.composition()
        after = sorted((file.name, file.read_bytes()) for file in place.parent.iterdir() if file.is_file())
        assert after == before

    def test_it_cannot_charge(self, place):
        audit = LedgerAudit(place)
        assert not {"charge", "count_failure", "restore", "backup"} & set(dir(audit))

    def test_it_says_what_it_checked(self, full, path, tmp_path):
        full.to_json(tmp_path / "export")
        assert "agrees with its high-water mark" in " ".join(LedgerAudit(path).checks)
        told = " ".join(LedgerAudit(tmp_path / "export").checks)
        assert "No high-water mark" in told
        assert "accidents, not adversaries" in told

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"epsilon": "1/3"', '"epsilon": "1/4"'),
            ('"Table One"', '"Table Two"'),
            ('"private": true', '"private": false'),
            ('"label": "a"', '"label": "b"'),
            ('"total": 1', '"total": 0'),
            ('"version": 3', '"version": 2'),
            ('"chain": "', '"chain": "0'),
            ('"refusals": [', '"others": ['),
        ],
    )
    def test_an_altered_export_is_refused(self, full, tmp_path, old, new):
        text = full.to_json()
        assert old in text
        (tmp_path / "export").write_text(text.replace(old, new, 1), "utf-8")
        with pytest.raises(LedgerError, match="altered"):
            LedgerAudit(tmp_path / "export")

    def test_exchanged_entries_of_an_export_are_refused(self, full, tmp_path):
        content = json.loads(full.to_json())
        content["entries"].reverse()
        (tmp_path / "export").write_text(json.dumps(content), "utf-8")
        with pytest.raises(LedgerError, match="altered"):
            LedgerAudit(tmp_path / "export")

    @pytest.mark.parametrize("statement", ["UPDATE entries SET person = 'B'", "DELETE FROM entries"])
    def test_an_altered_backup_is_refused(self, full, tmp_path, statement):
        full.backup(tmp_path / "backup")
        with contextlib.closing(sqlite3.connect(tmp_path / "backup")) as connection:
            connection.execute(statement)
            connection.commit()
        with pytest.raises(LedgerError, match="damaged"):
            LedgerAudit(tmp_path / "backup")

    @pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b"SQLite format 3\0", b"null"])
    def test_what_is_none_of_them_is_refused(self, tmp_path, content):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(LedgerError):
            LedgerAudit(tmp_path / "file")

    def test_a_foreign_database_and_a_missing_file_are_refused(self, tmp_path):
        with contextlib.closing(sqlite3.connect(tmp_path / "other")) as connection:
            connection.execute("CREATE TABLE meta (key, value)")
        for name in ("other", "missing", "."):
            with pytest.raises(LedgerError):
                LedgerAudit(tmp_path / name)

    def test_an_export_in_place_of_the_ledger_is_refused(self, path, full):
        with pytest.raises(ValueError, match="the ledger itself"):
            LedgerAudit(path).to_json(path)


def test_blocks_that_end_in_another_order_leave_nothing_behind(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger")
    first, second = ledger.record(person="A", purpose="p"), ledger.record(person="B")
    first.__enter__()
    second.__enter__()
    assert ledger._said == (None, "p", "B", None, None)
    first.__exit__(None, None, None)
    assert ledger._said == (None, None, "B", None, None)
    inside = pickle.loads(pickle.dumps(ledger))
    with inside.record(purpose="q"):
        assert inside._said == (None, "q", "B", None, None)
    assert inside._said == (None, None, "B", None, None)
    second.__exit__(None, None, None)
    assert ledger._said == (None, None, None, None, None)


def test_labels_that_end_in_another_order_leave_nothing_behind(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger")
    first, second = ledger.label("A"), ledger.label("B")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    charge(ledger)
    inside = pickle.loads(pickle.dumps(ledger))
    with inside.label("C"):
        charge(inside)
    charge(inside)
    second.__exit__(None, None, None)
    charge(ledger)
    assert [entry.label for entry in ledger.entries()] == ["B", "C", "B", None]
