# SPDX-License-Identifier: BSD-3-Clause
"""The one registry of private values that planted bugs keep outside of the attributes of an estimator."""

import weakref
from typing import Any

from .honest_regressors import DPMeanRegressor


class HiddenValues:
    """Values of fitted estimators, found by the identity of the statement of what was spent.

    Not by that of the estimator: ``fit`` works on a draft, whose attributes the estimator takes over.
    """

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def __setitem__(self, estimator: Any, value: Any) -> None:
        statement = estimator.privacy_spent_
        self._values[id(statement)] = value
        weakref.finalize(statement, self._values.pop, id(statement), None)

    def __contains__(self, estimator: Any) -> bool:
        return _key(estimator) in self._values

    def __getitem__(self, estimator: Any) -> Any:
        return self._values[_key(estimator)]

    def get(self, estimator: Any, default: Any = None) -> Any:
        """Return the value of an estimator, or the default where it is not fitted."""
        return self._values.get(_key(estimator), default)


def _key(estimator: Any) -> int:
    # Not getattr: a planted __getattr__ asks here.
    return id(vars(estimator).get("privacy_spent_"))


HIDDEN_VALUES = HiddenValues()


class HidesMean(DPMeanRegressor):
    """Keeps the exact mean of the targets in the registry."""

    def _afterwards(self, X, y, exact, released):
        HIDDEN_VALUES[self] = float(y.mean())
