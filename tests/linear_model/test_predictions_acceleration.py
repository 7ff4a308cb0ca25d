# SPDX-License-Identifier: BSD-3-Clause
"""Acceleration factors and predictions at use: rows beyond the bounds, intervals, and wherever rows are."""

import numpy as np
import pandas as pd
import pytest

from skprivate import DPLogLocationScaleRegressor, DPSEVRegressor, PrivacyLedger, TableDomain, config_context
from skprivate.domain import StressColumn
from skprivate.linear_model import _predictions
from skprivate.rounds import TableSource, fit_rounds
from tests.linear_model.conftest import lives_of

DOMAIN = TableDomain(
    {"celsius": StressColumn(85, 125, "arrhenius"), "volt": StressColumn(2, 6, "inverse-power")}
)
ENERGY, POWER, INTERCEPT, SCALE = 0.7, -2.0, -11.0, 0.5
USE, TEST = {"celsius": [40.0], "volt": [1.5]}, {"celsius": [125.0], "volt": [6.0]}
BOUNDS_Y = (10.0, 1e6)


def units(n, seed=0, end=None):
    """Return an accelerated test of units at 3 temperatures and 2 voltages."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"celsius": rng.choice([85.0, 105, 125], n), "volt": rng.choice([3.0, 6.0], n)})
    line = INTERCEPT + DOMAIN.encode(X) @ [ENERGY, POWER]
    hours = np.exp(line) * rng.exponential(size=n) ** SCALE
    return X, hours if end is None else lives_of(np.minimum(hours, end), hours <= end)


@pytest.fixture(scope="module")
def rows():
    return units(20_000)


@pytest.fixture(scope="module")
def model(rows):
    return DPLogLocationScaleRegressor(8.0, domain=DOMAIN, bounds_y=BOUNDS_Y, random_state=1).fit(*rows)


def true_factor():
    return float(np.exp((DOMAIN.encode(USE) - DOMAIN.encode(TEST)) @ [ENERGY, POWER])[0])


class TestStresses:
    def test_slopes_are_the_activation_energy_and_the_power(self, model):
        # Over 20 seeds of noise and rows the standard deviations are .0035 and .013.
        assert np.abs(model.coef_ - [ENERGY, POWER]).max() < 0.1

    def test_predictions_beyond_the_bounds_are_not_clipped(self, model):
        line = model.intercept_ + DOMAIN.encode(USE) @ model.coef_
        found = model.predict_quantile(USE, 0.1)
        np.testing.assert_allclose(np.log(found), line + model.scale_ * np.log(-np.log(0.9)), rtol=1e-12)
        assert not np.isclose(found, model.predict_quantile({"celsius": [85.0], "volt": [2.0]}, 0.1))[0]

    def test_a_stress_without_a_law_fails_before_the_charge(self, rows, tmp_path):
        ledger = PrivacyLedger(tmp_path / "ledger.json", epsilon=2)
        X = rows[0].copy()
        X.loc[7, "volt"] = -3.25
        model = DPLogLocationScaleRegressor(1.0, domain=DOMAIN, bounds_y=BOUNDS_Y, ledger=ledger)
        with pytest.raises(ValueError, match="'volt'") as caught:
            model.fit(X, rows[1])
        assert "3.25" not in str(caught.value)
        assert ledger.spent()[0] == 0
        with config_context(strict=True):
            model.fit(X, rows[1])
        assert ledger.spent()[0] == 1
        assert model.privacy_spent_.private

    def test_rounds_of_tables_are_the_fit(self, rows):
        X, y = rows
        options = {"domain": DOMAIN, "bounds_y": BOUNDS_Y, "random_state": 3}
        whole = DPLogLocationScaleRegressor(1.0, **options).fit(X, y)
        parts = [X.assign(hours=y)[part::2] for part in range(2)]
        found = fit_rounds(DPLogLocationScaleRegressor(1.0, **options), TableSource(parts, target="hours"))
        np.testing.assert_array_equal(found.coef_, whole.coef_)


class TestFactors:
    def test_is_the_ratio_of_every_quantile(self, model):
        factor = model.acceleration_factor(USE, TEST)
        for q in (0.1, 0.5):
            ratio = model.predict_quantile(USE, q) / model.predict_quantile(TEST, q)
            np.testing.assert_allclose(factor, ratio, rtol=1e-9)
        # Log factor over 20 seeds: standard deviation .034.
        assert abs(np.log(factor[0] / true_factor())) < 0.3

    def test_one_row_is_paired_with_all(self, model):
        stress = {"celsius": [85.0, 105.0, 125.0], "volt": [3.0, 3.0, 6.0]}
        factors, intervals = model.acceleration_factor(USE, stress, return_interval=True)
        assert factors.shape == (3,)
        assert intervals.shape == (3, 2)
        single = {name: values[1:2] for name, values in stress.items()}
        alone, interval = model.acceleration_factor(USE, single, return_interval=True)
        np.testing.assert_allclose(alone[0], factors[1])
        np.testing.assert_allclose(interval[0], intervals[1])
        back = model.acceleration_factor(stress, USE)
        np.testing.assert_allclose(back * factors, 1)
        same, interval = model.acceleration_factor(TEST, TEST, return_interval=True)
        assert [*same, *interval[0]] == [1.0, 1.0, 1.0]

    def test_the_interval_is_that_of_the_slope(self, model):
        """Where one column differs, the interval is the printed one of its slope."""
        warm, hot = 100.0, 120.0
        shift = DOMAIN.encode([[warm, 2.0]])[0, 0] - DOMAIN.encode([[hot, 2.0]])[0, 0]
        _, interval = model.acceleration_factor([[warm, 2.0]], [[hot, 2.0]], return_interval=True)
        np.testing.assert_allclose(np.log(interval[0]) / shift, model.coef_interval_[0], rtol=1e-9)
        _, wide = model.acceleration_factor([[warm, 2]], [[hot, 2]], return_interval=True, confidence=0.99)
        assert wide[0, 0] < interval[0, 0]
        assert interval[0, 1] < wide[0, 1]

    def test_intervals_do_not_depend_on_batches(self, model, monkeypatch):
        use = [[40.0 + row, 2.0] for row in range(5)]
        whole = model.acceleration_factor(use, TEST, return_interval=True)[1]
        monkeypatch.setattr(_predictions, "_AT_ONCE", 1)
        np.testing.assert_allclose(model.acceleration_factor(use, TEST, return_interval=True)[1], whole)

    def test_censored_tests_have_factors_too(self):
        X, y = units(100_000, seed=5, end=4000.0)
        model = DPLogLocationScaleRegressor(8.0, domain=DOMAIN, bounds_y=BOUNDS_Y, random_state=2).fit(X, y)
        factor, interval = model.acceleration_factor(USE, TEST, return_interval=True)
        assert interval[0, 0] < factor[0] < interval[0, 1]
        # Log factor over 8 seeds: standard deviation .021.
        assert abs(np.log(factor[0] / true_factor())) < 0.2

    def test_targets_that_are_logarithms(self, rows):
        """In one release: otherwise times beyond their bounds are counted first, and logarithms are not."""
        options = {"domain": DOMAIN, "max_iter": 1, "random_state": 1}
        model = DPLogLocationScaleRegressor(8.0, bounds_y=BOUNDS_Y, **options).fit(*rows)
        logs = DPSEVRegressor(8.0, bounds_y=tuple(np.log(BOUNDS_Y)), **options).fit(rows[0], np.log(rows[1]))
        np.testing.assert_allclose(
            logs.acceleration_factor(USE, TEST), model.acceleration_factor(USE, TEST), rtol=1e-6
        )

    def test_intervals_hold_the_truth(self):
        """Of 30 intervals that hold with probability .9, fewer than 17 do with probability 3e-7."""
        held = []
        for seed in range(30):
            X, y = units(2000, seed=100 + seed)
            model = DPLogLocationScaleRegressor(8.0, domain=DOMAIN, bounds_y=BOUNDS_Y, random_state=seed)
            _, interval = model.fit(X, y).acceleration_factor(USE, TEST, return_interval=True)
            held.append(interval[0, 0] < true_factor() < interval[0, 1])
        assert sum(held) >= 17
