# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of every estimator have the same bits for a row alone and in tables of many sizes."""

import inspect

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skprivate import PrivateNashSolver
from skprivate.metrics._model_outputs import is_same_in_any_table
from tests.catalogue import INSTANCES, ONE_OF_EACH, arguments, public_estimators
from tests.marks import slow

N = 300
#: In `make test`, and of instances whose class another one tries in all sizes.
FEW_SIZES = (2, 3, 5, 17, 64, 65)
#: Every remainder of blocks of up to 64 rows, a block of 128 with rows beyond it, and one of 256.
ALL_SIZES = (*range(1, 131), N)
#: The last rows are compared.
ALONE = 130
#: Not functions of one table of rows, or functions of others that are.
OTHERS = {"fit", "fit_predict", "fit_reports", "fit_transform", "score", "ask", "observe", "b_lives"}
OTHERS |= {"inverse_transform", "read_numbers"}
GIVEN = {"q": [0.1], "times": [0.5], "return_interval": True, "return_array": True}
NAMES = [name for name, instance in INSTANCES.items() if instance.target != "game"]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::skprivate.exceptions.{name}Warning")
    for name in ("Utility", "Disclosure", "PrivacyLeak")
]
pytestmark.append(pytest.mark.filterwarnings("ignore:X does not have valid feature names"))


def functions_of_rows(model, X):
    """Return the methods that take a table of rows, with what else they take."""
    found = {}
    for name in sorted(set(dir(model)) - OTHERS):
        method = None if name.startswith("_") else getattr(model, name, None)
        if not inspect.isroutine(method) or not (parameters := [*inspect.signature(method).parameters]):
            continue
        if parameters[0] in ("X", "X_use"):
            beside = {key: GIVEN[key] for key in parameters if key in GIVEN}
            if "X_stress" in parameters:
                beside["X_stress"] = X[:1]
            found[name] = lambda rows, method=method, beside=beside: method(rows, **beside)
    if hasattr(model, "inverse_transform"):
        found["inverse_transform"] = lambda rows: model.inverse_transform(model.transform(rows))
    return found


def bits(answer):
    """Return the bits of what every row gets."""
    if isinstance(answer, tuple):
        return [b"".join(parts) for parts in zip(*map(bits, answer), strict=True)]
    table = answer.toarray() if issparse(answer) else np.asarray(answer)
    return [str(row).encode() if table.dtype.hasobject else row.tobytes() for row in table]


def fitted(name):
    """Fit to as many columns as there may be: more than a loop that is unrolled takes at once.

    A tree stands for models of others with linear algebra: those are asked about one row at a time.
    """
    instance = INSTANCES[name]
    given = instance.estimator.get_params()
    two = any(given.get(key) is not None for key in ("domain", "monotonic_cst"))
    changes = {key: 0 for key in given if key.endswith("random_state")}
    trees = {LinearRegression: DecisionTreeRegressor, LogisticRegression: DecisionTreeClassifier}
    changes |= {key: trees[type(value)](max_depth=3) for key, value in given.items() if type(value) in trees}
    rows = arguments(instance, N, 2 if two or "estimated" in name else 9)
    return clone(instance.estimator).set_params(**changes).fit(**rows), rows["X"]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        *((name, FEW_SIZES) for name in NAMES if name in ONE_OF_EACH),
        *(slow(name, ALL_SIZES if name in ONE_OF_EACH else FEW_SIZES) for name in NAMES),
    ],
)
def test_predictions_of_a_row_are_the_same_in_any_table(name, sizes):
    model, X = fitted(name)
    assert is_same_in_any_table(model)
    for method, ask in functions_of_rows(model, X).items():
        last = min(max(sizes), ALONE)
        alone = [one for row in range(N - last, N) for one in bits(ask(X[row : row + 1]))]
        for size in sizes:
            table = X[-size:] if size % 2 else np.asfortranarray(X[-size:])
            assert bits(ask(table))[-last:] == alone[-size:], (method, size)


def test_no_class_is_left_out():
    tried = {type(INSTANCES[name].estimator) for name in NAMES}
    assert public_estimators() - tried == {PrivateNashSolver}
    assert {"predict", "predict_proba", "apply"} <= functions_of_rows(*fitted("central")).keys()
    assert {"predict_quantile", "acceleration_factor"} <= functions_of_rows(*fitted("aft")).keys()
