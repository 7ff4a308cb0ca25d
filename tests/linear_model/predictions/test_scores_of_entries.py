# SPDX-License-Identifier: BSD-3-Clause
"""Concordance of rows that were watched from an entry on, and targets that have no score."""

import numpy as np
import pytest

from skprivate import DPLogLocationScaleRegressor, life_data
from skprivate.linear_model._predictions import concordance_index


def counted(event, time, predicted, entry):
    """Pairs of an event and a row that was watched then, one by one."""
    pairs = right = 0.0
    for i in np.flatnonzero(event):
        for j in range(len(time)):
            later = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if later and entry[j] < time[i]:
                pairs += 1
                right += (predicted[j] > predicted[i]) + (predicted[j] == predicted[i]) / 2
    return right / pairs


def lives(seed):
    rng = np.random.default_rng(seed)
    # Whole numbers: ties of times, of predictions, and of times with entries.
    entry = rng.integers(0, 12, 80).astype(float)
    time = entry + rng.integers(1, 12, 80)
    return rng.random(80) < 0.6, time, np.round(time / 4 + rng.normal(size=80)), entry


@pytest.mark.parametrize("seed", range(20))
def test_is_the_count_over_pairs_at_risk(seed):
    event, time, predicted, entry = lives(seed)
    expected = counted(event, time, predicted, entry)
    assert concordance_index(event, time, predicted, entry) == pytest.approx(expected, rel=1e-12)
    assert expected != pytest.approx(concordance_index(event, time, predicted), rel=1e-6)
    start = np.full(80, -np.inf)
    assert concordance_index(event, time, predicted, start) == concordance_index(event, time, predicted)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_score_reads_entries_and_refuses_ends():
    event, time, _, entry = lives(0)
    X = time[:, np.newaxis] + np.random.default_rng(1).normal(size=(80, 1))
    model = DPLogLocationScaleRegressor(1e6, bounds_X=(-10, 40), bounds_y=(0.5, 40), random_state=3)
    model.fit(X, time)
    y = life_data(time=time, event=event, entry=entry)
    assert model.score(X, y) == pytest.approx(counted(event, time, model.predict(X), entry), rel=1e-12)
    with pytest.raises(ValueError, match="which event came first"):
        model.score(X, life_data(lower=time, upper=time + 1))
