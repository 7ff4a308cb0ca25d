# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that loaders and generators refuse: what is called, the error, its message, the wrong values."""

import numpy as np
import pytest

from skprivate.datasets import make_location_scale, make_parties, make_posterior_drift
from tests.refusals import FIELD, cases, give

REFUSED = [
    (make_location_scale, ValueError, FIELD, {"n_samples": 0}, {"n_features": 0}, {"distribution": "gamma"}),
    (make_location_scale, ValueError, FIELD, {"scale": 0.0}, {"scale": "1"}, {"intercept": np.nan}),
    (make_location_scale, ValueError, "coef must hold 5", {"coef": [1.0]}),
    (make_location_scale, ValueError, FIELD, {"coef": [np.nan] * 5}, {"censoring": 1.0}),
    (make_location_scale, ValueError, FIELD, {"structured": False, "censoring": 0.5}),
    (make_parties, ValueError, FIELD, {"n_parties": 0}, {"n_features": 0}),
    (make_parties, ValueError, "n_samples must be at least 20", {"n_samples": 19}),
    (make_parties, ValueError, FIELD, *({"noise": it} for it in (-0.1, np.inf, np.nan, True, "0"))),
    (make_posterior_drift, ValueError, FIELD, {"n_private": -1}, {"n_features": 1}, {"drift": "none"}),
    (make_posterior_drift, ValueError, FIELD, {"gamma": 0}, {"gamma": np.inf}),
    (make_posterior_drift, TypeError, FIELD, {"n_public": 1.5}),
]


@pytest.mark.parametrize(("call", "error", "match", "wrong"), cases(REFUSED))
def test_it_is_refused(call, error, match, wrong):
    with pytest.raises(error, match=match):
        give(call, wrong)
