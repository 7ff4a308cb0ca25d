# SPDX-License-Identifier: BSD-3-Clause
"""The score of correct orientation: pairs within 2 mu, column by column."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skprivate.metrics import correct_orientation_score


def plain(X, X_perturbed, mu):
    scores = []
    for true, sent in zip(X.T, X_perturbed.T, strict=True):
        pairs = [(v, w) for v, w in zip(true, sent, strict=True) if v == v and w == w]
        hits = sum(abs(v - w) <= 2 * mu for v, w in pairs)
        scores.append(100 * hits / len(pairs) if pairs else np.nan)
    return scores


def tables(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(200, 4))
    X_perturbed = X + rng.normal(scale=[0.001, 0.01, 0.1, 1.0], size=X.shape)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X_perturbed[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X, X_perturbed


@pytest.mark.parametrize("mu", [1e-3, 0.05, 0])
def test_matches_a_plain_loop(mu):
    X, X_perturbed = tables()
    scores = correct_orientation_score(X, X_perturbed, mu=mu)
    assert scores.shape == (4,)
    np.testing.assert_allclose(scores, plain(X, X_perturbed, mu), rtol=1e-14)


def test_cells_of_a_sixteenth_on_uniform_values():
    """Proposition 1 with equality: mu 2^(k + 2) on the unit interval; a tolerance of 6 deviations."""
    v = np.random.default_rng(1).uniform(size=(100_000, 1))
    score = correct_orientation_score(v, (np.floor(16 * v) + 0.5) / 16)
    assert score[0] == pytest.approx(6.4, abs=6 * 100 * np.sqrt(0.064 * 0.936 / 1e5))


def test_the_border_counts():
    X = np.zeros((3, 1))
    assert correct_orientation_score(X, [[0.25], [0.5], [0.75]], mu=0.25)[0] == pytest.approx(200 / 3)


def test_a_radius_per_column():
    X = np.zeros((1, 3))
    scores = correct_orientation_score(X, np.ones((1, 3)), mu=[0.4, 0.5, 7])
    assert scores.tolist() == [0.0, 100.0, 100.0]


def test_a_column_without_a_pair_has_no_score():
    scores = correct_orientation_score([[np.nan, 1.0], [2.0, 1.0]], [[1.0, 1.0], [np.nan, 9.0]])
    np.testing.assert_array_equal(scores, [np.nan, 50.0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame):
    X, X_perturbed = tables()
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    perturbed = {name: X_perturbed[:, j] for j, name in enumerate("abcd")}
    np.testing.assert_array_equal(
        correct_orientation_score(frame(columns), frame(perturbed)), correct_orientation_score(X, X_perturbed)
    )
    swapped = {name: perturbed[name] for name in "bacd"}
    with pytest.raises(ValueError, match="same rows and columns"):
        correct_orientation_score(frame(columns), frame(swapped))


@pytest.mark.parametrize(
    ("mu", "error"),
    [
        (-1.0, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        ([1.0, 2.0], ValueError),
        ([[1.0]], ValueError),
        ("small", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_bad_mu(mu, error):
    with pytest.raises(error, match="mu must"):
        correct_orientation_score(np.zeros((2, 1)), np.zeros((2, 1)), mu=mu)


def test_tables_that_do_not_fit():
    with pytest.raises(ValueError, match="same rows and columns"):
        correct_orientation_score(np.zeros((2, 2)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="infinity"):
        correct_orientation_score([[np.inf]], [[1.0]])


def test_no_message_shows_a_value():
    with pytest.raises(ValueError, match="text") as caught:
        correct_orientation_score([["secret"]], [["other"]])
    assert "secret" not in str(caught.value)


def test_one_column_may_be_a_vector():
    X, sent = np.array([0.1, 0.2, np.nan]), np.array([0.1, 0.3, 0.4])
    np.testing.assert_array_equal(correct_orientation_score(X, sent), [50.0])
    np.testing.assert_array_equal(correct_orientation_score(X, sent[:, None]), [50.0])
