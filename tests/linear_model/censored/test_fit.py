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
from skprivate.linear_model._censored.histograms import PARTS, beyond_bounds, kaplan_meier
from skprivate.linear_model._censored.newton import NewtonModel, regularized_covariance
from skprivate.linear_model._censored.release import bootstrap_censored, censored_warning, errors_of
from skprivate.linear_model._censored.rounds import Pace, censored_rounds, plan_censored
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.linear_model._moments.released_moments import MomentWeights, Neighbours, unscale
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._driver import RowsInMemory, drive
from skprivate.rounds._plans.moments import MomentGrid

DISTRIBUTIONS = [SEV, LOGISTIC, NORMAL]
SIGMA = 0.5


def fleet(n, censored, seed=0, distribution=SEV, d=5):
    """Features, log times, events and slopes; times end at one moment, or at random ones for odd seeds."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, d)), -4, 4)
    coef = rng.standard_normal(d)
    coef /= np.linalg.norm(coef)
    y = X @ coef + SIGMA * distribution.quantile(rng.uniform(size=n))
    if censored >= 1:
        return X, np.minimum(y, 0.0), np.zeros(n, dtype=bool), coef
    offset = rng.uniform(-1.5, 1.5, n) if seed % 2 else np.zeros(n)
    end = offset + np.quantile(y - offset, 1 - censored)
    return X, np.minimum(y, end), y <= end, coef


def make_grid(d=5):
    return MomentGrid(lower=np.full(d, -4.0), upper=np.full(d, 4.0), target=(-5.0, 5.0), exponent=20)


def make_plan(epsilon, distribution=SEV, d=5, n=None, mechanism="laplace", relation="replace-one", **options):
    neighbours = Neighbours(weights=MomentWeights(2, 1, d), relation=relation)
    if n is not None:
        options["n_rows"] = n
    budget = FitBudget.of(epsilon, 1e-6 if mechanism == "gaussian" else 0, mechanism)
    return plan_censored(make_grid(d), distribution, budget, neighbours, **options)


def fitted(n, censored, seed, epsilon=1.0, distribution=SEV, **options):
    """Errors of the 10 % life (in scales) and of the slopes (relative), and the release."""
    X, time, event, coef = fleet(n, censored, seed, distribution)
    release = fit_censored(make_plan(epsilon, distribution, n=n, **options), X, time, event, 1000 + seed)
    slopes, intercept, scale = unscale(release.fit, make_grid())
    q = float(distribution.quantile(0.1))
    miss = abs(intercept + scale * q - SIGMA * q) / SIGMA
    return miss, np.linalg.norm(slopes - coef) / np.linalg.norm(coef), release


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


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("clip", [0.5, 1.0, 2.0])
def test_the_clip_leaves_no_bias(distribution, clip):
    # Standard errors of both are below .01 here.
    miss, slopes, _ = fitted(100_000, 0.5, 1, 1e7, distribution, max_iter=8, hazard_clip=clip)
    assert miss <= 0.06
    assert slopes <= 0.04


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


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_useless_fits_are_told_by_released_values(seed):
    assert censored_warning(fitted(100_000, 0.3, seed, epsilon=2.0)[2], SEV) is None
    assert censored_warning(fitted(2000, 0.95, seed)[2], SEV) is not None


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("censored", [0.0, 0.99, 1.0])
@pytest.mark.parametrize("n", [1, 30, 3000])
@pytest.mark.parametrize("epsilon", [0.05, 1e6])
def test_nothing_breaks_and_everything_is_finite(distribution, censored, n, epsilon):
    X, time, event, _ = fleet(n, censored, 1, distribution)
    for rule in ("floor", "none"):
        plan = make_plan(epsilon, distribution, n=n, regularization=rule)
        release = fit_censored(plan, X, time, event, 0)
        assert np.isfinite(release.theta).all()
        assert plan.limits[0] <= release.theta[1] <= plan.limits[1]
        assert np.isfinite(bootstrap_censored(release, 20).coef).all()
        times, survival = kaplan_meier(release.histogram)
        assert (np.diff(survival) <= 0).all()
        assert survival.min() >= 0
        assert survival.max() <= 1
        assert (np.diff(times) > 0).all()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("scales", [(1e5, 1e6), (1e9, 1e10)])
def test_declared_scales_of_another_order_break_nothing(distribution, scales):
    # Warnings are errors: NumPy's on overflow, and on what it takes for no covariance, among them.
    for n, epsilon in ((1, 0.1), (500, 1e6)):
        X, time, event, _ = fleet(n, 0.3, 1, distribution)
        plan = make_plan(epsilon, distribution, n=n, scale_bounds=scales, max_iter=3)
        release = fit_censored(plan, X, time, event, 0)
        censored_warning(release, distribution)
        replicates = bootstrap_censored(release, 20)
        assert np.isfinite(replicates.coef).all()
        assert np.isfinite(replicates.scale).all()


def test_the_information_has_an_inverse_where_targets_hardly_vary():
    mean, covariance = np.array([0.3, 0.1]), np.diag([1e-19, 0.2])
    inverse = NewtonModel(1e5, mean, covariance, 0.0, covariance, covariance, np.zeros(3)).inverse
    np.testing.assert_allclose(inverse[1:, 1:], np.diag([1e14, 5e-5]), rtol=1e-9)
    np.testing.assert_allclose(inverse[0], [9e12, -3e13, -5e-6], rtol=1e-4)


def test_the_inverse_of_the_information_is_one():
    X, time, event, _ = fleet(3000, 0.3, 1)
    errors = errors_of(fit_censored(make_plan(10.0, n=len(X), max_iter=2), X, time, event, 0))
    np.testing.assert_allclose(errors.information @ errors.inverse, np.eye(7), atol=1e-9)


def test_all_rows_censored_is_told():
    X, time, event, _ = fleet(100_000, 1.0)
    release = fit_censored(make_plan(1.0, n=len(X)), X, time, event, 0)
    assert "no events" in censored_warning(release, SEV)


def test_one_feature():
    X, time, event, _ = fleet(20_000, 0.5, 1, d=1)
    release = fit_censored(make_plan(10.0, d=1), X, time, event, 0)
    assert release.fit.coef.shape == (1,)
    assert bootstrap_censored(release, 7).coef.shape == (7, 1)


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
    monkeypatch.setattr(censored, "_counts_round", recording("counts", censored._counts_round))
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

    release = drive(recorded(censored_rounds(plan)), rows, check_entropy(0))
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


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "two", None])
def test_bad_numbers_of_rounds_are_refused(bad):
    if bad is None:
        bad = [3]
    with pytest.raises(ValueError, match="max_iter"):
        make_plan(1.0, max_iter=bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, 1000.0, np.nan])
def test_bad_clips_are_refused(bad):
    with pytest.raises(ValueError, match="hazard_clip"):
        make_plan(1.0, hazard_clip=bad)


@pytest.mark.parametrize(
    ("epsilon", "censored", "clip"), [(1.0, 0.5, 1.0), (4.0, 0.95, 0.5), (1e5, 0.5, 8.0), (1e5, 0.95, 8.0)]
)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("distribution", [SEV, NORMAL])
def test_the_clip_follows_the_share_of_events_and_the_noise(distribution, mechanism, epsilon, censored, clip):
    X, time, event, _ = fleet(20_000, censored, 1, distribution)
    found = [
        fit_censored(
            make_plan(epsilon, distribution, n=len(X), mechanism=mechanism, **options), X, time, event, 7
        ).theta
        for options in ({}, {"hazard_clip": clip})
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["X", "time"])
def test_not_finite_values_are_refused(bad, where):
    X, time, event, _ = fleet(300, 0.5)
    (X[:, 0] if where == "X" else time)[123] = bad
    with pytest.raises(ValueError, match=r"NaN|finite") as caught:
        fit_censored(make_plan(1.0), X, time, event, 0)
    assert "123" not in str(caught.value)


def test_the_bootstrap_is_a_function_of_the_release():
    release = fitted(20_000, 0.5, 0)[2]
    first, second = bootstrap_censored(release, 50), bootstrap_censored(release, 50)
    np.testing.assert_array_equal(first.coef, second.coef)
    assert first.scale.shape == (50,)
    assert (first.scale > 0).all()


def half_width(replicates):
    """Of the middle 68 %: replicates have tails without a variance, of information that may be near 0."""
    return 0.5 * np.diff(np.quantile(replicates, [0.159, 0.841], axis=0), axis=0)[0]


def test_the_bootstrap_spreads_as_the_fits_do():
    # 30 fits of one table's distribution, all seeds fixed: the ratio of spreads is 1 within a factor 2.
    X, time, event, _ = fleet(100_000, 0.3, 2)
    plan = make_plan(1.0, n=len(X))
    fits = [fit_censored(plan, X, time, event, seed) for seed in range(30)]
    slopes = np.array([release.fit.coef for release in fits])
    spread = half_width(slopes).mean()
    # A fit that the noise threw far says so.
    for release in fits:
        if np.abs(release.fit.coef - np.median(slopes, axis=0)).max() > 0.2:
            assert "noise hides" in censored_warning(release, SEV)
    claimed = np.median([half_width(bootstrap_censored(release, 100).coef).mean() for release in fits])
    assert 0.5 <= claimed / spread <= 2.0


def test_rounds_that_the_residuals_contradict_are_told():
    X, time, event, _ = fleet(20_000, 0.2, distribution=NORMAL)
    release = fit_censored(make_plan(20.0, NORMAL, n=20_000), X, time, event, 1)
    assert censored_warning(release, NORMAL) is None
    contradicted = replace(release, correction=replace(release.correction, surprise=20.0))
    assert "settled" in censored_warning(contradicted, NORMAL)


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
    assert censored_warning(release, distribution) is None


def test_levels_of_a_category_may_sum_to_more_than_one_feature():
    """The largest eigenvalue of d equal columns of coins is d: a cap of 1 made steps along it too long."""
    features = np.full((4, 4), 0.98) + 0.02 * np.eye(4)
    covariance = np.eye(5)
    covariance[1:, 1:] = features
    regularized, seen, kept = regularized_covariance(covariance, 0.0, np.zeros(4), (0.1, 2.0), np.zeros(4))
    assert seen.shape == kept.shape == covariance.shape
    np.testing.assert_allclose(regularized[1:, 1:], features, atol=1e-12)


def test_an_outlier_of_the_noise_does_not_turn_the_covariances_of_the_target():
    """They are between 0 and those of the known slopes; what no noise explains is left as it was released."""
    slopes, noise = np.array([0.5, -0.3, 0.0]), 0.01
    covariance = np.diag([0.2, 0.06, 0.06, 0.06])
    covariance[0, 1:] = covariance[1:, 0] = 0.025, -0.015, 0.0
    for column, outlier in [(1, 0.05), (2, -0.05), (3, 0.05), (1, -0.09)]:
        noisy = covariance.copy()
        noisy[0, column] += outlier
        noisy[column, 0] = noisy[0, column]
        unknown, known = (
            regularized_covariance(noisy, noise, slopes, (0.05, 0.2), believed)[0]
            for believed in (np.zeros(3), slopes)
        )
        # The column loses what is outside of its range, and the others keep their part along `direction`.
        assert abs(known[0, column]) < abs(unknown[0, column]) - 0.01
        assert np.linalg.eigvalsh(known)[0] > 0.0
    # Six standard deviations of a small noise do not reach back to the range: data, not noise.
    clear = regularized_covariance(noisy, 1e-6, slopes, (0.05, 0.2), slopes)[1]
    np.testing.assert_allclose(clear[0, 1:], noisy[0, 1:], atol=1e-4)


@pytest.mark.parametrize("entropy", [1003, 1019])
def test_an_outlier_in_a_late_curvature_throws_no_step(entropy):
    """Noise of five standard deviations once threw the last two steps: slopes were .35 and .55 off."""
    X, time, event, coef = fleet(100_000, 0.6, 3)
    release = fit_censored(make_plan(1.0, n=len(X)), X, time, event, entropy)
    assert np.sqrt(np.mean((1.25 * release.fit.coef - coef) ** 2)) < 0.05


@pytest.fixture(scope="module")
def release():
    X, time, event, _ = fleet(20_000, 0.3)
    return fit_censored(make_plan(8.0, n=20_000), X, time, event, 1)


@pytest.fixture(scope="module")
def rounds(release):
    """The same release before the residuals were counted."""
    return replace(release, theta=release.correction.theta, residuals=None, correction=None)


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


class TestErrorsOfTheLastStep:
    def spread(self, release):
        return half_width(bootstrap_censored(release).scale)

    def test_replicates_lie_around_the_estimate(self, release):
        replicates = bootstrap_censored(release)
        off = np.mean(np.log(replicates.scale)) - np.log(release.fit.scale)
        # 6 standard errors of the mean of 400.
        assert abs(off) < 6 * np.std(np.log(replicates.scale)) / 20

    def test_noise_of_the_curvature_widens_them(self, release):
        louder = replace(
            release,
            curvature_estimate=replace(release.curvature_estimate, std=3 * release.curvature_estimate.std),
        )
        assert self.spread(louder) > 1.2 * self.spread(release)

    def test_a_curvature_of_elsewhere_leaves_more_undone(self, rounds):
        estimate, last = rounds.curvature_estimate, rounds.rounds[-1]
        left = [
            errors_of(replace(rounds, curvature_estimate=replace(estimate, theta=theta, off=0.0))).unfinished
            for theta in (last.theta, last.theta * np.r_[1.0, 0.8, np.ones(5)], last.theta * 0.5)
        ]
        assert left[0] == 0
        assert 0 < left[1] < left[2]

    def test_rounds_that_left_much_undone_are_said_not_to_have_settled(self, rounds):
        assert "settled" not in (censored_warning(rounds, SEV) or "")
        some = (replace(rounds.curvature_estimate, off=off) for off in np.geomspace(1.0, 1e3, 20))
        said = [censored_warning(replace(rounds, curvature_estimate=one), SEV) or "" for one in some]
        assert any("settled" in one for one in said)
        assert said[-1]


def test_the_curvature_is_released_anew_only_where_that_tells_more():
    """Once by the features' variance: binary columns had the target's hidden by the noise of late rounds."""
    X, time, event, _ = fleet(100_000, 0.3, 1)
    release = fit_censored(make_plan(1.0, n=len(X)), X, time, event, 0)
    known = [one for one in release.rounds if one.curvature is not None]
    assert 1 < len(known) < len(release.rounds)


@pytest.mark.parametrize("count", range(1, 9))
def test_shares_of_rounds(count):
    """All of the budget; from three rounds on the first and the last have as much, the others are equal."""
    X, time, event, _ = fleet(300, 0.3)
    given, spent = Pace.next_round, []

    with pytest.MonkeyPatch.context() as patch:

        def recorded(pace, *arguments):
            spent.append(given(pace, *arguments)[0])
            return given(pace, *arguments)

        patch.setattr(Pace, "next_round", recorded)
        fit_censored(make_plan(5.0, n=300, max_iter=count), X, time, event, 0)
    shares = [Pace(count, "laplace").first(0.0), *spent]
    assert len(shares) == count
    assert sum(shares) == 1
    if count > 2:
        assert shares[0] == shares[-1] == Fraction(3, 8)
        assert len(set(shares[1:-1])) == 1
