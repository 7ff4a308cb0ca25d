# SPDX-License-Identifier: BSD-3-Clause
"""The summary of a fit: its numbers are those of the attributes, its share of the noise what noise does."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skprivate import DPLogLocationScaleRegressor, TableDomain
from skprivate.datasets import make_location_scale
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model._fit import pivotal
from skprivate.linear_model._summary import _explained_by_noise

COEF = np.array([0.5, 0.0])
# Times, and (event, time) pairs of which a third are censored.
COMPLETE = make_location_scale(20_000, 2, coef=COEF, random_state=0)
CENSORED = make_location_scale(20_000, 2, coef=COEF, censoring=0.3, random_state=0)


def fitted(rows=COMPLETE, seed=1, **parameters):
    options = {"epsilon": 4.0, "bounds_X": (-1, 1), "bounds_y": (0.01, 20), "max_iter": 1}
    model = DPLogLocationScaleRegressor(**(options | parameters), random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        return model.fit(*rows)


def test_confidence():
    model = fitted()
    usual, wide = (model.summary(confidence=c).to_frame() for c in (0.9, 0.99))
    assert (wide["lower"] < usual["lower"]).all()
    assert (wide["upper"] > usual["upper"]).all()


def test_units_are_those_that_are_asked_for():
    model = fitted()
    usual, per = (model.summary(per=per).to_frame() for per in (None, {"x0": 10}))
    assert per.index.tolist()[:2] == ["x0 per 10", "x1"]
    for name in ("estimate", "std_error", "lower", "upper"):
        assert per[name].iloc[0] == pytest.approx(10 * usual[name].iloc[0])
        assert per[name].iloc[1] == usual[name].iloc[1]
    assert per["time_ratio"].iloc[0] == pytest.approx(usual["time_ratio"].iloc[0] ** 10)
    for wrong, match in (({"x2": 1.0}, "none of the features x0, x1"), ({"x0": 0}, "above 0")):
        with pytest.raises(ValueError, match=match):
            model.summary(per=wrong)


def test_standard_errors_are_those_of_the_replicates():
    """Of nearly normal replicates: 400 of them tell a standard deviation within 4 %, five times that."""
    model = fitted()
    errors = model.summary().to_frame()["std_error"][:4]
    np.testing.assert_allclose(errors, model.replicates_.std(axis=0)[[2, 3, 0, 1]], rtol=0.2)


def test_what_the_noise_alone_explains_has_0_in_its_interval():
    """Whatever replicates look like: with outliers, off the estimate, with less noise than none."""
    rng = np.random.default_rng(0)
    marked = 0
    for _ in range(300):
        estimates = rng.standard_t(2, size=5)
        rows = estimates + rng.normal(size=(400, 5)) * rng.exponential(size=5)
        replicates = rows + rng.standard_t(1.2, size=(400, 5)) * rng.exponential(size=5) + rng.normal(size=5)
        interval = pivotal(estimates, replicates.T, 0.9)
        found = _explained_by_noise(estimates, interval, replicates, rows, 0.9)
        assert ((interval[:, 0] <= 0) & (interval[:, 1] >= 0))[found].all()
        marked += found.sum()
    assert marked > 300


def test_head_says_what_was_fitted_and_spent():
    facts = dict(fitted(CENSORED, epsilon=0.5, delta=1e-6, mechanism="gaussian").summary().facts)
    assert facts["distribution"] == "Weibull"
    assert facts["rows"] == "20,000 (public)"
    assert facts["privacy"].startswith("epsilon 0.5, delta 1e-06")
    assert facts["unit"] == "row, replace-one"
    assert "Gaussian" in facts["mechanism"]
    # A seeded fit claims nothing, and says why.
    assert "not-private" in facts["privacy"]
    assert "seed" in facts["not private"]
    assert abs(float(facts["events"].split()[0]) - 0.7) < 0.02
    assert dict(fitted(distribution="lognormal").summary().facts)["events"] == "all"


def test_a_protected_number_of_rows_is_a_noisy_one():
    model = fitted(relation="add-remove")
    rows = dict(model.summary().facts)["rows"]
    assert rows == f"about {model.release_.matrix[0, 0]:,.0f} (noisy)"
    groups = np.arange(20_000) // 2
    grouped = DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(0.01, 20), max_rows_per_group=2)
    facts = dict(grouped.fit(*COMPLETE, groups=groups).summary().facts)
    assert facts["groups"] == "10,000 (public)"
    assert facts["rows"].endswith("(noisy)")
    assert facts["unit"] == "group, at most 2 rows of each, replace-one"


def test_the_warning_of_the_fit_stands_in_its_summary():
    X, y = COMPLETE[0][:500], COMPLETE[1][:500]
    with pytest.warns(UtilityWarning, match="noise hides"):
        model = DPLogLocationScaleRegressor(0.1, bounds_X=(-1, 1), bounds_y=(0.01, 20)).fit(X, y)
    assert "noise hides" in dict(model.summary().facts)["warning"]
    assert "warning" not in dict(fitted().summary().facts)


def test_names_are_those_of_the_columns_and_are_escaped():
    kind = np.where(COMPLETE[0][:, 0] > 0, "new", "old")
    domain = TableDomain({"kind": ["new", "old"], "<b>heat": (-1, 1)})
    model = DPLogLocationScaleRegressor(domain=domain, bounds_y=(0.01, 20))
    model.fit(pd.DataFrame({"kind": kind, "<b>heat": COMPLETE[0][:, 1]}), COMPLETE[1])
    summary, names = model.summary(), list(domain.encoded_names)
    assert [row.name for row in summary.rows][: len(names)] == names
    page = summary._repr_html_()
    assert "&lt;b&gt;heat" in page
    assert "<b>heat" not in page


@pytest.mark.parametrize("rows", [COMPLETE, CENSORED], ids=["complete", "censored"])
def test_share_of_the_noise_is_that_of_its_limits(rows):
    # Residuals of censored rows tell location and scale a little otherwise than rounds that clip hazards
    # do, and what they differ by counts as noise.
    for epsilon, low, high in ((1e6, 0.0, 0.25 if rows is CENSORED else 0.1), (0.05, 0.9, 1.0)):
        shares = fitted(rows, epsilon=epsilon, max_iter=3).summary().to_frame()["noise_share"]
        if rows is CENSORED and epsilon < 1:
            shares = shares[:2]  # of the scale, rounds leave much undone, which is no noise
        assert shares.between(low, high).all(), (epsilon, shares)


def test_share_of_the_noise_is_what_fresh_noise_does():
    """Of slopes of 300 fits to the same rows, and of 300 fits to other rows with hardly any noise.

    Relative errors of the three variances are about a tenth (the noise has tails), those of a share of one
    half a twentieth: .25 is five standard errors, which is passed with a probability below 1e-6.
    """
    few = COMPLETE[0][:4000], COMPLETE[1][:4000]
    noise = np.var([fitted(few, seed=seed, epsilon=2.2).coef_ for seed in range(1000, 1300)], axis=0)
    others = [make_location_scale(4000, 2, coef=COEF, random_state=seed) for seed in range(300)]
    rows = np.var([fitted(one, seed=2, epsilon=1e6).coef_ for one in others], axis=0)
    share = fitted(few, epsilon=2.2).summary().to_frame()["noise_share"][:2]
    expected = noise / (noise + rows)
    assert ((expected > 0.2) & (expected < 0.8)).all()
    np.testing.assert_allclose(share, expected, atol=0.25)


def test_a_slope_is_marked_where_the_noise_explains_it_not_where_the_interval_holds_0():
    """100 releases of rows whose least-squares slope is nearly 0, and 100 tables almost without noise.

    Of the first nearly nine in ten are marked: fewer than 68 have a probability below 1e-6 at .88, and if
    half of them were marked, at least as many one of 2e-4. Of the second the interval holds 0 in nine of ten:
    fewer than 68 have a probability below 1e-9 at .9. Their noise is a thousandth of their error, so that
    hardly one of them is marked.
    """
    few = COMPLETE[0][:2000], COMPLETE[1][:2000]
    marked = sum(fitted(few, seed=seed, epsilon=0.5).summary().rows[1].hidden_by_noise for seed in range(100))
    assert marked >= 68
    held = marked = 0
    for seed in range(100):
        table = make_location_scale(300, 2, coef=COEF, random_state=seed)
        row = fitted(table, seed=seed + 10**6, epsilon=1e6).summary().rows[1]
        held += row.lower < 0 < row.upper
        marked += row.hidden_by_noise
    assert held >= 68
    assert marked <= 25
