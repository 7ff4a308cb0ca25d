# SPDX-License-Identifier: BSD-3-Clause
"""What `PrivacyGuarantee` accepts, says, refuses to add and survives."""

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from skprivate.accounting import PrivacyGuarantee


def make(**changes):
    fields = {
        "epsilon": 0.584,
        "status": "exact",
        "criterion": "pml",
        "subject": "your report",
        "prior": "two values with probabilities 0.7 and 0.3",
    }
    return PrivacyGuarantee(**(fields | changes))


def test_statement_for_the_data_holder():
    assert make().statement() == (
        "For an adversary whose prior is two values with probabilities 0.7 and 0.3, your report raises the "
        "best success probability of any guess about your value by at most the factor 1.80."
    )
    assert make(criterion="corollary1").statement() == make().statement()


def test_statement_of_an_estimate_names_its_confidence():
    assert "right with confidence 0.99" in make(status="estimate", confidence=0.99).statement()


def test_statement_of_differential_privacy_needs_no_prior():
    sentence = make(criterion="dp", prior="", epsilon=1.0).statement()
    assert sentence.startswith("Whatever an adversary knows beforehand")
    assert "the probability of any outcome" in sentence
    assert "2.72" in sentence


def test_statement_without_a_bound_promises_nothing():
    sentence = make(epsilon=math.inf).statement()
    assert sentence == "No bound holds for what your report reveals about your value."


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [
        (0.0, "1."),
        (1e-12, "1."),
        (1e-6, "1.01."),
        (math.log(2), "2.00."),
        (math.log(2) + 1e-6, "2.01."),
        (0.584, "1.80."),
        (math.log(9.991), "10.0."),
        (math.log(123.1), "124."),
        (math.log(12345), "12400."),
        (math.log(1.2341e9), "1.24e+9."),
        (700.5, "e^701."),
        (1e300, f"e^{math.ceil(1e300)}."),
    ],
)
def test_factor_is_rounded_up_to_three_digits(epsilon, factor):
    assert make(epsilon=epsilon).statement().endswith(f"at most the factor {factor}")


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), Fraction(1, 2), 0.5])
def test_numbers_become_python_floats(value):
    guarantee = make(epsilon=value, lower=value, allowance=value)
    assert guarantee == make(epsilon=0.5, lower=0.5, allowance=0.5)
    assert all(type(getattr(guarantee, name)) is float for name in ("epsilon", "lower", "allowance"))
    assert float(guarantee) == 0.5


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"epsilon": -0.1}, ValueError),
        ({"epsilon": math.nan}, ValueError),
        ({"epsilon": "1"}, TypeError),
        ({"epsilon": None}, TypeError),
        ({"epsilon": True}, TypeError),
        ({"status": "sure"}, ValueError),
        ({"status": 1}, TypeError),
        ({"criterion": "tail"}, ValueError),
        ({"subject": ""}, ValueError),
        ({"subject": None}, TypeError),
        ({"prior": ""}, ValueError),
        ({"prior": None}, TypeError),
        ({"criterion": "dp"}, ValueError),
        ({"allowance": 0.6}, ValueError),
        ({"allowance": -0.1}, ValueError),
        ({"allowance": math.nan}, ValueError),
        ({"lower": 0.6}, ValueError),
        ({"lower": -1}, ValueError),
        ({"lower": math.nan}, ValueError),
        ({"confidence": 0.9}, ValueError),
        ({"confidence": 1.0, "status": "estimate"}, ValueError),
        ({"confidence": math.nan, "status": "estimate"}, ValueError),
        ({"status": "estimate"}, ValueError),
        ({"method": 3}, TypeError),
    ],
)
def test_wrong_fields_are_refused(changes, error):
    with pytest.raises(error, match="prior|confidence|" + next(iter(changes))):
        make(**changes)


def test_print():
    text = str(make(epsilon=0.25, allowance=0.001, method="closed form"))
    assert text.splitlines() == [
        "Guarantee: pointwise maximal leakage of your report",
        "  epsilon: 0.25 nats (of it 0.001 for the grid and for rounding)",
        "  status: exact but for that: without a grid no bound below the rest holds",
        "  prior: two values with probabilities 0.7 and 0.3",
        "  method: closed form",
    ]
    assert "right with confidence 0.95" in str(make(status="estimate", confidence=0.95))
    assert "prior" not in str(make(criterion="dp", prior=""))


@pytest.mark.parametrize("duplicate", [lambda g: pickle.loads(pickle.dumps(g)), copy.deepcopy, copy.copy])
def test_copies_are_equal_and_stay_read_only(duplicate):
    guarantee = duplicate(make())
    assert guarantee == make()
    assert hash(guarantee) == hash(make())
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.epsilon = 0.0


@pytest.mark.parametrize(
    "add", [lambda g: g + g, lambda g: g + 1.0, lambda g: 1.0 + g, lambda g: sum([g, g])]
)
def test_leakages_are_not_added(add):
    with pytest.raises(TypeError, match=r"do not add up.*joint_channel"):
        add(make())


def test_another_prior_costs_the_ratio():
    moved = make(lower=0.5).under_prior(Fraction(1, 2))
    assert moved.epsilon == pytest.approx(0.584 + math.log(2))
    assert (moved.status, moved.lower, moved.confidence) == ("upper_bound", None, None)
    assert moved.prior == "at least 0.5 times this one, within its support: " + make().prior
    assert make().under_prior(1).epsilon == 0.584
    assert make().under_prior(np.float64(0.5)) == make().under_prior(0.5)


def test_an_estimated_prior_makes_an_estimate():
    estimate = make().under_prior(0.9, confidence=0.95)
    assert (estimate.status, estimate.confidence) == ("estimate", 0.95)
    # Both must be right: the errors of the two estimates add up.
    twice = estimate.under_prior(0.9, confidence=0.95)
    assert twice.confidence == pytest.approx(0.90)
    assert estimate.under_prior(0.9).confidence == 0.95
    with pytest.raises(ValueError, match="confidence"):
        make().under_prior(0.9, confidence=0.4).under_prior(0.9, confidence=0.4)


@pytest.mark.parametrize("rho", [0, -0.5, 1.01, math.nan, math.inf, Fraction(1, 10**400)])
def test_ratios_out_of_range_are_refused(rho):
    with pytest.raises(ValueError, match="rho"):
        make().under_prior(rho)


@pytest.mark.parametrize("confidence", [0, 1, -1, math.nan])
def test_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        make().under_prior(0.5, confidence=confidence)


def test_only_leakage_moves_to_another_prior():
    for criterion, prior in (("dp", ""), ("corollary1", "uniform")):
        with pytest.raises(ValueError, match="criterion 'pml'"):
            make(criterion=criterion, prior=prior).under_prior(0.5)


def test_numbers_in_words_claim_no_more_than_is_proven():
    # Fewer priors are above a larger share; and no confidence becomes certainty.
    assert "at least 0.961 times" in make().under_prior(0.9601).prior
    assert "at least 1 times" in make().under_prior(0.99999).prior
    sure = make(status="estimate", confidence=1 - 1e-9)
    assert "confidence 0.999999999" in sure.statement()
    assert "confidence 0.999999999" in str(sure)
    assert "confidence 0.99 " in str(make(status="estimate", confidence=0.1 + 0.89)).replace("\n", " ")
