# SPDX-License-Identifier: BSD-3-Clause
"""Players of two types that follow the first: published figures, and all 2^N vertices written out."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.games import TwoTypePrior
from skprivate.games._leakage.correlated_players import TwoTypeChannel, as_joint_prior

SIZES = (2, 5, 10, 20, 50)


def followed(n_players: int, distance: float, alpha: float = 0.3, beta: float = 0.6) -> TwoTypeChannel:
    return TwoTypeChannel(TwoTypePrior([0, 1], alpha, beta), n_players, distance)


def corrected_bound(n_players: int, distance: float, alpha: float, beta: float) -> float:
    """Eq. (9) of the paper with c = beta 2^(N-1) - 1, as it stands: overflows for many players."""
    x, others = math.exp(-distance), n_players - 1
    c, loose = beta * 2.0**others - 1, (1 - beta) * (1 + x) ** others
    ratio = x * (c * x**others + loose) / (c + loose)
    return -math.log((1 - alpha) * ratio + alpha)


def by_writing_out(n_players: int, distances: Any, alpha: float, beta: float) -> tuple[float, list[float]]:
    """Largest leakage about all players, and about each, over all 2^N vertices."""
    profiles = np.array(list(itertools.product([0, 1], repeat=n_players)))
    alike = (profiles[:, 1:] == profiles[:, :1]).all(axis=1)
    p = np.where(profiles[:, 0] == 0, alpha, 1 - alpha)
    p = p * np.where(alike, beta, (1 - beta) / (2 ** (n_players - 1) - 1))
    K = np.exp(-(np.abs(profiles[:, None] - profiles[None]) * distances).sum(axis=2))
    whole = -math.log((p @ K)[p > 0].min())
    each = []
    for player in range(n_players):
        masks = [profiles[:, player] == kind for kind in (0, 1)]
        each.append(max(np.log((p[m] @ K[m]) / p[m].sum() / (p @ K)).max() for m in masks))
    return whole, each


@pytest.mark.parametrize(
    ("beta", "figures"), [(0.6, "0.162 0.410 0.692 0.999 1.192"), (0.5, "0.136 0.362 0.620 0.937 1.186")]
)
def test_figures_of_the_corrected_lower_bound(beta: float, figures: str) -> None:
    found = [followed(n, 0.2, beta=beta).first() for n in SIZES]
    assert " ".join(f"{value:.3f}" for value in found) == figures
    assert np.allclose(found, [corrected_bound(n, 0.2, 0.3, beta) for n in SIZES], rtol=1e-12)


def test_all_are_below_the_bound_by_group_privacy() -> None:
    upper = [-math.log(0.7 * math.exp(-0.2 * n) + 0.3) for n in SIZES]
    assert [f"{value:.3f}" for value in upper] == ["0.262", "0.584", "0.930", "1.162", "1.204"]
    for beta in np.linspace(0, 1, 21):
        assert all(
            followed(n, 0.2, beta=beta).first() <= u + 1e-12 for n, u in zip(SIZES, upper, strict=True)
        )


@given(
    st.integers(2, 7), st.floats(0, 5), st.floats(0.01, 0.99),
    # Not below 1e-300: writing out takes products that are 0 in floating point for impossible.
    st.one_of(st.floats(1e-300, 1), st.sampled_from([0.0, 1.0, 1e-12, 1 - 1e-12])),
)  # fmt: skip
def test_counting_equals_writing_out(n_players: int, distance: float, alpha: float, beta: float) -> None:
    players = followed(n_players, distance, alpha, beta)
    whole, each = by_writing_out(n_players, np.full(n_players, distance), alpha, beta)
    assert players.entire() == pytest.approx(whole, abs=1e-9)
    assert players.first() == pytest.approx(each[0], abs=1e-9)
    assert players.others() == pytest.approx(max(each[1:]), abs=1e-9)


@pytest.mark.parametrize("n_players", [9, 10])
def test_counting_equals_writing_out_for_more_players(n_players: int) -> None:
    whole, each = by_writing_out(n_players, np.full(n_players, 0.3), 0.3, 0.2)
    players = followed(n_players, 0.3, beta=0.2)
    assert (players.entire(), players.first()) == pytest.approx((whole, each[0]), abs=1e-9)
    assert players.others() == pytest.approx(max(each[1:]), abs=1e-9)


@given(st.integers(2, 12), st.floats(0, 8), st.floats(0.01, 0.99), st.floats(0, 1))
def test_no_other_player_is_worse_than_the_first(n: int, distance: float, alpha: float, beta: float) -> None:
    """Seen, not proven: guarantees take the larger of both."""
    players = followed(n, distance, alpha, beta)
    assert players.others() <= players.first() + 1e-9


def test_very_many_players_do_not_overflow() -> None:
    for beta in (0.0, 1e-300, 0.01, 0.6, 1.0):
        players = followed(5000, 0.2, beta=beta)
        values = (players.entire(), players.first(), players.others())
        assert np.isfinite(values).all()
        assert players.first() <= math.log(1 / 0.3) + 1e-9
        assert players.others() <= players.rarest_type_bound() + 1e-9
    assert followed(1000, 0.2).first() == pytest.approx(math.log(1 / 0.3), abs=1e-6)
    # beta = 2^-(N-1) makes player 1 independent of all others: Lemma 5(3) of the paper leaves it out.
    alone = -math.log(0.3 + 0.7 * math.exp(-0.2))
    assert followed(1000, 0.2, beta=2.0**-999).first() == pytest.approx(alone, abs=1e-9)


def test_no_difference_tells_nothing() -> None:
    players = followed(20, 0.0)
    assert (players.entire(), players.first(), players.others()) == pytest.approx((0, 0, 0), abs=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_written_out_priors_are_the_same_distribution(beta: float) -> None:
    joint = as_joint_prior(TwoTypePrior([[0, 0], [1, 2]], 0.3, beta), 3)
    assert joint.probabilities.sum() == pytest.approx(1)
    first = (joint.profiles[:, 0] == 0).all(axis=1)
    assert joint.probabilities[first].sum() == pytest.approx(0.3)
    alike = (joint.profiles == joint.profiles[:, :1]).all(axis=(1, 2))
    assert joint.probabilities[alike].sum() == pytest.approx(beta)


def test_a_profile_of_almost_no_probability_is_possible_all_the_same() -> None:
    """beta = 5e-324: the players alike are possible, and what they would leak is what beta -> 0 would."""
    assert followed(2, 1.0, 0.5, 5e-324).entire() == pytest.approx(1.0, abs=1e-12)
