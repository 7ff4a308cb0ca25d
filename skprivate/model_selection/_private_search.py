# SPDX-License-Identifier: BSD-3-Clause
"""Private grid search and private randomised search, which release the best candidate only."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from .._typing import RandomSource
from ..accounting import PrivacyLedger
from ..base import assign_roles
from ..noise._mechanisms import Entropy
from ..utils._compat import Interval
from ..utils._public_module import public_module
from ._base_search import SEARCH_CONSTRAINTS, BasePrivateSearch
from ._candidates import Parameters
from ._scoring import Scoring


@public_module("skprivate.model_selection")
class PrivateGridSearch(BasePrivateSearch):
    """Grid search with an end-to-end guarantee: (2 + eta) times the epsilon of one candidate.

    A random number of runs is made, each of a candidate drawn at random; each fits the candidate on the
    training rows and scores it, and only the best run is released. The price does not depend on the number of
    candidates: 3 epsilon for candidates of epsilon, where a plain search of 20 candidates in 5 folds spends
    101 times epsilon and leaves its scores unprotected besides. The scores come from a hold-out (there is no
    cross-validation), or from public rows.

    Parameters
    ----------
    estimator : estimator
        A private estimator whose cost is known in advance, or a pipeline with such steps.
    param_grid : dict or list of dict
        Values to try, by parameter, as in scikit-learn's GridSearchCV.
    eta : float or Fraction, default=1
        Shape of the distribution of the number of runs, from 0 to 100. The search costs ``2 + eta`` times its
        dearest candidate. 1: geometric. 0: logarithmic, cheaper, and often of few runs.
    validation_fraction : float, default=0.2
        Share of the private rows (of the persons, with ``groups``) on which candidates are scored, not
        trained; above 0 and below 1. Without effect where ``is_public_validation`` is passed.
    scoring : str, callable or None, default=None
        The higher the better. "balanced_accuracy", "roc_auc" (of two classes) and "neg_log_loss" (in nats)
        are scikit-learn's on public validation rows; on held-out rows they come from noisy numbers, as the
        notes say. By them a rare class counts. "accuracy", "absolute_error", "squared_error" and callables
        score every row between 0 and 1, and the mean is taken. The errors are in units of the width of the
        estimator's ``bounds_y``, cut off at 1 and taken from 1. A callable gets (estimator, X, y) and returns
        one score per row; private rows come one at a time, in tables of one row, and nothing must be kept
        from one call to the next. What is outside 0 and 1 is clipped silently, NaN counts as 0. None:
        "accuracy" for classifiers, "absolute_error" for regressors.
    score_epsilon : float, Fraction or None, default=None
        Greatest privacy loss of the score of one run, > 0 and finite. It is not added to that of the fit,
        but one above it makes the search dearer. None: the dearest candidate's epsilon.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the search reproducible, its fits
        included, and not private.
    ledger : PrivacyLedger, default=None
        Charged once, before the number of runs is drawn. None: the one that the estimator has; its fits
        charge nothing either way.
    n_jobs : int or None, default=None
        Runs made at once, by joblib.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted on the training rows; its private steps state the cost of the search.
    best_params_ : dict
        Its entry of the grid.
    best_score_ : float
        Its score: noisy, and therefore not always within the range of the score; exact on public validation
        rows.
    privacy_spent_ : PrivacySpent
        What the whole search spent, on what unit, and what is claimed.
    classes_ : ndarray of shape (n_classes,)
        Classifiers only.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.

    Raises
    ------
    PrivateSearchError
        In ``fit``, where a run failed. Nothing is released, and the charge stays.

    See Also
    --------
    PrivateRandomizedSearch : The same over entries that are drawn from distributions.
    skprivate.base.parameter_roles : Which parameters cost a fit, and which are free.
    skprivate.PrivacyLedger : Adds up what searches spend.

    Notes
    -----
    **Privacy.** Relation: replace-one for a trusted curator, whatever the candidates' own ("label", if a
    candidate protects labels only); the unit is the row, with ``groups`` the person. Released are the best
    run's model, parameters and score. Neither the others nor their number are kept, shown or logged, but
    whoever can time ``fit`` learns about their number. Not protected: the number of rows or groups, public
    rows, and the grid.

    Proof: :doc:`/proofs/private_search`, :doc:`/proofs/rows`.

    A run is private with the larger epsilon of its fit and its score: which units are held out is random and
    looks at no row, and given that, a replaced unit is either in training, where the fit hides it and the
    score is computed from the fit and other rows, or it is held out, where the fit never sees it and the
    noise of the score hides it. Against a replaced row a local report costs its own epsilon, an add-remove
    release twice its own. The best of a truncated negative binomial number of such runs is then
    (2 + eta) epsilon private (Papernot and Steinke; a proof stands in
    ``skprivate.model_selection._number_of_runs``), the score included. Where fits have a delta, it is
    multiplied by the expected number of runs, five per candidate. A single candidate is run once, and costs
    one epsilon.

    Whatever the scoring, the score of a run is computed from one release of that epsilon. For scores per row
    it is the noisy sum of the units' scores, which a replaced unit moves by 1 at most; so for "neg_log_loss",
    where a row's loss is divided by a bound and cut off there. For the others it is a table in which a unit
    has the mass 1 (with ``groups``, shared among its rows), so that a replaced unit moves it by 2 in L1:
    classes by right and wrong for "balanced_accuracy", classes by public intervals of the probability for
    "roc_auc". The numbers of rows, of classes and of intervals are public, and the bound is a function of
    them. Classes are those that a candidate declares or takes from public rows; one that reads them from
    private rows makes the claim "not-private".

    With ``is_public_validation`` scores touch no private row, and entries that differ in parameters of role
    "post-processing" only are one candidate: it is fitted once, and the best of them is taken on the public
    rows. With a hold-out every entry is a candidate of its own.

    A failed run is told, with the type of its error and with the message where it is one of ours: that is not
    covered, as for any fit. In strict mode no value of a row makes a step of ours fail, and a row on which a
    scorer fails counts as 0 (for "balanced_accuracy" as wrong, for "roc_auc" as one of equal probabilities).
    Scorers get copies of the model and of the rows.
    A seeded search or candidate, a candidate that reads bounds or classes from private rows, and a step that
    learns from rows without paying make the claim "not-private". Choose the values of a grid from public
    knowledge. A grid over epsilon costs (2 + eta) times the largest: it is for planning on public or
    simulated rows.

    *Noise of the scores.* Let n units be held out, and s = 8^(1/2) / epsilon. A mean of scores between 0 and
    1 has noise of standard deviation s / (2 n). The log loss has that times its bound L, where
    L exp(L + 1) = (K - 1) epsilon n / 2^(1/2) for K classes, and L is log(2 K) at least: cutting off then
    makes no more bias than there is noise, where probabilities are right. With N_k rows of class k and
    recalls r_k, the balanced accuracy has a noise of about s / K times the root of the sum over k of
    (r_k^2 + (1 - r_k)^2) / N_k^2. A recall is drawn towards the accuracy of all rows where N_k is no larger
    than the noise, and an AUC towards 1/2 where its noise is as large as the number of pairs. The AUC counts
    two rows in one interval as a tie; there are about (n / s)^0.4 intervals, narrower near 0 and 1.

    A search is for what an estimator does not choose by itself. What the trees' "auto" takes from their own
    release costs nothing, and beat a search of the same total (``python -m benchmarks private_search``).
    Public rows that follow another rule than the private ones mislead as ``is_public_validation``.

    References
    ----------
    Papernot, Steinke, Hyperparameter tuning with Renyi differential privacy, 2022.

    Liu, Talwar, Private selection from private candidates, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.model_selection import PrivateGridSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(5000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> tree = DPTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], rule="random")
    >>> search = PrivateGridSearch(tree, {"max_depth": [1, 4], "prune": [False, True]}).fit(X, y)
    >>> search.privacy_spent_.epsilon, search.privacy_spent_.private
    (Fraction(3, 1), True)
    >>> sorted(search.best_params_)
    ['max_depth', 'prune']
    """

    _space = "param_grid"
    _parameter_constraints: dict[str, list[Any]] = {**SEARCH_CONSTRAINTS, "param_grid": [dict, list]}

    declared_roles: Mapping[str, str] = {
        **BasePrivateSearch.declared_roles,
        **assign_roles(release="param_grid"),
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        eta: float | Fraction = 1,
        validation_fraction: float = 0.2,
        scoring: Scoring | Callable[..., Any] | None = None,
        score_epsilon: float | Fraction | None = None,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.eta = eta
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.score_epsilon = score_epsilon
        self.random_state = random_state
        self.ledger = ledger
        self.n_jobs = n_jobs

    def _entries(self, entropy: Entropy) -> list[Parameters]:
        return list(ParameterGrid(self.param_grid))


@public_module("skprivate.model_selection")
class PrivateRandomizedSearch(BasePrivateSearch):
    """Randomised search with an end-to-end guarantee: (2 + eta) times the epsilon of one candidate.

    A `PrivateGridSearch` whose entries are drawn from distributions, before any row is looked at.

    Parameters
    ----------
    estimator : estimator
        A private estimator whose cost is known in advance, or a pipeline with such steps.
    param_distributions : dict or list of dict
        Lists or distributions (with ``rvs``), by parameter, as in scikit-learn's RandomizedSearchCV.
    n_candidates : int, default=10
        Entries that are drawn; at most as many as there are, where all are lists. It is no number of runs,
        and does not change the price.
    eta, validation_fraction, scoring, score_epsilon, random_state, ledger, n_jobs
        As in `PrivateGridSearch`. A seed determines the entries, too.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted on the training rows; its private steps state the cost of the search.
    best_params_ : dict
        Its entry.
    best_score_ : float
        Its score. The other attributes are those of `PrivateGridSearch`.
    privacy_spent_ : PrivacySpent
        What the whole search spent, on what unit, and what is claimed.

    See Also
    --------
    PrivateGridSearch : The same over a grid, with all that is to be said on privacy.

    Notes
    -----
    **Privacy.** As of `PrivateGridSearch`: the entries are drawn without a look at rows, and everything
    said there holds for any entries. The price is that of the dearest entry drawn.

    Proof: :doc:`/proofs/private_search`, :doc:`/proofs/rows`.

    References
    ----------
    Papernot, Steinke, Hyperparameter tuning with Renyi differential privacy, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import randint
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.model_selection import PrivateRandomizedSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(5000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> tree = DPTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], rule="random")
    >>> search = PrivateRandomizedSearch(tree, {"max_depth": randint(1, 6)}, n_candidates=4).fit(X, y)
    >>> search.privacy_spent_.epsilon, search.privacy_spent_.private
    (Fraction(3, 1), True)
    """

    _space = "param_distributions"
    _parameter_constraints: dict[str, list[Any]] = {
        **SEARCH_CONSTRAINTS,
        "param_distributions": [dict, list],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
    }

    declared_roles: Mapping[str, str] = {
        **BasePrivateSearch.declared_roles,
        **assign_roles(release="param_distributions n_candidates"),
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        n_candidates: int = 10,
        *,
        eta: float | Fraction = 1,
        validation_fraction: float = 0.2,
        scoring: Scoring | Callable[..., Any] | None = None,
        score_epsilon: float | Fraction | None = None,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_candidates = n_candidates
        self.eta = eta
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.score_epsilon = score_epsilon
        self.random_state = random_state
        self.ledger = ledger
        self.n_jobs = n_jobs

    def _entries(self, entropy: Entropy) -> list[Parameters]:
        seed = int.from_bytes(entropy.random_bytes(4))
        n_candidates, distributions = self.n_candidates, self.param_distributions
        tables: list[Any] = distributions if isinstance(distributions, list) else [distributions]
        if not any(hasattr(value, "rvs") for table in tables for value in table.values()):
            n_candidates = min(n_candidates, len(ParameterGrid(tables)))
        return list(ParameterSampler(tables, n_candidates, random_state=np.random.RandomState(seed)))
