# SPDX-License-Identifier: BSD-3-Clause
"""Statements as plain dicts: valid, exact, refused when they contradict themselves, and all that is shown."""

import json
import math
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import jsonschema
import pytest

from skprivate.accounting import (
    AuditRecord,
    DisclosureRisk,
    LedgerEntry,
    PackageRecord,
    PrivacyGuarantee,
    PrivacyLedger,
    PrivacySpent,
    privacy_section,
    statement_schema,
)
from skprivate.accounting._statements import html, registry, text
from tests.accounting.records import EXPOSED, charge, spend

SCHEMA = statement_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
WHO = {"name": "Length of stay", "registry_authors": ["A. Author"]}
ELSEWHERE = PackageRecord(name="other", version="9.9", sha256_sources="0" * 64, sha256_kernels="1" * 64)
ODD = {
    "big": 10**40,
    "bounds": [[0.1, -math.inf], [math.nan, 1e300]],
    "share": Fraction(-1, 3),
    "day": date(2024, 2, 29),
    "moment": datetime(2024, 2, 29, 12, 30, 0, 5, tzinfo=UTC),
    "while": timedelta(days=-1, microseconds=3),
    "nested": {"fraction": {"mapping": (None, True, b"\x00\xff")}},
    "text": "é </script>\n| *",
}


def make(epsilon=Fraction(1, 3), delta=0, **changes):
    fields = {"sensitivity": 2, "noise_scale": Fraction(7, 2), "package": ELSEWHERE}
    return spend(epsilon, delta, **(fields | changes))


def leakage(**changes):
    fields = {"epsilon": 0.584, "status": "exact", "criterion": "pml", "subject": "x", "prior": "two"}
    return PrivacyGuarantee(**(fields | changes))


def risk(**changes):
    fields = {"protection": "TQMA", "attack": "a", "metric": "m", "bound": {"age": 6.4}, "assumption": "z"}
    return DisclosureRisk(**(fields | changes))


ESTIMATE = leakage(status="estimate", confidence=0.99999999, lower=0.1)
RUNS = {
    "plain": make(delta=1e-9, rho=0.3, public_inputs=("a b",)),
    "float": make(0.1),
    "tiny": make(5e-324, 5e-324),
    "huge": make(Fraction(10**300)),
    "odd": make(unprotected=ODD, sensitivity=Fraction(4)),
    "group": make(unit="group", max_rows_per_unit=3),
    "player": make(unit="player", relation="local", sensitivity=None, noise_scale=None),
    "exposed": make(**EXPOSED, noise_source="seeded", deployment="simulated"),
    "infinite": make(math.inf, **EXPOSED),
    "audited": make().with_audit(Fraction(1, 4), 0.999, "fixed event"),
    "contradicted": make().with_audit(1, 0.999, "fixed event"),
    "leakage": make().given_prior([0.7, 0.3]),
    "estimate": make(leakage=ESTIMATE),
}
GUARANTEES = {
    "zero": leakage(epsilon=0.0, criterion="dp", prior=""),
    "exact": leakage(criterion="dp", prior=""),
    "estimate": ESTIMATE,
    "grid": leakage(epsilon=701.5, allowance=0.01, method="m"),
    "none": leakage(epsilon=math.inf, status="upper_bound"),
}
RISKS = {"bound": risk(leaks=("l",)), "none": risk(bound={}, unprotected=("*",))}


def sent(record):
    """What another machine reads of it."""
    return json.loads(json.dumps(record.to_dict(), allow_nan=False))


def test_the_schema_is_one():
    VALIDATOR.check_schema(SCHEMA)


@pytest.mark.parametrize("renderer", [html, text, registry])
def test_a_renderer_knows_no_record(renderer):
    assert not [
        name for name, it in vars(renderer).items() if isinstance(it, type) and hasattr(it, "to_dict")
    ]


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_spent(name):
    record = RUNS[name]
    statement = sent(record)
    VALIDATOR.validate(statement)
    again = PrivacySpent.from_dict(statement)
    assert repr(again) == repr(record)
    # NaN differs from itself.
    assert again == record or name == "odd"
    assert again.to_dict() == statement
    label = html.label_of_spent(statement)
    assert html.label_page([label]) == record.to_html()
    assert html.label_fragment([label]) == record._repr_html_()
    assert registry.registry_entry_of_spent(statement, WHO) == record.to_registry(**WHO)
    assert "\n\n".join(text.blocks_of_spent(statement)) == privacy_section(record)
    assert "other 9.9, sources sha256 000" in record.to_html()
    assert text.describe_spent(statement) == str(record)
    lines = str(record).splitlines()
    for key, value in record.unprotected.items():
        shown = str(value).replace("\n", "\\n")
        assert f"  unprotected {key}: {shown}" in lines


@pytest.mark.parametrize("name", GUARANTEES)
def test_a_guarantee(name):
    record, here = GUARANTEES[name], PackageRecord.current().to_dict()
    statement = sent(record)
    VALIDATOR.validate(statement)
    assert PrivacyGuarantee.from_dict(statement) == record
    assert text.describe_guarantee(statement) == str(record)
    assert text.sentence_of_guarantee(statement) == record.statement() == statement["statement"]
    assert html.label_page([html.label_of_guarantee(statement)]) == record.to_html()
    assert registry.registry_entry_of_guarantee(statement, here, WHO) == record.to_registry(**WHO)
    assert "\n\n".join(text.blocks_of_text(str(record))) == privacy_section(record)


@pytest.mark.parametrize("name", RISKS)
def test_a_disclosure_risk(name):
    record, here = RISKS[name], PackageRecord.current().to_dict()
    statement = sent(record)
    assert DisclosureRisk.from_dict(statement) == record
    assert text.describe_risk(statement) == str(record)
    assert html.label_page([html.label_of_risk(statement)]) == record.to_html()
    assert registry.registry_entry_of_risk(statement, here, WHO) == record.to_registry(**WHO)


def test_where_it_comes_from():
    audit = AuditRecord(lower_bound=Fraction(1, 3), confidence=0.9, method="x y")
    assert text.describe_audit(sent(audit)) == str(audit)
    assert AuditRecord.from_dict(sent(audit)) == audit
    assert text.describe_package(sent(ELSEWHERE)) == str(ELSEWHERE)
    assert PackageRecord.from_dict(sent(ELSEWHERE)) == ELSEWHERE


def test_amounts_are_exact_and_rounded():
    charged = make(0.1).to_dict()["charged"]
    assert Fraction(charged["epsilon"]["exact"]) == Fraction(0.1) != Fraction("0.1")
    assert charged["epsilon"]["value"] == 0.1
    assert charged["rho"] is None


@pytest.mark.parametrize("name", ["exposed", "infinite", "contradicted"])
def test_without_privacy_there_is_no_guarantee(name):
    statement = sent(RUNS[name])
    assert (statement["guarantee"], statement["private"]) == (None, False)
    assert statement["reasons"]
    assert not VALIDATOR.is_valid(statement | {"guarantee": statement["charged"]})
    assert not VALIDATOR.is_valid(sent(RUNS["plain"]) | {"guarantee": None})


def changed(path, value):
    statement = target = sent(RUNS["audited"])
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return statement


# What the schema alone can see; the rest needs arithmetic.
SEEN = {
    "another flag": (["private"], False),
    "one name more": (["certified"], True),
    "one name more in an amount": (["charged", "epsilon", "unit"], "nats"),
    "no amount": (["charged", "epsilon"], None),
    "a seed": (["noise_source"], "seeded"),
    "a reason": (["reasons"], ["none"]),
    "another relation": (["relation"], "neighbours"),
    "no fingerprint": (["package", "sha256_sources"], ""),
    "something else than a package": (["package"], []),
    "an unknown type": (["unprotected"], {"n": {"complex": "1"}}),
    "another kind": (["schema"], "skprivate.privacy_report"),
    "the next version": (["version"], 2),
}
FALSE = SEEN | {
    "a smaller guarantee": (["guarantee", "epsilon", "exact"], "1/100"),
    "a rounded value of something else": (["charged", "epsilon", "value"], 0.01),
    "an epsilon of zero": (["charged", "epsilon", "exact"], "0/1"),
    "an audit above the claim": (["audit", "lower_bound"], {"exact": "1/1", "value": 1.0}),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_statement_that_was_changed_is_refused(name):
    statement = changed(*FALSE[name])
    with pytest.raises(ValueError, match=r"statement|must|epsilon|seeded|reasons|audit"):
        PrivacySpent.from_dict(statement)
    assert VALIDATOR.is_valid(statement) == (name not in SEEN)


@pytest.mark.parametrize(
    "change", [{"bound": {"age": 101}}, {"leaks": "l"}, {"epsilon": 1}, {"bound": None}, {"attack": ...}]
)
def test_a_risk_that_was_changed_is_refused(change):
    statement = RISKS["bound"].to_dict() | change
    statement = {name: value for name, value in statement.items() if value is not ...}
    with pytest.raises(ValueError, match=r"percentage|statement"):
        DisclosureRisk.from_dict(statement)


def test_entries_of_a_ledger(path):
    ledger = PrivacyLedger(path)
    with ledger.data("A"), ledger.record(purpose="p", person="q", approver="r", expiry="s"):
        ledger.charge(RUNS["plain"], "Tree")
    ledger.charge(RUNS["contradicted"], "Tree")
    charge(ledger)
    exported = json.loads(ledger.to_json())["entries"]
    assert [LedgerEntry.from_dict(entry) for entry in exported] == ledger.entries()
    assert [sent(entry) for entry in ledger.entries()] == exported
    for change in (
        *({"epsilon": "1/0"}, {"time": "noon"}, {"private": 2}, {"more": 1}, {"delta": None}),
        *({"purpose": 1}, {"person": ""}, {"estimator": 7}, {"relation": "x"}, {"unit": "x"}),
    ):
        with pytest.raises(ValueError, match=r"statement|empty|must be"):
            LedgerEntry.from_dict(exported[0] | change)
