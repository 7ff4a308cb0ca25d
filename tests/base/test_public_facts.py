# SPDX-License-Identifier: BSD-3-Clause
"""Every private estimator says what each of its parameters does, and what a fit will cost."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

import skprivate
import skprivate.model_selection
from skprivate import (
    DPLogLocationScaleRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    TQMATransformer,
)
from skprivate.base import PlannedCost, PrivateEstimatorMixin, parameter_roles
from skprivate.base._public_facts import ROLES

X = np.random.default_rng(0).uniform(size=(600, 2))


def test_pruning_by_the_paper_comes_with_a_depth_of_its_own():
    assert parameter_roles(DPTreeClassifier(prune="paper"))["prune"] == "release"
    assert parameter_roles(DPTreeClassifier(prune="paper", max_depth=3))["prune"] == "post-processing"


def test_several_rounds_make_the_regularisation_part_of_the_release():
    censored = np.array([(True, 1.0)], dtype=[("event", bool), ("time", float)])
    for several in (DPLogLocationScaleRegressor(), DPLogLocationScaleRegressor(method="taylor")):
        assert parameter_roles(several)["regularization"] == "release"
        assert parameter_roles(several, np.ones(1))["method"] == "release"
    model = DPLogLocationScaleRegressor(max_iter=1)
    assert parameter_roles(model)["regularization"] == "post-processing"
    assert parameter_roles(model, np.ones(1))["regularization"] == "post-processing"
    assert parameter_roles(model, censored)["regularization"] == "release"


def equal_state(one, other, names):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@pytest.mark.parametrize("change", [{"regularization": "zhang"}, {"method": "taylor"}])
def test_post_processing_of_a_regressor_is_what_a_fit_with_the_same_noise_gives(change):
    common = {"bounds_X": (0, 1), "bounds_y": (-2, 2), "epsilon": 5.0, "random_state": 0, "max_iter": 1}
    y = X[:, 0] - X[:, 1]
    fitted = DPSEVRegressor(**common).fit(X, y)
    before = fitted.coef_interval_
    changed = fitted.post_processed(change)
    again = DPSEVRegressor(**common, **change).fit(X, y)
    assert equal_state(changed, again, ("coef_", "intercept_", "scale_", "coef_interval_"))
    assert not equal_state(fitted, again, ("coef_", "scale_"))
    assert np.array_equal(fitted.coef_interval_, before)


def test_delta_grows_where_a_row_is_removed_and_another_added():
    cost = PlannedCost(epsilon=Fraction(1), delta=Fraction(1, 10**6), relation="add-remove")
    worst = (1 + math.e) * 1e-6
    assert worst <= cost.against_replacement().delta <= worst * (1 + 1e-9)


def test_what_has_no_epsilon_says_so():
    with pytest.raises(TypeError, match="TQMATransformer states no epsilon"):
        TQMATransformer().planned_cost(False)


def test_every_parameter_has_a_role():
    rooms = (skprivate, skprivate.model_selection)
    found = {getattr(room, name) for room in rooms for name in room.__all__}
    kinds = [one for one in found if inspect.isclass(one) and issubclass(one, PrivateEstimatorMixin)]
    assert len(kinds) >= 13
    for kind in kinds:
        assert set(kind.declared_roles) == set(inspect.signature(kind).parameters)
        assert set(kind.declared_roles.values()) <= set(ROLES)


@pytest.mark.parametrize("kind", [DPTreeClassifier, LocallyPrivateTreeClassifier])
@pytest.mark.parametrize("change", [{"prune": True}, {"prune": "paper", "public_weight": 2.0}])
def test_post_processing_of_a_tree_is_what_a_fit_with_the_same_noise_gives(kind, change):
    common = {"bounds": (0, 1), "classes": [0, 1], "max_depth": 5, "epsilon": 0.2, "random_state": 0}
    public, y = np.arange(600) < 60, np.random.default_rng(1).integers(2, size=600)
    fitted = kind(**common).fit(X, y, is_public=public)
    again = kind(**common, **change).fit(X, y, is_public=public)
    names = ("report_counts_", "leaf_proba_", "public_weight_")
    assert equal_state(fitted.post_processed(change), again, names)
    assert not equal_state(fitted, again, names)
