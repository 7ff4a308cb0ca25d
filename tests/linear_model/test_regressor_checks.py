# SPDX-License-Identifier: BSD-3-Clause
"""What the tags of the regressors say, and that presets take what the regressor does but the distribution."""

import inspect
import re

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

from skprivate import (
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
)
from skprivate.exceptions import PrivacyLeakWarning, UtilityWarning

CLASSES = [DPLogLocationScaleRegressor, DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor]
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{warning.__module__}.{warning.__name__}")
    for warning in (PrivacyLeakWarning, UtilityWarning)
]


@pytest.mark.parametrize(
    ("estimator", "times"),
    [
        (DPLogLocationScaleRegressor(), True),
        (DPLogLocationScaleRegressor(distribution="lognormal"), True),
        (DPLogLocationScaleRegressor(distribution="normal"), False),
        (DPSEVRegressor(), False),
    ],
)
def test_life_distributions_say_that_their_targets_are_positive(estimator, times):
    assert get_tags(estimator).target_tags.positive_only is times


@pytest.mark.parametrize("kind", [DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor])
@pytest.mark.parametrize("options", [{}, GAUSSIAN])
def test_poor_score_is_said_because_the_default_is_poor_on_200_rows(kind, options):
    # The rows of scikit-learn's check, which wants R^2 > 0.5.
    X, y = make_regression(n_samples=200, n_features=10, n_informative=1, bias=5.0, noise=20, random_state=42)
    X, y = scale(X), scale(y)

    def passed(epsilon):
        fits = (kind(epsilon, random_state=seed, **options).fit(X, y) for seed in range(20))
        return np.mean([fit.score(X, y) > 0.5 for fit in fits])

    assert passed(1.0) < 0.5
    assert passed(1000.0) == 1.0
    assert get_tags(kind(**options)).regressor_tags.poor_score


@pytest.mark.parametrize("kind", [DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor])
def test_presets_take_and_describe_what_the_regressor_does_but_the_distribution(kind):
    def described(estimator):
        text = inspect.getdoc(estimator)
        parameters = text[text.index("Parameters\n") : text.index("Attributes\n")]
        return re.split(r"\n(?=\w+ :)", parameters)[1:], text[
            text.index("**Privacy.**") : text.index("Examples\n")
        ]

    parameters, privacy = described(DPLogLocationScaleRegressor)
    others = [text for text in parameters if not text.startswith("distribution :")]
    assert described(kind) == (others, privacy)
    whole = inspect.signature(DPLogLocationScaleRegressor).parameters.values()
    signature = [parameter for parameter in whole if parameter.name != "distribution"]
    assert list(inspect.signature(kind).parameters.values()) == signature
