# SPDX-License-Identifier: BSD-3-Clause
"""What no display draws: what is called, the error, its message, and the wrong values; nothing is charged."""

import functools
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from skprivate import (
    DPBoostingClassifier,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    TableDomain,
    private_evaluate,
)
from skprivate.inspection import (
    BudgetDisplay,
    PartitionDisplay,
    PrivacyUtilityDisplay,
    PrivateEvaluationDisplay,
    PrivateTreeDisplay,
    QuantileDependenceDisplay,
    ResidualDisplay,
    ShapeFunctionDisplay,
    SurvivalCurveDisplay,
)
from tests.refusals import FIELD, cases, give

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
X = pd.DataFrame(np.random.default_rng(0).uniform(size=(200, 3)), columns=["age", "size", "hot"])
Y = (X["age"] > 0.5).to_numpy().astype(int)


@functools.cache
def life_model():
    table = pd.DataFrame({"age": X["age"], "hot": X["hot"] > 0.5})
    options = {"domain": TableDomain({"age": (0, 1), "hot": bool}), "bounds_y": (0.5, 3), "max_iter": 2}
    return DPLogLocationScaleRegressor(20.0, **options).fit(table, 1 + X["age"])


@functools.cache
def fitted(kind, width=3, named=True):
    rows = X.iloc[:, :width] if named else X.to_numpy()
    return kind(4.0, bounds=(0, 1), classes=[0, 1]).fit(rows, Y)


def plane(features=("age", "size"), at=None, **shape):
    PartitionDisplay.from_estimator(fitted(LocallyPrivateTreeClassifier, **shape), features=features, at=at)


def tree(**options):
    PrivateTreeDisplay.from_estimator(fitted(LocallyPrivateTreeClassifier), **options)


def shape(feature, n_std=2):
    ShapeFunctionDisplay.from_estimator(fitted(DPBoostingClassifier), feature, n_std=n_std)


def quantiles(feature, **options):
    options = {"at": {"age": 0.5, "hot": True}} | options
    QuantileDependenceDisplay.from_estimator(life_model(), feature, **options)


def curves(names):
    rows = pd.DataFrame({"age": [0.1, 0.2], "hot": [True, False]})
    SurvivalCurveDisplay.from_estimator(life_model(), rows, names=names)


def residuals():
    one_release = DPNormalLLSRegressor(20.0, bounds_X=(0, 1), bounds_y=(1, 2)).fit(X, 1 + X["age"])
    ResidualDisplay.from_estimator(one_release)


@functools.cache
def evaluation():
    model = LogisticRegression().fit(X, Y)
    groups = np.where(X["hot"] > 0.5, "a", "b"), ["a", "b"]
    return private_evaluate(model, X, Y, 100.0, groups_of_interest=groups)


def scores(**options):
    PrivateEvaluationDisplay.from_evaluation(evaluation(), **options)


def budget(ledger, **choice):
    BudgetDisplay.from_ledger(ledger, **choice)


def utility(ledger, **options):
    model = DPTreeClassifier(bounds=(0, 1), classes=[0, 1], ledger=ledger)
    PrivacyUtilityDisplay.from_estimator(**({"estimator": model, "X": X, "y": Y} | options))


FEATURES = [(0, 3), (-1, 0), (0, 0), ("age", 0), ("age", "height"), (0,), (0, 1, 2), "ab", (0, 1.0), 0, None]
REFUSED = [
    (budget, ValueError, "by must be", {"by": "mechanism"}),
    (budget, ValueError, FIELD, {"quantity": "rho"}, {"against": "x"}),
    (BudgetDisplay.from_ledger, TypeError, "must be a PrivacyLedger, got str", "study.ledger"),
    (utility, ValueError, "test_size must be a share", {"test_size": 2}),
    (utility, ValueError, "at least one", {"epsilons": []}),
    (utility, ValueError, "none of them twice", {"epsilons": [1, 1.0]}),
    (utility, ValueError, "each of epsilons", {"epsilons": [0]}, {"epsilons": [np.inf]}),
    (utility, TypeError, "sequence of numbers", {"epsilons": "12"}, {"epsilons": 1.0}),
    (utility, ValueError, "non_private must be", {"non_private": "none"}),
    (utility, ValueError, "n_repeats must be an int, at least 1", {"n_repeats": 0}),
    (utility, ValueError, "Invalid parameter 'budget'", {"param_name": "budget"}),
    (utility, TypeError, "estimator must be", {"estimator": None}),
    (utility, TypeError, "ax must be", {"ax": "axes"}),
    (scores, ValueError, "curve must be", {"curve": "lift"}),
    (scores, ValueError, "declared levels", {"groups": ["z"]}),
    (plane, ValueError, FIELD, *({"features": it} for it in FEATURES)),
    (plane, ValueError, "'age'", {"features": ("age", 1), "named": False}),
    (plane, ValueError, "features", {"features": (0, 1), "width": 1}),
    (plane, ValueError, "at must", {"at": 0.5}, {"at": [0.5, 0.5]}, {"at": [0.5, np.nan, 0.5]}),
    (plane, ValueError, "at must", {"at": [[0.5] * 3]}),
    (PartitionDisplay.from_estimator, NotFittedError, "not fitted", LocallyPrivateTreeClassifier()),
    (PrivateTreeDisplay.from_estimator, NotFittedError, "not fitted", DPTreeClassifier()),
    (tree, ValueError, FIELD, {"max_depth": -1}),
    (tree, TypeError, "must be matplotlib Axes", {"ax": "here"}),
    (PrivateTreeDisplay(left=np.array([0]), labels=["a"]).plot, ValueError, "node_values", ()),
    (ShapeFunctionDisplay.from_estimator, NotFittedError, "not fitted", (DPBoostingClassifier(), 0)),
    (shape, ValueError, "no feature 'height'", "height"),
    (shape, ValueError, "no feature 3", 3),
    (shape, ValueError, "feature must be", -1),
    (shape, ValueError, "n_std", (0, -1), (0, np.nan)),
    (quantiles, ValueError, "there is no feature 'no'", "no"),
    (quantiles, ValueError, "there is no feature 2", 2),
    (quantiles, ValueError, "at must be a mapping", {"feature": 0, "at": [1.0]}),
    (quantiles, ValueError, "there is no feature 'no'", {"feature": 0, "at": {"no": 1.0}}),
    (quantiles, ValueError, "at must give a value of the feature 'hot'", {"feature": 0, "at": {}}),
    (quantiles, ValueError, "values must be", {"feature": 0, "values": []}),
    (quantiles, ValueError, "q must be", {"feature": 0, "q": 1}),
    (quantiles, ValueError, "confidence must be", {"feature": 0, "confidence": 0}),
    (curves, ValueError, "one name for each row", ["a"]),
    (residuals, ValueError, "no released value shows whether the distribution is right", ()),
    (ResidualDisplay.from_estimator, NotFittedError, "not fitted", DPLogLocationScaleRegressor()),
    (SurvivalCurveDisplay.from_estimator, NotFittedError, "not fitted", (DPLogLocationScaleRegressor(), X)),
    (QuantileDependenceDisplay.from_estimator, NotFittedError, "not fit", (DPLogLocationScaleRegressor(), 0)),
]


@pytest.mark.parametrize(("call", "error", "match", "wrong"), cases(REFUSED))
def test_it_is_not_drawn_and_nothing_is_charged(tmp_path, call, error, match, wrong):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=9)
    with pytest.raises(error, match=match):
        give(call, wrong, *((ledger,) if call in (budget, utility) else ()))
    assert not ledger.entries()


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    model = fitted(LocallyPrivateTreeClassifier)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name, call in (
        ("BudgetDisplay", BudgetDisplay(times=[], groups=[], amounts=[]).plot),
        ("PrivacyUtilityDisplay", lambda: PrivacyUtilityDisplay.from_estimator(None, [[0.0]], [0])),
        ("PartitionDisplay", lambda: PartitionDisplay.from_estimator(model)),
    ):
        with pytest.raises(ImportError, match=rf"{name} needs matplotlib. .*'skprivate\[plot\]'"):
            call()
