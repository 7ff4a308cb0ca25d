# SPDX-License-Identifier: BSD-3-Clause
"""What `PrivacyLedger` counts, refuses, prints and stays through copies."""

import copy
import dataclasses
import json
import math
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


def test_without_ceiling_everything_is_counted(path):
    ledger = PrivacyLedger(path)
    ledger.charge(spend(1e6, 0.9), "Tree")
    ledger.charge(spend(1e6, 0.9), "Tree")
    assert ledger.remaining() == (math.inf, math.inf)
    assert ledger.spent() == (2_000_000, 2 * Fraction(0.9))
    assert (ledger.epsilon, ledger.delta) == (None, 0)


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
