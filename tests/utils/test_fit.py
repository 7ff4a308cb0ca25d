# SPDX-License-Identifier: BSD-3-Clause
"""A warning about a release that is paid for never loses it."""

import warnings

import numpy as np
import pytest

from skprivate import DPSEVRegressor, PrivacyLedger
from skprivate.exceptions import UtilityWarning
from skprivate.preprocessing import estimate_bounds
from skprivate.utils._fit import warn_after_release


def warn():
    warn_after_release("too noisy", UtilityWarning, 2)


@pytest.mark.parametrize("action", ["error", "always"])
def test_is_shown_once_at_the_caller_and_never_raised(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        warn()
    assert [str(warning.message) for warning in caught] == ["too noisy"]
    assert caught[0].filename == __file__


def test_stays_silent_where_the_user_says_so():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", UtilityWarning)
        warn()
    assert not caught


def test_a_useless_fit_is_kept_where_warnings_are_errors(tmp_path):
    ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=10)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(50, 3)), rng.uniform(-1, 1, size=50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        model = DPSEVRegressor(0.1, bounds_X=(-1, 1), bounds_y=(-1, 1), ledger=ledger).fit(X, y)
        bounds = estimate_bounds(X, 0.1, ledger)
    assert model.coef_.shape == (3,)
    assert bounds[0].shape == (3,)
    assert len(ledger.entries()) == 2
    assert [warning.category for warning in caught] == [UtilityWarning, UtilityWarning]
    assert {warning.filename for warning in caught} == {__file__}
