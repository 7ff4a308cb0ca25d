# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative classification: synthesised probabilities of every class."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._typing import FloatArray
from ..base import redact_errors
from ..base._classifier_mixin import PrivateClassifierMixin
from ..base._html_repr import PrivacyHTMLMixin
from ..domain._labels import plain_labels
from ..metrics._row_arithmetic import row_totals
from ..utils._atomic_state import assign
from ..utils._public_module import name_constructor, public_module
from ..utils._table_validation import check_array
from ._base import check_target_given
from ._configurable_platform import ConfigurablePlatform
from ._local_average.regressor import LocalAverageRegressor


@public_module("skprivate.collaborative")
class LocalAverageClassifier(PrivacyHTMLMixin, ClassifierMixin, BaseEstimator):
    """Class probabilities as local averages of the classes' indicators; the default local model."""

    releases_state = False

    def __init__(self, refine_to: int | None = None) -> None:
        self.refine_to = refine_to

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one local average per class, on its indicator."""
        classes = np.unique(y)
        models = [
            LocalAverageRegressor(refine_to=self.refine_to).fit(X, (y == label).astype(np.float64))
            for label in classes
        ]
        assign(self, classes_=classes, models_=models, n_features_in_=models[0].n_features_in_)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the averages, made to sum to one."""
        values = np.column_stack([model.predict(X) for model in self.models_])
        return values / row_totals(values)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@public_module("skprivate.collaborative")
@name_constructor
class CollaborativeClassifier(PrivateClassifierMixin, ConfigurablePlatform):
    """Classify together: every site's class probabilities, synthesised class by class.

    Parameters
    ----------
    estimator : classifier or dict, default=None
        The local model, cloned for every site; or ``{site: classifier}``. It must have ``predict_proba``; an
        already fitted one inside scikit-learn's ``FrozenEstimator``. None: local averages of the classes'
        indicators. A site whose rows are all of one class answers with that class.
    query_perturber : transformer, default=None
        As in `CollaborativeRegressor`.
    aggregator : regressor, default=None
        Takes the probabilities of one class, of shape (n_queries, n_sites). None: ``BSTDAggregator()``; a
        probability of 0 is an answer, so every site counts.
    n_jobs, on_site_error, random_state
        As in `CollaborativeRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of all sites together; text without white space around it.
    sites_, estimators_, site_sizes_, query_perturber_, aggregator_, disclosure_risk_
        As in `CollaborativeRegressor`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    See Also
    --------
    CollaborativeRegressor : The same for numbers.

    Notes
    -----
    **Privacy.** As in `CollaborativeRegressor`: not differential privacy, and this object is not to be
    published. Each class's answers are swapped on their own; a site's probabilities add up to one, so that
    with two classes these are two swaps of the same answers. With a `BSTDAggregator` an operator sees the
    multiset of the answers to each class; answers that are rare (a site that never saw a class answers 0)
    may name their owner.

    References
    ----------
    Lin, Liu, Wang, Striking the Perfect Balance: Preserving Privacy While Boosting Utility in Collaborative
    Medical Prediction Platforms, which names classification as future work.

    Examples
    --------
    >>> from skprivate import CollaborativeClassifier
    >>> from skprivate.datasets import make_parties
    >>> X, y, _ = make_parties(3000, 12, random_state=0)
    >>> sites = [row % 12 for row in range(3000)]
    >>> platform = CollaborativeClassifier().fit(X, y > 0.3, sites=sites)
    >>> platform.predict_proba(X[:2]).sum(axis=1)
    array([1., 1.])
    """

    _answers_by = "predict_proba"

    def _default_model(self) -> LocalAverageClassifier:
        return LocalAverageClassifier()

    def _check_target(self, y: Any) -> NDArray[Any]:
        check_target_given(self, y)
        y = plain_labels(column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True))
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return y

    def _trainable(self, template: Any, y: NDArray[Any]) -> Any:
        one_class = len(np.unique(y)) == 1 and not isinstance(template, FrozenEstimator)
        return DummyClassifier(strategy="prior") if one_class else template

    @redact_errors
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the synthesised probabilities of every class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_queries, n_classes)
            In the order of ``classes_``. All equal where no site supports any class.

        Raises
        ------
        SiteError
            A site failed, with ``on_site_error="raise"``, or none answered.
        """
        return _normalise(self._synthesise(self._ask_sites(self._queries(X))))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every query.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)

        Returns
        -------
        labels : ndarray of shape (n_queries,)
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def _decide(self, synthesis: FloatArray) -> NDArray[Any]:
        return _normalise(synthesis)


def _normalise(synthesis: FloatArray) -> FloatArray:
    """Return rows that sum to one; uniform where there is nothing to normalise."""
    values = np.maximum(synthesis, 0.0)
    total = row_totals(values)
    return np.where(total > 0, values / np.where(total > 0, total, 1.0), 1.0 / values.shape[1])
