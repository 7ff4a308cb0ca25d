# SPDX-License-Identifier: BSD-3-Clause
"""What `PrivacyLedger` counts, refuses, prints and stays through copies."""

import contextlib
import copy
import dataclasses
import json
import math
import os
import pickle
import sqlite3
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import joblib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from skprivate.accounting import LedgerEntry, PrivacyLedger, PrivacySpent
from skprivate.exceptions import BudgetExceededError, LedgerError, PrivacyUnboundedError


def spend(epsilon=Fraction(1, 10), delta=0, **changes):
    fields = {
        "mechanism": "discrete Laplace",
        "epsilon": epsilon,
        "delta": delta,
        "relation": "replace-one",
        "noise_scale": 4,
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(**(fields | changes))


NOT_PRIVATE = {"claim": "not-private", "reasons": ("seeded",), "noise_source": "seeded"}


def test_charges_are_read_back(path):
    ledger = PrivacyLedger(path)
    before = datetime.now(UTC)
    ledger.charge(spend(Fraction(1, 3), Fraction(1, 10**6), relation="local", unit="group"), "Tree")
    with ledger.label("pilot"):
        ledger.charge(spend(**NOT_PRIVATE), "Tree")
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
        noise_scale=4,
    )
    assert (second.private, second.label, second.epsilon) == (False, "pilot", Fraction(1, 10))


@pytest.mark.parametrize("ceiling", [None, 10])
def test_infinite_epsilon_is_refused_and_nothing_written(path, ceiling):
    ledger = PrivacyLedger(path, epsilon=ceiling)
    ledger.charge(spend(unit="player"), "Solver")
    with pytest.raises(PrivacyUnboundedError, match="nothing was written"):
        ledger.charge(spend(math.inf, **NOT_PRIVATE), "Solver")
    assert [entry.unit for entry in ledger.entries()] == ["player"]
    assert "player" in ledger.report()


def test_amounts_are_stored_as_fractions_in_text(path):
    PrivacyLedger(path).charge(spend(Fraction(1, 3)), "Tree")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT epsilon, delta FROM entries").fetchall() == [("1/3", "0/1")]


def test_sums_and_remainder_are_exact(path):
    ledger = PrivacyLedger(path, epsilon=1, delta=1e-5)
    for _ in range(3):
        ledger.charge(spend(Fraction(1, 10), Fraction(1, 10**6)), "Tree")
    ledger.charge(spend(**NOT_PRIVATE), "Tree")
    assert ledger.spent() == (Fraction(4, 10), Fraction(3, 10**6))
    assert ledger.remaining() == (Fraction(6, 10), Fraction(1e-5) - Fraction(3, 10**6))


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


def test_ceiling_is_reached_and_not_passed(path):
    ledger = PrivacyLedger(path, epsilon=Fraction(3, 10))
    for _ in range(3):
        ledger.charge(spend(), "Tree")
    with pytest.raises(
        BudgetExceededError, match=r"0\.1.* by epsilon = 0\.1.*so far epsilon = 0\.3.*Nothing"
    ) as caught:
        ledger.charge(spend(), "Tree")
    assert str(path) in str(caught.value)
    assert len(ledger.entries()) == 3
    assert ledger.remaining() == (0, 0)


def test_ceiling_on_delta(path):
    ledger = PrivacyLedger(path, epsilon=10, delta=1e-6)
    ledger.charge(spend(1, 1e-6), "Tree")
    with pytest.raises(BudgetExceededError):
        ledger.charge(spend(1, 1e-9), "Tree")
    ledger.charge(spend(1), "Tree")
    assert ledger.spent() == (2, Fraction(1e-6))


def test_a_refused_charge_leaves_room_for_a_smaller_one(path):
    ledger = PrivacyLedger(path, epsilon=1)
    with pytest.raises(BudgetExceededError):
        ledger.charge(spend(2), "Tree")
    ledger.charge(spend(1), "Tree")
    assert ledger.spent() == (1, 0)


def test_without_ceiling_everything_is_counted(path):
    ledger = PrivacyLedger(path)
    ledger.charge(spend(1e6, 0.9), "Tree")
    ledger.charge(spend(1e6, 0.9), "Tree")
    assert ledger.remaining() == (math.inf, math.inf)
    assert ledger.spent() == (2_000_000, 2 * Fraction(0.9))
    assert (ledger.epsilon, ledger.delta) == (None, 0)


def test_many_different_denominators(path):
    # Their exact sum has 20,000 bits: the ledger goes on with an upper bound.
    ledger = PrivacyLedger(path, epsilon=1)
    amounts = [Fraction(1, 2**80 + 2 * i + 1) for i in range(60)]
    for amount in amounts:
        ledger.charge(spend(amount), "Tree")
    assert 0 < ledger.spent()[0] - sum(amounts) < Fraction(len(amounts), 2**1200)
    assert ledger.spent()[0].denominator < 2**3300
    assert PrivacyLedger(path, epsilon=1).spent() == ledger.spent()
    assert "total" in ledger.report()
    with pytest.raises(BudgetExceededError):
        ledger.charge(spend(1), "Tree")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"epsilon": 0}, ValueError),
        ({"epsilon": -1.0}, ValueError),
        ({"epsilon": math.inf}, ValueError),
        ({"epsilon": math.nan}, ValueError),
        ({"epsilon": "1"}, TypeError),
        ({"epsilon": True}, TypeError),
        ({"epsilon": 1, "delta": 1}, ValueError),
        ({"epsilon": 1, "delta": -0.1}, ValueError),
        ({"epsilon": 1, "delta": None}, TypeError),
        ({"delta": 1e-6}, ValueError),
        ({"max_failures": -1}, ValueError),
        ({"max_failures": 1.0}, TypeError),
        ({"max_failures": True}, TypeError),
    ],
)
def test_wrong_ceilings_are_refused_and_create_nothing(path, arguments, error):
    with pytest.raises(error, match=r"epsilon|delta|max_failures"):
        PrivacyLedger(path, **arguments)
    assert not path.exists()


@pytest.mark.parametrize("wrong", [None, 1, b"ledger"])
def test_wrong_paths_are_refused(wrong):
    with pytest.raises(TypeError):
        PrivacyLedger(wrong)


def test_wrong_charges_are_refused(path):
    ledger = PrivacyLedger(path)
    with pytest.raises(TypeError, match="spent"):
        ledger.charge(1.0, "Tree")
    with pytest.raises(TypeError, match="estimator"):
        ledger.charge(spend(), None)
    with pytest.raises(ValueError, match="estimator"):
        ledger.charge(spend(), "")
    assert ledger.entries() == []


def test_path_is_absolute_and_resolved(path, tmp_path, monkeypatch):
    ledger = PrivacyLedger(path, epsilon=1)
    os.symlink(tmp_path, tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    for same in ("study.ledger", str(path), tmp_path / "link" / "study.ledger"):
        assert PrivacyLedger(same, epsilon=1) == ledger
    monkeypatch.chdir("/")
    ledger.charge(spend(), "Tree")
    assert ledger.path == path.resolve()


def test_odd_names_work(tmp_path):
    for name in ("a b?mode=memory", "50% #1", ":memory:", "ünï"):
        PrivacyLedger(tmp_path / name).charge(spend(), "Tree")
        assert len(PrivacyLedger(tmp_path / name).entries()) == 1
        assert (tmp_path / name).is_file()


def test_no_other_files_are_left(path, tmp_path):
    ledger = PrivacyLedger(path, epsilon=1)
    ledger.charge(spend(), "Tree")
    with pytest.raises(BudgetExceededError):
        ledger.charge(spend(2), "Tree")
    assert {one.name for one in tmp_path.iterdir()} == {path.name, f"{path.name}.lock", f"{path.name}.mark"}


@pytest.mark.parametrize(
    "duplicate",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy, lambda x: clone(x, safe=False)],
)
def test_copies_are_the_same_ledger(path, duplicate):
    ledger = PrivacyLedger(path, epsilon=1)
    other = duplicate(ledger)
    other.charge(spend(), "Tree")
    assert other == ledger
    assert hash(other) == hash(ledger)
    assert repr(other) == repr(ledger)
    assert ledger.spent() == other.spent() == (Fraction(1, 10), 0)


def test_scikit_learn_clone_and_deepcopy_return_the_object(path):
    ledger = PrivacyLedger(path)
    assert clone(ledger, safe=False) is ledger
    assert ledger.__sklearn_clone__() is ledger
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy({"ledger": ledger})["ledger"] is ledger


def test_different_ledgers_differ(path, tmp_path):
    ledger = PrivacyLedger(path)
    assert ledger != PrivacyLedger(tmp_path / "other")
    assert ledger != path


def test_a_charge_does_not_change_the_pickled_parameter(path):
    ledger = PrivacyLedger(path)
    before = joblib.hash(ledger)
    ledger.charge(spend(), "Tree")
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


def test_innermost_label_counts_and_is_restored(path):
    ledger = PrivacyLedger(path)
    with ledger.label("outer") as same:
        assert same is ledger
        with ledger.label("inner"):
            ledger.charge(spend(), "Tree")
        with pytest.raises(TypeError), ledger.label("failed"):
            ledger.charge(None, "Tree")
        pickle.loads(pickle.dumps(ledger)).charge(spend(), "Tree")
    ledger.charge(spend(), "Tree")
    assert [entry.label for entry in ledger.entries()] == ["inner", "outer", None]


@pytest.mark.parametrize(("label", "error"), [(1, TypeError), (None, TypeError), (" ", ValueError)])
def test_wrong_labels_are_refused(path, label, error):
    with pytest.raises(error, match="label"), PrivacyLedger(path).label(label):
        pass


def test_report(path):
    ledger = PrivacyLedger(path, epsilon=2, delta=1e-5)
    ledger.charge(spend(delta=1e-6), "Tree")
    with ledger.label("search"):
        for _ in range(3):
            ledger.charge(spend(), "Tree")
        ledger.charge(spend(**NOT_PRIVATE), "Regressor")
    report = ledger.report()
    rows = [line.split() for line in report.splitlines()]
    assert report.startswith(f"Privacy ledger {path}\n")
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
        assert line in report.splitlines()
    for part in (
        "GridSearchCV",
        "cv_results_",
        "best_score_",
        "exact functions of private rows that no entry",
    ):
        assert part in report


def test_report_without_entries_or_ceiling(path):
    report = PrivacyLedger(path).report()
    assert "Ceiling: none" in report
    assert "Not private: 0 of 0 entries\n" in report


def test_report_says_when_entries_cannot_be_added(path):
    ledger = PrivacyLedger(path)
    ledger.charge(spend(), "Tree")
    ledger.charge(spend(relation="local"), "Tree")
    report = ledger.report()
    assert "Relation and unit: local, row (1 entries)" in report
    assert "Entries differ in relation or unit" in report


@pytest.mark.parametrize("error", [BudgetExceededError, LedgerError])
def test_exceptions_survive_pickling(path, error):
    ledger = PrivacyLedger(path, epsilon=1)
    if error is LedgerError:
        path.unlink()
    with pytest.raises(error) as caught:
        ledger.charge(spend(2), "Tree")
    other = pickle.loads(pickle.dumps(caught.value))
    assert type(other) is error
    assert str(other) == str(caught.value)


def test_failed_fits_are_counted_and_limited(path):
    ledger = PrivacyLedger(path, epsilon=1, max_failures=1)
    assert (ledger.max_failures, ledger.n_failures) == (1, 0)
    assert ledger.count_failure("Tree") == 1
    ledger.check_failures()
    ledger.charge(spend(), "Tree")
    assert pickle.loads(pickle.dumps(ledger)).count_failure("Forest") == 2
    for refused in (ledger.check_failures, lambda: ledger.charge(spend(), "Tree")):
        with pytest.raises(
            BudgetExceededError, match=r"2 failed fits, and its limit is 1.*Nothing was spent"
        ):
            refused()
    assert ledger.count_failure("Tree") == 3
    assert ledger.spent() == (Fraction(1, 10), 0)
    assert PrivacyLedger(path, epsilon=1, max_failures=1).n_failures == 3
    line = "Failed fits, which cost no epsilon: 3 (limit 1; Forest: 1; Tree: 2)"
    assert line in ledger.report().splitlines()
    failures = json.loads(ledger.to_json())["failures"]
    assert failures == {"total": 3, "limit": 1, "estimators": {"Forest": 1, "Tree": 2}, "begun": 0}
    assert repr(ledger).endswith("max_failures=1)")


def test_without_a_limit_failed_fits_are_counted_only(path):
    ledger = PrivacyLedger(path)
    for _ in range(3):
        ledger.count_failure("Tree")
    ledger.check_failures()
    ledger.charge(spend(), "Tree")
    assert (ledger.n_failures, ledger.max_failures) == (3, None)
    assert "Failed fits, which cost no epsilon: 3 (no limit; Tree: 3)" in ledger.report()


def test_the_limit_of_failures_is_fixed_at_creation(path):
    PrivacyLedger(path, max_failures=0)
    with pytest.raises(
        LedgerError, match=r"no ceiling and at most 0 failed fits, .* no ceiling and at most 1"
    ):
        PrivacyLedger(path, max_failures=1)


@pytest.mark.parametrize(("name", "error"), [(None, TypeError), ("", ValueError)])
def test_wrong_failures_are_refused(path, name, error):
    ledger = PrivacyLedger(path)
    with pytest.raises(error, match="estimator"):
        ledger.count_failure(name)
    assert ledger.n_failures == 0
