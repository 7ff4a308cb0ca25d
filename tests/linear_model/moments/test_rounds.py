# SPDX-License-Identifier: BSD-3-Clause
"""Looks at residuals: sums, sensitivities, whole fits on neighbours, and planted bugs."""

from fractions import Fraction

import numpy as np
import pytest

from skprivate import DPNormalLLSRegressor, DPSEVRegressor
from skprivate.audit._epsilon import gaussian_lower_bound
from skprivate.linear_model import _fit
from skprivate.linear_model._moments import released_moments, rounds
from skprivate.linear_model._moments.released_moments import (
    l1_look,
    moment_weights,
    square_weights,
    squared_l2_look,
)
from skprivate.linear_model._moments.rounds import LookRelease
from tests.linear_model.replays import FALSE_ALARM, count_hits, half_the_noise, recording_of

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
EPSILON = Fraction(3, 2)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("norm_order", [None, "ball"])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_no_pair_of_rows_passes_the_sensitivity(mechanism, norm_order, d):
    """A bound that is a tenth too small is passed."""
    order = None if norm_order is None else 1 if mechanism == "laplace" else 2
    weights = moment_weights(d, mechanism, order is not None)
    rng = np.random.default_rng(3)
    n = 40_000
    x = rng.choice([-1.0, 1.0, 0.3], size=(2, n, d))
    if order:
        x /= np.maximum(np.linalg.norm(x, order, axis=2, keepdims=True), 1.0)
    x[1, : n // 2] = -x[0, : n // 2]
    r = rng.choice([-1.0, 1.0, 0.0, 0.25, -0.4], size=(2, n))
    v = np.concatenate([np.ones((2, n, 1)), weights.features * x], axis=2) * r[:, :, None]
    square = square_weights(weights)
    if mechanism == "laplace":
        full = np.concatenate([v, float(square[0]) * r[:, :, None] ** 2], axis=2)
        replaced, alone = np.abs(full[0] - full[1]).sum(axis=1).max(), np.abs(full).sum(axis=2).max()
        bounds = [float(l1_look(weights, relation)) for relation in ("replace-one", "add-remove")]
    else:
        full = np.concatenate([v, np.sqrt(float(square[1])) * r[:, :, None] ** 2], axis=2)
        replaced, alone = ((full[0] - full[1]) ** 2).sum(axis=1).max(), (full**2).sum(axis=2).max()
        bounds = [float(squared_l2_look(weights, relation)) for relation in ("replace-one", "add-remove")]
    assert 0.9 * bounds[0] < replaced <= bounds[0] * (1 + 1e-9)
    assert 0.9 * bounds[1] < alone <= bounds[1] * (1 + 1e-9)
    assert alone <= bounds[0]


def table(extra, n=2000, seed=3):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.uniform(-1, 1, (n, 2)), *(np.array([row[:2]], dtype=float) for row in extra)])
    y = X[:n] @ [0.4, -0.3] + 0.1 * rng.normal(size=n)
    return X, np.r_[y, [row[2] for row in extra]]


def record(model, rows, script=None):
    recording, fitted, _ = recording_of(lambda: model.fit(*rows), script)
    return recording, fitted


def make(**options):
    return DPNormalLLSRegressor(EPSILON, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=0, **options)


@pytest.mark.statistical
@pytest.mark.parametrize("bug", ["right", "half the noise", "half the noise of a look"])
def test_audit_of_looks(bug, monkeypatch):
    """All releases of one fit about lines that its own outputs chose; two Gaussians at sqrt(2 rho)."""
    model = make(max_iter=3, **GAUSSIAN)
    rows = table([(1, 1, 1)]), table([(-1, -1, -1)])
    outputs = record(model, rows[0])[0].outputs
    if bug == "half the noise":
        half_the_noise(monkeypatch)
    elif bug == "half the noise of a look":
        full = rounds.squared_l2_look
        monkeypatch.setattr(rounds, "squared_l2_look", lambda *args: full(*args) / 16)
    # Clips and lines of the right code: a look's sums do not depend on its noise.
    recording, fitted = record(model, rows[0], outputs)
    other, _ = record(model, rows[1], outputs)
    trials = 40_000
    hits = count_hits(recording, other, trials, 0.0, np.random.default_rng(16))
    bound = gaussian_lower_bound(tuple(hits), (trials, trials), 1 - FALSE_ALARM)
    claimed = np.sqrt(2 * float(fitted.privacy_spent_.rho))
    print(f"{hits}, mu >= {bound:.3f}, claimed {claimed:.3f}")
    assert bound > claimed if bug != "right" else 0.4 * claimed < bound <= claimed


def drowned(n=400, d=12, seed=3, slope=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, slope * X[:, 0] + 0.2 * rng.normal(size=n)


class TestCheck:
    @pytest.mark.statistical
    @pytest.mark.parametrize("bug", ["right", "a fifth of the noise of the check"])
    @pytest.mark.parametrize("far", [1.0, 1e9], ids=["drowned", "after looks"])
    def test_audit(self, far, bug, monkeypatch):
        """All releases of one fit, the last about predictions by what it released before."""
        monkeypatch.setattr(rounds, "_DROWNED", 0.0 if far == 1.0 else far)
        monkeypatch.setattr(rounds, "_DANGER", 0.0)
        if far == 1.0:
            monkeypatch.setattr(rounds.LookPlan, "hides_quartiles", lambda *_: True)
        model = make(**GAUSSIAN)
        rows = table([(1, -1, 1)]), table([(-1, 1, -1)])
        outputs = record(model, rows[0])[0].outputs
        if bug != "right":
            full = released_moments.squared_l2_moments
            monkeypatch.setattr(
                released_moments,
                "squared_l2_moments",
                lambda weights, *rest: full(weights, *rest) / (25 if weights.n_features == 1 else 1),
            )
        recording, fitted = record(model, rows[0], outputs)
        other, _ = record(model, rows[1], outputs)
        assert recording.exact[-1].size == 5
        assert fitted.release_.check is not None
        trials = 40_000
        hits = count_hits(recording, other, trials, 0.0, np.random.default_rng(16))
        bound = gaussian_lower_bound(tuple(hits), (trials, trials), 1 - FALSE_ALARM)
        claimed = np.sqrt(2 * float(fitted.privacy_spent_.rho))
        assert bound > claimed if bug != "right" else 0.3 * claimed < bound <= claimed

    @pytest.mark.parametrize("options", [{}, GAUSSIAN, {"relation": "add-remove"}], ids=str)
    def test_parts_add_up_to_the_budget(self, options):
        fit = DPNormalLLSRegressor(0.5, bounds_X=(-1, 1), bounds_y=(-1, 1), **options, random_state=0)
        fit.fit(*drowned(2500, 20))
        spent, unit = fit.privacy_spent_, "rho" if options == GAUSSIAN else "epsilon"
        assert sum(getattr(one, unit) * one.times for one in spent.releases) == getattr(spent, unit)
        assert spent.releases[-1].name == "moments of target and prediction"

    @pytest.mark.parametrize(("n", "delta"), [(1000, 0.0), (4000, 0.0), (1000, 1e-6)])
    def test_useless_fits_predict_about_the_mean(self, n, delta):
        X, y = drowned(6000, 20, slope=0.2)
        known = {"delta": delta, "bounds_X": (-1, 1), "bounds_y": (-1, 1)}
        fits = [DPNormalLLSRegressor(0.5, random_state=seed, **known).fit(X[:n], y[:n]) for seed in range(4)]
        scores = [fit.score(X[4000:], y[4000:]) for fit in fits]
        print(scores)
        assert np.mean(scores) > -0.1

    def test_a_clear_fit_is_neither_checked_nor_shrunk(self):
        X, y = drowned(20_000, 3, slope=0.5)
        fit = DPNormalLLSRegressor(2.0, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=0).fit(X, y)
        assert fit.slopes_kept_ == 1.0
        assert fit.release_.check is None

    @pytest.mark.parametrize("max_iter", [1, "auto"])
    def test_intervals_are_those_of_the_fit_before(self, max_iter):
        known = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "random_state": 1}
        X, y = drowned(1500, 10)
        fit = DPNormalLLSRegressor(0.5, max_iter=max_iter, **known).fit(X, y)
        assert 0.0 <= fit.slopes_kept_ < 1.0
        before = _fit.unshrunk_fit_of(fit.release_, fit.error_distribution_, "floor", (1e-3, 2.0), "moments")
        np.testing.assert_allclose(fit.coef_, fit.slopes_kept_ * before.coef)
        drawn = _fit.bootstrap(fit, True)
        for estimate, replicates, interval in [
            (before.coef, drawn.coef.T, fit.coef_interval_),
            (before.intercept - before.scale, drawn.intercept - drawn.scale, None),
        ]:
            ends = np.quantile(replicates, [0.95, 0.05], axis=-1)
            if interval is None:
                interval = fit.predict_quantile(np.zeros((1, 10)), 0.15865525, return_interval=True)[1]
            np.testing.assert_allclose(
                np.squeeze(interval), 2 * np.asarray(estimate)[..., None] - ends.T, atol=1e-9
            )


class TestFit:
    def draw(self, n, seed, errors=np.random.Generator.standard_normal):
        rng = np.random.default_rng(seed)
        beta, X = rng.normal(size=11), rng.normal(size=(n, 10))
        return X, beta[0] + X @ beta[1:] + errors(rng, size=n), beta

    def fit(self, X, y, seed, **options):
        options = {"x_norm": 5.7, "bounds_y": (-14, 14), **GAUSSIAN, **options}
        return DPNormalLLSRegressor(1.0, random_state=seed, **options).fit(X, y)

    def test_residuals_are_kept(self):
        X, y, _ = self.draw(30_000, 6)
        release = self.fit(X, y, 96).release_
        assert release.residuals.counts.shape == (2, len(release.residuals.edges) + 1) == (2, 50)
        assert not release.residuals.counts[0].any()
        # Noise of 50 counts, 8 standard deviations.
        assert abs(release.residuals.counts[1].sum() - 30_000) < 60 * release.residuals.noise_std

    @pytest.mark.statistical
    def test_skewed_errors_bias_neither_line_nor_scale(self):
        """Errors of 200,000 rows are about .01; limits are 8 times that."""
        rng = np.random.default_rng(9)
        X = rng.normal(size=(200_000, 2))
        y = 0.5 + X @ [1.0, -0.5] + np.log(rng.exponential(size=len(X)))
        fit = DPSEVRegressor(4.0, bounds_X=(-4, 4), bounds_y=(-12, 8), random_state=98).fit(X, y)
        assert isinstance(fit.release_, LookRelease)
        np.testing.assert_allclose(np.r_[fit.intercept_, fit.coef_, fit.scale_], [0.5, 1, -0.5, 1], atol=0.08)
