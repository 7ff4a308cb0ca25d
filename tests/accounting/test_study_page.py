# SPDX-License-Identifier: BSD-3-Clause
"""The page on a whole study: what it says, and that no text of a user becomes markup."""

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from skprivate.accounting import DisclosureRisk, PrivacyGuarantee, PrivacyLedger, study_page
from tests.accounting.records import EXPOSED, charge, report, spend, words

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


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 8, 40, 800])
def test_what_epsilon_means_is_rounded_against_the_claim(tmp_path, epsilon):
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    ledger.charge(spend(epsilon), "Tree")
    told = words(study_page(ledger))
    belief = float(told.partition("to at most ")[2].partition(" %")[0]) / 100
    exact = 1 / (1 + math.exp(-epsilon))
    assert exact - 1e-9 <= belief <= exact + 1.01e-4
    factor = told.partition("divided by at most ")[2].partition(" ")[0]
    if epsilon < 700:
        assert math.exp(epsilon) * (1 - 1e-8) <= float(factor) <= 1.01 * math.exp(epsilon)
    else:
        assert factor == "e^800"


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


def test_it_never_replaces_the_ledger(ledger):
    with pytest.raises(ValueError, match="the ledger itself"):
        study_page(ledger, path=ledger.path)
    charge(ledger)
