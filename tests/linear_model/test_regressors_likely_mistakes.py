# SPDX-License-Identifier: BSD-3-Clause
"""What life models make of undeclared codes of events, and of values beyond the bounds of y."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skprivate import DPLogLocationScaleRegressor, LabelPrivateRegressor, config_context, life_data
from skprivate.base._likely_mistakes import mean_at_a_bound
from skprivate.ensemble import DPBoostingRegressor
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model import DPNormalLLSRegressor
from skprivate.linear_model._censored.release import CensoredRelease
from skprivate.tree import DPTreeRegressor

N = 10_000
UNIT = "another unit"
BELOW = "below the lower bound"


def lives(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, np.exp(1.5 * X[:, 0] + 0.5 * np.log(rng.exponential(size=n))), rng.uniform(0.3, 5, n)


def said_by(model, X, y, strict=False):
    """Fit, and return what the warnings say."""
    with warnings.catch_warnings(record=True) as caught, config_context(strict=strict):
        warnings.simplefilter("always", UtilityWarning)
        model.fit(X, y)
    return " ".join(str(one.message) for one in caught if one.category is UtilityWarning)


def model(bounds_y=(0.005, 30), epsilon=20.0, **options):
    return DPLogLocationScaleRegressor(epsilon, bounds_X=(-1, 1), bounds_y=bounds_y, **options)


FORMS = pytest.mark.parametrize("form", [lambda time: time, lambda time: life_data(time=time)])


@pytest.mark.parametrize("strict", [False, True])
@FORMS
def test_times_above_the_upper_bound_are_censored_there(form, strict):
    """Clipped, they took the slope to 1.05 for 1.5; its standard error is below 0.02 here."""
    X, time, _ = lives()
    late = model((0.005, float(np.quantile(time, 0.7))))
    said_by(late, X, form(time), strict)
    assert isinstance(late.release_, CensoredRelease)
    assert abs(late.coef_[0] - 1.5) < 0.1
    assert 0.68 < late.event_share_ < 0.72


def test_complete_times_within_generous_bounds_keep_their_moments():
    X, time, _ = lives()
    complete = model(random_state=0)
    assert said_by(complete, X, time) == ""
    assert not isinstance(complete.release_, CensoredRelease)
    assert not hasattr(complete, "survival_curve_")
    assert complete.release_.ends.counts.sum() == pytest.approx(N, abs=100)


# Of Laplace noise at epsilon 20 the counts are off by a row or two: false alarms are below 1e-6.
@pytest.mark.parametrize(
    ("times", "bounds", "part"),
    [
        (lambda t: t * 8766, (0.005, 30), UNIT),
        (lambda t: t / 8766, (0.005, 30), UNIT),
        (lambda t: t, (float(np.quantile(lives()[1], 0.03)), 30), BELOW),
        # A month is on the bound; bounds that are generous; bounds of one side alone.
        (lambda t: np.ceil(np.clip(10 * t, 0.1, 120)), (1, 120), ""),
        (lambda t: t, (1e-4, 1e4), ""),
        (lambda t: t, (0.005, 1e5), ""),
        (lambda t: t, (1e-5, 30), ""),
    ],
)
@FORMS
def test_what_released_counts_say_of_the_ends_of_bounds_y(times, bounds, part, form):
    X, time, _ = lives()
    said = said_by(model(bounds), X, form(times(time)))
    assert part in said
    assert part or not (UNIT in said or BELOW in said)


def test_undeclared_codes_are_missing_and_the_fit_says_so():
    """In strict mode 2 is neither true nor false; half of the rows have it."""
    X, time, end = lives()
    with config_context(strict=True):
        y = life_data(time=np.minimum(time, end), event=np.where(time <= end, 2, 1))
    said = said_by(model(), X, y, strict=True)
    assert "life_data(..., happened=2)" in said
    assert "noise" not in said


MODELS = [
    lambda bounds: DPNormalLLSRegressor(20.0, bounds_X=(-1, 1), bounds_y=bounds),
    lambda bounds: DPTreeRegressor(20.0, bounds_X=(-1, 1), bounds_y=bounds),
    lambda bounds: DPBoostingRegressor(20.0, bounds_X=(-1, 1), bounds_y=bounds),
    lambda bounds: LabelPrivateRegressor(epsilon=20.0, bounds_y=bounds),
]


@pytest.mark.parametrize("make", MODELS)
def test_text_is_no_target_of_a_regressor(make):
    """Its type is public: it is refused before anything is read."""
    for strict in (False, True):
        with config_context(strict=strict), pytest.raises(TypeError, match=r"y holds text.*astype\(float\)"):
            make((1, 100)).fit(np.zeros((50, 1)), np.array(["5.5"] * 50))
    with pytest.raises(ValueError, match=r"^y holds text") as caught:
        make((1, 100)).fit(np.zeros((3, 1)), ["5.5 hours", "1", "2"])
    assert "5.5" not in str(caught.value)


@pytest.mark.parametrize(
    ("mean", "noise", "bounds", "found"),
    [
        (9.99, 0.001, (1, 10), "upper"),
        (1.01, 0.001, (1, 10), "lower"),
        (9.7, 0.2, (1, 10), "upper"),
        (9.6, 0.001, (1, 10), None),
        (10.0, 3.0, (1, 10), None),
        (0.0, 0.001, (0, 10), None),
    ],
)
def test_a_mean_at_a_bound(mean, noise, bounds, found):
    said = mean_at_a_bound(mean, noise, bounds)
    assert (said is None) is (found is None)
    assert found is None or found in said


def test_intervals_that_leave_the_bounds_far_behind_are_marked_wherever_they_are_printed():
    """By more than the bounds of y are apart."""
    X, time, end = lives(n=500)
    drowned = model((0.3, 5), epsilon=0.05, random_state=0)
    said_by(drowned, X, life_data(time=np.minimum(time, end), event=time <= end))
    with pytest.warns(UtilityWarning, match="beyond bounds_y"):
        _, interval = drowned.predict_quantile([[0.0]], 0.1, return_interval=True)
    assert interval[0, 1] > 5 * (5 / 0.3) or interval[0, 0] < 0.3 * (0.3 / 5)
    assert drowned.b_lives([[0.0]], [0.1])["beyond"].all()
    assert any(row.beyond for row in drowned.summary().rows)
    assert "beyond: an end of an interval" in str(drowned.summary())
    X, time, _ = lives()
    clear = model(random_state=0).fit(X, time)
    clear.predict_quantile([[0.0]], 0.1, return_interval=True)
    assert not clear.b_lives([[0.0]], [0.1])["beyond"].any()
    assert not any(row.beyond for row in clear.summary().rows)
    assert "beyond: an end" not in str(clear.summary())


def test_a_row_of_a_frame_is_no_table():
    X, time, _ = lives()
    frame = pd.DataFrame({"x": X[:, 0]})
    fitted = model().fit(frame, time)
    for strict in (False, True):
        with config_context(strict=strict), pytest.raises(ValueError, match=r"frame\.iloc\[\[0\]\]"):
            fitted.predict(frame.iloc[0])


@FORMS
def test_times_of_zero_are_what_they_are_in_fit(form):
    X, time, _ = lives(n=500)
    fitted = model().fit(X, time)
    time[3] = 0.0
    for call in (fitted.score, model().fit):
        with pytest.raises(ValueError, match="not above 0"):
            call(X, form(time))
    with config_context(strict=True):
        assert np.isfinite(fitted.score(X, form(time)))
