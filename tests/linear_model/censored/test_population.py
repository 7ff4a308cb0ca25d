# SPDX-License-Identifier: BSD-3-Clause
"""Fits of one population: agreement with maximum likelihood, errors, coverage, predictions, and bad input."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from skprivate import (
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    TableDomain,
    config_context,
)
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model._censored.histograms import HistogramRelease, fit_histogram, histogram_cells
from skprivate.linear_model._distributions import DISTRIBUTIONS, error_distribution_of
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import PreparedRows

LOCATION, SCALE = np.log(1000.0), 0.5
BOUNDS = (10.0, 100_000.0)
LAWS = DISTRIBUTIONS[:3]


def lives(n, law, seed=0, censored=False):
    """Times, and which are events; watching ends evenly, and with the study at 1200."""
    rng = np.random.default_rng(seed)
    errors = error_distribution_of(law).quantile(rng.uniform(1e-12, 1, n))
    time = np.exp(LOCATION + SCALE * errors)
    if not censored:
        return time, np.ones(n, dtype=bool)
    end = np.minimum(rng.uniform(100, 2000, n), 1200.0)
    return np.minimum(time, end), time <= end


def target(time, event):
    y = np.empty(len(time), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, time
    return y


def exact_fit(time, event, law):
    """Maximum likelihood of the rows themselves."""
    distribution, y = error_distribution_of(law), np.log(time)

    def loss(at):
        errors = (y - at[0]) * np.exp(-at[1])
        events = distribution.log_density(errors) - at[1]
        return -np.mean(np.where(event, events, distribution.log_survival(errors)))

    found = minimize(
        loss, [LOCATION, np.log(SCALE)], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13}
    )
    return np.array([found.x[0], np.exp(found.x[1])])


@pytest.mark.parametrize("censored", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_agrees_with_maximum_likelihood_without_noise(law, censored):
    """Cells lose little of the information: half a standard error, and of censored rows those of one bin."""
    time, event = lives(40_000, law, censored=censored)
    y = target(time, event) if censored else time
    model = DPLogLocationScaleRegressor(1e6, distribution=law, bounds_y=BOUNDS).fit(None, y)
    error = np.sqrt(np.diagonal(model.release_.law.inverse))
    far = (np.array([model.intercept_, model.scale_]) - exact_fit(time, event, law)) / (SCALE * error)
    assert np.abs(far).max() < 0.5


@pytest.mark.parametrize("bounds", [(600.0, 100_000.0), (10.0, 900.0), (600.0, 1100.0)])
def test_bounds_that_cut_do_not_bias(bounds):
    time = lives(40_000, "weibull")[0]
    model = DPLogLocationScaleRegressor(1e6, bounds_y=bounds).fit(None, time)
    errors = np.array([model.intercept_ - LOCATION, model.scale_ - SCALE])
    assert (np.abs(errors) < 4 * SCALE * np.sqrt(np.diagonal(model.release_.law.inverse))).all()
    assert model.release_.settled


def plain_b10(time, event, epsilon, seed):
    """What a user would do: 64 bins between the bounds with all of epsilon, and their maximum likelihood."""
    grid = MomentGrid(lower=np.zeros(0), upper=np.zeros(0), target=tuple(np.log(BOUNDS)), exponent=0)
    rows = PreparedRows(np.zeros((len(time), 0)), y=np.log(time), event=event.astype(np.uint8))
    counts = histogram_cells(grid).sums(rows)[:-1].reshape(2, -1)
    counts = counts + np.random.default_rng(seed).laplace(scale=2 / epsilon, size=counts.shape)
    release = HistogramRelease(counts, np.sqrt(2) * 2 / epsilon, grid.target)
    location, scale = fit_histogram(release, error_distribution_of("weibull"))
    low = error_distribution_of("weibull").quantile(0.1)
    return grid.y_center + grid.y_half * (location + scale * low)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.slow
@pytest.mark.parametrize("censored", [False, True])
@pytest.mark.parametrize(("n", "epsilon"), [(2000, 1.0), (40_000, 1.0)])
def test_b10_is_precise_and_its_interval_holds(n, epsilon, censored):
    """Of 60 right intervals of 90 % fewer than 44 hold with a probability below 1e-4.

    The error is at most that of the plain histogram, and within 1.5 times that of the rows at 40,000.
    """
    truth = LOCATION + SCALE * error_distribution_of("weibull").quantile(0.1)
    held, errors, plain, exact = 0, [], [], []
    for seed in range(60):
        time, event = lives(n, "weibull", seed, censored)
        y = target(time, event) if censored else time
        with config_context(allow_seeds=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPLogLocationScaleRegressor(epsilon, bounds_y=BOUNDS, random_state=seed).fit(None, y)
        b10, ((low, high),) = model.predict_quantile(None, 0.1, return_interval=True)
        held += low < np.exp(truth) < high
        errors.append(np.log(b10[0]) - truth)
        plain.append(plain_b10(time, event, epsilon, seed) - truth)
        location, scale = exact_fit(time, event, "weibull")
        exact.append(location + scale * error_distribution_of("weibull").quantile(0.1) - truth)
    assert held >= 44
    of_fits, of_plain, of_rows = (np.sqrt(np.mean(np.square(one))) for one in (errors, plain, exact))
    assert of_fits < of_plain
    assert of_fits < (1.5 if n > 10_000 else 4.0) * of_rows


def test_predictions_take_none_and_return_one_value():
    time, event = lives(20_000, "weibull", censored=True)
    model = DPLogLocationScaleRegressor(2.0, bounds_y=BOUNDS).fit(None, target(time, event))
    assert model.n_features_in_ == 0
    assert model.coef_.shape == (0,)
    assert model.coef_interval_.shape == (0, 2)
    assert model.predict(None) == pytest.approx(np.exp(LOCATION) * np.log(2) ** SCALE, rel=0.1)
    assert model.b_lives(None, [0.1, 0.5]).shape == (2, 8)
    survival, band = model.predict_survival_function(None, return_array=True, return_interval=True)
    assert survival.shape == (1, 128)
    assert ((band[..., 0] <= survival) & (survival <= band[..., 1])).all()
    times, curve = model.survival_curve_
    assert np.abs(np.exp(-((times / 1000) ** 2)) - curve).max() < 0.05
    assert model.event_share_ == pytest.approx(event.mean(), abs=0.05)
    assert [row.name for row in model.summary().rows] == ["(intercept)", "(scale)", "(shape)"]
    fitted = model.goodness_of_fit()
    assert fitted.statistic < 1.5 * fitted.limit
    same = pickle.loads(pickle.dumps(model))
    assert same.predict(None) == model.predict(None)
    assert [one.name for one in model.privacy_spent_.releases] == [
        "counts by time and event",
        "counts by time and event about a fit",
    ]
    assert "bounds_X" not in model.privacy_spent_.unprotected
    with pytest.raises(ValueError, match="pass None for X"):
        model.predict([[1.0]])


def test_goodness_of_fit_sees_a_wrong_law():
    """Two populations in one table; 400 tables under the law: no smaller p-value is possible."""
    time = np.concatenate([lives(20_000, "weibull", 1)[0], 30 * lives(20_000, "weibull", 2)[0]])
    model = DPLogLocationScaleRegressor(1.0, bounds_y=BOUNDS).fit(None, time)
    assert model.goodness_of_fit().p_value < 0.01


def test_a_fit_again_with_columns_takes_columns():
    time, _ = lives(5000, "weibull")
    model = DPLogLocationScaleRegressor(1.0, bounds_y=BOUNDS).fit(None, time)
    model.set_params(bounds_X=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.linspace(0, 1, 5000)[:, None], time)
    assert model.predict([[0.5]]).shape == (1,)
    assert not hasattr(model, "survival_curve_")


def test_noise_that_hides_all_is_said():
    time, event = lives(200, "weibull", censored=True)
    with pytest.warns(UtilityWarning, match=r"hides the lower quantiles|no events at all"):
        DPLogLocationScaleRegressor(0.05, bounds_y=BOUNDS).fit(None, target(time, event))


def test_strict_mode_reads_what_is_missing():
    time, event = lives(20_000, "weibull", censored=True)
    time[:50] = np.nan
    with config_context(strict=True):
        model = DPLogLocationScaleRegressor(2.0, bounds_y=BOUNDS).fit(None, target(time, event))
        assert model.predict(None) == pytest.approx(np.exp(LOCATION) * np.log(2) ** SCALE, rel=0.1)
    assert model.privacy_spent_.private


Y = lives(100, "weibull")[0]
SPANS = np.array([(1.0, 20.0, 0.0)] * 30, dtype=[("lower", float), ("upper", float), ("entry", float)])
LIFE = {"bounds_y": BOUNDS}


@pytest.mark.parametrize(
    ("model", "X", "y", "match"),
    [
        (DPSEVRegressor(bounds_y=(0, 9)), np.zeros((100, 0)), np.log(Y), r"fit\(None, y\)"),
        (DPSEVRegressor(bounds_y=(0, 9)), [[]] * 100, np.log(Y), r"fit\(None, y\)"),
        (DPLogLocationScaleRegressor(bounds_X=(0, 1), **LIFE), None, Y, "leave out bounds_X"),
        (DPLogLocationScaleRegressor(x_norm=1.0, **LIFE), None, Y, "leave out x_norm"),
        (DPLogLocationScaleRegressor(method="taylor", **LIFE), None, Y, "method='moments'"),
        (
            DPLogLocationScaleRegressor(observations=["right", "interval", "entry"], **LIFE),
            None,
            SPANS,
            "no earlier events, intervals or entries",
        ),
        (DPLogLocationScaleRegressor(**LIFE), None, None, "y"),
        (DPLogLocationScaleRegressor(**LIFE), None, -Y, "not above 0"),
        (DPNormalLLSRegressor(bounds_y=(0, 9)), None, [[1.0, 2.0]] * 5, "1d array|two fields"),
    ],
)
def test_refused(model, X, y, match):
    with pytest.raises((TypeError, ValueError), match=match):
        model.fit(X, y)


def test_a_domain_of_no_column_names_the_remedy():
    with pytest.raises(ValueError, match=r"fit\(None, y\)"):
        TableDomain({})
