# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds on epsilon: what they prove, with how many trials, and how often they are wrong."""

import bisect
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from skprivate.audit import EpsilonAudit, audit_epsilon, epsilon_lower_bound, low_bits
from skprivate.audit._epsilon import gaussian_lower_bound
from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.randomizers import (
    HadamardRandomizer,
    KRRRandomizer,
    LaplaceRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
)

pytestmark = pytest.mark.statistical

# A right mechanism fails one audit with a probability below this; there are fewer than 50 of them here.
CONFIDENCE = 1 - 1e-8
SENSITIVITY = 3000


def draws(value, n, factor=1, seed=0):
    right = DiscreteLaplaceMechanism(1.5, SENSITIVITY)
    mechanism = DiscreteLaplaceMechanism.from_scale(Fraction(right.scale) * Fraction(factor))
    return mechanism.randomize(np.full(n, value), np.random.default_rng([seed, value]))


class TestBound:
    def test_is_that_of_clopper_and_pearson(self):
        low = stats.binomtest(500, 1000).proportion_ci(0.999, method="exact").low
        high = stats.binomtest(50, 1000).proportion_ci(0.999, method="exact").high
        assert epsilon_lower_bound(500, 50, 1000) == pytest.approx(math.log(low / high))

    def test_sides_may_have_other_numbers_of_trials(self):
        assert epsilon_lower_bound(500, 50, (1000, 1000)) == epsilon_lower_bound(500, 50, 1000)
        assert epsilon_lower_bound(500, 500, (1000, 10_000)) > 2

    @pytest.mark.parametrize("counts", [(0, 0, 10), (10, 10, 10), (0, 10, 10), (3, 5, 10)])
    def test_nothing_proven_is_zero(self, counts):
        assert epsilon_lower_bound(*counts) == 0.0

    def test_delta_is_taken_off(self):
        assert epsilon_lower_bound(500, 50, 1000, delta=0.1) < epsilon_lower_bound(500, 50, 1000)
        assert epsilon_lower_bound(50, 5, 1000, delta=0.1) == 0.0

    @pytest.mark.parametrize(("hits", "confidence"), [((11, 0), 0.9), ((-1, 0), 0.9), ((1, 0), 1.0)])
    def test_impossible_counts(self, hits, confidence):
        with pytest.raises(ValueError, match="must lie"):
            epsilon_lower_bound(*hits, 10, confidence)

    @pytest.mark.parametrize(("factor", "trials"), [(0.5, 333), (0.8, 2914)])
    def test_the_stated_numbers_of_trials(self, factor, trials):
        """Power 95 % at 99.9 %, for noise that is too small by this factor: an event of probability 1/2."""
        p, q = 0.5, 0.5 * math.exp(-1.5 / factor)
        # Over the binomial distributions of both counts, to four standard errors.
        share = 0.0
        for hits in range(trials + 1):
            weight = stats.binom.pmf(hits, trials, p)
            if weight < 1e-6:
                continue
            # The bound falls in the other count: so many of them refute.
            refuting = bisect.bisect_left(
                range(trials), True, key=lambda other: epsilon_lower_bound(hits, other, trials) <= 1.5
            )
            share += weight * stats.binom.cdf(refuting - 1, trials, q)
        assert 0.9 < share < 0.98


class TestAudit:
    def test_right_noise_passes_with_a_tight_bound(self):
        audit = audit_epsilon(
            draws(SENSITIVITY, 30_000), draws(0, 30_000), predicted=Fraction(3, 2), confidence=CONFIDENCE
        )
        assert audit.passed
        assert 1.3 < audit.epsilon <= 1.5
        assert audit.trials == (20_000, 20_000)

    @pytest.mark.parametrize(("factor", "n"), [(Fraction(1, 2), 1200), (Fraction(4, 5), 12_000)])
    def test_too_little_noise_is_refuted(self, factor, n):
        here, there = (draws(value, n, factor) for value in (SENSITIVITY, 0))
        audit = audit_epsilon(here, there, predicted=1.5, confidence=CONFIDENCE)
        assert not audit.passed
        assert "REFUTED" in str(audit)

    def test_the_claim_hides_what_the_pair_shows(self):
        """A pair at half the distance uses half of the budget: half the noise is within the claim."""
        here, there = (draws(value, 30_000, Fraction(1, 2)) for value in (SENSITIVITY // 2, 0))
        assert audit_epsilon(here, there, predicted=1.5, confidence=CONFIDENCE).passed
        assert not audit_epsilon(here, there, predicted=0.75, confidence=CONFIDENCE).passed

    @pytest.mark.parametrize("swap", [False, True])
    def test_either_side_may_be_the_likelier_one(self, swap):
        pair = draws(SENSITIVITY, 6000), draws(0, 6000)
        assert audit_epsilon(*(pair[::-1] if swap else pair)).epsilon > 1

    def test_an_event_of_ones_own_counts_all_draws(self):
        pair = draws(SENSITIVITY, 1000), draws(0, 1000)
        audit = audit_epsilon(*pair, event=lambda values: values >= SENSITIVITY)
        assert audit.trials == (1000, 1000)
        assert audit.hits[0] == (pair[0] >= SENSITIVITY).sum()

    def test_the_event_is_chosen_on_other_draws(self):
        """With a value of its own in every draw, an event chosen on the counted ones would prove anything."""
        rng = np.random.default_rng(0)
        here, there = rng.integers(0, 2**15, (2, 3000))
        assert audit_epsilon(here, there, categorical=True, confidence=CONFIDENCE).epsilon == 0.0

    def test_low_bits_do_not_enter_the_scale(self):
        """Values that carry their data set in the last bits pass; `low_bits` of them do not."""
        rng = np.random.default_rng(1)
        noise = rng.integers(-1000, 1000, (2, 3000)).astype(float)
        here, there = noise[0] + 2.0**-40, noise[1]
        assert audit_epsilon(here, there, predicted=0.1, confidence=CONFIDENCE).passed
        bits = audit_epsilon(low_bits(here), low_bits(there), categorical=True, confidence=CONFIDENCE)
        assert bits.epsilon > 4

    def test_several_values_of_one_release(self):
        """Three integers that lose half each are better than one: the bound passes that of any of them."""
        mechanism = DiscreteLaplaceMechanism.from_scale(2000)
        rng = np.random.default_rng(2)
        here, there = (
            mechanism.randomize(np.tile([value, -value, 0, value], (40_000, 1)), rng) for value in (1000, 0)
        )
        audit = audit_epsilon(here, there, predicted=1.5, confidence=CONFIDENCE)
        assert 0.7 < audit.epsilon <= 1.5

    @pytest.mark.parametrize(
        "randomizer",
        [HadamardRandomizer, KRRRandomizer, LaplaceRandomizer, SubsetRandomizer, UnaryRandomizer],
    )
    def test_every_user_of_a_local_mechanism_is_a_trial(self, randomizer):
        """Categories 1 and 3: two cells, label 1."""
        bounds = {}
        for epsilon in (1.5, 3.0):
            reports = [
                randomizer(epsilon, 4).randomize(np.full(60_000, category), np.random.default_rng(category))
                for category in (1, 3)
            ]
            if reports[0].dtype == np.uint8 and reports[0].ndim == 2:
                reports = [np.unpackbits(one, axis=1) for one in reports]
            bounds[epsilon] = audit_epsilon(
                *reports, categorical=reports[0].ndim == 1, confidence=CONFIDENCE
            ).epsilon
        print(randomizer.__name__, bounds)
        assert 0.8 < bounds[1.5] <= 1.5 < bounds[3.0]

    def test_delta(self):
        """A mechanism that shows everything with probability .01 is (0, .01)-private."""
        rng = np.random.default_rng(3)
        shown = rng.random((2, 30_000)) < 0.01
        here, there = np.where(shown[0], 1, 0), np.where(shown[1], 2, 0)
        assert audit_epsilon(here, there, categorical=True, confidence=CONFIDENCE).epsilon > 1.5
        private = audit_epsilon(here, there, categorical=True, confidence=CONFIDENCE, delta=0.01)
        assert private.epsilon == 0.0

    @pytest.mark.parametrize(
        ("here", "match"),
        [([1.0, 2.0], "three releases"), (["a"] * 5, "numbers"), ([1, 2, np.nan, 4], "finite"), (3, "three")],
    )
    def test_bad_draws(self, here, match):
        with pytest.raises(ValueError, match=match):
            audit_epsilon(here, here)

    @pytest.mark.parametrize(
        ("wrong", "match"),
        [
            ({"predicted": "x"}, "predicted must be a number"),
            ({"predicted": -1}, "predicted must be at least 0"),
            ({"predicted": np.nan}, "predicted must be at least 0"),
            ({"event": 3}, "event must be callable"),
            ({"event": lambda draws: True}, "one bool for each draw"),
            ({"delta": 1}, "delta must be"),
        ],
    )
    def test_bad_options(self, wrong, match):
        with pytest.raises((TypeError, ValueError), match=match):
            audit_epsilon(np.zeros(100), np.ones(100), **wrong)

    def test_shapes_and_names(self):
        with pytest.raises(ValueError, match="same shape"):
            audit_epsilon(np.zeros((5, 2)), np.zeros((5, 3)))
        with pytest.raises(ValueError, match="one name each"):
            audit_epsilon(np.zeros((9, 2)), np.zeros((9, 2)), categorical=True)

    def test_text(self):
        audit = EpsilonAudit(epsilon=1.2, confidence=0.999, hits=(9, 1), trials=(20, 20))
        assert str(audit).startswith("audited at >= 1.2 (confidence 0.999;")
        assert audit.passed


@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_the_distance_of_two_gaussians(mu):
    rng = np.random.default_rng(4)
    hits = tuple(int((rng.normal(shift, 1, 40_000) >= 0).sum()) for shift in (mu / 2, -mu / 2))
    assert 0.7 * mu < gaussian_lower_bound(hits, (40_000, 40_000), CONFIDENCE) <= mu
    assert gaussian_lower_bound((0, 10), (10, 10), 0.9) == 0.0


def test_low_bits():
    told = low_bits([0.75, 6.0, -6.0, 1 + 2.0**-52, 5e-324, 2.0**80, 0.0])
    assert told.tolist() == [-2.0, 1.0, 1.0, -52.0, -1074.0, 80.0, 1024.0]
