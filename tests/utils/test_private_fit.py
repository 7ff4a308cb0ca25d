# SPDX-License-Identifier: BSD-3-Clause
"""A fit that fails changes nothing, and is counted; warnings name the line of the user."""

import sys
import warnings

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import (
    BoundsScaler,
    DPLogLocationScaleRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    PrivacyLedger,
)
from skprivate.base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, private_fit
from skprivate.exceptions import PrivacyLeakError, PrivacyLeakWarning, PrivateSearchError, UtilityWarning
from skprivate.model_selection import PrivateGridSearch
from skprivate.preprocessing import estimate_bounds
from skprivate.utils._compat import InvalidParameterError
from skprivate.utils._private_fit import failures_counted, warn_after_release


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


class Around(PrivateEstimatorMixin, BaseEstimator):
    """Fits a tree within its own fit; both have one ledger."""

    _parameter_constraints = {"ledger": SHARED_CONSTRAINTS["ledger"]}

    def __init__(self, ledger=None):
        self.ledger = ledger

    @private_fit
    def fit(self, X, y):
        return tree(self.ledger).fit(X, y)


@pytest.mark.parametrize("make", [tree, Around])
@pytest.mark.parametrize("bad", [BAD, np.array([["text", 1]] * 20, dtype=object)], ids=["NaN", "text"])
def test_a_failed_fit_is_counted_once(make, bad, ledger):
    for n_failures in (1, 2):
        with pytest.raises(ValueError, match=r"NaN|could not convert"):
            make(ledger).fit(bad, Y)
        assert (ledger.n_failures, len(ledger.entries())) == (n_failures, 0)
    make(ledger).fit(X, Y)
    assert ledger.n_failures == 2


def test_what_no_row_can_cause_is_not_counted(ledger):
    for parameters in ({"max_depth": -1}, {"bounds": (1, 0)}, {"classes": [0]}, {"epsilon": 11}):
        with pytest.raises(ValueError):  # noqa: PT011
            tree(ledger, **parameters).fit(X, Y)
    with skprivate.config_context(strict=True), pytest.raises(PrivacyLeakError):
        tree(ledger, bounds=None).fit(X, Y)
    with pytest.raises(InvalidParameterError):
        PrivateGridSearch(tree(ledger), {"max_depth": [-1]}).fit(X, Y)
    assert ledger.n_failures == 0


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


def test_workers_count_once_each(ledger):
    with joblib.parallel_backend("threading"), pytest.raises(ValueError, match="All the 2 fits failed"):
        GridSearchCV(tree(ledger), {"max_depth": [1]}, cv=2, n_jobs=2).fit(np.full((20, 2), np.nan), Y)
    assert ledger.n_failures == 2


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_an_error_from_a_worker_process_is_not_counted_again(ledger):
    with pytest.raises(ValueError, match="NaN"), failures_counted([ledger], "Around"):
        Parallel(n_jobs=2, backend="multiprocessing")([delayed(tree(ledger).fit)(BAD, Y)])
    assert ledger.n_failures == 1


def test_functions_and_regressors_count(ledger):
    with pytest.raises(ValueError, match="NaN"):
        estimate_bounds(BAD, 1.0, ledger)
    with pytest.raises(ValueError, match="not above 0"):
        DPLogLocationScaleRegressor(bounds_X=(0, 1), bounds_y=(1, 2), ledger=ledger).fit(X, np.arange(20))
    assert ledger.n_failures == 2


def test_a_ledger_that_cannot_count_does_not_hide_the_error(tmp_path, ledger):
    model = tree(ledger)
    ledger.path.rename(tmp_path / "gone")
    with pytest.raises(ValueError, match="NaN"):
        model.fit(BAD, Y)


TREE = DPTreeClassifier(max_depth=1)


def warn():
    warn_after_release("too noisy", UtilityWarning)


@pytest.mark.parametrize(("action", "shown"), [("error", 1), ("always", 1), ("ignore", 0)])
def test_a_warning_after_a_release_is_shown_at_the_caller_and_never_raised(action, shown):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action, UtilityWarning)
        warn()
    assert [str(warning.message) for warning in caught] == ["too noisy"] * shown
    assert {warning.filename for warning in caught} <= {__file__}


@pytest.mark.parametrize(
    "estimator",
    [
        TREE,
        make_pipeline(BoundsScaler(), TREE),
        GridSearchCV(TREE, {"epsilon": [1.0]}, cv=2, n_jobs=1),
        GridSearchCV(make_pipeline(BoundsScaler(), TREE), {}, cv=2),
    ],
    ids=["alone", "pipeline", "search", "search over a pipeline"],
)
def test_names_the_line_that_called_the_outermost_fit(estimator):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        estimator.fit(X, Y)
    # Few rows make trees that are rightly called useless, too, on the same line.
    kinds = {one.category for one in caught}
    assert {PrivacyLeakWarning} <= kinds <= {PrivacyLeakWarning, UtilityWarning}
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, line)}


OUTSIDERS = """
from sklearn.base import BaseEstimator
from skprivate.base import PrivateEstimatorMixin, private_fit

class Outsider(PrivateEstimatorMixin, BaseEstimator):
    _parameter_constraints = {}

    @private_fit
    def fit(self, X, y=None):
        self.read(X)
        return self

    def read(self, X):
        self.announce_leaks(["it reads rows"])
"""


def test_the_fit_of_a_third_party_is_not_the_users_line(tmp_path, monkeypatch):
    (tmp_path / "outsiders.py").write_text(OUTSIDERS)
    monkeypatch.syspath_prepend(tmp_path)
    import outsiders

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            outsiders.Outsider().fit(X)
        outsiders.Outsider().fit(X)
    assert [one.filename for one in caught] == [__file__] * 2, "once for every line of the user"
