# SPDX-License-Identifier: BSD-3-Clause
"""Text, labels, registry entries and model cards are made of the plain dict alone, wherever it is from."""

import json
import math
from fractions import Fraction

import pytest

from skprivate.accounting import (
    AuditRecord,
    DisclosureRisk,
    LedgerEntry,
    PackageRecord,
    PrivacyGuarantee,
    PrivacyLedger,
    PrivacyReport,
    PrivacySpent,
    StepReport,
    privacy_section,
)
from skprivate.accounting._statements import html, registry, text

WHO = {"name": "Length of stay", "registry_authors": ["A. Author"]}
ELSEWHERE = PackageRecord(name="other", version="9.9", sha256_sources="0" * 64, sha256_kernels="1" * 64)
ODD = {
    "bounds": [[0.1, -math.inf], [math.nan, 1e300]],
    "share": Fraction(-1, 3),
    "nested": {"fraction": {"mapping": (None, True, b"\x00")}},
    "text": "é </script>\n| *",
}
EXPOSED = {"claim": "not-private", "reasons": ("bounds were read",)}


def spent(**changes):
    fields = {
        "mechanism": "discrete Laplace",
        "epsilon": Fraction(1, 3),
        "relation": "replace-one",
        "sensitivity": 2,
        "noise_scale": Fraction(7, 2),
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
        "package": ELSEWHERE,
    }
    return PrivacySpent(**(fields | changes))


def report(*spents, uncovered=False):
    steps = [
        StepReport(path=f"step {i}", estimator="E", status="covered", reason="covered", spent=one)
        for i, one in enumerate(spents)
    ]
    if uncovered:
        steps.append(StepReport(path="scaler", estimator="S", status="uncovered", reason="read rows"))
    return PrivacyReport(tuple(steps))


RUNS = {
    "plain": spent(delta=1e-9, rho=0.3, public_inputs=("a b",)),
    "odd": spent(unprotected=ODD, sensitivity=Fraction(4)),
    "player": spent(unit="player", relation="local", sensitivity=None, noise_scale=None),
    "infinite": spent(**EXPOSED, epsilon=math.inf),
    "audited": spent().with_audit(Fraction(1, 4), 0.999, "fixed event"),
    "contradicted": spent().with_audit(1, 0.999, "fixed event"),
    "leakage": spent().given_prior([0.7, 0.3]),
}
GUARANTEES = {
    "exact": PrivacyGuarantee(epsilon=0.1, status="exact", criterion="dp", subject="x"),
    "estimate": PrivacyGuarantee(
        epsilon=0.584, status="estimate", criterion="pml", subject="x", prior="two", confidence=0.99999999
    ),
    "grid": PrivacyGuarantee(
        epsilon=701.5, status="exact", criterion="pml", subject="x", prior="two", allowance=0.01, method="m"
    ),
    "none": PrivacyGuarantee(epsilon=math.inf, status="upper_bound", criterion="dp", subject="x"),
}
RISKS = {
    "bound": DisclosureRisk(
        protection="TQMA", attack="a", metric="m", bound={"age": 6.4}, assumption="z", leaks=("l",)
    ),
    "none": DisclosureRisk(
        protection="p", attack="a", metric="m", bound={}, assumption="z", unprotected=("*",)
    ),
}
REPORTS = {
    "nothing": report(),
    "private": report(spent(), spent(delta=1e-7)),
    "mixed": report(spent(), spent(relation="add-remove")),
    "uncovered": report(spent(), spent(**EXPOSED), uncovered=True),
}


def sent(statement):
    """What another machine reads of it."""
    return json.loads(json.dumps(statement, allow_nan=False))


@pytest.mark.parametrize("renderer", [html, text, registry])
def test_a_renderer_knows_no_record(renderer):
    assert not [
        name for name, it in vars(renderer).items() if isinstance(it, type) and hasattr(it, "to_dict")
    ]


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_spent(name):
    record = RUNS[name]
    statement = sent(record.to_dict())
    assert text.describe_spent(statement) == str(record)
    label = html.label_of_spent(statement)
    assert html.label_page([label]) == record.to_html()
    assert html.label_fragment([label]) == record._repr_html_()
    assert registry.registry_entry_of_spent(statement, WHO) == record.to_registry(**WHO)
    assert "\n\n".join(text.blocks_of_spent(statement)) == privacy_section(record)
    assert "other 9.9, sources sha256 000" in record.to_html()
    lines = text.describe_spent(statement).splitlines()
    for name, value in record.unprotected.items():
        shown = str(value).replace("\n", "\\n")
        assert f"  unprotected {name}: {shown}" in lines


@pytest.mark.parametrize("name", GUARANTEES)
def test_a_guarantee(name):
    record, here = GUARANTEES[name], PackageRecord.current().to_dict()
    statement = sent(record.to_dict())
    assert text.describe_guarantee(statement) == str(record)
    assert text.sentence_of_guarantee(statement) == record.statement() == statement["statement"]
    assert html.label_page([html.label_of_guarantee(statement)]) == record.to_html()
    assert registry.registry_entry_of_guarantee(statement, here, WHO) == record.to_registry(**WHO)
    assert "\n\n".join(text.blocks_of_text(str(record))) == privacy_section(record)


@pytest.mark.parametrize("name", RISKS)
def test_a_disclosure_risk(name):
    record, here = RISKS[name], PackageRecord.current().to_dict()
    statement = sent(record.to_dict())
    assert text.describe_risk(statement) == str(record)
    assert html.label_page([html.label_of_risk(statement)]) == record.to_html()
    assert registry.registry_entry_of_risk(statement, here, WHO) == record.to_registry(**WHO)
    assert DisclosureRisk.from_dict(statement) == record


@pytest.mark.parametrize("name", REPORTS)
def test_a_report(name):
    record = REPORTS[name]
    statement, headline = sent(record.to_dict()), record.headline()
    assert text.describe_report(statement, headline) == str(record)
    labels = html.labels_of_report(statement)
    assert html.label_page(labels) == record.to_html()
    assert html.label_fragment(labels) == record._repr_html_()
    assert registry.registry_entry_of_report(statement, WHO) == record.to_registry(**WHO)
    assert "\n\n".join(text.blocks_of_report(statement, headline)) == privacy_section(record)
    for step, own in zip(statement["steps"], record.steps, strict=True):
        assert StepReport.from_dict(step) == own
        assert text.describe_step(step) == str(own)


def test_where_it_comes_from():
    audit = AuditRecord(lower_bound=Fraction(1, 3), confidence=0.9, method="x y")
    assert text.describe_audit(sent(audit.to_dict())) == str(audit)
    assert AuditRecord.from_dict(sent(audit.to_dict())) == audit
    assert text.describe_package(sent(ELSEWHERE.to_dict())) == str(ELSEWHERE)
    assert PackageRecord.from_dict(sent(ELSEWHERE.to_dict())) == ELSEWHERE


@pytest.mark.parametrize(
    "change", [{"bound": {"age": 101}}, {"leaks": "l"}, {"epsilon": 1}, {"bound": None}, {"attack": ...}]
)
def test_a_risk_that_was_changed_is_refused(change):
    changed = {**RISKS["bound"].to_dict(), **change}
    changed = {name: value for name, value in changed.items() if value is not ...}
    with pytest.raises(ValueError, match=r"percentage|statement"):
        DisclosureRisk.from_dict(changed)


def test_entries_of_a_ledger_are_read_from_its_export(tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    with ledger.data("A"):
        ledger.charge(RUNS["plain"], "Tree")
    ledger.charge(RUNS["contradicted"], "Tree")
    exported = json.loads(ledger.to_json())["entries"]
    assert [LedgerEntry.from_dict(entry) for entry in exported] == ledger.entries()
    for change in ({"epsilon": "1/0"}, {"time": "noon"}, {"private": 2}, {"more": 1}, {"delta": None}):
        with pytest.raises(ValueError, match="statement"):
            LedgerEntry.from_dict({**exported[0], **change})
