# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's checks of TQMATransformer."""

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skprivate.preprocessing import TQMATransformer

_CLEAN = "fit_transform returns clean rows, transform coarse ones: this is what perturb_fit=False is for"


def expected_failures(estimator):
    if estimator.perturb_fit:
        return {}
    return dict.fromkeys(["check_transformer_general", "check_transformer_data_not_an_array"], _CLEAN)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@parametrize_with_checks(
    [
        TQMATransformer(),
        TQMATransformer(bounds=(-5, 5)),
        TQMATransformer(depth=0, bounds=(-5, 5), quasi_identifiers=[0]),
        TQMATransformer(bounds=(-5, 5), quasi_identifiers=slice(0, 2)),
        TQMATransformer(bounds=(-5, 5), perturb_fit=False),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
def test_nothing_is_skipped_or_excused():
    results = check_estimator(TQMATransformer(), on_skip=None, on_fail=None)
    assert len(results) > 30
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    # A check skips itself where an optional package is missing, never because of a tag of ours.
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


def test_no_tag_switches_checks_off():
    tags = get_tags(TQMATransformer())
    assert not any([tags._skip_test, tags.no_validation, tags.non_deterministic])
    assert tags.input_tags.allow_nan
