# SPDX-License-Identifier: BSD-3-Clause
"""Censored fits: maximum likelihood without noise, accuracy with it, and nothing that data can break."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.figures.life_data.censored import censored_rows, fit_censored
from skprivate.linear_model._censored import rounds as censored
from skprivate.linear_model._censored.gradient_round import RoundPlan
from skprivate.linear_model._censored.histograms import PARTS, beyond_bounds
from skprivate.linear_model._censored.release import hides_features, means_nothing, unsettled
from skprivate.linear_model._censored.rounds import censored_rounds, plan_censored
from skprivate.linear_model._distributions import NORMAL, SEV
from skprivate.linear_model._moments.released_moments import MomentWeights, Neighbours, unscale
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._driver import RowsInMemory, drive
from skprivate.rounds._plans.moments import MomentGrid
from tests.linear_model.censored.conftest import SIGMA, fitted, fleet, make_grid, make_plan
from tests.linear_model.conftest import DISTRIBUTIONS


def maximum_likelihood(X, time, event, distribution):
    """Intercept, slopes and scale by SciPy."""
    Z = np.column_stack([np.ones(len(X)), X])

    def loss(p):
        u = (time - Z @ p[:-1]) * np.exp(-p[-1])
        density, survival = distribution.log_density(u) - p[-1], distribution.log_survival(u)
        return -np.mean(np.where(event, density, survival))

    start = np.concatenate([np.linalg.lstsq(Z, time, rcond=None)[0], [0.0]])
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    return found.x[0], found.x[1:-1], np.exp(found.x[-1])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("censored", [0.3, 0.8])
def test_without_noise_it_is_maximum_likelihood(distribution, censored):
    X, time, event, _ = fleet(20_000, censored, 1, distribution)
    plan = make_plan(1e7, distribution, n=len(X), max_iter=4, hazard_clip=8.0)
    release = fit_censored(plan, X, time, event, 0)
    slopes, intercept, scale = unscale(release.fit, make_grid())
    want_intercept, want_slopes, want_scale = maximum_likelihood(X, time, event, distribution)
    assert np.linalg.norm(slopes - want_slopes) <= 0.02 * np.linalg.norm(want_slopes)
    assert abs(scale / want_scale - 1) <= 0.02
    assert abs(intercept - want_intercept) <= 0.02 * want_scale


@pytest.mark.parametrize(("censored", "seeds"), [(0.3, 5), (0.8, 7)])
def test_accuracy_with_noise(censored, seeds):
    # Fixed seeds: no false alarms. The median of B10 errors is .05-.08 over many.
    found = np.array([fitted(100_000, censored, seed)[:2] for seed in range(seeds)])
    assert np.median(found[:, 0]) <= 0.15
    assert np.median(found[:, 1]) <= 0.15


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_gaussian_noise(distribution):
    miss, slopes, _ = fitted(100_000, 0.3, 1, distribution=distribution, mechanism="gaussian")
    assert miss <= 0.1
    assert slopes <= 0.06


@pytest.mark.parametrize(("level", "warned"), [(0.05, True), (1e-4, False)])
def test_events_below_the_lower_bound_are_told(level, warned):
    """They are clipped, and the interval of the scale held in no table."""
    X, time, event, _ = fleet(100_000, 0.3)
    lower = float(np.quantile(time, level))
    grid = MomentGrid(lower=np.full(5, -4.0), upper=np.full(5, 4.0), target=(lower, 5.0), exponent=20)
    neighbours = Neighbours(weights=MomentWeights(2, 1, 5))
    plan = plan_censored(grid, SEV, FitBudget.of(1, 0, "laplace"), neighbours, n_rows=len(X))
    reason = beyond_bounds(fit_censored(plan, X, time, event, 1).histogram)
    assert (reason is not None and "lower bound" in reason) is warned


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 6, "auto"])
@pytest.mark.parametrize(("epsilon", "counts"), [(Fraction(1, 6), 1), (Fraction(30), 3)])
def test_the_whole_budget_is_spent_and_no_more(relation, max_iter, epsilon, counts, monkeypatch):
    """Residuals are counted where that tells something; else the last round has their share."""
    made = {}

    def recording(kind, make):
        def record(*arguments):
            step = make(*arguments)
            made[id(step)] = kind, arguments[3 if kind == "gradient" else 2], step
            return step

        return record

    monkeypatch.setattr(RoundPlan, "round_at", recording("gradient", RoundPlan.round_at))
    monkeypatch.setattr(censored, "counts_round", recording("counts", censored.counts_round))
    X, time, event, _ = fleet(2000, 0.5)
    plan = make_plan(epsilon, relation=relation, max_iter=max_iter)
    rows = RowsInMemory(censored_rows(plan, X, time, event))
    spent = []

    def recorded(rounds):
        step = next(rounds)
        while True:
            spent.append(made[id(step)][:2])
            try:
                step = rounds.send((yield step))
            except StopIteration as end:
                return end.value

    release = drive(recorded(censored_rounds(plan)), rows, check_entropy(1))
    amounts = [amount / plan.budget.amount for _, amount in spent]
    assert all(amount > 0 for amount in amounts)
    assert sum(amounts) == 1
    tables = [amount / plan.budget.amount for kind, amount in spent if kind == "counts"]
    counts = 1 if max_iter == 1 else counts
    assert tables == [Fraction(1, 10), Fraction(1, 20), Fraction(1, 10)][:counts]
    assert (release.residuals is not None) == (counts == 3)
    assert len(release.rounds) == len(amounts) - counts
    # Scale of the noise: sensitivity over a tenth of epsilon, as a whole number of parts of a row.
    scale = ceil(PARTS * (2 if relation == "replace-one" else 1) / (epsilon / 10))
    variance = DiscreteLaplaceMechanism.from_scale(scale).variance
    assert release.histogram.noise_std == pytest.approx(np.sqrt(variance) / PARTS)
    if counts == 3:
        assert release.residuals.noise_std == release.histogram.noise_std
    if max_iter != "auto":
        assert len(release.rounds) == max_iter


@pytest.mark.parametrize(("relation", "distance"), [("replace-one", 2), ("add-remove", 1)])
@pytest.mark.parametrize("persons", [1, 3])
def test_counts_have_the_noise_of_their_rows(relation, distance, persons):
    """Gaussian noise of a person's rows in one cell each: squares of parts weigh as squares."""
    plan = make_plan(1.0, relation=relation)
    budget = FitBudget.of(1.0, 1e-6, "gaussian")
    plan = replace(plan, budget=budget, neighbours=replace(plan.neighbours, rows_per_unit=persons))
    step = censored.histogram_round(plan)
    # Moving all of the rows from one cell to another one; added, they are in one.
    squared = persons**2 * distance
    assert step.noise.std[0] == pytest.approx(np.sqrt(squared / (2 * float(budget.amount) / 10)), rel=1e-3)
    values = np.zeros(step.plan.n_sums, dtype=np.int64)
    drawn = [step.noise.randomize(values, check_entropy(seed)) / PARTS for seed in range(20)]
    # 2560 draws: the spread is known within 1.4 %.
    assert np.std(drawn) == pytest.approx(step.noise.std[0], rel=0.1)


@pytest.mark.parametrize(
    ("epsilon", "censored", "clip"), [(1.0, 0.5, 1.0), (4.0, 0.95, 0.5), (1e5, 0.5, 8.0), (1e5, 0.95, 8.0)]
)
@pytest.mark.parametrize(("distribution", "mechanism"), [(SEV, "laplace"), (NORMAL, "gaussian")])
def test_the_clip_follows_the_share_of_events_and_the_noise(distribution, mechanism, epsilon, censored, clip):
    X, time, event, _ = fleet(20_000, censored, 1, distribution)
    found = [
        fit_censored(
            make_plan(epsilon, distribution, n=len(X), mechanism=mechanism, **options), X, time, event, 7
        ).theta
        for options in ({}, {"hazard_clip": clip})
    ]
    np.testing.assert_array_equal(*found)


def coins(n, share, seed=0, distribution=SEV):
    """One column of zeros and ones, slope -.8; log times and events, all seen up to one moment."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, 1)) < share).astype(float)
    y = 1.0 - 0.8 * x[:, 0] + SIGMA * distribution.quantile(rng.uniform(size=n))
    end = np.quantile(y, 0.7)
    return x, np.minimum(y, end), y <= end


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("share", [1 / 2, 1 / 3, 1 / 50])
def test_columns_of_zeros_and_ones(distribution, share):
    """A cap of 1/2 on variances that reach 1 gave slopes of -.5 and +.5, and no warning."""
    grid = MomentGrid(lower=np.zeros(1), upper=np.ones(1), target=(-4.0, 4.0), exponent=20)
    neighbours = Neighbours(weights=MomentWeights(2, 1, 1))
    X, time, event = coins(100_000, share, distribution=distribution)
    plan = plan_censored(grid, distribution, FitBudget.of(1, 0, "laplace"), neighbours, n_rows=len(X))
    release = fit_censored(plan, X, time, event, 1)
    slopes, intercept, scale = unscale(release.fit, grid)
    assert slopes[0] == pytest.approx(-0.8, abs=0.02 if share > 0.1 else 0.1)
    assert intercept == pytest.approx(1.0, abs=0.03)
    assert scale == pytest.approx(SIGMA, abs=0.02)
    assert not means_nothing(release)
    assert not hides_features(release)
    assert not unsettled(release, distribution)


@pytest.mark.parametrize("entropy", [1003, 1019])
def test_an_outlier_in_a_late_curvature_throws_no_step(entropy):
    """Noise of five standard deviations once threw the last two steps: slopes were .35 and .55 off."""
    X, time, event, coef = fleet(100_000, 0.6, 3)
    release = fit_censored(make_plan(1.0, n=len(X)), X, time, event, entropy)
    assert np.sqrt(np.mean((1.25 * release.fit.coef - coef) ** 2)) < 0.05


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_events_after_the_upper_bound_count_as_censored_there(distribution):
    """As events at the bound they made the 10 % life wrong by a sixth of a scale, without a warning."""
    X, time, event, coef = fleet(20_000, 0.0, 1, distribution)
    target = (-5.0, float(np.quantile(time, 0.8)))
    grid = MomentGrid(lower=np.full(5, -4.0), upper=np.full(5, 4.0), target=target, exponent=20)
    plan = replace(make_plan(1e6, distribution, n=len(X), max_iter=5), grid=grid)
    release = fit_censored(plan, X, time, event, 0)
    slopes, intercept, scale = unscale(release.fit, grid)
    q = float(distribution.quantile(0.1))
    assert abs(intercept + scale * q - SIGMA * q) <= 0.05 * SIGMA
    assert np.linalg.norm(slopes - coef) <= 0.05
    assert release.event_share == pytest.approx(0.8, abs=0.01)
