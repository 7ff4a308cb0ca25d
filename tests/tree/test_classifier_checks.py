# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's whole suite of checks, on every variant; no expected failure, no check switched off."""

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skprivate import BoundsScaler, LocallyPrivateTreeClassifier
from skprivate.exceptions import PrivacyLeakWarning

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{PrivacyLeakWarning.__module__}.{PrivacyLeakWarning.__name__}"
)


@parametrize_with_checks(
    [
        LocallyPrivateTreeClassifier(),
        LocallyPrivateTreeClassifier(epsilon=4.0, mechanism="laplace"),
        LocallyPrivateTreeClassifier(epsilon=8.0, rule="random", max_depth=3, criterion="entropy"),
        LocallyPrivateTreeClassifier(bounds=(-1e3, 1e3), public_weight=2.0, min_samples_leaf=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_nothing_is_skipped_or_excused():
    results = check_estimator(LocallyPrivateTreeClassifier(), on_skip=None, on_fail=None)
    assert len(results) > 40
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    # A check skips itself where an optional package is missing, never because of a tag of ours.
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


def test_no_tag_switches_checks_off():
    tags = get_tags(LocallyPrivateTreeClassifier())
    assert not tags._skip_test
    assert not tags.no_validation
    assert not tags.non_deterministic


def test_in_a_pipeline():
    # check_estimator seeds the outermost object only.
    pipe = make_pipeline(BoundsScaler((-100.0, 100.0)), LocallyPrivateTreeClassifier(random_state=0))
    # scikit-learn's own pipelines fail these two: they fit their steps in place.
    in_place = dict.fromkeys(
        ("check_estimators_overwrite_params", "check_dont_overwrite_parameters"),
        "Pipeline fits its steps in place",
    )
    results = check_estimator(pipe, expected_failed_checks=in_place, on_skip=None)
    assert {result["check_name"] for result in results if result["status"] == "xfail"} <= set(in_place)
