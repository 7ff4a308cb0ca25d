# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's whole suite of checks on the searches; no expected failure, no check switched off."""

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skprivate import BoundsScaler, DPNormalLLSRegressor, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.exceptions import PrivacyLeakWarning
from skprivate.model_selection import PrivateGridSearch, PrivateRandomizedSearch

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{PrivacyLeakWarning.__module__}.{PrivacyLeakWarning.__name__}"
)

SEARCHES = [
    PrivateGridSearch(DPTreeClassifier(), {"max_depth": [1, 3]}),
    PrivateGridSearch(DPNormalLLSRegressor(), {"regularization": ["floor", "trim"]}),
    PrivateRandomizedSearch(LocallyPrivateTreeClassifier(4.0), {"prune": [False, True]}),
]


@parametrize_with_checks(SEARCHES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("search", SEARCHES)
def test_nothing_is_skipped_or_excused(search):
    results = check_estimator(search, on_skip=None, on_fail=None)
    assert len(results) > 40
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


def test_around_a_pipeline():
    pipe = make_pipeline(BoundsScaler((-100.0, 100.0)), DPTreeClassifier())
    search = PrivateGridSearch(pipe, {"dptreeclassifier__max_depth": [1, 3]})
    results = check_estimator(search, on_skip=None, on_fail=None)
    failed = [result["check_name"] for result in results if result["status"] == "failed"]
    assert not failed
