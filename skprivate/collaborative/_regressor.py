# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative regression with any local models, query perturber and aggregator."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, is_classifier
from sklearn.utils.validation import column_or_1d

from .._typing import FloatArray
from ..base import redact_errors
from ..utils._public_module import name_constructor, public_module
from ..utils._table_validation import check_array
from ._base import check_target_given
from ._configurable_platform import ConfigurablePlatform
from ._message_platform import MessagePlatform


class RegressionPlatform(RegressorMixin, MessagePlatform):
    """A platform that predicts one number per query."""

    def _check_components(self) -> None:
        super()._check_components()
        if any(is_classifier(template) for template in self._templates()):
            raise TypeError("estimator must be a regressor: a classifier's answers are no numbers.")

    def _check_target(self, y: Any) -> FloatArray:
        check_target_given(self, y)
        y = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=True, input_name="y")
        return np.asarray(column_or_1d(y, warn=True), dtype=np.float64)

    @redact_errors
    def predict(self, X: Any) -> FloatArray:
        """Predict: perturb the queries, ask every site, synthesise the answers.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            As the asker has them.

        Returns
        -------
        predictions : ndarray of shape (n_queries,)
            Those of a batch are those of its rows.

        Raises
        ------
        SiteError
            A site failed, with ``on_site_error="raise"``, or none answered.
        """
        return self._decide(self._synthesise(self._ask_sites(self._queries(X))))

    def _decide(self, synthesis: FloatArray) -> FloatArray:
        return synthesis[:, 0]


@public_module("skprivate.collaborative")
@name_constructor
class CollaborativeRegressor(RegressionPlatform, ConfigurablePlatform):
    """Predict together: every site keeps its rows and its own model, the asker's query leaves coarsened.

    A query is perturbed, answered by every site with its own model, and the answers are synthesised by an
    aggregator that swaps them, or never opens one.

    Parameters
    ----------
    estimator : regressor or dict, default=None
        The local model, cloned for every site; or ``{site: regressor}``, each of its own kind. Any
        scikit-learn regressor; an already fitted one inside scikit-learn's ``FrozenEstimator``. None: a
        `LocalAverageRegressor`. Where a parameter ``refine_to`` is None it becomes the number of all rows,
        and where a ``random_state`` is None it is drawn from `random_state`, if that is set.
    query_perturber : transformer, default=None
        Applied to queries, never to training rows; `TQMATransformer`, say. None: queries leave as they are.
    aggregator : regressor, default=None
        Takes answers of shape (n_queries, n_sites). None: ``BSTDAggregator()``. Where its ``party_sizes`` are
        None they become the sites' numbers of rows.
    n_jobs : int, default=None
        Sites fitted at once (joblib), and asked at once, in threads.
    on_site_error : {"raise", "drop"}, default="raise"
        What happens when a site's model fails: a `SiteError` that names the site, or a `SiteWarning` and a
        synthesis of the others, weighted as if the site did not exist. "drop" has a price: the predictions
        for one query with a site and without it give that site's answer.
    random_state : None, int, RandomState or Generator, default=None
        Seed of local models and aggregator where they have none. With a seed the swap of answers can be
        undone by who knows it: for simulations.

    Attributes
    ----------
    sites_ : list
        Names of the sites, sorted.
    estimators_ : dict
        ``{site: fitted model}``. Stays where the rows are.
    site_sizes_ : ndarray of shape (n_sites,)
        Rows per site.
    query_perturber_, aggregator_ : estimators
        Fitted; the perturber is None if there is none.
    disclosure_risk_ : tuple of DisclosureRisk
        What perturber and aggregator protect against, and what not.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    See Also
    --------
    CollaborativeLARRegressor : The same with the paper's parts, as one estimator with a depth.
    CollaborativeSite : A site elsewhere, which answers messages.
    SecureSumAggregator : Opens no answer at all; recommended where answers need not be shown.
    ConsentBox : Opens answers only if every party consents.

    Notes
    -----
    **Privacy.** This is not differential privacy, there is no epsilon: ``disclosure_risk_`` states one attack
    and one bound per part. Never publish this object: it holds the models of all sites, and local averages
    hold rows. Protected, as far as is stated there, are the asker's quasi-identifiers against linkage, and a
    site's answers against who would copy its model. Not protected: the synthesis itself (membership in the
    training rows can be inferred from predictions), the sites' sizes, features that are not perturbed, and
    anything against a party that runs all of this in one process.

    ``fit`` on the rows of all sites is a simulation. In production each site fits at home and
    `from_sites`, `ask` and `combine` carry queries and answers as bytes.

    References
    ----------
    Lin, Liu, Wang, Striking the Perfect Balance: Preserving Privacy While Boosting Utility in Collaborative
    Medical Prediction Platforms.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from skprivate import CollaborativeRegressor, TQMATransformer
    >>> from skprivate.datasets import make_parties
    >>> X, y, _ = make_parties(3000, 12, random_state=0)
    >>> sites = [row % 12 for row in range(3000)]
    >>> platform = CollaborativeRegressor(KNeighborsRegressor(10), TQMATransformer(bounds=(0, 1)))
    >>> platform.fit(X, y, sites=sites).predict(X[:2]).shape
    (2,)
    """
