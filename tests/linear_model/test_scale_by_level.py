# SPDX-License-Identifier: BSD-3-Clause
"""Scale by level: maximum likelihood, coverage under unequal spread, predictions, bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from skprivate import (
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    MomentAccumulator,
    TableDomain,
    config_context,
)
from skprivate.domain import BooleanColumn, CategoricalColumn, NumberColumn
from skprivate.exceptions import UtilityWarning

DOMAIN = TableDomain(
    {"usage": CategoricalColumn(["city", "field"]), "old": BooleanColumn(), "x": NumberColumn(-1, 1)}
)
SCALES = {"city": 1 / 2.0, "field": 1 / 1.5}
LIFE = {"domain": DOMAIN, "bounds_y": (1.0, 1e5)}


def fleet(n, seed=0, censored=False):
    """Weibull times whose shape is 2 in the city and 1.5 in the field."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"usage": rng.choice(["city", "field"], n), "old": rng.uniform(size=n) < 0.5})
    X["x"] = rng.uniform(-1, 1, n)
    scale = X["usage"].map(SCALES).to_numpy()
    log_time = 7 + 0.4 * (X["usage"] == "city") - 0.3 * X["x"] + scale * np.log(rng.exponential(size=n))
    if not censored:
        return X, np.exp(log_time).to_numpy()
    end = rng.uniform(100, 2500, n)
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["time"] = np.minimum(np.exp(log_time), end)
    y["event"] = y["time"] < end
    return X, y


def exact_fit(X, y):
    """Maximum likelihood with a scale for each usage: intercept, city, x, log scales of city and field."""
    event, time = (y["event"], y["time"]) if y.dtype.names else (np.ones(len(y), dtype=bool), y)
    city, x, log_time = (X["usage"] == "city").to_numpy(), X["x"].to_numpy(), np.log(time)

    def loss(at):
        scale = np.where(city, at[3], at[4])
        errors = (log_time - at[0] - at[1] * city - at[2] * x) * np.exp(-scale)
        return -np.mean(np.where(event, errors - scale, 0.0) - np.exp(errors))

    return minimize(loss, [7, 0.4, -0.3, -0.7, -0.4], method="BFGS").x


@pytest.mark.parametrize("censored", [False, True])
def test_agrees_with_maximum_likelihood_without_noise(censored):
    """Within 2 standard errors: slopes are those of a fit with one scale, levels those of cells."""
    X, y = fleet(30_000, censored=censored)
    model = DPLogLocationScaleRegressor(1e5, scale_by="usage", **LIFE).fit(X, y)
    exact = exact_fit(X, y)
    at = pd.DataFrame({"usage": ["city", "field"], "old": [False, False], "x": [0.0, 0.0]})
    spread = model.spread_by_level_
    assert spread.names == ("usage=city", "usage=field")
    assert spread.differs
    assert np.log(spread.scales) == pytest.approx(exact[3:], abs=0.015)
    medians = exact[0] + exact[1] * np.array([1, 0]) + np.exp(exact[3:]) * np.log(np.log(2))
    assert np.log(model.predict(at)) == pytest.approx(medians, abs=0.02)
    # One shape for all is off by ten times that, in the tail.
    common = DPLogLocationScaleRegressor(1e5, **LIFE).fit(X, y)
    low = exact[0] + exact[1] * np.array([1, 0]) + np.exp(exact[3:]) * np.log(-np.log(0.99))
    off = [np.abs(np.log(one.predict_quantile(at, 0.01)) - low).max() for one in (model, common)]
    assert off[0] < 0.06 < 0.3 < off[1]


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.slow
def test_intervals_hold_where_spread_differs():
    """Of 60 right intervals of 90 % fewer than 44 hold with a probability below 1e-4."""
    at = pd.DataFrame({"usage": ["city", "field"], "old": [False, False], "x": [0.0, 0.0]})
    truth = np.exp([7.4, 7.0]) * (-np.log(0.9)) ** np.array(list(SCALES.values()))
    held = np.zeros(2)
    for seed in range(60):
        X, y = fleet(20_000, seed, censored=True)
        with config_context(allow_seeds=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPLogLocationScaleRegressor(2.0, scale_by=["usage"], random_state=seed, **LIFE).fit(X, y)
        interval = model.predict_quantile(at, 0.1, return_interval=True)[1]
        held += (interval[:, 0] < truth) & (truth < interval[:, 1])
    assert (held >= 44).all()


@pytest.mark.slow
def test_the_slope_of_a_column_that_spreads_holds():
    """A column of 5 % with 4 times the scale; without scale_by its slope holds in less than a third."""
    domain = TableDomain({"flag": BooleanColumn(), "x": NumberColumn(-1, 1)})
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"flag": rng.uniform(size=20_000) < 0.05, "x": rng.uniform(-1, 1, 20_000)})
        y = 1 + 0.5 * X["flag"] + X["x"] + np.where(X["flag"], 2.0, 0.5) * rng.normal(size=20_000)
        with config_context(allow_seeds=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPNormalLLSRegressor(
                2.0, domain=domain, bounds_y=(-10, 12), scale_by="flag", random_state=seed
            ).fit(X, y)
        low, high = model.coef_interval_[0]
        held += low < 0.5 < high
    assert held >= 44


def test_predictions_use_the_scale_of_the_level():
    X, y = fleet(20_000)
    model = DPLogLocationScaleRegressor(1e4, scale_by=("usage", "old"), **LIFE).fit(X, y)
    spread = model.spread_by_level_
    assert spread.names == (
        "usage=city, old",
        "usage=city, not old",
        "usage=field, old",
        "usage=field, not old",
    )
    rows = X[:40]
    city = (rows["usage"] == "city").to_numpy()
    q10, interval = model.predict_quantile(rows, [0.1, 0.5], return_interval=True)
    ratios = np.log(q10[:, 1] / q10[:, 0]) / (np.log(np.log(2)) - np.log(-np.log(0.9)))
    assert ratios[city] == pytest.approx(0.5, abs=0.03)
    assert ratios[~city] == pytest.approx(2 / 3, abs=0.03)
    assert ((interval[..., 0] < q10) & (q10 < interval[..., 1])).all()
    curves, band = model.predict_survival_function(rows, return_array=True, return_interval=True)
    assert ((band[..., 0] <= curves) & (curves <= band[..., 1])).all()
    functions = model.predict_survival_function(rows)
    assert [float(one(t)) for one, t in zip(functions, q10[:, 0], strict=True)] == pytest.approx([0.9] * 40)
    names = [row.name for row in model.summary().rows]
    assert "(scale, usage=city, old)" in names
    assert "(scale)" not in names
    assert dict(model.summary().facts)["spread"] == spread.verdict
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_mean(rows), model.predict_mean(rows))


def test_goodness_of_fit_is_that_of_the_levels():
    """Weibull times of two shapes fit by level, and not with one scale; a mixture fits neither way."""
    X, y = fleet(30_000, censored=True)
    one, by_level = (
        DPLogLocationScaleRegressor(20.0, scale_by=name, **LIFE).fit(X, y).goodness_of_fit()
        for name in (None, "usage")
    )
    assert one.p_value < 0.01
    assert by_level.statistic < 1.5 * by_level.limit
    y["time"] *= np.where(X["x"] * 10 % 1 < 0.3, 0.1, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixed = DPLogLocationScaleRegressor(20.0, scale_by="usage", **LIFE).fit(X, y)
    assert mixed.goodness_of_fit().p_value < 0.01


def test_complete_fits_have_a_goodness_of_fit():
    X, y = fleet(20_000)
    model = DPLogLocationScaleRegressor(5.0, scale_by="usage", **LIFE).fit(X, y)
    fitted = model.goodness_of_fit()
    assert fitted.statistic < 1.5 * fitted.limit


def test_no_difference_is_no_verdict():
    """Of levels of one scale 5 in 100 differ by chance; a fixed seed."""
    X, y = fleet(20_000)
    with config_context(allow_seeds=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPLogLocationScaleRegressor(2.0, scale_by="old", random_state=0, **LIFE).fit(X, y)
    assert not model.spread_by_level_.differs
    assert "no sign" in str(model.spread_by_level_)


class TestBadInput:
    """What the counts cannot know is said, and named."""

    @pytest.mark.parametrize("rare", [0, 3])
    def test_levels_of_few_rows(self, rare):
        X, y = fleet(10_000)
        X.loc[:, "usage"] = "city"
        X.loc[: rare - 1, "usage"] = "field"
        model = DPLogLocationScaleRegressor(5.0, scale_by="usage", **LIFE)
        with pytest.warns(UtilityWarning, match="at levels of scale_by: usage=field"):
            model.fit(X, y)
        assert model.spread_by_level_.known.tolist() == [True, False]
        assert "usage=field: unknown" in str(model.spread_by_level_)
        assert model.spread_by_level_.p_value == 1.0

    def test_a_level_without_events(self):
        X, y = fleet(10_000, censored=True)
        y["event"] &= (X["usage"] == "city").to_numpy()
        model = DPLogLocationScaleRegressor(5.0, scale_by="usage", **LIFE)
        with pytest.warns(UtilityWarning, match="usage=field"):
            model.fit(X, y)
        assert not model.spread_by_level_.known[1]

    def test_persons_cost_their_rows(self):
        X, y = fleet(10_000)
        model = DPLogLocationScaleRegressor(5.0, scale_by="usage", max_rows_per_group=2, **LIFE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, groups=np.arange(10_000) // 2)
        last = model.privacy_spent_.releases[-1]
        assert (last.name, last.sensitivity) == ("counts of residuals by level", 4)

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"scale_by": "x"}, "boolean, or have two or more levels"),
            ({"scale_by": "missing"}, "must name different columns"),
            ({"scale_by": []}, "must name different columns"),
            ({"scale_by": ["usage", "usage"]}, "must name different columns"),
            ({"scale_by": "usage", "domain": None, "bounds_X": (0, 1)}, r"declare domain=TableDomain"),
            ({"scale_by": "usage", "observations": ["exact", "left"]}, "right-censored rows"),
        ],
    )
    def test_refused(self, options, match):
        X, y = fleet(100, censored="observations" in options)
        X = X if options.get("domain", DOMAIN) else X[["old", "x"]].to_numpy(float)
        with pytest.raises(ValueError, match=match):
            DPLogLocationScaleRegressor(**{**LIFE, **options}).fit(X, y)

    def test_one_level(self):
        domain = TableDomain({"one": CategoricalColumn(["a"]), "x": NumberColumn(-1, 1)})
        X = pd.DataFrame({"one": ["a"] * 50, "x": np.linspace(-1, 1, 50)})
        with pytest.raises(ValueError, match="two or more levels"):
            DPNormalLLSRegressor(domain=domain, bounds_y=(0, 1), scale_by="one").fit(X, np.linspace(0, 1, 50))

    def test_accumulators_count_nothing_by_level(self):
        moments = MomentAccumulator(None, (0, 1), domain=DOMAIN, max_rows=100, distribution="normal")
        model = DPNormalLLSRegressor(domain=DOMAIN, bounds_y=(0, 1), scale_by="usage")
        with pytest.raises(ValueError, match="fit_rounds"):
            moments.release(model)

    def test_without_it_there_is_no_spread(self):
        X, y = fleet(1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPLogLocationScaleRegressor(**LIFE).fit(X, y)
        with pytest.raises(AttributeError, match="scale_by"):
            _ = model.spread_by_level_
