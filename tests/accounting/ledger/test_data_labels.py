# SPDX-License-Identifier: BSD-3-Clause
"""Groups of disjoint data in a ledger, and the export."""

import contextlib
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
    assert (content["format"], content["version"]) == ("skprivate.ledger-export", 3)
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
