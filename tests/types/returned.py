# SPDX-License-Identifier: BSD-3-Clause
"""What type checkers say of a result that depends on an argument, or on the kind of an argument.

``make types`` reads this file by ``mypy --strict`` and by pyright; nothing here runs.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from skprivate import (
    DPLogLocationScaleRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    MomentAccumulator,
    PrivacySpent,
    PrivateGridSearch,
    PrivateNashSolver,
)
from skprivate.accounting import EstimatedBounds
from skprivate.datasets import fetch_census, fetch_warfarin, make_location_scale
from skprivate.noise import laplace_sum
from skprivate.preprocessing import estimate_bounds

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def one_result_or_two(X: Floats, flag: bool) -> None:
    model = DPLogLocationScaleRegressor()
    assert_type(model.predict_quantile(X, 0.5), Floats)
    assert_type(model.predict_quantile(X, [0.1, 0.5], return_interval=True), tuple[Floats, Floats])
    assert_type(model.predict_quantile(X, 0.5, return_interval=flag), Floats | tuple[Floats, Floats])
    assert_type(estimate_bounds(X, 1.0), EstimatedBounds)
    assert_type(estimate_bounds(X, 1.0, return_spent=True), tuple[EstimatedBounds, PrivacySpent])
    assert_type(make_location_scale(10), tuple[Floats, NDArray[Any]])
    assert_type(make_location_scale(10, return_coef=True), tuple[Floats, NDArray[Any], Floats])


def functions_or_values(X: Floats) -> None:
    model = DPLogLocationScaleRegressor()
    assert_type(model.predict_survival_function(X), NDArray[np.object_])
    assert_type(model.predict_survival_function(X, return_array=True), Floats)
    assert_type(model.predict_cumulative_hazard_function(X, True), Floats)


def a_number_or_an_array() -> None:
    assert_type(laplace_sum(10, 2), int)
    assert_type(laplace_sum(10, 2, (3, 4)), Integers)


def rows_of_a_loader(flag: bool) -> None:
    assert_type(fetch_census(return_X_y=True), tuple[Floats, Integers, Flags])
    assert_type(fetch_warfarin(return_X_y=True), tuple[Floats, Floats])
    fetch_census(return_X_y=flag, as_frame=flag)


def the_estimator_that_was_passed(X: Floats, moments: MomentAccumulator) -> None:
    assert_type(moments.release(DPSEVRegressor()), DPSEVRegressor)
    assert_type(DPTreeClassifier().fit(X, X[:, 0] > 0), DPTreeClassifier)


def predictions(X: Floats) -> None:
    search = PrivateGridSearch(DPTreeClassifier(), {"max_depth": [1, 2]}).fit(X, X[:, 0] > 0)
    assert_type(search.predict_proba(X), Floats)
    assert_type(search.predict(X), NDArray[Any])


def fitted_attributes(solver: PrivateNashSolver, tree: DPTreeClassifier, search: PrivateGridSearch) -> None:
    assert_type(solver.strategies_, Floats)
    assert_type(tree.privacy_spent_, PrivacySpent)
    assert_type(search.n_features_in_, int)
