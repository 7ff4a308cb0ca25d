# SPDX-License-Identifier: BSD-3-Clause
"""The page on a whole study: what it says, and that no text of a user becomes markup."""

import math
import re
import subprocess
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from skprivate import (
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    TableDomain,
    private_describe,
    private_evaluate,
)
from skprivate.accounting import DisclosureRisk, PrivacyGuarantee, PrivacyLedger, study_page
from skprivate.datasets import make_location_scale
from tests.accounting.records import EXPOSED, NASTY, charge, read, report, spend, words
from tests.collection.chromium import PROGRAM

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
    assert "Not private 1 of 1 entries, charged their nominal amounts" in told
    assert "charges not private 1 of 1" in told


def test_kinds_that_do_not_add_up_have_no_sentence(ledger):
    charge(ledger)
    ledger.charge(spend(relation="add-remove"), "Tree")
    assert "from even odds" not in words(study_page(ledger))


def test_a_claim_that_nobody_charged_is_told(ledger):
    charge(ledger)
    told = words(study_page(ledger, {**STATEMENTS, "forgotten": spend(delta=1e-9)}))
    assert "not charged forgotten steps of a pipeline" in told


def first_page(page):
    front, details, behind = page.partition('<details class="sp-more">')
    assert details
    return words(front + "</main></body></html>"), behind


def classifier_study(ledger, purpose="risk of a fall", person="A. Statistician", approver="board"):
    """A ledger and the results of a study with two evaluations, the second of a model with a seed."""
    rng = np.random.default_rng(0)
    table = {"age": rng.integers(18, 90, 6000), "smokes": rng.random(6000) < 0.3}
    table["ill"] = rng.random(6000) < table["age"] / 100
    X = table["age"][:, None]
    with ledger.record(purpose=purpose, person=person, approver=approver, expiry="2099-12-31"):
        domain = TableDomain({"age": (18, 90), "smokes": bool, "ill": bool})
        described = private_describe(table, domain, 0.5, ledger=ledger)
        options = {"bounds": (18, 90), "classes": [False, True]}
        model = DPTreeClassifier(0.5, ledger=ledger, **options).fit(X[:4000], table["ill"][:4000])
        evaluate = {"X": X[4000:], "y": table["ill"][4000:], "epsilon": 0.5, "on_training_rows": False}
        with ledger.data("held out"):
            evaluation = private_evaluate(model, **evaluate, ledger=ledger)
    seeded = private_evaluate(model, **evaluate, random_state=0)
    return {"Table One": described, "model": model, "evaluation": evaluation, "seeded": seeded}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    ledger = PrivacyLedger(tmp_path_factory.mktemp("study") / "study.ledger", epsilon=2)
    return ledger, classifier_study(ledger)


def test_the_first_page_has_the_facts(study):
    ledger, results = study
    page = study_page(ledger, results, title="Ward 3", question="Who falls?")
    front, behind = first_page(page)
    auc, ill = results["evaluation"].auc, results["Table One"].columns["ill"].levels["true"]
    for fact in (
        "Ward 3 Question Who falls? The study purposes risk of a fall carried out by A. Statistician",
        "approved by board approved until 2099-12-31",
        "charges 3 spent epsilon = 1.5, delta = 0 ceiling epsilon = 2, delta = 0 remaining epsilon = 0.5",
        f"AUC {auc.value:.3g} {auc.lower:.3g} to {auc.upper:.3g} accuracy ",
        "The caller declares that no fit of the model has used these rows.",
        f"ill, share of true {ill.value:.1%} {ill.lower:.1%} to {ill.upper:.1%}",
        "epsilon 1.5 (replace-one, row)",
        "multiplied or divided by at most 4.49",
        "from even odds to at most 81.76 %, from 1 % to at most 4.34 %",
        "not charged seeded",
        "not private seeded",
        "not protected domain",
        "name date signature Responsible for the study Responsible for privacy",
    ):
        assert fact in front, fact
    assert "@page{size:A4" in page
    assert page.count('class="sp-line"') == 2 * 3
    # All figures are behind it; of what is not private, there is none.
    assert "Figures: evaluation" in behind
    assert "Figures: Table One" in behind
    assert "Figures: seeded" not in behind
    assert "approver board; expiry 2099-12-31; data " in behind


def test_a_study_without_a_record_has_lines_to_fill_in(ledger):
    front, _ = first_page(study_page(ledger, title="Empty"))
    assert "charged (UTC) nothing yet Budget charges 0" in front
    assert "claim Nothing was charged" in front
    assert study_page(ledger).count('class="sp-line"') == 1 + 4 + 2 * 3


def test_hostile_texts_stay_texts(ledger):
    with ledger.record(purpose=NASTY, person=NASTY, approver=NASTY), ledger.label(NASTY):
        charge(ledger)
    page = study_page(ledger, {NASTY: spend()}, title=NASTY, question=NASTY, signatures=[NASTY])
    assert "script" not in read(page).tags
    assert first_page(page)[0].count("<script>alert('x')") == 6 + 1  # and the title of the document


@pytest.mark.slow  # three starts of a browser
@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")
def test_usual_studies_print_on_one_sheet_of_a4(tmp_path):
    long = "a model of the risk of a fall, for all wards of the hospital, from the records of 2025"
    ledgers = [charge(PrivacyLedger(tmp_path / name, epsilon=10)) for name in ("busy", "life", "alone")]
    X, y = make_location_scale(5000, 2, scale=0.5, censoring=0.5, random_state=0)
    life = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(0.01, 20), ledger=ledgers[1])
    studies = classifier_study(ledgers[0], long, long, long), [life.fit(X, y)], {}
    roles = ["Head of study", "Data protection officer", "Ethics board"]
    for ledger, results in zip(ledgers, studies, strict=True):
        page = study_page(ledger, results, question=3 * "Who falls? ", signatures=roles)
        assert printed(page, tmp_path) == (1, [595, 842])
        assert printed(page.replace("<details", "<details open"), tmp_path)[0] > 1


def printed(page, folder):
    """The number of pages that the browser prints, and their size in points."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    options = "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"
    target = folder / "page.pdf"
    command = [PROGRAM, *options, f"--print-to-pdf={target}", (folder / "page.html").as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    pdf = target.read_bytes()
    size = re.search(rb"/MediaBox *\[0 0 ([0-9.]+) ([0-9.]+)\]", pdf)
    return len(re.findall(rb"/Type */Page\b", pdf)), [round(float(number)) for number in size.groups()]


def test_it_never_replaces_the_ledger(ledger):
    with pytest.raises(ValueError, match="the ledger itself"):
        study_page(ledger, path=ledger.path)
    charge(ledger)
