# SPDX-License-Identifier: BSD-3-Clause
"""Plans of life studies: planned half-widths are those of fits, rows needed, sources of rows, bad input."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from skprivate import (
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    PrivacyLedger,
    TableDomain,
    config_context,
    plan_life_study,
)
from skprivate.datasets import make_location_scale
from skprivate.domain import BooleanColumn, StressColumn
from skprivate.evaluation import StatedLifetimes
from skprivate.evaluation._plan_study import _tried
from skprivate.evaluation._planning.lifetimes import FitWidths, draw_from_public, median_widths
from tests.marks import slow

BOX = {"bounds_X": (-1.0, 1.0), "bounds_y": (0.1, 400.0)}
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
MODEL = DPLogLocationScaleRegressor(**BOX)
STATED = StatedLifetimes(coef=[0.6, -0.4], intercept=3.0, scale=0.5)
CENTRE = [[0.0, 0.0]]
QUICK = {"X_at": CENTRE, "stated": STATED, "n_repeats": 4, "random_state": 0}


def plan(estimator=MODEL, n=5000, epsilons=(1.0,), **options):
    return plan_life_study(estimator, n, epsilons, **{**QUICK, **options})


def fleet(n, rng, censoring=0.3):
    return make_location_scale(
        n, 2, coef=[0.6, -0.4], intercept=3.0, censoring=censoring, random_state=int(rng.integers(2**31))
    )


def realised(model, n, simulate, at, seeds):
    """Return the median half-widths of fits that are not the plan's: B10, relative, and slopes."""
    found = []
    for seed in seeds:
        fit = model.set_params(random_state=seed).fit(*simulate(n, np.random.default_rng(1000 + seed)))
        _, ((low, high),) = fit.predict_quantile(at, 0.1, return_interval=True)
        found.append([np.sqrt(high / low) - 1, *np.ptp(fit.coef_interval_, axis=1) / 2])
    return np.median(found, axis=0)


class TestWidths:
    @pytest.mark.parametrize(
        ("options", "censoring"),
        [
            ({}, 0.3),
            *(slow(*one) for one in (({}, 0.0), (GAUSSIAN, 0.0), (GAUSSIAN, 0.3), ({"x_norm": 2.0}, 0.0))),
        ],
    )
    def test_are_those_of_a_fit(self, options, censoring):
        """Over 10 plans and sets of fits to complete targets the log ratio has a standard deviation of .065.

        Of censored ones they differ more from fit to fit: whether residuals are counted is chosen by noise.
        """
        model = DPLogLocationScaleRegressor(2.0, **BOX, **options)

        def simulate(n, rng):
            return fleet(n, rng, censoring)

        planned = plan(model, 30_000, [2.0], stated=None, simulate=simulate, n_repeats=8).table[0]
        found = realised(model, 30_000, simulate, CENTRE, range(8))
        # Five standard deviations: beyond them is one in a million.
        rtol = 0.6 if censoring else 0.39
        np.testing.assert_allclose([*planned.quantile, *planned.slopes], found, rtol=rtol)

    def test_those_of_numbers_are_in_their_unit(self):
        """A target of ten times the unit has half-widths of ten times the size."""
        found = []
        for unit in (1.0, 10.0):
            stated = StatedLifetimes(coef=[0.6 * unit, 0], intercept=0.0, scale=0.5 * unit)
            model = DPNormalLLSRegressor(bounds_X=(-1, 1), bounds_y=(-4 * unit, 4 * unit))
            found.append(plan(model, stated=stated))
        assert not found[0].relative
        assert "relative" not in str(found[0]).splitlines()[3].split("slopes")[0]
        np.testing.assert_allclose(
            found[1].table[0].quantile, 10 * np.array(found[0].table[0].quantile), rtol=0.05
        )
        np.testing.assert_allclose(found[1].table[0].scale, found[0].table[0].scale, rtol=0.05)

    def test_a_fit_that_warns_counts_as_infinitely_wide(self):
        fits = [
            FitWidths(np.array([width]), np.ones(2), 1.0, width < 0.3, True, ()) for width in (0.1, 0.2, 0.4)
        ]
        assert median_widths(fits, lambda one: one.quantile).tolist() == [np.inf]
        assert median_widths(fits[1:] + fits[2:], lambda one: one.quantile).tolist() == [0.4]
        drowned = plan(n=50, epsilons=[0.01])
        assert drowned.table[0].warned == 1.0
        assert drowned.table[0].widest == np.inf
        assert drowned.table[0].range == (np.inf, np.inf)
        assert json.loads(json.dumps(drowned.to_dict(), allow_nan=False))["table"][0]["quantile"] == [None]


class TestRowsNeeded:
    @pytest.mark.slow
    def test_a_larger_epsilon_and_a_wider_interval_need_fewer(self):
        small, large = plan(epsilons=[0.5, 4.0], half_width=0.05).rows_needed
        assert small.n > large.n > plan(epsilons=[4.0], half_width=0.1).rows_needed[0].n

    def test_may_be_more_than_the_most(self):
        found = plan(half_width=0.001, max_rows=5000)
        (needed,) = found.rows_needed
        assert needed.n is None
        assert needed.widths.n == 5000
        assert "more than 5,000" in str(found)
        assert "more than 5,000" in found.to_html()

    @pytest.mark.parametrize("max_rows", [100, 101, 5000, 1_000_000])
    def test_numbers_that_are_tried_are_a_tenth_apart(self, max_rows):
        tried = np.array(_tried(max_rows))
        assert (tried[0], tried[-1]) == (100, max_rows)
        assert (tried[1:] <= 1.16 * tried[:-1]).all()
        assert (np.diff(tried) > 0).all()

    def test_are_not_looked_for_unless_wanted(self):
        assert plan().rows_needed == ()
        assert "Rows for" not in str(plan())


class TestSources:
    def test_a_stated_model_with_a_domain_and_a_design(self):
        domain = TableDomain({"celsius": StressColumn(85, 125, "arrhenius"), "lot": ["a", "b"]})
        design = pd.DataFrame({"celsius": [85.0, 105.0, 125.0] * 2, "lot": ["a", "a", "a", "b", "b", "b"]})
        stated = StatedLifetimes(coef=[0.7, 0, -0.3], intercept=-14.0, scale=0.5, X=design, censoring=0.4)
        X, y = stated.draw_for(DPLogLocationScaleRegressor(domain=domain))(20_000, np.random.default_rng(0))
        assert len(X.drop_duplicates()) == 6
        assert abs(y["event"].mean() - 0.6) < 1e-3
        assert len(np.unique(y["time"][~y["event"]])) == 1
        # Of events at the hottest, all of which ended: the median of a Weibull time.
        hot = y["time"][(X["celsius"] == 125).to_numpy() & (X["lot"] == "a").to_numpy()]
        line = -14 + 0.7 * domain.encode(design[2:3])[0, 0]
        # The standard error of the log of the median of 3,333 is .013.
        assert abs(np.log(np.median(hot)) - line - 0.5 * np.log(np.log(2))) < 0.08
        model = DPLogLocationScaleRegressor(domain=domain, bounds_y=(10, 1e6))
        found = plan(model, 20_000, [4.0], stated=stated, X_at={"celsius": [50.0], "lot": ["b"]})
        assert found.slope_names == ("celsius:arrhenius", "lot=a", "lot=b")
        assert found.relative

    def test_rows_without_a_design_fill_the_bounds(self):
        X, y = STATED.draw_for(DPLogLocationScaleRegressor(bounds_X=([2, 0], [3, 9])))(
            4000, np.random.default_rng(0)
        )
        assert X.min(axis=0) == pytest.approx([2, 0], abs=0.02)
        assert X.max(axis=0) == pytest.approx([3, 9], abs=0.02)
        assert y.dtype == np.float64

    @pytest.mark.parametrize("censoring", [0.0, 0.7])
    def test_public_rows_have_the_model_and_the_censoring_of_theirs(self, censoring):
        """The draw has the public model, up to the error of 3,000 rows, and one of many lifetimes each."""
        X, y = draw_from_public(fleet(3000, np.random.default_rng(1), censoring), MODEL)(
            50_000, np.random.default_rng(2)
        )
        fit = DPLogLocationScaleRegressor(1e5, random_state=0, **BOX).fit(X, y)
        # Standard errors of slopes and scale: .017 and .008 without censoring, .035 and .017 with it.
        assert np.abs(fit.coef_ - [0.6, -0.4]).max() < 0.2
        assert abs(fit.scale_ - 0.5) < 0.1
        times = y["time"] if censoring else y
        assert len(np.unique(times)) > 1500
        if censoring:
            assert abs(np.mean(~y["event"]) - censoring) < 0.05


def test_nothing_is_charged_and_nothing_is_changed(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.json", epsilon=1)
    model = DPLogLocationScaleRegressor(0.5, ledger=ledger, **BOX)
    before = model.get_params()
    plan(model, half_width=0.2, max_rows=10_000)
    assert ledger.spent() == (0, 0)
    assert model.get_params() == before
    assert not hasattr(model, "coef_")


def test_a_seed_repeats_a_plan_and_jobs_do_not_matter():
    first = plan()
    assert first == plan() == plan(n_jobs=2) == pickle.loads(pickle.dumps(first))
    assert first != plan(random_state=1)


def test_what_is_shown():
    found = plan(epsilons=[0.5, 1.0], variants={"<b>": {}}, half_width=0.3, max_rows=10_000)
    assert "nothing was spent" in str(found)
    assert "<b>" in str(found)
    assert "<b></td>" not in found.to_html()
    assert "&lt;b&gt;" in found.to_html()
    frame = found.to_frame()
    assert list(frame["epsilon"]) == [0.5, 1.0]
    assert frame["slope x1"][0] == found.table[0].slopes[1]


def test_one_population_is_planned():
    """Half-widths are those of fits without columns; a fixed seed, and medians over few fits."""
    model = DPLogLocationScaleRegressor(bounds_y=BOX["bounds_y"])
    stated = StatedLifetimes(coef=[], intercept=3.0, scale=0.5, censoring=0.3)
    planned = plan_life_study(model, 5000, [1.0], X_at=None, stated=stated, n_repeats=4, random_state=0)
    draw = stated.draw_for(model)
    with config_context(allow_seeds=True):
        (found,) = realised(model, 5000, draw, None, range(8)).tolist()
    assert planned.table[0].slopes == ()
    assert planned.table[0].widest == pytest.approx(found, rel=0.3)
    public = np.exp(3.0 + 0.5 * np.log(np.random.default_rng(0).exponential(size=200)))
    options = {"X_at": None, "n_repeats": 2, "random_state": 0}
    of_public = plan_life_study(model, 5000, [1.0], public=(None, public), **options)
    simulated = plan_life_study(model, 5000, [1.0], simulate=draw, **options)
    assert of_public.table[0].warned == simulated.table[0].warned == 0


def test_scales_by_level_are_planned():
    """A stated scale for each row of the design; and public rows, by the scales that a fit finds in them."""
    domain = TableDomain({"city": BooleanColumn(), "x": (-1.0, 1.0)})
    model = DPLogLocationScaleRegressor(domain=domain, bounds_y=BOX["bounds_y"], scale_by="city")
    rows = pd.DataFrame({"city": [True, False] * 2, "x": [0.7, 0.7, -0.7, -0.7]})
    stated = StatedLifetimes(coef=[0.0, 0.5], intercept=3.0, scale=[0.2, 0.4] * 2, X=rows)
    X, y = stated.draw_for(model)(40_000, np.random.default_rng(0))
    spread = [
        np.std(np.log(y[X["city"] == city]) - 0.5 * X["x"][X["city"] == city]) for city in (True, False)
    ]
    assert np.multiply(spread, np.sqrt(6) / np.pi) == pytest.approx([0.2, 0.4], rel=0.05)
    options = {"X_at": rows[:2], "n_repeats": 4, "random_state": 0}
    planned = plan_life_study(model, 20_000, [2.0], stated=stated, **options)
    of_public = plan_life_study(model, 20_000, [2.0], public=(X[:2000], y[:2000]), **options)
    for plan_of in (planned, of_public):
        narrow, wide = plan_of.table[0].quantile
        assert narrow < wide
    with pytest.raises(ValueError, match="one for each row of X"):
        StatedLifetimes(coef=[1.0], intercept=0.0, scale=[1.0, 2.0])
