# SPDX-License-Identifier: BSD-3-Clause
"""What tests of several modules share: error distributions, lives with events, a model that is known."""

import numpy as np
import pytest
from scipy import stats
from sklearn.utils.validation import validate_data

from skprivate.linear_model._distributions import (
    LOGISTIC,
    NORMAL,
    SEV,
    error_distribution_of,
    models_log_target,
)
from skprivate.linear_model._goodness_of_fit import Ground
from skprivate.linear_model._regressors import BaseLogLocationScale
from skprivate.rounds._rows import is_structured

DISTRIBUTIONS = (SEV, LOGISTIC, NORMAL)
IN_SCIPY = {"sev": stats.gumbel_l, "logistic": stats.logistic, "normal": stats.norm}
EVERY_DISTRIBUTION = pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: one.name)
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
COEF, INTERCEPT, SCALE = np.array([0.5, -0.25]), 2.0, 0.4


def lives_of(time, event):
    """Return a structured target of events and times."""
    y = np.empty(len(time), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, time
    return y


class Known(BaseLogLocationScale):
    """A regressor whose parameters are given; replicates vary around them."""

    def __init__(self, distribution="weibull", n_replicates=200, spread=0.05):
        self.distribution, self.n_replicates, self.spread = distribution, n_replicates, spread

    def fit(self, X, y=None):
        validate_data(self, X)
        self.error_distribution_ = error_distribution_of(self.distribution)
        self.log_target_ = models_log_target(self.distribution)
        self.log_target_ = self.log_target_ or is_structured(y)
        self.coef_, self.intercept_, self.scale_ = COEF, INTERCEPT, SCALE
        self.bounds_y_ = (0.5, 80.0) if self.log_target_ else (-2.0, 6.0)
        noise = np.random.default_rng(1).normal(size=(self.n_replicates, 4))
        self._replicates = np.concatenate([[INTERCEPT, SCALE], COEF]) + self.spread * noise
        self._without_noise = self._replicates
        self._ground = Ground("known", None, None, np.zeros(2, dtype=bool), 0.5 * SCALE)
        return self

    def in_scipy(self, X):
        """SciPy's distribution on the scale of the model."""
        return IN_SCIPY[self.error_distribution_.name](loc=INTERCEPT + X @ COEF, scale=SCALE)
