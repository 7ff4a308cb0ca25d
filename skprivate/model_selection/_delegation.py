# SPDX-License-Identifier: BSD-3-Clause
"""Methods of a search that call the best estimator."""

from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray

Method = TypeVar("Method", bound=Callable[..., Any])


def _has(method: str) -> Callable[[Any], bool]:
    """Return a check that the estimator, the best one once there is one, has a method."""

    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), method)
        return True

    return check


def _if_best_has(method: str) -> Callable[[Method], Method]:
    """Return a decorator: the method is there if the best estimator has its like."""
    decorate: Callable[[Method], Method] = available_if(_has(method))
    return decorate


class Delegating:
    """Mixin of searches: predictions are those of ``best_estimator_``."""

    best_estimator_: Any

    def _ask_best(self, method: str, *arguments: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, method)(*arguments)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the best estimator; classifiers only."""
        _has("classes_")(self)
        classes: NDArray[Any] = self.best_estimator_.classes_
        return classes

    @_if_best_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        return self._ask_best("predict", X)

    @_if_best_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the best estimator's class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._ask_best("predict_proba", X)

    @_if_best_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the best estimator's logarithms of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
        """
        return self._ask_best("predict_log_proba", X)

    @_if_best_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the best estimator's decision function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._ask_best("decision_function", X)

    @_if_best_has("transform")
    def transform(self, X: Any) -> Any:
        """Transform with the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        transformed : array-like of shape (n_samples, n_outputs)
        """
        return self._ask_best("transform", X)

    @_if_best_has("score")
    def score(self, X: Any, y: Any) -> float:
        """Return the best estimator's own score, an exact function of the rows that are passed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        score : float
        """
        score: float = self._ask_best("score", X, y)
        return score
