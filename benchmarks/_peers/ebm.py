# SPDX-License-Identifier: BSD-3-Clause
"""Differentially private boosted additive models of interpret-core (DP-EBM): trusted curator, with delta."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

FloatArray = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class _DPEBM(BaseEstimator):
    """A model of interpret-core with its own defaults, but for delta and for what is publicly known.

    It sees all rows, public ones as well. ``categories`` lists the groups of one-hot columns: it gets each
    group as one nominal feature, the form that it is made for; levels cannot be declared to it. ``bounds``
    are those of all columns; None: those of the public rows. ``target_range`` are those of a numeric target.
    Importing interpret-core is left to `fit`; `available` tells whether that works.
    """

    epsilon: float
    delta: float = 1e-6
    categories: tuple[tuple[int, ...], ...] = ()
    bounds: Any = None
    target_range: tuple[float, float] | None = None
    random_state: int | None = 0

    @staticmethod
    def available() -> bool:
        return find_spec("interpret") is not None

    def _made(self, **options: Any) -> Any:
        raise NotImplementedError

    def fit(self, X: FloatArray, y: NDArray[Any], is_public: NDArray[np.bool_]) -> Self:
        rows = self._features(X)
        lower, upper = self.bounds or (X[is_public].min(axis=0), X[is_public].max(axis=0))
        lower, upper = (np.delete(bound, self._coded()) for bound in (lower, upper))
        n_numbers = rows.shape[1] - len(self.categories)
        kinds = ["continuous"] * n_numbers + ["nominal"] * len(self.categories)
        bounds = {i: (lower[i], upper[i]) for i in range(n_numbers)}
        known = {"feature_types": kinds, "privacy_bounds": bounds}
        budget = {"epsilon": self.epsilon, "delta": self.delta}
        self.estimator_ = self._made(**known, **budget, n_jobs=1, random_state=self.random_state).fit(rows, y)
        return self

    def _features(self, X: FloatArray) -> FloatArray:
        """Return the plain columns, then one column of codes for every group."""
        plain = np.delete(X, self._coded(), axis=1)
        codes = [X[:, list(group)].argmax(axis=1) for group in self.categories]
        return np.column_stack([plain, *codes])

    def _coded(self) -> list[int]:
        return [i for group in self.categories for i in group]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        return self.estimator_.predict(self._features(np.asarray(X)))


class DPEBM(ClassifierMixin, _DPEBM):
    """`DPExplainableBoostingClassifier`: two labels only."""

    def _made(self, **options: Any) -> Any:
        from interpret.privacy import DPExplainableBoostingClassifier

        return DPExplainableBoostingClassifier(**options)

    @property
    def classes_(self) -> NDArray[Any]:
        return self.estimator_.classes_

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        return self.estimator_.predict_proba(self._features(np.asarray(X)))


class DPEBMRegressor(RegressorMixin, _DPEBM):
    """`DPExplainableBoostingRegressor`."""

    def _made(self, **options: Any) -> Any:
        from interpret.privacy import DPExplainableBoostingRegressor

        low, high = self.target_range or (None, None)
        return DPExplainableBoostingRegressor(privacy_target_min=low, privacy_target_max=high, **options)
