# SPDX-License-Identifier: BSD-3-Clause
"""What `PrivacySpent` accepts, says and survives."""

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from skprivate.accounting import PrivacyGuarantee, joint_channel, max_information, pml_from_ldp, pml_guarantee
from skprivate.randomizers import KRRRandomizer
from tests.accounting.records import EXPOSED, spend


def make(epsilon=Fraction(1, 2), **changes):
    fields = {
        "sensitivity": 2,
        "public_inputs": ("bounds",),
        "unprotected": {"n": 100, "bounds": [[0.0, 1.0], [2.0, 3.0]]},
    }
    return spend(epsilon, **(fields | changes))


def test_a_run_is_private_or_keeps_its_nominal_epsilon():
    spent, exposed = make(), make(**EXPOSED)
    assert (spent.private, spent.effective_epsilon, exposed.private, exposed.effective_epsilon) == (
        *(True, 0.5),
        *(False, math.inf),
    )
    assert (spent.delta, spent.unit, spent.max_rows_per_unit) == (0, "row", 1)
    assert exposed.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("duplicate", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy, copy.copy])
def test_copies_are_equal_and_stay_read_only(duplicate):
    spent = duplicate(make())
    assert spent == make()
    assert hash(spent) == hash(make())
    assert spent != make(unprotected={"n": 101})
    with pytest.raises(dataclasses.FrozenInstanceError):
        spent.epsilon = Fraction(1)
    with pytest.raises(TypeError):
        spent.unprotected["n"] = 0
    with pytest.raises(TypeError):
        spent.unprotected._items["n"] = 0
    with pytest.raises(AttributeError):
        spent.unprotected._items = {}
    with pytest.raises(AttributeError):
        del spent.unprotected._items


def test_unprotected_is_a_frozen_copy():
    given = {"n": np.int64(7), "bounds": np.eye(2), "classes": ["a", "b"], "more": {"depth": [1, 2]}}
    spent = make(unprotected=given)
    given["classes"].append("c")
    given["n"] = 8
    assert spent.unprotected == {
        "n": 7,
        "bounds": ((1.0, 0.0), (0.0, 1.0)),
        "classes": ("a", "b"),
        "more": {"depth": (1, 2)},
    }
    assert type(spent.unprotected["n"]) is int


def test_print_of_a_private_run():
    lines = str(make(rho=Fraction(1, 8))).splitlines()
    assert lines[0] == "Claim: differential privacy (claimed by the software, not certified)"
    text = "\n".join(lines)
    for part in (
        *(
            "epsilon: 0.5 (exactly 1/2)",
            "delta: 0\n",
            "rho (zCDP): 0.125 (exactly 1/8)",
            "replace-one",
            "curator",
        ),
        "one ROW is protected; persons with several rows are not covered without `groups`",
        *("rows per unit: at most 1", "mechanism: discrete Laplace", "curator"),
        "entropy of the operating system",
        *("sensitivity (integer grid): 2", "noise scale (integer grid): 4", "public inputs: bounds"),
        *("unprotected n: 100", "unprotected bounds: ((0.0, 1.0), (2.0, 3.0))"),
    ):
        assert part in text
    assert "because" not in text


def test_print_of_a_run_that_is_not_private():
    reasons = ("the run is seeded", "classes were read from private rows")
    spent = make(claim="not-private", reasons=reasons, noise_source="seeded", deployment="simulated")
    text = str(spent)
    claim, _, epsilon = text.splitlines()[:3]
    assert claim == "Claim: NOT PRIVATE"
    assert epsilon.startswith("  epsilon: infinite (nominal amount, as charged: 0.5 (exactly")
    assert "local reports drawn in one place: whoever ran fit saw the rows" in text
    for reason in reasons:
        assert f"not private because: {reason}" in text


def test_print_of_groups_and_players_does_not_speak_of_rows():
    text = str(make(unit="group", max_rows_per_unit=3))
    assert "one ROW" not in text
    assert "rows per unit: at most 3" in text
    text = str(make(unit="player", relation="local"))
    assert "unit: player: everything one player sends during a run is protected together" in text
    assert "rows per unit" not in text


def test_a_run_that_is_not_private_may_have_infinite_epsilon():
    spent = make(math.inf, **EXPOSED)
    assert spent.epsilon == spent.effective_epsilon == math.inf
    assert "epsilon: infinite\n" in str(spent)
    assert "nominal" not in str(spent)
    assert pickle.loads(pickle.dumps(spent)) == spent
    with pytest.raises(ValueError, match="epsilon must be finite if the claim is 'dp'"):
        make(math.inf)


@pytest.mark.parametrize(
    ("relation", "steps", "words"),
    [
        ("local", 1, "your report raises"),
        ("replace-one", 1, "the units are independent"),
        ("add-remove", 2, "the units are independent"),
        ("label", 1, "labels are independent given the features"),
    ],
)
def test_leakage_of_a_run_is_what_its_epsilon_allows(relation, steps, words):
    spent = make(relation=relation).given_prior([0.7, 0.3, 0.0])
    leakage = spent.leakage
    assert leakage.epsilon == pytest.approx(pml_from_ldp(steps * spent.epsilon, 0.3))
    assert (leakage.status, leakage.criterion) == ("upper_bound", "pml")
    assert words in leakage.statement()
    assert "0.7 and 0.3" in leakage.statement()
    text = str(spent)
    assert f"leakage: {leakage.epsilon:.6g} nats of pointwise maximal leakage (upper bound)" in text
    assert f"for the data holder: {leakage.statement()}" in text
    assert make(relation=relation).leakage is None


@pytest.mark.parametrize("relation", ["local", "replace-one", "add-remove"])
def test_leakage_under_all_priors_with_a_floor_is_that_of_the_worst(relation):
    any_prior = make(relation=relation).given_prior(Fraction(1, 20)).leakage
    of_one = [
        make(relation=relation).given_prior(prior).leakage.epsilon
        for prior in ([0.95, 0.05], [0.05, 0.2, 0.75], [0.3, 0.7], [0.05] * 20)
    ]
    assert any_prior.epsilon == pytest.approx(max(of_one), abs=1e-12)
    assert min(of_one) < any_prior.epsilon
    assert "any that gives every possible value a probability of at least 0.05" in any_prior.statement()
    assert make(**EXPOSED).given_prior(0.05).leakage.epsilon == pytest.approx(math.log(20))


def counts_with_noise(others_prior, epsilon, relation):
    """Channel from one bit (or absence) to a noisy count over it and an independent bit."""
    outputs, channel = np.arange(-40, 43), []
    for own in (0, 1):
        distribution = np.zeros(len(outputs))
        for other, weight in enumerate(others_prior):
            # Two-sided geometric noise; a bit counts 1 or -1 where absence counts 0.
            centre = other + (own if relation == "replace-one" else 2 * own - 1)
            distribution += weight * np.exp(-epsilon * np.abs(outputs - centre))
        channel.append(distribution / distribution.sum())
    return np.array(channel)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_bound_of_a_central_run_holds_for_independent_rows(relation):
    prior = np.array([0.7, 0.3])
    spent = make(relation=relation, epsilon=1).given_prior(prior)
    exact = pml_guarantee(counts_with_noise([0.4, 0.6], 1.0, relation), prior)
    assert exact <= spent.leakage.epsilon + 1e-9
    if relation == "add-remove":
        # Once epsilon would be too little: a replacement is two steps.
        assert exact > pml_from_ldp(1, 0.3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"delta": 1e-6}, "delta is above 0"),
        (EXPOSED, "not private"),
        ({"epsilon": math.inf, **EXPOSED}, "not private"),
    ],
)
def test_without_pure_privacy_only_the_prior_bounds_the_leakage(changes, reason):
    prior = [0.7, 0.3]
    spent = make(**changes).given_prior(prior)
    assert spent.leakage.epsilon == max_information(prior)
    assert reason in spent.leakage.method
    assert reason in str(spent)


def test_exact_leakage_of_a_report_is_taken_as_it_is():
    exact = KRRRandomizer(0.5, 2).leakage([0.4, 0.3, 0.2, 0.1])
    spent = make(relation="local").given_prior(exact)
    assert spent.leakage is exact
    assert "(exact)" in str(spent)
    with pytest.raises(ValueError, match="not private"):
        make(**EXPOSED).given_prior(exact)
    dp = PrivacyGuarantee(epsilon=1, status="exact", criterion="dp", subject="your report")
    with pytest.raises(ValueError, match="differential privacy"):
        make().given_prior(dp)


def test_the_leakage_of_one_report_is_taken_for_no_other_run():
    """Five reports of epsilon 1 leak 2.24 nats together, and one leaks .84."""
    prior = [0.4, 0.3, 0.2, 0.1]
    one = KRRRandomizer(1, 2).leakage(prior)
    assert make(relation="local", epsilon=1).given_prior(one).leakage is one
    moved = one.under_prior(0.9)
    assert make(relation="local", epsilon=1).given_prior(moved).leakage is moved
    row = np.exp(np.eye(4))
    channel = row / row.sum(axis=1, keepdims=True)
    five = make(relation="local", epsilon=5)
    joint = pml_guarantee(joint_channel(*[channel] * 5), prior)
    assert one.epsilon < joint <= five.given_prior(prior).leakage.epsilon + 1e-9
    others = [
        five,
        make(relation="local", epsilon=1, delta=1e-6),
        make(relation="replace-one", epsilon=1),
        make(relation="add-remove", epsilon=1),
        make(relation="local", epsilon=1, unit="player"),
    ]
    for run in others:
        with pytest.raises(ValueError, match="not known to be about this run"):
            run.given_prior(one)
    of_nobody = PrivacyGuarantee(
        epsilon=one.epsilon, status="exact", criterion="pml", subject="your report", prior=one.prior
    )
    for unknown in (of_nobody, PrivacyGuarantee.from_dict(one.to_dict())):
        with pytest.raises(ValueError, match="not known to be about this run"):
            make(relation="local", epsilon=1).given_prior(unknown)
    assert PrivacyGuarantee.from_dict(one.to_dict()) == one


def test_a_prior_of_one_player_assumes_independent_players():
    spent = make(unit="player", relation="local", epsilon=1, delta=0).given_prior([0.7, 0.3])
    assert "(and the players are independent under it), this run raises" in " ".join(
        spent.leakage.statement().split()
    )
