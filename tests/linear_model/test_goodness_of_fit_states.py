# SPDX-License-Identifier: BSD-3-Clause
"""States of estimates: what earns them, who says them, and that intervals of known estimates hold."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skprivate import DPLogLocationScaleRegressor, TableDomain, life_data
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model._goodness_of_fit import states_of

SHARES = np.array([0.48, 0.3, 0.2, 0.02])
DOMAIN = TableDomain({"load": (0, 1), "kind": list("abcd")})
COEF = np.array([-0.8, 0.3, -0.1, 0.2, -0.4])


def lives(n, seed, *, errors=None, censored=True):
    """Weibull lives of shape 2, or those of other errors, a third of them censored, and their locations."""
    rng = np.random.default_rng([seed, 9])
    X = pd.DataFrame({"load": rng.random(n), "kind": rng.choice(list("abcd"), n, p=SHARES)})
    location = 6.0 + DOMAIN.encode(X) @ COEF
    weibull = np.log(rng.exponential(size=n))
    life = location + 0.5 * (weibull if errors is None else errors(n, rng))
    if not censored:
        return X, np.exp(life)
    end = rng.uniform(5.2, 7.2, n)
    return X, life_data(time=np.exp(np.minimum(life, end)), event=life <= end)


def fitted(rows, epsilon=2.0, seed=0, **options):
    """Fit, and return the model with what its warnings say."""
    model = DPLogLocationScaleRegressor(
        epsilon, domain=DOMAIN, bounds_y=(2, 4000), random_state=seed, **options
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UtilityWarning)
        model.fit(*rows)
    return model, " ".join(str(one.message) for one in caught if one.category is UtilityWarning)


@pytest.mark.parametrize(
    ("width", "of_rows", "lost", "tells", "state"),
    [
        (0.9, 0.1, False, False, "known"),  # narrow
        (1.1, 0.1, False, False, "mostly noise"),
        (1.1, 0.1, False, True, "known"),
        (1.1, 0.8, False, False, "known"),  # the noise has 47 % of the square
        (1.1, 0.7, False, False, "mostly noise"),
        (0.9, 0.1, True, True, "unknown"),
        (np.inf, 0.1, False, True, "unknown"),
        (0.0, 0.0, False, False, "known"),
    ],
)
def test_rule(width, of_rows, lost, tells, state):
    assert states_of(np.array([width]), np.array([of_rows]), 1.0, lost, tells).tolist() == [state]


def test_one_warning_names_the_level_that_is_drowned_and_others_are_known():
    rows = lives(60_000, 0)
    model, said = fitted(rows, 0.4, seed=3)
    assert model.coef_state_.tolist() == ["known"] * 4 + ["mostly noise"]
    assert "hides the effects of 'kind=d'" in said
    assert "'load'" not in said
    for help_ in ("levels that are joined", "Gaussian noise", "more rows", "larger epsilon"):
        assert help_ in said
    summary = model.summary()
    assert [row.state for row in summary.rows[:5]] == model.coef_state_.tolist()
    assert "mostly noise: the noise" in str(summary)
    assert "mostly noise" in summary._repr_html_()
    # Quantiles are those of their own rows.
    places = pd.DataFrame({"load": [0.5, 0.5], "kind": ["a", "d"]})
    assert model.quantile_state(places, 0.1).tolist() == ["known", "mostly noise"]
    assert model.b_lives(places, [0.1])["state"].tolist() == ["known", "mostly noise"]
    with pytest.warns(UtilityWarning, match="1 of 2 intervals are mostly noise"):
        model.predict_quantile(places, 0.1, return_interval=True)
    with pytest.warns(UtilityWarning, match="1 of 2 bounds are mostly noise"):
        model.predict_quantile_bound(places, 0.1)
    with pytest.warns(UtilityWarning, match="1 of 2 bands are mostly noise"):
        curves, _ = model.predict_survival_function(places, return_interval=True)
    assert [curve.state for curve in curves] == ["known", "mostly noise"]
    clear, said = fitted(rows, 1000.0)
    assert not said
    assert (clear.coef_state_ == "known").all()
    assert clear.__getstate__()["_ground"] is None
    assert clear.scale_state_ == "known"


@pytest.mark.parametrize("censored", [False, True], ids=["complete", "censored"])
def test_a_law_that_is_rejected_is_said_wherever_lives_are_shown(censored):
    model, said = fitted(
        lives(50_000, 1, errors=lambda n, rng: np.log(rng.gamma(3.0, size=n)), censored=censored), 4.0
    )
    assert "residuals reject the distribution" in said
    assert "reject the distribution" in model.summary().goodness_of_fit
    assert "goodness of fit: the residuals reject" in str(model.summary())
    table = model.b_lives([{"load": 0.5, "kind": "a"}])
    assert (table["state"] == "unknown").all()
    assert "reject the distribution" in table.attrs["goodness_of_fit"]
    assert model.scale_state_ == "unknown"
    assert model.coef_state_[0] == "known"
    right, said = fitted(lives(50_000, 1, censored=censored), 4.0)
    assert "distribution" not in said
    assert right.summary().goodness_of_fit.startswith("not rejected")


def test_lives_of_which_some_are_clipped_are_unknown():
    model = DPLogLocationScaleRegressor(8.0, domain=DOMAIN, bounds_y=(60, 4000), random_state=0)
    with pytest.warns(UtilityWarning, match="below the lower bound"):
        model.fit(*lives(20_000, 4))
    assert model.scale_state_ == "unknown"
    assert model.quantile_state([{"load": 0.5, "kind": "a"}], 0.1).tolist() == ["unknown"]


def test_a_fit_without_residuals_has_no_verdict():
    model, _ = fitted(lives(5000, 2, censored=False), 20.0, max_iter=1)
    assert model.summary().goodness_of_fit.startswith("no verdict: the fit released no histogram")


@pytest.mark.slow
@pytest.mark.parametrize("censored", [False, True], ids=["complete", "censored"])
def test_a_right_distribution_is_seldom_rejected(censored):
    """Of 40 fits at a level of .01, more than 4 have a probability below 5e-5."""
    assert (
        sum("reject" in fitted(lives(20_000, seed, censored=censored), seed=seed)[1] for seed in range(40))
        <= 4
    )


@pytest.mark.slow
def test_intervals_of_known_slopes_hold():
    """Slopes of 40 fits, some hidden by noise; five in a fit, of which levels depend on each other.

    Of some hundred intervals that hold in .9, as if one in four counted, fewer than .72 have a probability
    below 1e-3 at 25; of these seeds the share is .99, of 132.
    """
    truth = COEF - np.r_[0, np.full(4, COEF[1:].mean())]
    held = []
    for seed in range(40):
        model, _ = fitted(lives(12_000, seed), seed=seed)
        lower, upper = model.coef_interval_.T
        held += ((lower <= truth) & (truth <= upper))[model.coef_state_ == "known"].tolist()
    assert 60 < len(held) < 180
    assert np.mean(held) > 0.72


def test_slopes_of_levels_are_those_about_their_mean():
    """A constant passes to the intercept, as every row has one level."""
    model, _ = fitted(lives(30_000, 3, censored=False), 20.0)
    assert abs(model.coef_[1:].sum()) < 1e-9
    np.testing.assert_allclose(model.coef_[1:4] - COEF[1:4], -COEF[1:].mean(), atol=0.05)
    assert abs(model.replicates_[:, 3:].sum(axis=1)).max() < 1e-9
    assert abs(model.intercept_ - 6.0 - COEF[1:].mean()) < 0.05
