# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's whole suite of checks on a search around a pipeline."""

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from skprivate import BoundsScaler, DPTreeClassifier
from skprivate.exceptions import PrivacyLeakWarning
from skprivate.model_selection import PrivateGridSearch

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{PrivacyLeakWarning.__module__}.{PrivacyLeakWarning.__name__}"
)


@pytest.mark.slow
def test_around_a_pipeline():
    pipe = make_pipeline(BoundsScaler((-100.0, 100.0)), DPTreeClassifier())
    search = PrivateGridSearch(pipe, {"dptreeclassifier__max_depth": [1, 3]})
    results = check_estimator(search, on_skip=None, on_fail=None)
    failed = [result["check_name"] for result in results if result["status"] == "failed"]
    assert not failed
