# SPDX-License-Identifier: BSD-3-Clause
"""Priors refuse what is no distribution, or not one of the players' private vectors."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from skprivate.games import Box, ContinuousPrior, JointPrior, SampledPrior, TwoTypePrior, TypePrior
from skprivate.games._games.sets import Unconstrained
from skprivate.games._leakage.guarantees import privacy_guarantee
from skprivate.games._leakage.priors import as_prior
from skprivate.games._plan import BroadcastMechanism


def make_mechanism(**changes: Any) -> BroadcastMechanism:
    fields: dict[str, Any] = {
        "n_players": 3,
        "n_dims": 2,
        "algorithm": "ye",
        "noise_scales": np.ones(4),
        "steps": np.full(4, 0.1),
        "constraint": Unconstrained(),
        "clip_norm": None,
        "private": frozenset({"r"}),
        "P": np.eye(2),
        "Q": np.eye(2),
        "private_bounds": (np.zeros((3, 2)), np.ones((3, 2))),
        "allowance": 0.0,
    }
    return BroadcastMechanism(**{**fields, **changes})


def draw(n: int, rng: np.random.Generator) -> Any:
    return rng.uniform(size=(n, 2))


FITTING = [
    TypePrior([[0, 0], [1, 1]], [0.5, 0.5]),
    TypePrior(np.full((3, 2, 2), 0.5), np.full((3, 2), 0.5)),
    TypePrior([[0, 0], [7, 7]], [1.0, 0.0]),
    ContinuousPrior(stats.uniform()),
    ContinuousPrior([stats.uniform(), stats.beta(2, 3)]),
    JointPrior(np.full((4, 3, 2), 0.5), np.full(4, 0.25)),
    JointPrior([np.zeros((3, 2)), np.full((3, 2), 9.0)], [1, 0]),
    TwoTypePrior([[0, 0], [1, 1]], 0.3, 0.6),
    SampledPrior(draw, (0, 1)),
    SampledPrior(draw, ([0, 0.5], [1, 1])),
]
WRONG = {
    "coordinates": [
        TypePrior([0, 1], [0.5, 0.5]),
        ContinuousPrior([stats.uniform()] * 3),
        TwoTypePrior([0, 1], 0.3, 0.6),
        JointPrior(np.zeros((1, 3)), [1]),
        SampledPrior(draw, ([0] * 3, [1] * 3)),
    ],
    "players": [
        TypePrior(np.zeros((2, 2, 2)), [0.5, 0.5]),
        TypePrior(np.zeros((2, 2)), np.full((4, 2), 0.5)),
        JointPrior(np.zeros((1, 4, 2)), [1]),
    ],
    "leaves the bounds": [
        TypePrior([[0, 0], [1, 1.001]], [0.5, 0.5]),
        ContinuousPrior(stats.uniform(0, 1.1)),
        ContinuousPrior(stats.norm()),
        JointPrior(np.full((1, 3, 2), -0.1), [1]),
        TwoTypePrior([[0, 0], [0, 2]], 0.3, 0.6),
        SampledPrior(draw, (0, 2)),
    ],
}


@pytest.mark.parametrize("prior", FITTING)
def test_fitting_priors_pass(prior: Any) -> None:
    prior.check(make_mechanism())
    assert "3" in prior.describe(3)


@pytest.mark.parametrize(
    ("words", "prior"), [(words, prior) for words, all_ in WRONG.items() for prior in all_]
)
def test_priors_that_do_not_fit_the_game_are_refused(words: str, prior: Any) -> None:
    with pytest.raises(ValueError, match=words):
        prior.check(make_mechanism())


@pytest.mark.parametrize("prior", WRONG["coordinates"][:1] + WRONG["leaves the bounds"][:1])
def test_types_of_more_than_a_vector_are_labels(prior: Any) -> None:
    prior.check(
        make_mechanism(private=frozenset({"P", "Q", "r"}), constraint=Box(0, 1), algorithm="wang_nedic")
    )


def test_bounds_may_differ_by_player_and_by_rounding() -> None:
    lower, upper = np.zeros((3, 2)), np.array([[1.0, 1], [1, 1], [1, 0.4]])
    types = np.tile([[0.0, 0.0], [1.0, 0.4]], (3, 1, 1))
    TypePrior(types, [0.5, 0.5]).check(make_mechanism(private_bounds=(lower, upper)))
    types[1, 1, 1] = 1 + 1e-12
    TypePrior(types, [0.5, 0.5]).check(make_mechanism(private_bounds=(lower, upper)))
    types[2, 1, 1] = 0.5
    with pytest.raises(ValueError, match="leaves the bounds"):
        TypePrior(types, [0.5, 0.5]).check(make_mechanism(private_bounds=(lower, upper)))


@pytest.mark.parametrize(
    ("types", "probabilities"),
    [
        ([0, 1], [0.5, 0.5 + 2e-9]),
        ([0, 1], [0.5, 0.4]),
        ([0, 1], [1.5, -0.5]),
        ([0, 1], [0.5, np.nan]),
        ([0, np.inf], [0.5, 0.5]),
        ([0, 1, 2], [0.5, 0.5]),
        ([], []),
        (0.0, 1.0),
        (np.zeros((3, 2, 1)), np.full((2, 2), 0.5)),
        (np.zeros((1, 1, 2, 1)), [0.5, 0.5]),
        ([0, 1], np.full((1, 1, 2), 0.5)),
    ],
)
def test_what_is_no_distribution_over_types_is_refused(types: Any, probabilities: Any) -> None:
    with pytest.raises(ValueError, match=r"types|probabilities"):
        TypePrior(types, probabilities)


def test_text_is_no_type() -> None:
    with pytest.raises(TypeError, match="types must hold numbers"):
        TypePrior(["0", "1"], [0.5, 0.5])
    with pytest.raises(TypeError, match="probabilities must hold numbers"):
        TypePrior([0, 1], ["0.5", "0.5"])


@pytest.mark.parametrize(
    ("profiles", "probabilities"),
    [
        (np.zeros((2, 3)), [0.5, 0.6]),
        (np.zeros(3), [1, 0, 0]),
        (np.zeros((2, 3)), [1]),
        (np.zeros((1, 1, 1, 1)), [1]),
    ],
)
def test_what_is_no_distribution_over_profiles_is_refused(profiles: Any, probabilities: Any) -> None:
    with pytest.raises(ValueError, match=r"profiles|probabilities"):
        JointPrior(profiles, probabilities)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 0.5), (1, 0.5), (0.5, -0.1), (0.5, 1.1), (np.nan, 0.5)])
def test_two_type_priors_check_their_probabilities(alpha: float, beta: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        TwoTypePrior([0, 1], alpha, beta)


def test_two_types_are_two_and_need_followers() -> None:
    with pytest.raises(ValueError, match="types"):
        TwoTypePrior([0, 1, 2], 0.5, 0.5)
    with pytest.raises(ValueError, match="at least 2 players"):
        TwoTypePrior([[0, 0], [1, 1]], 0.5, 0.5).check(make_mechanism(n_players=1))


@pytest.mark.parametrize(
    "distribution", [stats.poisson(3), stats.uniform, 3.0, [], [stats.norm(), "norm"], None]
)
def test_only_frozen_continuous_distributions_are_continuous_priors(distribution: Any) -> None:
    with pytest.raises(TypeError, match="frozen continuous distribution"):
        ContinuousPrior(distribution)


@pytest.mark.parametrize(
    ("distribution", "error", "words"),
    [
        (stats.uniform([-1], [2]), TypeError, "no arrays"),
        (stats.beta([1, 2], 3), TypeError, "no arrays"),
        ([stats.uniform(), stats.uniform([0, 1])], TypeError, "no arrays"),
        (stats.uniform(0, -1), ValueError, "outside of its range"),
        (stats.beta(np.nan, 2), ValueError, "outside of its range"),
    ],
)
def test_arrays_and_wrong_parameters_of_distributions_are_refused(
    distribution: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ContinuousPrior(distribution)


def test_sums_that_are_off_by_rounding_take_nothing_from_a_leakage() -> None:
    for given in ([0.33333333334] * 3, [0.3333333336] * 3, [1 / 3] * 3):
        types, joint = TypePrior([0.0, 1.0, 2.0], given), JointPrior([[0.0], [1.0], [2.0]], given)
        assert abs(types.probabilities.sum() - 1) < 1e-15
        assert abs(joint.probabilities.sum() - 1) < 1e-15
        quiet = make_mechanism(
            n_players=1, n_dims=1, P=np.eye(1), Q=np.eye(1), private_bounds=None, noise_scales=np.full(4, 1e8)
        )
        for prior in (types, joint):
            # The mean distance from an end type is 1: what leaks is the sum of the steps' rates, all but.
            distance = privacy_guarantee(quiet, prior, criterion="dp").epsilon / 2
            assert privacy_guarantee(quiet, prior).epsilon == pytest.approx(distance, rel=1e-6)


def test_frozen_distributions_stand_for_priors() -> None:
    assert isinstance(as_prior(stats.norm()), ContinuousPrior)
    prior = TypePrior([0, 1], [0.5, 0.5])
    assert as_prior(prior) is prior
    for other in (stats.poisson(3), 0.5, [0.5, 0.5]):
        with pytest.raises(TypeError, match="prior must be"):
            as_prior(other)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (ContinuousPrior(stats.beta(0.2, 0.2)), "10 independent players, each beta(0.2, 0.2) on [0, 1]"),
        (ContinuousPrior([stats.norm(), stats.norm(loc=1)]), "10 independent players, each norm() on an "
         "unbounded set and norm(loc=1) on an unbounded set"),
        (TypePrior(range(9), np.full(9, 1 / 9)), "10 independent players, each of one of 9 types with "
         "probabilities of at least 0.111111"),
        (JointPrior(np.zeros((9, 10)), np.full(9, 1 / 9)), "one of 9 joint profiles of 10 players with "
         "probabilities of at least 0.111111"),
        (SampledPrior(draw, ([0, 1], [1, 2])), "10 independent players, each as sampled on [0, 1] x [1, 2]"),
    ],
)  # fmt: skip
def test_priors_are_described_in_words(prior: Any, words: str) -> None:
    assert prior.describe(10) == words


def test_sampled_priors_check_their_samples() -> None:
    prior = SampledPrior(draw, (0, 1), n_samples=50, random_state=1)
    assert np.array_equal(prior.sample(2), prior.sample(2))
    assert not np.array_equal(prior.sample(2), SampledPrior(draw, (0, 1), n_samples=50).sample(2))
    with pytest.raises(ValueError, match="outside the bounds"):
        SampledPrior(draw, (0, 0.5)).sample(2)
    with pytest.raises(ValueError, match="50 vectors of 3"):
        prior.sample(3)
    with pytest.raises(ValueError, match="finite"):
        SampledPrior(lambda n, rng: np.full(n, np.nan), (0, 1)).sample(1)


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (TypeError, {"draw": 3}),
        (ValueError, {"bounds": (1, 0)}),
        (ValueError, {"bounds": (0, np.inf)}),
        (ValueError, {"n_samples": 1}),
        (TypeError, {"n_samples": 2.5}),
        (ValueError, {"confidence": 1}),
        (ValueError, {"confidence": 0}),
    ],
)
def test_sampled_priors_check_their_parameters(error: type[Exception], arguments: dict[str, Any]) -> None:
    with pytest.raises(error):
        SampledPrior(**{"draw": draw, "bounds": (0, 1), **arguments})
