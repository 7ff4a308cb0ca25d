# SPDX-License-Identifier: BSD-3-Clause
"""Warnings name the line of the user, however deep they are raised; after a release they are never errors."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skprivate import BoundsScaler, DPTreeClassifier
from skprivate.exceptions import PrivacyLeakWarning, UtilityWarning
from skprivate.utils._private_fit import warn_after_release

X = np.random.default_rng(0).uniform(size=(60, 2))
Y = (X[:, 0] > 0.5).astype(int)
TREE = DPTreeClassifier(max_depth=1)


def warn():
    warn_after_release("too noisy", UtilityWarning)


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
