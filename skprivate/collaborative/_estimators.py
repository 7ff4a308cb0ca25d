# SPDX-License-Identifier: BSD-3-Clause
"""The public platforms: regression with any models, the published one, and classification."""

from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import check_classification_targets

from .._typing import ActiveRule, AveragingKernel, FloatArray, OnSiteError, RandomSource, SwapOrder
from ..base import assign_roles, redact_errors
from ..base._mixin import PrivacyHTMLMixin
from ..base._public_facts import score_labels
from ..domain._labels import plain_labels
from ..metrics._probabilities import row_totals
from ..preprocessing import TQMATransformer
from ..utils._private_fit import assign
from ..utils._public_module import name_constructor, public_module
from ._aggregators import BSTDAggregator
from ._local_average.regressor import LocalAverageRegressor
from ._platform import Platform, check_target


@public_module("skprivate.collaborative")
@name_constructor
class CollaborativeRegressor(RegressorMixin, Platform):
    """Predict together: every site keeps its rows and its own model, the asker's query leaves coarsened.

    A query is perturbed, and every site answers it with its own model. An aggregator combines the answers: it
    swaps them, or never opens one.

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


@public_module("skprivate.collaborative")
class CollaborativeLARRegressor(RegressorMixin, Platform):
    """Collaborative local average regression: TQMA for the queries, BSTD for the answers (TB-PPCMPP).

    Parameters
    ----------
    depth : int, array-like or dict, default=4
        Depth of the query's coarsening: each quasi-identifier has ``2 ** depth`` cells.
    p_lower, p_upper : int, default=2, 8
        Least and greatest distance in rank of two answers that are swapped.
    kernel : {"gaussian", "laplace", "epanechnikov", "partition", "knn"}, default="gaussian"
        Weights of the local averages.
    bandwidth : float or "cv", default="cv"
        Of the local averages, as a share of the bounds' widths, before it is refined to all rows' number.
    n_neighbors : int or "cv", default="cv"
        Of the kernel "knn".
    bounds : pair or dict, default=None
        Public range of every column: ``(lower, upper)``, scalars or arrays, or ``{column: (lower, upper)}``.
        None reads the ranges of the quasi-identifiers from the rows of all sites, which is announced as a
        leak. Each site scales by the ranges of its own rows, which stay there.
    quasi_identifiers : column names, positions or callable, default=None
        Columns that are perturbed. None: every column.
    order : {"fewest", "random", "top"}, default="fewest"
        Order of the swaps, as in `BSTDAggregator`.
    active_rule : {"support", "box", "receiver"} or None, default="support"
        Which answers count, as in `BSTDAggregator`. The paper's rule is "box": an answer below 1 / n is not
        counted. A target in a unit in which it is small is then predicted as 0.
    n_jobs, on_site_error, random_state
        As in `CollaborativeRegressor`.

    Attributes
    ----------
    sites_, estimators_, site_sizes_, query_perturber_, aggregator_, disclosure_risk_
        As in `CollaborativeRegressor`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    See Also
    --------
    CollaborativeRegressor : The same with any parts.

    Notes
    -----
    **Privacy.** As in `CollaborativeRegressor`: not differential privacy, and this object is not to be
    published. Greater depth gives predictions that are closer to those of unperturbed queries, and queries
    that are easier to link. A prediction does not depend on the swap (except with
    ``active_rule="receiver"``, the rule as printed).

    References
    ----------
    Lin, Liu, Wang, Striking the Perfect Balance: Preserving Privacy While Boosting Utility in Collaborative
    Medical Prediction Platforms, algorithm 3.

    Examples
    --------
    >>> from skprivate import CollaborativeLARRegressor
    >>> from skprivate.datasets import make_parties
    >>> X, y, _ = make_parties(3000, 12, random_state=0)
    >>> sites = [row % 12 for row in range(3000)]
    >>> platform = CollaborativeLARRegressor(depth=4, bounds=(0, 1)).fit(X, y, sites=sites)
    >>> X_new, f, _ = make_parties(200, 1, noise=0, random_state=1)
    >>> platform.score(X_new, f) > 0.9
    True
    """

    declared_roles = assign_roles(
        release="depth p_lower p_upper kernel bandwidth n_neighbors bounds quasi_identifiers order "
        "active_rule on_site_error random_state",
        computing="n_jobs",
    )

    _parameter_constraints = {
        **Platform._shared_constraints,
        **{
            name: part._parameter_constraints[name]
            for part, names in (
                (LocalAverageRegressor, ("kernel", "bandwidth", "n_neighbors")),
                (TQMATransformer, ("depth", "bounds", "quasi_identifiers")),
                (BSTDAggregator, ("p_lower", "p_upper", "order", "active_rule")),
            )
            for name in names
        },
    }

    def __init__(
        self,
        depth: Any = 4,
        p_lower: int = 2,
        p_upper: int = 8,
        *,
        kernel: AveragingKernel = "gaussian",
        bandwidth: float | Literal["cv"] = "cv",
        n_neighbors: int | Literal["cv"] = "cv",
        bounds: Any = None,
        quasi_identifiers: Any = None,
        order: SwapOrder = "fewest",
        active_rule: ActiveRule | None = "support",
        n_jobs: int | None = None,
        on_site_error: OnSiteError = "raise",
        random_state: RandomSource = None,
    ) -> None:
        self.depth = depth
        self.p_lower = p_lower
        self.p_upper = p_upper
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.bounds = bounds
        self.quasi_identifiers = quasi_identifiers
        self.order = order
        self.active_rule = active_rule
        self.n_jobs = n_jobs
        self.on_site_error = on_site_error
        self.random_state = random_state

    def _template(self, site: Any) -> LocalAverageRegressor:
        return LocalAverageRegressor(
            self.kernel, bandwidth=self.bandwidth, n_neighbors=self.n_neighbors, bounds=self.bounds
        )

    def _templates(self) -> Iterable[Any]:
        return [LocalAverageRegressor()]

    def _check_components(self) -> None:
        """The parts are made here."""

    def _make_perturber(self) -> TQMATransformer:
        perturber = TQMATransformer(self.depth, self.bounds, self.quasi_identifiers)
        if self.is_strict():
            # Strict mode travels with a pickle of this object; the part is made only now.
            perturber._pickled_strict = True
        return perturber

    def _make_aggregator(self) -> BSTDAggregator:
        return BSTDAggregator(self.p_lower, self.p_upper, order=self.order, active_rule=self.active_rule)


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
class CollaborativeClassifier(ClassifierMixin, Platform):
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
    published. The answers to each class are swapped separately. A site's probabilities add up to one: with
    two classes these are two swaps of the same answers. With a `BSTDAggregator` an operator sees the multiset
    of the answers to each class; answers that are rare (a site that never saw a class answers 0) may name
    their owner.

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
    score = score_labels

    def _default_model(self) -> LocalAverageClassifier:
        return LocalAverageClassifier()

    def _check_target(self, y: Any) -> NDArray[Any]:
        y = plain_labels(check_target(self, y))
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
