# SPDX-License-Identifier: BSD-3-Clause
"""What `PrivacyLedger` counts, refuses, prints and stays through copies."""

import copy
import dataclasses
import json
import math
import os
import pickle
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import joblib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from skprivate.accounting import LedgerEntry, PrivacyLedger
from skprivate.exceptions import BudgetExceededError, LedgerError
from tests.accounting.records import SEEDED, TENTH, charge, spend


def test_charges_are_read_back(path):
    ledger = PrivacyLedger(path)
    before = datetime.now(UTC)
    details = {"rho": Fraction(1, 8), "sensitivity": 2, "noise_scale": Fraction(20)}
    ledger.charge(
        spend(Fraction(1, 3), Fraction(1, 10**6), relation="local", unit="group", **details), "Tree"
    )
    with ledger.label("pilot"):
        ledger.charge(spend(**SEEDED), "Tree")
    first, second = PrivacyLedger(path).entries()
    assert before <= first.time <= datetime.now(UTC)
    assert first.time.utcoffset() == timedelta(0)
    assert dataclasses.replace(first, time=before) == LedgerEntry(
        time=before,
        estimator="Tree",
        mechanism="discrete Laplace",
        epsilon=Fraction(1, 3),
        delta=Fraction(1, 10**6),
        relation="local",
        unit="group",
        private=True,
        label=None,
        **details,
    )
    assert (second.private, second.label, second.epsilon) == (False, "pilot", TENTH)


def test_sums_and_remainder_are_exact(path):
    ledger = PrivacyLedger(path, epsilon=1, delta=1e-5)
    for _ in range(3):
        charge(ledger, TENTH, Fraction(1, 10**6))
    ledger.charge(spend(**SEEDED), "Tree")
    assert ledger.spent() == (4 * TENTH, Fraction(3, 10**6))
    assert ledger.remaining() == (6 * TENTH, Fraction(1e-5) - Fraction(3, 10**6))


@settings(max_examples=15, deadline=None)
@given(
    amounts=st.lists(st.fractions(min_value=Fraction(1, 100), max_value=1), max_size=6),
    ceiling=st.fractions(min_value=Fraction(1, 100), max_value=3),
)
def test_a_charge_is_refused_exactly_when_it_would_pass_the_ceiling(tmp_path_factory, amounts, ceiling):
    ledger = PrivacyLedger(tmp_path_factory.mktemp("ledger") / "x", epsilon=ceiling)
    total = Fraction(0)
    for amount in amounts:
        if total + amount > ceiling:
            with pytest.raises(BudgetExceededError):
                ledger.charge(spend(amount), "Tree")
        else:
            ledger.charge(spend(amount), "Tree")
            total += amount
        assert ledger.spent() == (total, 0)


def test_ceiling_is_reached_and_not_passed(path, tmp_path):
    ledger = PrivacyLedger(path, epsilon=3 * TENTH)
    charge(charge(charge(ledger)))
    with pytest.raises(
        BudgetExceededError, match=r"0\.1.* by epsilon = 0\.1.*so far epsilon = 0\.3.*Nothing"
    ) as caught:
        charge(ledger)
    assert str(path) in str(caught.value)
    assert (len(ledger.entries()), ledger.remaining()) == (3, (0, 0))
    assert {one.name for one in tmp_path.iterdir()} == {path.name, f"{path.name}.lock", f"{path.name}.mark"}


def test_ceiling_on_delta(path):
    ledger = PrivacyLedger(path, epsilon=10, delta=1e-6)
    ledger.charge(spend(1, 1e-6), "Tree")
    with pytest.raises(BudgetExceededError):
        ledger.charge(spend(1, 1e-9), "Tree")
    ledger.charge(spend(1), "Tree")
    assert ledger.spent() == (2, Fraction(1e-6))


def test_without_ceiling_everything_is_counted(path):
    ledger = PrivacyLedger(path)
    ledger.charge(spend(1e6, 0.9), "Tree")
    ledger.charge(spend(1e6, 0.9), "Tree")
    assert ledger.remaining() == (math.inf, math.inf)
    assert ledger.spent() == (2_000_000, 2 * Fraction(0.9))
    assert (ledger.epsilon, ledger.delta) == (None, 0)


def test_many_different_denominators(path):
    # Their exact sum has 7,000 bits: the ledger goes on with an upper bound.
    ledger = PrivacyLedger(path, epsilon=1)
    amounts = [Fraction(1, 7**800 + i) for i in range(3)]
    for amount in amounts:
        charge(ledger, amount)
    assert 0 < ledger.spent()[0] - sum(amounts) < Fraction(len(amounts), 2**1200)
    assert ledger.spent()[0].denominator < 2**3300
    assert PrivacyLedger(path, epsilon=1).spent() == ledger.spent()
    assert "total" in ledger.report()
    with pytest.raises(BudgetExceededError):
        charge(ledger, 1)


def test_path_is_absolute_and_resolved(path, tmp_path, monkeypatch):
    ledger = PrivacyLedger(path, epsilon=1)
    os.symlink(tmp_path, tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    for same in ("study.ledger", str(path), tmp_path / "link" / "study.ledger"):
        assert PrivacyLedger(same, epsilon=1) == ledger
    monkeypatch.chdir("/")
    charge(ledger)
    assert ledger.path == path.resolve()


def test_odd_names_work(tmp_path):
    for name in ("a b?mode=memory", "50% #1", ":memory:", "ünï"):
        charge(PrivacyLedger(tmp_path / name))
        assert len(PrivacyLedger(tmp_path / name).entries()) == 1
        assert (tmp_path / name).is_file()


@pytest.mark.parametrize(
    "duplicate",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy, lambda x: clone(x, safe=False)],
)
def test_copies_are_the_same_ledger(path, tmp_path, duplicate):
    ledger = PrivacyLedger(path, epsilon=1)
    other = charge(duplicate(ledger))
    assert (other, hash(other), repr(other)) == (ledger, hash(ledger), repr(ledger))
    assert ledger.spent() == other.spent() == (TENTH, 0)
    assert ledger not in (PrivacyLedger(tmp_path / "other"), path)


def test_a_copy_within_the_process_is_the_object(path):
    ledger = PrivacyLedger(path)
    assert clone(ledger, safe=False) is copy.copy(ledger) is ledger
    assert copy.deepcopy({"ledger": ledger})["ledger"] is ledger


def test_a_charge_does_not_change_the_pickled_parameter(path):
    ledger = PrivacyLedger(path)
    before = joblib.hash(ledger)
    charge(ledger)
    assert joblib.hash(ledger) == before


def test_a_pickle_loads_where_the_file_is_not(path):
    data = pickle.dumps(PrivacyLedger(path))
    path.unlink()
    ledger = pickle.loads(data)
    assert ledger.path == path
    with pytest.raises(LedgerError, match="missing"):
        ledger.spent()
    assert not path.exists()


def test_repr_is_short(path):
    assert repr(PrivacyLedger(path)) == f"PrivacyLedger({str(path)!r})"
    other = PrivacyLedger(path.with_name("b"), epsilon=0.5, delta=1e-6)
    assert repr(other) == f"PrivacyLedger({str(other.path)!r}, epsilon=0.5, delta=1e-06)"


def test_failed_fits_are_counted_and_limited(path):
    ledger = PrivacyLedger(path, epsilon=1, max_failures=1)
    assert (ledger.max_failures, ledger.n_failures) == (1, 0)
    assert ledger.count_failure("Tree") == 1
    ledger.check_failures()
    PrivacyLedger(path.with_name("unlimited")).check_failures()
    charge(ledger)
    assert pickle.loads(pickle.dumps(ledger)).count_failure("Forest") == 2
    for refused in (ledger.check_failures, lambda: charge(ledger)):
        with pytest.raises(
            BudgetExceededError, match=r"2 failed fits, and its limit is 1.*Nothing was spent"
        ):
            refused()
    assert ledger.count_failure("Tree") == 3
    assert ledger.spent() == (TENTH, 0)
    assert PrivacyLedger(path, epsilon=1, max_failures=1).n_failures == 3
    line = "Failed fits, which cost no epsilon: 3 (limit 1; Forest: 1; Tree: 2)"
    assert line in ledger.report().splitlines()
    failures = json.loads(ledger.to_json())["failures"]
    assert failures == {"total": 3, "limit": 1, "estimators": {"Forest": 1, "Tree": 2}, "begun": 0}
    assert repr(ledger).endswith("max_failures=1)")
