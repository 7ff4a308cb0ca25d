# SPDX-License-Identifier: BSD-3-Clause
"""Private boosting of labels: shape functions of every column, from noisy sums of residuals."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from .._typing import CentralMechanism, CentralRelation, FloatArray, RandomSource
from ..accounting import PrivacyLedger
from ..base import PublicShape, redact_errors
from ..base._likely_mistakes import hardly_any_rows
from ..base._public_facts import known_classes, resolve_classes, score_labels
from ..base._public_model import of_encoded_rows
from ..domain import TableDomain
from ..domain._labels import declared_classes, number_labels
from ..metrics._probabilities import log, softmax
from ..rounds._plans.boosting import LIMIT, ClassLoss
from ..rounds._rows import read_labelled_rows
from ..utils._compat import HasMethods
from ..utils._public_module import public_module
from ._estimator import BOOSTING_CONSTRAINTS, BOOSTING_ROLES, BaseDPBoosting
from ._public_scores import PublicScores
from ._release import BoostingRelease, BoostingTask


@public_module("skprivate.ensemble")
class DPBoostingClassifier(ClassifierMixin, BaseDPBoosting):
    """Differentially private boosting of labels, by a trusted curator.

    The model is the sum of one shape function for each column and of small corrections on random cells of
    several columns. All these parts can be drawn. Every step releases noisy sums of residuals, and is shrunk
    by the noise. There is nothing to tune. Bins, passes and shares of the budget follow from the number of
    rows and columns and from the noise.

    Pass ``delta=1e-6`` unless the guarantee must be pure. With ``delta=0``, the default, the epsilons of all
    steps add up. There are then fewer steps, on columns that are chosen with noise, and from epsilon 1 on
    the error is larger on most tables.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Largest privacy loss of the fit, > 0 and finite.
    delta : float or Fraction, default=0.0
        From 0 to below 1. A value above 0, such as 1e-6, gives Gaussian noise, which is much smaller in each
        step (see above). A fit warns if it is not below 1 / n and n is public.
    mechanism : {"auto", "laplace", "gaussian"}, default="auto"
        Kind of the noise. "auto" is Gaussian if delta is above 0. "laplace" with such a delta is an error.
    bounds : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. None: the bounds of the public rows; without public rows, they
        are read from private rows, which is a leak. Values outside are in the end bins.
    domain : TableDomain, default=None
        Public description of the columns of X, including their bounds. The columns may then hold text,
        categories, dates and missing cells. Every level has a cell. Missing values have one if the domain
        keeps them apart (``missing="indicator"``).
    classes : array-like of labels, default=None
        At least two labels from public knowledge, all text or all numbers. They are used in sorted order.
        None: the classes of the public rows; without public rows, they are read from private rows, which is
        a leak. White space around text is ignored, and True equals 1. A private label that is not in
        ``classes`` is counted as the first class, without a warning. A public one raises ``ValueError``. If
        the type of ``y`` is text and the classes are numbers, or the reverse, the fit raises ``TypeError``.
        Inside a meta-estimator that encodes labels, declare 0 to K - 1 (:doc:`/choosing`).
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Which tables are neighbours. With "add-remove", the number of rows is protected, and a part of the
        budget is spent on a noisy one.
    public_model : classifier, default=None
        A classifier with ``fit`` and ``predict_proba``, such as a random forest. It is fitted to the public
        rows alone. Its scores are calibrated by cross-fitting on these rows. Boosting starts from them and
        corrects them. If the model does not predict the public labels better than their base rate, its
        scores are not used. It predicts one private row at a time, and must return the same prediction if it
        gets a row again. With ``domain``, a model that chooses columns by name or encodes levels gets a data
        frame of the declared columns. Such a model is a pipeline with a ``ColumnTransformer``, or a
        ``OneHotEncoder``. Any other model gets the encoded rows.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        1: the probability of the second class does not fall as the column grows; -1: it does not rise; 0: no
        constraint. Or ``{column: sign}`` by name. It needs two classes and columns with an order, and cannot
        be combined with ``public_model``.
    interactions : int or "auto", default="auto"
        Number of steps on random cells of several columns, at most 1000. 0: shape functions of single
        columns only. "auto": as many as suit the number of rows, at most 80. There are none if Laplace noise
        leaves fewer useful steps than columns; every step then chooses its column.
    partition_seed : int, default=0
        Public seed of the random cells. In every second step on them, columns are drawn by how much they add
        to the scores so far.
    max_rows_per_group : int, default=1
        With ``groups``: number of rows of one person that count. They are drawn at random. The noise grows
        in proportion.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the fit reproducible and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        Spent budget, unit of privacy, and claim.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    bounds_ : tuple of two ndarrays
        Lower and upper bounds of X; with ``domain``, those of its encoded columns.
    shape_functions_ : tuple of ShapeFunction
        What every column adds to the scores, with the noise of its steps. The last one is that of the public
        model's score, if there is one.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constant of the scores.
    interactions_ : tuple of RandomCells
        Steps on random cells of several columns, with the noise of each.
    feature_importances_ : ndarray of shape (n_features,)
        Share of every column in the variation of the scores, from released counts. The shares add up to 1 or
        are all 0. The score of a public model is not included.
    mechanism_ : str
        "laplace" or "gaussian".
    n_steps_ : int
        Number of rounds of noisy sums of residuals, those of the linear part included.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had string names.
    domain_ : TableDomain
        The domain of the fit. Only with ``domain``.

    See Also
    --------
    DPBoostingRegressor : The same for numbers.
    DPTreeClassifier : One tree, shaped by public rows.
    skprivate.inspection.ShapeFunctionDisplay : Pictures of the shape functions.
    skprivate.rounds.fit_rounds : The same fit to tables that stay where they are.

    Notes
    -----
    **Privacy.** All releases have exact discrete noise. The first ones are counts of rows by label and by
    the cells of every column. With two labels and a public number of rows, only the second label is counted.
    Every step releases the sums of residuals by cell. A residual is the label less its probability under the
    model so far, rounded toward zero. With Laplace noise and many columns, a noisy maximum chooses a column
    whose sums are large. At the end, the sums of predicted probabilities are released with 2 % of the
    budget. A linear part comes before the steps if there are Gaussian noise, at least three columns, and
    neither a public model nor ``monotonic_cst``. It gets 5 to 50 % of the budget. It releases sums of
    residuals times scores of the bins, their squares, and indicators of levels. In public whole numbers,
    rows are no longer than a radius R. Squares that have no effect by the first of these sums are not in
    later ones. Everything else is a function of these releases and of public rows. Replacing a row changes
    the counts of t tables by 2t in L1 and in squared L2. It changes the sums of a step by at most 2 in L1
    and 4 in squared L2. With three classes or more, these are 4 and 8. Under "add-remove", these are t, and
    1 and 1, or 2 and 2. Sums of the linear part change by R^2 times as much in squared L2. Probabilities
    with a sum of at most 1 change their sums by 1, or by 2 with three classes. With Laplace noise, the
    epsilons of all rounds add up. With Gaussian noise, the rhos add up and are converted to epsilon and
    delta once. The whole budget is charged before the first noise is drawn. With ``groups``, all norms are
    multiplied by ``max_rows_per_group``. Not protected: the public rows, bounds, classes, and under
    "replace-one" the number of private rows. A seeded fit, or one that reads bounds or classes from private
    rows, claims "not-private".

    Proof: :doc:`/proofs/boosting`; of ``public_model``: :doc:`/proofs/rows`.

    **Rare classes.** The intercept is shifted so that the mean prediction agrees with the counts of the
    classes.

    References
    ----------
    Nori, Caruana, Bu, Shen, Kulkarni, Accuracy, interpretability, and differential privacy via explainable
    boosting, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPBoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(20000, 3))
    >>> y = (np.sin(6 * X[:, 0]) + X[:, 1] > 0.8).astype(int)
    >>> model = DPBoostingClassifier(1.0, delta=1e-6, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> bool(model.score(X, y) > 0.85)
    True
    >>> model.privacy_spent_.private, model.privacy_spent_.delta == 1e-6
    (True, True)
    >>> model.shape_functions_[0].name, model.shape_functions_[0].labels[-1][-4:]
    ('x0', 'to 1')
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **BOOSTING_CONSTRAINTS,
        "bounds": ["array-like", Mapping, None],
        "classes": ["array-like", None],
        "public_model": [HasMethods(["fit", "predict_proba"]), None],
    }
    declared_roles = {**BOOSTING_ROLES, "bounds": "release", "classes": "release"}
    _leak_texts = {
        "bounds": "the bounds of X were read from private rows",
        "classes": "the classes were read from private rows",
    }
    _target_parameter = "classes"

    def __init__(
        self,
        epsilon: float | Fraction = 1.0,
        *,
        delta: float | Fraction = 0.0,
        mechanism: CentralMechanism = "auto",
        bounds: Any = None,
        domain: TableDomain | None = None,
        classes: Any = None,
        relation: CentralRelation = "replace-one",
        public_model: Any = None,
        monotonic_cst: Any = None,
        interactions: int | Literal["auto"] = "auto",
        partition_seed: int = 0,
        max_rows_per_group: int = 1,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.relation = relation
        self.public_model = public_model
        self.monotonic_cst = monotonic_cst
        self.interactions = interactions
        self.partition_seed = partition_seed
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    _read_rows = read_labelled_rows
    score = score_labels

    def _resolve_target(self, y: NDArray[Any], public: NDArray[np.bool_]) -> NDArray[Any]:
        self.classes_ = resolve_classes(self.classes, y, public)
        return number_labels(y, self.classes_)

    def _check_target(self, shape: PublicShape) -> ClassLoss:
        classes = known_classes(self.classes, shape)
        return self._loss_of(2 if classes is None else len(classes))

    def _loss(self) -> ClassLoss:
        return self._loss_of(len(self.classes_))

    def _loss_of(self, n_labels: int) -> ClassLoss:
        if n_labels > 2 and self.monotonic_cst is not None:
            raise ValueError("monotonic_cst is for two classes.")
        return ClassLoss(n_labels)

    def _fit_scores(self, X: FloatArray, y: NDArray[Any]) -> PublicScores:
        return PublicScores.of_labels(of_encoded_rows(self.public_model, self.domain), X, y, self.classes_)

    def _mistaken_target(self, task: BoostingTask, release: BoostingRelease) -> str | None:
        return hardly_any_rows(self.classes_, release.target_counts, release.target_std)

    def _no_targets(self) -> NDArray[Any]:
        return np.asarray(declared_classes(self.classes))[:0]

    @redact_errors
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the scores of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, logits of the second one. For three or more, scores whose softmax is
            `predict_proba`. All are from -16 to 16.
        """
        scores = np.clip(self._scores_of(X), -LIMIT, LIMIT)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of every row; none is 0 or 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the natural logarithms of what `predict_proba` returns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of every row, the first of equally probable ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        most_probable = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[most_probable]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # 300 rows at epsilon 1: 38 of 100 seeds pass the score check of three classes, 88 that of two.
        tags.classifier_tags.poor_score = True
        return tags
