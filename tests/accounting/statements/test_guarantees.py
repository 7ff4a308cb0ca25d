# SPDX-License-Identifier: BSD-3-Clause
"""Guarantees, disclosure risks, audits and packages: what they say, claim and survive."""

import copy
import dataclasses
import hashlib
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import skprivate
from skprivate.accounting import AuditRecord, DisclosureRisk, PackageRecord, PrivacyGuarantee, PrivacySpent
from skprivate.accounting._statements.guarantees import fingerprint
from tests.accounting.records import EXPOSED, TENTH, spend


def guarantee(**changes):
    fields = {
        "epsilon": 0.584,
        "status": "exact",
        "criterion": "pml",
        "subject": "your report",
        "prior": "two values with probabilities 0.7 and 0.3",
    }
    return PrivacyGuarantee(**(fields | changes))


def test_statement_for_the_data_holder():
    assert guarantee().statement() == (
        "For an adversary whose prior is two values with probabilities 0.7 and 0.3, your report raises the "
        "best success probability of any guess about your value by at most the factor 1.80."
    )
    assert guarantee(criterion="corollary1").statement() == guarantee().statement()


def test_statements_of_other_kinds():
    assert "right with confidence 0.99" in guarantee(status="estimate", confidence=0.99).statement()
    unbounded = guarantee(epsilon=math.inf).statement()
    assert unbounded == "No bound holds for what your report reveals about your value."
    without_a_prior = guarantee(criterion="dp", prior="", epsilon=1.0).statement()
    assert without_a_prior.startswith("Whatever an adversary already knows")
    assert "the probability of any outcome" in without_a_prior
    assert "2.72" in without_a_prior


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), Fraction(1, 2), 0.5])
def test_numbers_become_python_floats(value):
    found = guarantee(epsilon=value, lower=value, allowance=value)
    assert found == guarantee(epsilon=0.5, lower=0.5, allowance=0.5)
    assert all(type(getattr(found, name)) is float for name in ("epsilon", "lower", "allowance"))
    assert float(found) == 0.5


def test_a_guarantee_prints_its_allowance_and_status():
    text = str(guarantee(epsilon=0.25, allowance=0.001, method="closed form"))
    assert text.splitlines() == [
        "Guarantee: pointwise maximal leakage of your report",
        "  epsilon: 0.25 nats (of it 0.001 for the grid and for rounding)",
        "  status: exact except for that part: without a grid, no bound below the rest holds",
        "  prior: two values with probabilities 0.7 and 0.3",
        "  method: closed form",
    ]
    assert "right with confidence 0.95" in str(guarantee(status="estimate", confidence=0.95))
    assert "prior" not in str(guarantee(criterion="dp", prior=""))


@pytest.mark.parametrize("duplicate", [lambda g: pickle.loads(pickle.dumps(g)), copy.deepcopy, copy.copy])
def test_copies_are_equal_and_stay_read_only(duplicate):
    twin = duplicate(guarantee())
    assert (twin, hash(twin)) == (guarantee(), hash(guarantee()))
    with pytest.raises(dataclasses.FrozenInstanceError):
        twin.epsilon = 0.0


def test_numbers_in_words_claim_no_more_than_is_proven():
    # Fewer priors are above a larger share; and no confidence becomes certainty.
    assert "at least 0.961 times" in guarantee().under_prior(0.9601).prior
    assert "at least 1 times" in guarantee().under_prior(0.99999).prior
    sure = guarantee(status="estimate", confidence=1 - 1e-9)
    assert "confidence 0.999999999" in sure.statement()
    assert "confidence 0.999999999" in str(sure)
    assert "confidence 0.99 " in str(guarantee(status="estimate", confidence=0.1 + 0.89)).replace("\n", " ")


RISK = DisclosureRisk(
    protection="swap",
    attack="linkage",
    metric="kept responses",
    bound={"a": 30.0, "b": 5.25},
    assumption="none",
    unprotected=("the mean",),
    leaks=("a range",),
)


def test_a_risk_says_everything_and_never_an_epsilon():
    assert str(RISK).splitlines() == [
        "swap (not differential privacy)",
        "- attack: linkage",
        "- kept responses at most: a 30 %, b 5.25 %",
        "- assumed: none",
        "- not protected: the mean",
        "- LEAK: a range",
    ]
    ends = dataclasses.replace(RISK, protection="", bound={"a": 0.0, "b": 100.0})
    assert "kept responses at most: a 0 %, b 100 %" in str(ends)
    assert "- kept responses: no bound is known\n" in str(dataclasses.replace(RISK, bound={}))


def test_copies_of_a_risk_are_equal_and_stay_read_only():
    for twin in (pickle.loads(pickle.dumps(RISK)), copy.deepcopy(RISK)):
        assert twin == RISK
        assert dict(twin.bound) == dict(RISK.bound)
        with pytest.raises(TypeError):
            twin.bound["a"] = 0.0
        with pytest.raises(AttributeError):
            twin.attack = "none"


def test_an_audit_is_named_beside_the_claim():
    spent = spend().with_audit(0.025, 0.999, "fixed event of 10 000 trials")
    line = str(spent).splitlines()[0]
    assert "claimed by the software, audited at >= 0.025 (confidence 0.999; fixed event of 10" in line
    assert spent.private


def test_an_audited_bound_is_rounded_down():
    assert "audited at >= 0.3333 " in str(AuditRecord(lower_bound=Fraction(1, 3), confidence=0.9, method="x"))
    assert "audited at >= 0 " in str(AuditRecord(lower_bound=0, confidence=0.9, method="x"))


def test_an_audited_bound_above_the_claim_ends_it():
    spent = spend().with_audit(TENTH, 0.999, "x")
    assert spent.private
    spent = spent.with_audit(Fraction(101, 1000), 0.999, "x")
    assert not spent.private
    assert "contradicted: audited at >= 0.101" in spent.reasons[0]
    with pytest.raises(ValueError, match="contradicts the claim"):
        spend(audit=spent.audit)


def test_an_audit_of_a_run_that_is_not_private():
    spent = spend(**EXPOSED).with_audit(0.05, 0.9, "x")
    assert spent.reasons == EXPOSED["reasons"]
    assert "audit: audited at >= 0.05" in str(spent)


ELSEWHERE = PackageRecord(name="skprivate", version="9.9", sha256_sources="0" * 64, sha256_kernels="1" * 64)


@pytest.mark.parametrize("carry", [lambda spent: pickle.loads(pickle.dumps(spent)), copy.deepcopy])
def test_a_package_is_written_down_where_the_object_leaves_the_process(carry):
    assert spend().package is None
    assert carry(spend()).package == PackageRecord.current()
    assert carry(spend()) == spend()


def test_the_package_of_another_process_stays_its_own():
    theirs = spend(package=ELSEWHERE)
    for spent in (
        pickle.loads(pickle.dumps(theirs)),
        PrivacySpent.from_dict(theirs.to_dict()),
        theirs.given_prior([0.7, 0.3]),
        theirs.with_audit(0.1, 0.9, "x"),
    ):
        assert spent.to_dict()["package"]["version"] == "9.9"


@pytest.fixture
def package(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "inner" / "b.pyx").write_text("y = 2")
    return tmp_path


def test_same_files_same_fingerprint(package, tmp_path):
    before = fingerprint(package, {".py", ".pyx"})
    (package / "notes.txt").write_text("not a source")
    (package / "a.py").write_text("x = 1")
    assert fingerprint(package, {".py", ".pyx"}) == before


@pytest.mark.parametrize("change", ["content", "name", "removed", "added", "moved text"])
def test_every_change_shows(package, change):
    before = fingerprint(package, {".py", ".pyx"})
    if change == "content":
        (package / "inner" / "b.pyx").write_text("y = 3")
    elif change == "name":
        (package / "a.py").rename(package / "c.py")
    elif change == "removed":
        (package / "a.py").unlink()
    elif change == "added":
        (package / "inner" / "empty.py").touch()
    else:
        (package / "a.py").write_text("")
        (package / "a.pyx").write_text("x = 1")
    assert fingerprint(package, {".py", ".pyx"}) != before


def test_of_the_running_package():
    package = PackageRecord.current()
    assert (package.name, package.version) == ("skprivate", skprivate.__version__)
    assert len({package.sha256_kernels, package.sha256_sources, hashlib.sha256().hexdigest()}) == 3
    assert PackageRecord.current() is package
