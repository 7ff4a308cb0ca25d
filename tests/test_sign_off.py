# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark of published figures: its exact figures, and the sites of its patients."""

import numpy as np
import pytest

from benchmarks._utility.data import Split
from benchmarks._utility.given import exact
from benchmarks._utility.sites import ASIAN, WHITE, Sites3
from benchmarks.figures.sign_off import publish


def test_the_slope_is_1_of_right_probabilities_and_half_of_log_odds_twice_as_large():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=200_000)
    y = (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    right, bold = (exact(1 / (1 + np.exp(-k * log_odds)), y, True) for k in (1, 2))
    assert right["calibration_slope"] == pytest.approx(1, abs=0.03)
    assert bold["calibration_slope"] == pytest.approx(right["calibration_slope"] / 2, abs=1e-4)
    assert right["auc"] == pytest.approx(bold["auc"])
    assert right["log_loss"] < bold["log_loss"]
    assert np.isnan(exact(np.full(len(y), 0.3), y, True)["calibration_slope"])


def test_given_predictions_are_published_at_a_large_epsilon_as_they_are():
    rng = np.random.default_rng(1)
    scores = rng.random(4000)
    y = (rng.random(4000) < scores).astype(np.int64)
    # The second half alone is evaluated: of the first, the labels are wrong.
    rows = np.arange(2000, 4000)
    y[:2000] = 1 - y[:2000]
    found, true = publish(scores, y, rows, 100.0, {}), exact(scores[rows], y[rows], True)
    assert found["accuracy"].value == pytest.approx(true["accuracy"], abs=1e-2)
    for name in ("auc", "log_loss"):
        assert found[name].value == pytest.approx(true[name], abs=0.03)
    doses = 50 + 10 * rng.normal(size=4000)
    off, true = (
        publish(doses + 5, doses, rows, 100.0, {"bounds_y": (0, 100)}),
        exact(doses + 5, doses, False),
    )
    assert true["mae"] == pytest.approx(5)
    assert off["mae"].value == pytest.approx(5, abs=0.5)


def test_patients_are_dealt_by_origin_or_at_random_alike_in_all_calls():
    X = np.zeros((300, 9))
    X[:100, ASIAN], X[100:200, WHITE] = 1, 1
    split = Split(X, np.zeros(300), np.zeros(300, dtype=bool), X[::-1], np.zeros(300), seed=0)
    by_origin = Sites3(split, "by origin")
    assert by_origin.training.tolist() == 100 * [0] + 100 * [1] + 100 * [2]
    assert by_origin.tested.tolist() == by_origin.training.tolist()[::-1]
    dealt = Sites3(split, "at random")
    assert dealt.training.tolist() == dealt.training.tolist()
    assert set(dealt.training) == {0, 1, 2}
