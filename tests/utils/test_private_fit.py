# SPDX-License-Identifier: BSD-3-Clause
"""A fit that fails changes nothing, and is counted; warnings name the line of the user."""

import warnings

import numpy as np
import pytest

from skprivate import (
    DPSEVRegressor,
    DPTreeClassifier,
    PrivacyLedger,
)
from skprivate.exceptions import PrivateSearchError, UtilityWarning
from skprivate.model_selection import PrivateGridSearch
from skprivate.preprocessing import estimate_bounds
from skprivate.utils._private_fit import warn_after_release


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


X = np.linspace(0, 1, 40).reshape(20, 2)
Y = np.arange(20) % 2
BAD = np.where(X > 0.9, np.nan, X)


def tree(ledger, **parameters):
    return DPTreeClassifier(**{"bounds": (0, 1), "classes": [0, 1], "ledger": ledger, **parameters})


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "failures.ledger", epsilon=10)


def test_searches_count_once_wherever_the_ledger_stands(ledger):
    def scorer(model, rows, y):
        raise KeyError("secret")

    for search in (
        PrivateGridSearch(tree(ledger), {"max_depth": [1, 2]}, scoring=scorer),
        PrivateGridSearch(tree(None), {"max_depth": [1, 2]}, scoring=scorer, ledger=ledger),
        PrivateGridSearch(tree(None), {"ledger": [ledger]}, scoring=scorer),
    ):
        before = ledger.n_failures
        with pytest.raises(PrivateSearchError, match="KeyError"):
            search.fit(X, Y)
        assert ledger.n_failures == before + 1
    assert len(ledger.entries()) == 3


def test_a_ledger_that_cannot_count_does_not_hide_the_error(tmp_path, ledger):
    model = tree(ledger)
    ledger.path.rename(tmp_path / "gone")
    with pytest.raises(ValueError, match="NaN"):
        model.fit(BAD, Y)


def warn():
    warn_after_release("too noisy", UtilityWarning)


@pytest.mark.parametrize(("action", "shown"), [("error", 1), ("always", 1), ("ignore", 0)])
def test_a_warning_after_a_release_is_shown_at_the_caller_and_never_raised(action, shown):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action, UtilityWarning)
        warn()
    assert [str(warning.message) for warning in caught] == ["too noisy"] * shown
    assert {warning.filename for warning in caught} <= {__file__}
