# SPDX-License-Identifier: BSD-3-Clause
"""Groups of disjoint data in a ledger, files of the schema before them, and the export."""

import contextlib
import hashlib
import json
import multiprocessing
import os
import pickle
import sqlite3
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

from skprivate.accounting import PrivacyLedger, PrivacySpent
from skprivate.exceptions import BudgetExceededError, LedgerError

TENTH = Fraction(1, 10)


def spend(epsilon=TENTH, delta=0, **changes):
    settings = {
        "mechanism": "discrete Laplace",
        "epsilon": epsilon,
        "delta": delta,
        "relation": "replace-one",
        "noise_scale": 4,
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(**{**settings, **changes})


def charge(ledger):
    ledger.charge(spend(), "Tree")
    return ledger


@pytest.fixture
def ledger(path):
    return PrivacyLedger(path, epsilon=4)


def groups_of(ledger):
    return [entry.data for entry in ledger.entries()]


def execute(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def make_old(path, schema=1):
    """Turn the file into what an older version wrote, which kept nothing beside it."""
    record = "purpose", "person", "approver", "expiry"
    columns = [f"ALTER TABLE entries DROP COLUMN {name}" for name in record]
    execute(path, "DROP TABLE refusals", *columns)
    execute(path, f"UPDATE meta SET value = '{schema}' WHERE key = 'schema'")
    if schema == 4:
        return
    execute(path, "DROP TABLE charge_ids")
    if schema == 3:
        return
    execute(
        path,
        "DROP TABLE failures",
        "UPDATE meta SET value = rtrim(value, '0') WHERE key LIKE 'total%'",
        "UPDATE meta SET value = rtrim(value, '+') WHERE key LIKE 'total%'",
        "DELETE FROM meta WHERE key IN ('failures', 'max_failures')",
    )
    if schema == 1:
        added = ("data", "rho", "sensitivity", "noise_scale")
        columns = [f"ALTER TABLE entries DROP COLUMN {name}" for name in added]
        execute(path, *columns, "DELETE FROM meta WHERE key = 'chain'")
    path.with_name(path.name + ".mark").unlink()
    path.with_name(path.name + ".lock").unlink()


def test_the_dearest_group_counts_and_what_touches_all(ledger):
    charge(ledger)
    with ledger.data("hospital A") as same:
        assert same is ledger
        charge(ledger)
    with ledger.data("hospital B"), ledger.label("pilot"):
        charge(charge(ledger))
    assert groups_of(ledger) == [None, "hospital A", "hospital B", "hospital B"]
    assert ledger.spent() == (Fraction(4, 10), 0)
    assert ledger.remaining() == (Fraction(36, 10), 0)
    composition = ledger.composition()
    assert composition.epsilon == Fraction(3, 10)
    assert composition.parts[0].groups == {"hospital A": (Fraction(2, 10), 0), "hospital B": (3 * TENTH, 0)}
    assert "AS DECLARED" in str(composition)
    report = ledger.report()
    assert "disjoint as declared" in report
    assert "'hospital B': epsilon = 0.2, delta = 0 (2 entries)" in report
    assert "planning on public or simulated data" in report


def test_the_ceiling_counts_every_group(path):
    ledger = PrivacyLedger(path, epsilon=2 * TENTH)
    for group in ("A", "B"):
        with ledger.data(group):
            charge(ledger)
    with ledger.data("C"), pytest.raises(BudgetExceededError):
        charge(ledger)
    assert groups_of(ledger) == ["A", "B"]


def test_groups_do_not_overlap(ledger):
    with ledger.data("A"):
        for group in ("A", "B"):
            with pytest.raises(ValueError, match="inside data\\('A'\\) already"), ledger.data(group):
                pass
        charge(ledger)
    charge(ledger)
    assert groups_of(ledger) == ["A", None]


def test_the_group_ends_after_an_error(ledger):
    with pytest.raises(RuntimeError), ledger.data("A"):
        raise RuntimeError
    charge(ledger)
    assert groups_of(ledger) == [None]


@pytest.mark.parametrize(("group", "error"), [("", ValueError), (" ", ValueError), (3, TypeError)])
def test_wrong_groups(ledger, group, error):
    with pytest.raises(error), ledger.data(group):
        pass


def test_threads_share_the_group_and_cannot_declare_another(ledger):
    refused = []

    def declare():
        try:
            with ledger.data("B"):
                pass
        except ValueError:
            refused.append(True)

    with ledger.data("A"):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: charge(ledger), range(8)))
        thread = threading.Thread(target=declare)
        thread.start()
        thread.join()
    assert groups_of(ledger) == ["A"] * 8
    assert refused == [True]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_workers_charge_to_the_group_and_what_comes_back_does_not(ledger, backend):
    with ledger.data("A"):
        returned = Parallel(n_jobs=2, backend=backend)(delayed(charge)(clone(ledger)) for _ in range(6))
    assert groups_of(ledger) == ["A"] * 6
    for one in returned:
        charge(one)
    assert groups_of(ledger) == ["A"] * 6 + [None] * 6


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_forked_processes_charge_to_the_group(ledger):
    with (
        ledger.data("A"),
        ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool,
    ):
        list(pool.map(charge, [ledger] * 4))
    assert groups_of(ledger) == ["A"] * 4


def test_a_pickle_does_not_keep_the_group(ledger):
    outside = pickle.dumps(ledger)
    with ledger.data("A"):
        saved = pickle.dumps(ledger)
    assert groups_of(charge(pickle.loads(saved))) == [None]
    assert pickle.dumps(ledger) == outside


def test_a_pickle_of_an_older_version_loads(ledger):
    state = {name: value for name, value in vars(ledger).items() if name not in ("_data", "_verified")}
    vars(state["_identity"]).pop("max_failures")
    old = PrivacyLedger.__new__(PrivacyLedger)
    old.__setstate__(state)
    assert groups_of(charge(old)) == [None]


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_a_file_of_an_older_schema_is_read_as_it_is_and_upgraded_by_a_charge(path, ledger, schema):
    charge(charge(ledger))
    make_old(path, schema)
    before = path.read_bytes()
    old = PrivacyLedger(path, epsilon=4)
    assert groups_of(old) == [None, None]
    assert old.spent() == (Fraction(2, 10), 0)
    assert old.composition().epsilon == Fraction(2, 10)
    assert old.refusals() == []
    assert {entry.purpose for entry in old.entries()} == {None}
    assert path.read_bytes() == before
    with old.data("A"), old.record(purpose="pilot"):
        charge(old)
    assert groups_of(old) == [None, None, "A"]
    assert [entry.purpose for entry in old.entries()] == [None, None, "pilot"]
    assert old.spent() == (Fraction(3, 10), 0)
    assert groups_of(PrivacyLedger(path, epsilon=4)) == [None, None, "A"]
    assert old.count_failure("Tree") == 1
    assert [old.charge(spend(), "Tree", charge_id="round 1") for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = '1/a' WHERE key = 'total_epsilon'",
        "UPDATE meta SET value = '1' WHERE key = 'count'",
        "DELETE FROM meta WHERE key = 'chain'",
        "UPDATE entries SET epsilon = '1/20' WHERE id = 1",
    ],
)
def test_a_damaged_file_of_an_older_schema_is_refused(path, ledger, statement):
    charge(charge(ledger))
    make_old(path, schema=2)
    execute(path, statement)
    with pytest.raises(LedgerError, match="damaged"):
        PrivacyLedger(path, epsilon=4)


def test_entries_without_a_record_have_the_hash_of_older_versions(path, ledger):
    charge(charge(ledger))
    columns = (
        "time, estimator, mechanism, epsilon, delta, relation, unit, private, label, data, rho, sensitivity, "
        "noise_scale"
    )
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"SELECT {columns} FROM entries ORDER BY id").fetchall()
        (written,) = connection.execute("SELECT value FROM meta WHERE key = 'chain'").fetchone()
    chain = ""
    for row in rows:
        chain = hashlib.sha256(repr((chain, *row)).encode()).hexdigest()
    assert written == chain


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_a_refused_charge_upgrades_and_charges_nothing(path, schema):
    charge(PrivacyLedger(path, epsilon=TENTH))
    make_old(path, schema)
    ledger = PrivacyLedger(path, epsilon=TENTH)
    for refused in (1, 2):
        with pytest.raises(BudgetExceededError) as raised:
            charge(ledger)
        assert not hasattr(raised.value, "__notes__")
        again = PrivacyLedger(path, epsilon=TENTH)
        assert again.spent() == (TENTH, 0)
        assert (len(again.entries()), len(again.refusals())) == (1, refused)


def test_processes_that_upgrade_at_once_lose_nothing(path, ledger):
    charge(ledger)
    make_old(path)
    ledger = PrivacyLedger(path, epsilon=4)
    Parallel(n_jobs=2, backend="loky")(delayed(charge)(ledger) for _ in range(8))
    assert ledger.spent() == (Fraction(9, 10), 0)
    assert len(ledger.entries()) == 9


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET data = 'B' WHERE id = 2",
        "UPDATE entries SET data = NULL WHERE id = 2",
        "UPDATE entries SET data = 'A' WHERE id = 1",
        "UPDATE entries SET relation = 'label' WHERE id = 1",
        "UPDATE entries SET rho = '1/1000' WHERE id = 1",
        "UPDATE entries SET noise_scale = '1/1' WHERE id = 3",
        "UPDATE entries SET private = 1 - private WHERE id = 1",
        "DELETE FROM meta WHERE key = 'chain'",
        "UPDATE meta SET value = '0' WHERE key = 'schema'",
    ],
)
def test_changed_entries_are_noticed(path, ledger, statement):
    charge(ledger)
    with ledger.data("A"):
        charge(charge(ledger))
    execute(path, statement)
    for operation in (ledger.composition, ledger.entries, ledger.report, ledger.to_json):
        with pytest.raises(LedgerError, match="damaged"):
            operation()


def test_a_lost_chain_is_not_started_anew(path, ledger):
    execute(path, "DELETE FROM meta WHERE key = 'chain'")
    with pytest.raises(LedgerError, match="damaged"):
        charge(ledger)


def test_details_come_back(path):
    ledger = PrivacyLedger(path)
    ledger.charge(spend(rho=Fraction(1, 8), sensitivity=2, noise_scale=Fraction(20), delta=1e-6), "Tree")
    entry = ledger.entries()[0]
    assert (entry.rho, entry.sensitivity, entry.noise_scale) == (Fraction(1, 8), 2, 20)


def test_export(path, tmp_path):
    ledger = PrivacyLedger(path, epsilon=4, delta=Fraction(1, 10**5))
    with ledger.data("hôpital A"):
        ledger.charge(spend(Fraction(1, 3), Fraction(1, 10**6)), "Tree")
    charge(ledger)
    target = tmp_path / "export.json"
    text = ledger.to_json(target)
    assert target.read_text("utf-8") == text == ledger.to_json()
    content = json.loads(text)
    assert (content["format"], content["version"]) == ("skprivate.ledger-export", 2)
    assert content["ceiling"] == {"epsilon": "4/1", "delta": "1/100000"}
    assert content["spent"] == {"epsilon": "0xd/0x1e", "delta": f"0x1/{10**6:#x}"}
    first, second = content["entries"]
    assert (first["epsilon"], first["delta"], first["data"]) == ("1/3", "1/1000000", "hôpital A")
    assert (second["epsilon"], second["data"], second["noise_scale"]) == ("1/10", None, "4/1")
    assert "as declared" in content["note"]
    assert str(path.parent) not in text


def test_export_of_rounded_sums(path):
    ledger = PrivacyLedger(path)
    for k in range(40):
        ledger.charge(spend(Fraction(1, 10**18 + 2 * k + 1)), "Tree")
    numerator, denominator = json.loads(ledger.to_json())["spent"]["epsilon"].split("/")
    assert Fraction(int(numerator, 16), int(denominator, 16)) == ledger.spent()[0]


def test_export_never_replaces_the_ledger(path, ledger):
    with pytest.raises(ValueError, match="the ledger itself"):
        ledger.to_json(path)
    assert ledger.spent() == (0, 0)
