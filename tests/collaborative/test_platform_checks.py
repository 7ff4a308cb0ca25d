# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's whole suite of checks on the platforms; no expected failure, no check switched off."""

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skprivate import (
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.exceptions import DisclosureWarning, PrivacyLeakWarning

# Without `sites` all rows are of one site, which the aggregators warn about, and bounds come from the rows.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind.__module__}.{kind.__name__}")
    for kind in (DisclosureWarning, PrivacyLeakWarning)
]

PLATFORMS = [
    CollaborativeRegressor(),
    CollaborativeLARRegressor(),
    CollaborativeClassifier(),
]


@parametrize_with_checks(
    [
        *PLATFORMS,
        CollaborativeRegressor(LinearRegression(), TQMATransformer(8)),
        CollaborativeRegressor(aggregator=SecureSumAggregator()),
        CollaborativeLARRegressor(kernel="knn", active_rule="support"),
        CollaborativeLARRegressor(kernel="epanechnikov", bandwidth=0.5),
        CollaborativeClassifier(LogisticRegression()),
        CollaborativeRegressor(on_site_error="drop"),
        CollaborativeClassifier(on_site_error="drop"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_nothing_is_skipped_or_excused(platform):
    results = check_estimator(platform, on_skip=None, on_fail=None)
    assert len(results) > 40
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_tag_switches_checks_off(platform):
    tags = get_tags(platform)
    assert not tags._skip_test
    assert not tags.no_validation
    assert not tags.non_deterministic
    assert tags.regressor_tags is None or not tags.regressor_tags.poor_score
    assert tags.classifier_tags is None or not tags.classifier_tags.poor_score
