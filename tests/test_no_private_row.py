# SPDX-License-Identifier: BSD-3-Clause
"""Under "add-remove" a fit to no private row is a fit like any other: one row and none are neighbours."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skprivate import (
    DPBoostingClassifier,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    PrivacyLedger,
    config_context,
)
from skprivate.evaluation import private_describe, private_evaluate
from skprivate.linear_model import MomentAccumulator
from skprivate.preprocessing import BoundsAccumulator, estimate_bounds
from skprivate.rounds import TableSource, fit_rounds
from tests.catalogue import DOMAIN, INSTANCES, arguments

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

NAMES = [name for name, case in INSTANCES.items() if "relation" in case.estimator.get_params(deep=False)]
NUMBERS = {"bounds": (-1, 1), "classes": [0, 1]}
ADD_REMOVE = {"relation": "add-remove"}


def first_rows(given: dict[str, Any], n: int) -> dict[str, Any]:
    """Return the public rows, and of the private ones the first n."""
    public = given.get("is_public", np.zeros(len(given["X"]), dtype=bool))
    kept = public | (np.cumsum(~public) <= n)
    return {name: value[kept] for name, value in given.items()}


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_that_knows_the_relation(tmp_path, name, n):
    case = INSTANCES[name]
    ledger = PrivacyLedger(tmp_path / "few.ledger")
    model = clone(case.estimator).set_params(relation="add-remove", ledger=ledger)
    given = arguments(case)
    with config_context(strict=True):
        few = clone(model).fit(**first_rows(given, n)).privacy_spent_
        many = clone(model).fit(**given).privacy_spent_
    assert few.relation == "add-remove"
    charged = [entry.epsilon for entry in ledger.entries()]
    assert charged[0] == charged[1] == few.epsilon == many.epsilon
    assert few.to_dict()["unprotected"] == many.to_dict()["unprotected"]
    assert ledger.n_failures == 0


@pytest.mark.parametrize("name", ["boosting", "logit", "normal", "aft, censored"])
def test_otherwise_it_is_an_error_that_is_counted(tmp_path, name):
    case = INSTANCES[name]
    ledger = PrivacyLedger(tmp_path / "none.ledger")
    rows = first_rows(arguments(case), 0)
    # The number of rows is public, or scikit-learn's checks demand an error.
    for strict, relation in ((True, "replace-one"), (False, "replace-one"), (False, "add-remove")):
        model = clone(case.estimator).set_params(relation=relation, ledger=ledger)
        with config_context(strict=strict), pytest.raises(ValueError, match="0 sample"):
            model.fit(**rows)
    assert ledger.n_failures == 3
    assert not list(ledger.entries())


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize(
    "model",
    [
        DPBoostingClassifier(1.5, **NUMBERS, **ADD_REMOVE),
        DPBoostingClassifier(1.5, domain=DOMAIN, classes=[0, 1], **ADD_REMOVE),
        DPLogisticRegression(1.5, **NUMBERS, **ADD_REMOVE),
        DPLogLocationScaleRegressor(1.5, bounds_X=(-1, 1), bounds_y=(1, 2), max_iter=2, **ADD_REMOVE),
    ],
    ids=["boosting", "domain", "logit", "life"],
)
def test_sources(model, n):
    frame = pd.DataFrame({"a": np.zeros(n), "b": np.zeros(n), "y": np.ones(n), "who": np.arange(n)})
    columns = {"features": ["a", "b"], "target": "y"}
    with config_context(strict=True):
        for tables in (frame, [frame, frame[:0]]):
            assert fit_rounds(clone(model), TableSource(tables, **columns)).privacy_spent_.private
        fit_rounds(clone(model), TableSource(frame, groups="who", groups_within_tables=True, **columns))
        # Whether a declared number of rows is right may hang on one of them.
        fit_rounds(clone(model), TableSource(frame, n_rows=1, **columns))


def test_a_source_without_rows_is_an_error_where_their_number_is_public():
    source = TableSource(pd.DataFrame({"a": [], "y": []}, dtype=float), target="y")
    model = DPLogisticRegression(1.5, **NUMBERS)
    with pytest.raises(ValueError, match="the source has no rows"):
        fit_rounds(model, source)
    with config_context(strict=True), pytest.raises(ValueError, match="the source has no rows"):
        fit_rounds(model, source)


@pytest.mark.parametrize("n", [0, 1])
def test_accumulators_and_functions(n):
    X, y = np.zeros((n, 2)), np.ones(n)
    frame = pd.DataFrame(X, columns=["a", "b"])
    life = DPLogLocationScaleRegressor(1.5, bounds_X=(-1, 1), bounds_y=(1, 2), **ADD_REMOVE)
    model = DPBoostingClassifier(1.5, **NUMBERS).fit(np.zeros((8, 2)), np.arange(8) % 2)
    with config_context(strict=True):
        BoundsAccumulator(2).update(X).release(1.0, **ADD_REMOVE)
        MomentAccumulator((-1, 1), (1, 2), max_rows=9).update(X, y).release(life)
        for rows in (X, X[:, 0], TableSource(frame)):
            assert estimate_bounds(rows, 1.0, **ADD_REMOVE)[1] is not None
        private_describe(X, DOMAIN, epsilon=1.0, **ADD_REMOVE)
        private_evaluate(model, X, y.astype(int), epsilon=1.0, **ADD_REMOVE)
