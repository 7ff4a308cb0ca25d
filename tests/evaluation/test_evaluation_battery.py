# SPDX-License-Identifier: BSD-3-Clause
"""The battery attacks the functions of the room, each as the `fit` of an estimator."""

import dataclasses

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skprivate.audit import check_private_estimator
from skprivate.base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, private_fit
from skprivate.domain import TableDomain
from skprivate.evaluation import private_describe, private_evaluate
from skprivate.evaluation._counts import COUNT_CONSTRAINTS
from tests.catalogue import OF_EVERY_INSTANCE

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("brief_searches")]

SHARED = {
    name: SHARED_CONSTRAINTS[name] for name in ("epsilon", "random_state", "ledger", "max_rows_per_group")
}


class _Once(PrivateEstimatorMixin, ClassifierMixin, BaseEstimator):
    """An estimator whose fit is one call of a function; it predicts the class that released counts prefer."""

    _parameter_constraints = {
        **SHARED,
        **{name: COUNT_CONSTRAINTS[name] for name in ("delta", "mechanism", "relation")},
        "classes": ["array-like"],
    }

    def __init__(
        self,
        epsilon=1.5,
        *,
        delta=0,
        mechanism="laplace",
        relation="replace-one",
        classes=(0, 1),
        max_rows_per_group=1,
        random_state=None,
        ledger=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.relation = relation
        self.classes = classes
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    def predict(self, X):
        check_is_fitted(self)
        return np.full(len(X), self.classes_[0])

    @property
    def options(self):
        names = ("epsilon", "delta", "mechanism", "relation", "max_rows_per_group", "random_state", "ledger")
        return {name: getattr(self, name) for name in names}


# Rows that are public: no check's table is so small that a function refuses it.
BESIDE = np.random.default_rng(0).uniform(-1, 1, size=(200, 1))


class _Beside(_Once):
    """Passes the rows of X to a function, and the public ones beside them."""

    @private_fit
    def fit(self, X, y=None, groups=None):
        X, rest = np.asarray(X), np.tile(BESIDE, np.shape(X)[1])
        labels = np.concatenate([np.zeros(len(X)) if y is None else np.asarray(y), rest[:, 0] > 0])
        if groups is not None:
            groups = [*map(str, groups), *(f"public {k}" for k in range(len(rest)))]
        self.told_ = self.call(np.concatenate([X, rest]), labels, groups)
        spent = self.told_.privacy_spent
        counted = {} if "n_rows" not in spent.unprotected else {"n_rows": len(X)}
        self.privacy_spent_ = dataclasses.replace(spent, unprotected=counted)
        self.classes_, self.n_features_in_ = np.asarray(self.classes), X.shape[1]
        return self


class DescribeOnce(_Beside):
    """Describes the columns of X, as numbers."""

    def call(self, X, y, groups):
        domain = TableDomain({f"x{k}": (-1, 1) for k in range(X.shape[1])})
        pairs = [("x0", "x1")]
        return private_describe(X, domain, groups=groups, n_bins=4, crosstabs=pairs, **self.options)


class DescribeSignsOnce(_Beside):
    """Describes the signs of the columns of X.

    Numbers are rounded at random, row by row. The checks replay what was drawn in its order, which is that
    of other rows where one has gone; signs are not rounded.
    """

    def call(self, X, y, groups):
        domain = TableDomain({f"x{k}": bool for k in range(X.shape[1])})
        return private_describe(X > 0, domain, groups=groups, **self.options)


class Public(ClassifierMixin, BaseEstimator):
    """A public model: nothing is learnt from any row."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


class PublicScores(Public):
    def predict_proba(self, X):
        high = expit(3 * X[:, 0])
        return np.stack([1 - high, high], axis=1)


class EvaluateOnce(_Beside):
    """Evaluates scores."""

    model = PublicScores()

    def call(self, X, y, groups):
        return private_evaluate(
            self.model, X, y, groups=groups, groups_of_interest=(X[:, 1] > 0, [True]), **self.options
        )


class EvaluateLabelsOnce(EvaluateOnce):
    """Evaluates labels, which are not rounded at random."""

    model = Public()


CASES = {
    "describe": DescribeOnce(),
    "describe-gaussian": DescribeOnce(mechanism="gaussian", delta=1e-6),
    "evaluate": EvaluateOnce(),
    "evaluate-add-remove": EvaluateLabelsOnce(relation="add-remove"),
    "describe-add-remove": DescribeSignsOnce(relation="add-remove"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_battery(name):
    # Of other mechanisms and relations what the two plain cases do not have: what they release.
    only = None if name in ("describe", "evaluate") else OF_EVERY_INSTANCE
    results = check_private_estimator(CASES[name], only=only, on_fail=None)
    failed = [
        f"{result['check_name']}: {result['reason']}" for result in results if result["status"] == "failed"
    ]
    assert not failed, "\n".join(failed)
    assert sum(result["status"] == "passed" for result in results) > len(results) // 2
