# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's whole suite of checks, on every estimator and variant; no check is switched off by a tag."""

import warnings
from collections import Counter
from unittest import SkipTest

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skprivate import (
    DPLogisticLLSRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    PrivateGridSearch,
    PrivateNashSolver,
    PrivateRandomizedSearch,
    TQMATransformer,
)
from skprivate.exceptions import DisclosureWarning, PrivacyLeakWarning, UtilityWarning
from tests.catalogue import CHECKED, public_estimators

_CLEAN = "fit_transform returns clean rows, transform coarse ones: this is what perturb_fit=False is for"
#: Modules -> what their estimators warn of here: of domains that are not declared, of too few sites or rows.
WARNINGS = {
    "tree": [PrivacyLeakWarning],
    "ensemble": [PrivacyLeakWarning, UtilityWarning],
    "label_privacy": [PrivacyLeakWarning, UtilityWarning],
    "model_selection": [PrivacyLeakWarning],
    "linear_model": [PrivacyLeakWarning, UtilityWarning],
    "preprocessing": [PrivacyLeakWarning],
    "collaborative": [PrivacyLeakWarning, DisclosureWarning, UtilityWarning],
}
#: They learn nothing from y, so that no score can be promised; others are poor at the default epsilon.
POOR = {
    "BSTDAggregator",
    "SecureSumAggregator",
    "DPTreeClassifier",
    "LocallyPrivateTreeClassifier",
    "DPTreeRegressor",
    "LocallyPrivateTreeRegressor",
    "DPBoostingClassifier",
    "DPBoostingRegressor",
    "LabelPrivateClassifier",
    "LabelPrivateRegressor",
    "DPLogLocationScaleRegressor",
    "DPSEVRegressor",
    "DPLogisticLLSRegressor",
    "DPLogisticRegression",
    "DPNormalLLSRegressor",
}


def expected_failures(estimator):
    if not isinstance(estimator, TQMATransformer) or estimator.perturb_fit:
        return {}
    return dict.fromkeys(["check_transformer_general", "check_transformer_data_not_an_array"], _CLEAN)


def parameters():
    """Yield estimators and checks: presets, and variants of a class that has been there, are slow."""
    first = {type(estimator): estimator for estimator in reversed(CHECKED)}
    presets = (DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor)
    for one in parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures).mark.args[1]:
        values, marks = getattr(one, "values", one), list(getattr(one, "marks", ()))
        if values[0] is not first[type(values[0])] or isinstance(values[0], presets):
            marks.append(pytest.mark.slow)
        yield pytest.param(*values, marks=marks)


PARAMETERS = list(parameters())


def name_of(value):
    return repr(value) if hasattr(value, "get_params") else value.func.__name__


@pytest.mark.parametrize(("estimator", "check"), PARAMETERS, ids=name_of)
def test_check(estimator, check):
    with warnings.catch_warnings():
        for category in WARNINGS[type(estimator).__module__.split(".")[1]]:
            warnings.simplefilter("ignore", category)
        try:
            check(estimator)
        except SkipTest:
            # A check skips itself where an optional package is missing, never because of a tag of ours.
            assert check.func.__name__ == "check_array_api_input"
            raise


def test_every_estimator_is_checked_and_excused_only_as_said():
    n_checks = Counter()
    for parameter in PARAMETERS:
        estimator, check = parameter.values
        n_checks[id(estimator)] += 1
        if any(mark.name == "xfail" for mark in parameter.marks):
            assert check.func.__name__ in expected_failures(estimator)
    assert len(n_checks) == len(CHECKED)
    assert min(n_checks.values()) > 40
    # The solver's input is a game.
    assert {type(one) for one in CHECKED} | {PrivateNashSolver} >= public_estimators()


def test_scikit_learn_is_told_that_the_solver_takes_no_table():
    with pytest.warns(SkipTestWarning, match="Can't test estimator PrivateNashSolver which requires input"):
        check_estimator(PrivateNashSolver())


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_mixin_order,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
    ],
)
def test_the_solver_passes_what_needs_no_table(check):
    check("PrivateNashSolver", PrivateNashSolver())


@pytest.mark.parametrize("estimator", CHECKED, ids=repr)
def test_tags(estimator):
    tags = get_tags(estimator)
    assert not any([tags._skip_test, tags.no_validation, tags.non_deterministic])
    if isinstance(estimator, TQMATransformer):
        assert tags.input_tags.allow_nan
    said = tags.classifier_tags or tags.regressor_tags
    searches = (PrivateGridSearch, PrivateRandomizedSearch)  # they score as what they choose from
    scored = estimator.estimator if isinstance(estimator, searches) else estimator
    assert (said is not None and said.poor_score) is (type(scored).__name__ in POOR)
