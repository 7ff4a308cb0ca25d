# SPDX-License-Identifier: BSD-3-Clause
"""Shares of the rounds' budget: all of it, never less than the least, by released values alone."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from skprivate.linear_model._censored.rounds import Ahead, Pace, both, least_share
from tests.marks import slow

AHEAD = Ahead(
    length=0.6,
    change=1.0,
    one_sided=False,
    noise=0.05,
    contraction=0.3,
    error=0.2,
    fresh=0.1,
    noises=(0.02, 0.05),
)


def walk(pace, rng):
    """Shares of a fit whose released values are anything."""
    shares, left = [pace.first(float(10 ** rng.uniform(-4, 2)))], None
    left = 1 - shares[0]
    while left > 0:
        ahead = Ahead(
            *10 ** rng.uniform(-5, 1, 2),
            bool(rng.random() < 0.5),
            *10 ** rng.uniform(-5, 1, 4),
            tuple(10 ** rng.uniform(-5, 1, 2)),
        )
        share, curvature = pace.next_round(len(shares), ahead, left)
        assert (share, curvature) == pace.next_round(len(shares), ahead, left)
        # What a last round knows of the curvature no step uses.
        assert not (curvature and share == left)
        left -= share
        shares.append(share)
    assert left == 0
    return shares


@pytest.mark.parametrize("mechanism", ["laplace", slow("gaussian")])
def test_amounts_add_up_to_the_budget_and_none_is_too_small(mechanism):
    rng = np.random.default_rng(0)
    counts = set()
    for _ in range(60):
        shares = walk(Pace(None, mechanism), rng)
        assert sum(shares) == 1
        assert min(shares) >= least_share(None)
        assert len(shares) <= 10
        counts.add(len(shares))
    assert len(counts) >= 3


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("count", range(1, 13))
def test_given_rounds_have_fixed_shares(count, mechanism):
    first, second = (walk_given(Pace(count, mechanism), count, seed) for seed in (0, 1))
    assert first == second
    assert len(first) == count
    assert sum(first) == 1
    assert min(first) == least_share(count)
    if count > 2 and mechanism == "laplace":
        assert first[0] == first[-1] == Fraction(3, 8)
        assert len(set(first[1:-1])) == 1


def walk_given(pace, count, seed):
    return walk(pace, np.random.default_rng(seed)) if count > 1 else [pace.first(0.3)]


def test_the_first_round_takes_more_where_the_noise_hides_more():
    """Between a quarter and a half."""
    for mechanism in ("laplace", "gaussian"):
        shares = [Pace(None, mechanism).first(level) for level in (0.0, 0.02, 0.03, 0.05, 9.0)]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (Fraction(1, 4), Fraction(1, 2))


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_settled_fit_spends_all_at_once(mechanism):
    """Another round would only add noise; where much of a long step is left, it pays."""
    settled = replace(AHEAD, length=1e-4, change=1e-4, noise=1e-4, contraction=0.0, error=1e-3)
    assert Pace(None, mechanism).next_round(1, settled, Fraction(3, 4)) == (Fraction(3, 4), False)
    far = replace(AHEAD, length=2.0, noises=(1e-3, 2e-3))
    assert Pace(None, mechanism).next_round(1, far, Fraction(3, 4))[0] < Fraction(3, 4)
    # The tenth round is the last.
    assert Pace(None, mechanism).next_round(9, far, Fraction(3, 4))[0] == Fraction(3, 4)


def test_two_estimates_are_weighed_by_their_variances():
    assert both(3.0, 4.0) == pytest.approx((1 / 9 + 1 / 16) ** -0.5)
    assert both(0.0, 0.0) == 0.0
