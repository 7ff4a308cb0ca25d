# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's whole suite of checks on the aggregators; no expected failure, no check switched off."""

import numpy as np
import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skprivate.collaborative import BSTDAggregator
from skprivate.exceptions import DisclosureWarning

# The checks pass fewer parties than a window needs.
pytestmark = pytest.mark.filterwarnings(
    f"ignore::{DisclosureWarning.__module__}.{DisclosureWarning.__name__}"
)

VARIANTS = [
    BSTDAggregator(),
    BSTDAggregator(p_lower=1, p_upper=2, random_state=0),
    BSTDAggregator(order="random"),
    BSTDAggregator(order="top", random_state=3),
    BSTDAggregator(active_rule=None),
    BSTDAggregator(active_rule="support"),
    BSTDAggregator(active_rule="receiver"),
    BSTDAggregator(p_lower=1, p_upper=3, active_rule="receiver", random_state=1),
]


@parametrize_with_checks(VARIANTS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", VARIANTS, ids=repr)
def test_nothing_is_skipped_or_excused(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 40
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    # A check skips itself where an optional package is missing, never because of a tag of ours.
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize("estimator", VARIANTS, ids=repr)
def test_tags(estimator):
    tags = get_tags(estimator)
    assert not tags._skip_test
    assert not tags.no_validation
    assert not tags.non_deterministic
    # It learns nothing from y, so that no score can be promised.
    assert tags.regressor_tags.poor_score
    assert not tags.target_tags.required
    assert tags.input_tags.allow_nan == (estimator.active_rule == "support")


def test_an_answer_is_missing_only_where_the_rule_is_support():
    X = np.ones((3, 10))
    X[1, 4] = np.nan
    assert BSTDAggregator(active_rule="support").fit(X).predict(X).tolist() == [1.0, 1.0, 1.0]
    for rule in ("box", "receiver", None):
        with pytest.raises(ValueError, match="contains NaN"):
            BSTDAggregator(active_rule=rule).fit(X)
