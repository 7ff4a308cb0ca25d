# SPDX-License-Identifier: BSD-3-Clause
"""The page on a whole study: what it says, and that no text of a user becomes markup."""

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from skprivate.accounting import DisclosureRisk, LedgerAudit, PrivacyGuarantee, PrivacyLedger, study_page
from skprivate.exceptions import BudgetExceededError
from tests.accounting.records import EXPOSED, NASTY, assert_loads_nothing, charge, report, spend, words

STATEMENTS = {
    "spent": spend(),
    "report": report(spend()),
    "guarantee": PrivacyGuarantee(epsilon=0.5, status="exact", criterion="pml", subject="s", prior="p"),
    "risk": DisclosureRisk(protection="p", attack="a", metric="m", bound={"b": 6.4}, assumption="x"),
    "result": SimpleNamespace(privacy_spent=spend()),
    "fitted": SimpleNamespace(privacy_spent_=spend()),
}


@pytest.fixture
def ledger(path):
    return PrivacyLedger(path, epsilon=2)


def test_it_holds_what_was_asked_for(ledger, tmp_path):
    with ledger.record(purpose="Table One", person="A. B.", approver="board", expiry="1999-01-01"):
        with ledger.data("ward 3"):
            ledger.charge(spend(), "private_describe")
        with ledger.label("final"), pytest.raises(BudgetExceededError):
            ledger.charge(spend(3), "Tree")
    ledger.count_failure("Tree")
    target = tmp_path / "page.html"
    page = study_page(ledger, {"table": spend()}, title="Falls", signatures=["Head", "Board"], path=target)
    assert target.read_text("utf-8") == page
    told = words(page)
    for part in (
        *("Falls", "ε = 0.1 spent"),
        "Table One; no label private_describe: epsilon = 0.1, delta = 0 (1 charges)",
        "A. B. data: ward 3; approved by: board; until: 1999-01-01 (EXPIRED), 1 entries CHARGED AFTER IT",
        *("What is claimed: table", "Refused charges, which cost nothing 1", "choices by eye"),
        "refused, label final, Tree epsilon = 3, delta = 0 asked for 1 times; purpose Table One",
        "Failed fits, which cost no epsilon 1 (no limit; Tree: 1)",
        *("that 1 failed may reveal something", "if groups of data overlap", "Head ____", "Board ____"),
        "cover that step alone; privacy_report(pipeline) covers them all",
    ):
        assert part in told
    assert str(tmp_path) not in page


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 8, 40, 800])
def test_what_epsilon_means_is_rounded_against_the_claim(tmp_path, epsilon):
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    ledger.charge(spend(epsilon), "Tree")
    told = words(study_page(ledger))
    belief = float(told.partition("to at most ")[2].partition(" %")[0]) / 100
    exact = 1 / (1 + math.exp(-epsilon))
    assert exact - 1e-9 <= belief <= exact + 1.01e-4
    factor = told.partition(": times ")[2].partition(" ")[0]
    if epsilon < 700:
        assert math.exp(epsilon) * (1 - 1e-8) <= float(factor) <= 1.01 * math.exp(epsilon)
    else:
        assert factor == "e^800"


@pytest.mark.parametrize(
    ("relation", "sentence"),
    [
        ("replace-one", "between two possible values of the data of one row"),
        ("add-remove", "the odds that one row is in the data"),
        ("local", "two possible values that one row reported on"),
        ("label", "whose features are not protected"),
    ],
)
def test_each_relation_has_its_sentence(ledger, relation, sentence):
    ledger.charge(spend(relation=relation), "Tree")
    assert sentence in words(study_page(ledger))


def test_delta_is_said(ledger, tmp_path):
    charge(ledger)
    assert "no exception" in words(study_page(ledger))
    ledger = PrivacyLedger(tmp_path / "other.ledger")
    ledger.charge(spend(delta=1e-6), "Tree")
    assert "1e-06: as if, with this probability at most" in words(study_page(ledger))


def test_groups_of_data_count_as_declared_and_the_sum_is_said(ledger):
    for group in ("A", "B"):
        with ledger.data(group):
            charge(ledger)
    told = words(study_page(ledger))
    assert "epsilon 0.1 (replace-one, row)" in told
    assert "else all of epsilon = 0.2, delta = 0 counts" in told


def test_no_sentence_where_none_holds(ledger):
    ledger.charge(spend(**EXPOSED), "Tree")
    told = words(study_page(ledger))
    assert "No sentence holds for all results together" in told
    assert "from even odds" not in told
    assert "NOT PRIVATE: 1, nominal amounts" in told
    assert "charges that are not private 1 of 1" in told


def test_kinds_that_do_not_add_up_have_no_sentence(ledger):
    charge(ledger)
    ledger.charge(spend(relation="add-remove"), "Tree")
    assert "from even odds" not in words(study_page(ledger))


def test_a_claim_that_nobody_charged_is_told(ledger):
    charge(ledger)
    statements = {"covered": STATEMENTS["report"], "forgotten": spend(delta=1e-9)}
    told = words(study_page(ledger, statements))
    assert "claim of forgotten no charge of this ledger" in told
    assert "claim of paid" not in told


def test_every_statement_has_its_place(ledger):
    told = words(study_page(ledger, STATEMENTS))
    assert all(f"What is claimed: {name}" in told for name in STATEMENTS)
    assert "What is claimed: Result 2" in words(study_page(ledger, [*STATEMENTS.values()]))


@pytest.mark.parametrize("make", [lambda ledger: ledger, lambda ledger: LedgerAudit(ledger.path)])
def test_no_text_becomes_markup_and_nothing_is_loaded(ledger, make):
    with ledger.label(NASTY), ledger.data(NASTY), ledger.record(purpose=NASTY, person=NASTY, approver=NASTY):
        ledger.charge(spend(mechanism=NASTY), NASTY)
        with ledger.record(expiry=NASTY), pytest.raises(BudgetExceededError):
            ledger.charge(spend(3), NASTY)
    ledger.count_failure(NASTY)
    statements = {NASTY: spend(mechanism=NASTY, public_inputs=(NASTY,))}
    page = study_page(make(ledger), statements, title=NASTY, signatures=[NASTY])
    for html in (page, make(ledger).to_html()):
        assert assert_loads_nothing(html).tags.count("h1") == 1 or html is not page
        assert NASTY in words(html)


def test_it_never_replaces_the_ledger(ledger):
    with pytest.raises(ValueError, match="the ledger itself"):
        study_page(ledger, path=ledger.path)
    charge(ledger)


def test_no_sentence_is_made_of_a_delta_of_one(tmp_path):
    ledger = PrivacyLedger(tmp_path / "other.ledger")
    for _ in range(2):
        ledger.charge(spend(1, delta=Fraction(6, 10)), "Tree")
    told = words(study_page(ledger))
    assert "no bound" in told
    assert "from even odds" not in told
