# SPDX-License-Identifier: BSD-3-Clause
"""Statements for machines: valid, exact, refused when they contradict themselves."""

import copy
import json
import math
import pickle
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import jsonschema
import pytest

from skprivate.accounting import (
    AuditRecord,
    PackageRecord,
    PrivacyGuarantee,
    PrivacyReport,
    PrivacySpent,
    StepReport,
    statement_schema,
)

SCHEMA = statement_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def make(**changes):
    fields = {
        "mechanism": "discrete Laplace",
        "epsilon": Fraction(1, 3),
        "relation": "replace-one",
        "sensitivity": 2,
        "noise_scale": Fraction(7, 2),
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(**(fields | changes))


ODD = {
    "n": 100,
    "big": 10**40,
    "bounds": [[0.1, -math.inf], [math.nan, 1e300]],
    "share": Fraction(-1, 3),
    "day": date(2024, 2, 29),
    "moment": datetime(2024, 2, 29, 12, 30, 0, 5, tzinfo=UTC),
    "while": timedelta(days=-1, microseconds=3),
    "bytes": b"\x00\xff",
    "nested": {"fraction": {"mapping": (None, True)}},
    "text": "é </script>",
}
EXPOSED = {"claim": "not-private", "reasons": ("bounds were read",)}
LEAKAGE = PrivacyGuarantee(
    epsilon=0.584,
    status="estimate",
    criterion="pml",
    subject="your report",
    prior="two",
    confidence=0.99,
    lower=0.1,
)
RUNS = {
    "plain": make(),
    "float": make(epsilon=0.1, delta=1e-9, rho=0.3),
    "tiny": make(epsilon=5e-324, delta=5e-324),
    "huge": make(epsilon=Fraction(10**300)),
    "odd": make(unprotected=ODD, public_inputs=("a", "b")),
    "group": make(unit="group", max_rows_per_unit=3),
    "player": make(
        unit="player", relation="local", sensitivity=None, noise_scale=None, deployment="simulated"
    ),
    "exposed": make(**EXPOSED, noise_source="seeded"),
    "infinite": make(**EXPOSED, epsilon=math.inf),
    "audited": make().with_audit(Fraction(1, 4), 0.999, "fixed event"),
    "contradicted": make().with_audit(1, 0.999, "fixed event"),
    "leakage": make().given_prior([0.7, 0.3]),
    "estimate": make(leakage=LEAKAGE),
}


def through_json(statement):
    return json.loads(json.dumps(statement, allow_nan=False))


def same(left, right):
    # NaN differs from itself.
    return repr(left) == repr(right)


def test_the_schema_is_one():
    VALIDATOR.check_schema(SCHEMA)


@pytest.mark.parametrize("name", RUNS)
def test_statement_is_valid_and_read_back(name):
    statement = through_json(RUNS[name].to_dict())
    VALIDATOR.validate(statement)
    again = PrivacySpent.from_dict(statement)
    assert same(again, RUNS[name])
    assert again.to_dict() == statement
    assert again == RUNS[name] or name == "odd"


def test_amounts_are_exact_and_rounded():
    charged = make(epsilon=0.1).to_dict()["charged"]
    assert Fraction(charged["epsilon"]["exact"]) == Fraction(0.1) != Fraction("0.1")
    assert charged["epsilon"]["value"] == 0.1
    assert charged["rho"] is None


@pytest.mark.parametrize("name", ["exposed", "infinite", "contradicted"])
def test_without_privacy_there_is_no_guarantee(name):
    statement = RUNS[name].to_dict()
    assert statement["guarantee"] is None
    assert statement["private"] is False
    assert statement["reasons"]


def changed(path, value):
    statement = through_json(RUNS["audited"].to_dict())
    target = statement
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return statement


FALSE = {
    "a smaller guarantee": (["guarantee", "epsilon", "exact"], "1/100"),
    "a rounded value of something else": (["charged", "epsilon", "value"], 0.01),
    "another flag": (["private"], False),
    "one name more": (["certified"], True),
    "one name more in an amount": (["charged", "epsilon", "unit"], "nats"),
    "an epsilon of zero": (["charged", "epsilon", "exact"], "0/1"),
    "no amount": (["charged", "epsilon"], None),
    "a seed": (["noise_source"], "seeded"),
    "a reason": (["reasons"], ["none"]),
    "an audit above the claim": (["audit", "lower_bound"], {"exact": "1/1", "value": 1.0}),
    "another relation": (["relation"], "neighbours"),
    "no fingerprint": (["package", "sha256_sources"], ""),
    "something else than a package": (["package"], []),
    "an unknown type": (["unprotected"], {"n": {"complex": "1"}}),
    "another kind": (["schema"], "skprivate.privacy_report"),
    "the next version": (["version"], 2),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_statement_that_was_changed_is_refused(name):
    with pytest.raises(ValueError, match=r"statement|must|epsilon|seeded|reasons|audit"):
        PrivacySpent.from_dict(changed(*FALSE[name]))


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"contradicts itself.* in: certified, private"):
        PrivacySpent.from_dict(changed(["certified"], True) | {"private": False})
    missing = through_json(make().to_dict())
    del missing["unit"]
    with pytest.raises(ValueError, match="it has no 'unit'"):
        PrivacySpent.from_dict(missing)
    with pytest.raises(ValueError, match="of version 2; this package reads version 1"):
        PrivacySpent.from_dict(changed(["version"], 2))
    with pytest.raises(TypeError, match="must be a mapping, got list"):
        PrivacySpent.from_dict([])


# What the schema alone can see; the rest needs arithmetic.
@pytest.mark.parametrize(
    "name",
    sorted(
        set(FALSE)
        - {
            "a smaller guarantee",
            "a rounded value of something else",
            "an epsilon of zero",
            "an audit above the claim",
        }
    ),
)
def test_the_schema_refuses_it_too(name):
    assert not VALIDATOR.is_valid(changed(*FALSE[name]))


def test_the_schema_refuses_a_guarantee_of_what_is_not_private():
    statement = through_json(RUNS["exposed"].to_dict())
    assert VALIDATOR.is_valid(statement)
    assert not VALIDATOR.is_valid(statement | {"guarantee": statement["charged"]})
    assert not VALIDATOR.is_valid(through_json(RUNS["plain"].to_dict()) | {"guarantee": None})


class TestAudit:
    def test_words(self):
        spent = make().with_audit(0.25, 0.999, "fixed event of 10 000 trials")
        line = str(spent).splitlines()[0]
        assert "claimed by the software, audited at >= 0.25 (confidence 0.999; fixed event of 10" in line
        assert spent.private

    def test_a_bound_is_rounded_down(self):
        assert "audited at >= 0.3333 " in str(
            AuditRecord(lower_bound=Fraction(1, 3), confidence=0.9, method="x")
        )
        assert "audited at >= 0 " in str(AuditRecord(lower_bound=0, confidence=0.9, method="x"))

    def test_a_bound_above_the_claim_ends_it(self):
        spent = make().with_audit(Fraction(1, 3), 0.999, "x")
        assert spent.private
        spent = spent.with_audit(Fraction(334, 1000), 0.999, "x")
        assert not spent.private
        assert "contradicted: audited at >= 0.334" in spent.reasons[0]
        with pytest.raises(ValueError, match="contradicts the claim"):
            make(audit=spent.audit)

    def test_of_a_run_that_is_not_private(self):
        spent = make(**EXPOSED).with_audit(0.1, 0.9, "x")
        assert spent.reasons == EXPOSED["reasons"]
        assert "audit: audited at >= 0.1" in str(spent)

    @pytest.mark.parametrize(
        ("bound", "confidence", "method", "error"),
        [
            (-1, 0.9, "x", ValueError),
            (math.inf, 0.9, "x", ValueError),
            (math.nan, 0.9, "x", ValueError),
            (False, 0.9, "x", TypeError),
            ("1", 0.9, "x", TypeError),
            (0.1, 0, "x", ValueError),
            (0.1, 1, "x", ValueError),
            (0.1, 0.9, "", ValueError),
            (0.1, 0.9, None, TypeError),
        ],
    )
    def test_bad_input(self, bound, confidence, method, error):
        with pytest.raises(error):
            make().with_audit(bound, confidence, method)

    def test_fields_are_checked(self):
        with pytest.raises(TypeError, match="must be an AuditRecord"):
            make(audit=0.5)
        with pytest.raises(TypeError, match="must be a PackageRecord"):
            make(package="0.1.0")


class TestPackage:
    ELSEWHERE = PackageRecord(
        name="skprivate", version="9.9", sha256_sources="0" * 64, sha256_kernels="1" * 64
    )

    def test_of_this_process_by_default(self):
        assert make().to_dict()["package"]["sha256_sources"] == PackageRecord.current().sha256_sources

    @pytest.mark.parametrize("carry", [lambda spent: pickle.loads(pickle.dumps(spent)), copy.deepcopy])
    def test_is_written_down_where_the_object_leaves_the_process(self, carry):
        assert make().package is None
        assert carry(make()).package == PackageRecord.current()
        assert carry(make()) == make()

    def test_of_another_process_stays_its_own(self):
        theirs = make(package=self.ELSEWHERE)
        for spent in (
            pickle.loads(pickle.dumps(theirs)),
            PrivacySpent.from_dict(theirs.to_dict()),
            theirs.given_prior([0.7, 0.3]),
            theirs.with_audit(0.1, 0.9, "x"),
        ):
            assert spent.to_dict()["package"]["version"] == "9.9"


class TestGuarantee:
    @pytest.mark.parametrize("epsilon", [0.0, 0.1, math.inf])
    def test_is_valid_and_read_back(self, epsilon):
        guarantee = PrivacyGuarantee(epsilon=epsilon, status="exact", criterion="dp", subject="x")
        statement = through_json(guarantee.to_dict())
        VALIDATOR.validate(statement)
        assert PrivacyGuarantee.from_dict(statement) == guarantee

    def test_a_nicer_sentence_is_refused(self):
        with pytest.raises(ValueError, match="in: statement"):
            PrivacyGuarantee.from_dict(LEAKAGE.to_dict() | {"statement": "Perfectly safe."})


def report(*spents, uncovered=False):
    steps = [
        StepReport(path=f"step {i}", estimator="E", status="covered", reason="covered", spent=spent)
        for i, spent in enumerate(spents)
    ]
    if uncovered:
        steps.append(StepReport(path="scaler", estimator="S", status="uncovered", reason="read rows"))
    return PrivacyReport(tuple(steps))


class TestReport:
    def test_amounts_add_up(self):
        statement = through_json(report(make(), make(epsilon=Fraction(1, 6), delta=0.25)).to_dict())
        VALIDATOR.validate(statement)
        assert statement["guarantee"]["epsilon"] == {"exact": "1/2", "value": 0.5}
        assert statement["guarantee"]["delta"]["value"] == 0.25

    @pytest.mark.parametrize(
        "spents", [(), (make(),), (make(**EXPOSED),), (make(**EXPOSED, epsilon=math.inf),)]
    )
    @pytest.mark.parametrize("uncovered", [True, False])
    def test_is_valid_and_read_back(self, spents, uncovered):
        whole = report(*spents, uncovered=uncovered)
        statement = through_json(whole.to_dict())
        VALIDATOR.validate(statement)
        assert PrivacyReport.from_dict(statement) == whole
        assert (statement["guarantee"] is None) == (not whole.private)
        assert bool(statement["reasons"]) == (not whole.private)

    def test_different_relations_have_no_sum(self):
        statement = report(make(), make(relation="add-remove")).to_dict()
        VALIDATOR.validate(through_json(statement))
        assert statement["private"]
        assert statement["guarantee"] is None

    def test_nor_in_words(self):
        mixed = report(make(), make(relation="add-remove"))
        assert mixed.effective_epsilon == math.inf
        assert "epsilon =" not in mixed.headline()
        assert "do not add up" in str(mixed).splitlines()[0]
        # A report that hides its unit hides that the unit is replaced.
        implied = report(make(relation="local"), make(relation="replace-one"))
        assert implied.effective_epsilon == pytest.approx(2 / 3)
        assert implied.headline().startswith("claim: dp, epsilon = 0.666667, relation: replace-one")

    def test_a_step_that_was_left_out_is_noticed(self):
        statement = report(make(), uncovered=True).to_dict()
        statement["steps"].pop()
        with pytest.raises(ValueError, match="in: claim, guarantee, private, reasons"):
            PrivacyReport.from_dict(statement)
