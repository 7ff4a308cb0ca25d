# SPDX-License-Identifier: BSD-3-Clause
"""Any regressor as a classifier of labels that were protected by randomised response."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from .._typing import BoolArray, FloatArray, RandomSource
from ..accounting import PrivacyLedger
from ..base import PublicShape
from ..base._likely_mistakes import hardly_any_rows
from ..base._public_facts import known_classes, score_labels
from ..domain._labels import find_classes, refuse_label_types
from ..utils import as_labels, check_epsilon
from ..utils._private_fit import public_errors
from ..utils._public_module import public_module
from ..utils._tables import validate_data
from ._estimator import LABEL_CONSTRAINTS, BaseLabelPrivate
from ._models import LEAST_SHARE, NoisyRows, base_rate, calibrate_classes, to_proba
from ._reporters import UNEXPLAINED, ClassReporter


@public_module("skprivate.label_privacy")
class LabelPrivateClassifier(ClassifierMixin, BaseLabelPrivate):
    """Classifier of labels protected by randomised response; features in clear, any regressor inside.

    Every label is randomised, and the report is turned into an unbiased number. A regressor, by default of
    boosted trees, learns that number from the features, which are NOT PROTECTED.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor, pipeline or search with ``fit`` and ``predict``. One clone is fitted to every class (to
        the second of two). Everything that it does, a search over its parameters included, is done with the
        noisy labels and costs nothing. None: a ridge regression, then a `HistGradientBoostingRegressor` of
        its residuals. The leaves are large enough for the noise, and the number of trees is the one that
        predicts held-out reports best. If columns hold anything but numbers, there is no ridge regression.
    epsilon : float or Fraction, default=1.0
        Privacy loss of one label, > 0 and finite; with ``groups``, of all labels of a person.
    classes : array-like of labels, default=None
        Two labels or more from public knowledge, all text or all numbers; used in sorted order. None: those
        of the public rows. Without public rows they are read from private rows, which is a leak. White space
        around text does not count, and True equals 1. A private label that is not in ``classes`` is counted
        as the first class, without a warning. A public one raises ``ValueError``. If the type of ``y`` is
        text and the classes are numbers, or the reverse, the fit raises ``TypeError``. Inside a
        meta-estimator that encodes labels, declare 0 to K - 1 (:doc:`/choosing`).
    cv : int or None, default=4
        Number of folds, at least 2. Held-out reports show how much predictions are to be trusted. It costs as
        many more fits, and no privacy. None: predictions are used as they are.
    max_rows_per_group : int, default=1
        With ``groups``: number of labels of a person that count. Each gets its share of epsilon.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Any other value makes the reports reproducible, and not
        private.
    ledger : PrivacyLedger, default=None
        It is charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimators_ : list of regressors
        One per class; for two classes only that of the second. They may hold what they keep of X.
    base_proba_ : ndarray of shape (n_classes,)
        The base rate, by the reports and public rows.
    slope_ : float
        Factor of the predicted deviations from the base rate. 0: the regressors predict no better than it.
    base_share_ : float
        Share of the base rate in every prediction.
    reporter_ : ClassReporter
        What every client ran.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had string names.

    See Also
    --------
    LabelPrivateRegressor : The same for numbers.
    LocallyPrivateTreeClassifier : Protects features too, unless ``protect="label"``.

    Notes
    -----
    **Privacy.** Relation: label. Two data sets that differ in the label of one row are hard to distinguish.
    The features of all rows, and which rows are whose, are NOT protected, and a regressor may keep them. A
    report has probability p under its own label and q = (1 - p) / (K - 1) under any other, with p / q
    certified to be at most exp(epsilon). A row has one report, and the rest is a function of reports,
    features and public rows. ``max_rows_per_group`` = m labels of a person are reported, each for epsilon /
    m, and losses of independent reports add up. Reports are drawn here from labels that this process holds,
    so a fit is a *simulation*. `fit_reports` takes reports that clients drew by ``make_reporter()``. A seeded
    fit, or one that reads classes from private rows, claims "not-private".

    Proof: :doc:`/proofs/randomised_response`.

    The target of class k is ``t = (1[report = k] - q) / (p - q)``. Its mean given the features is the
    probability of the class. Its variance is ``u (1 - u) / (p - q)^2`` with u the probability of the report
    k, and with two classes ``P (1 - P) + e / (e - 1)^2``. A public row has weight 1, another one ``v / (v +
    noise)`` with v a typical variance of labels given features, 0.15 for two classes.

    Predictions are stretched or shrunk about the base rate by ``slope_``, put on the simplex and mixed with
    the base rate, so that none is 0 or 1. Both numbers are means, given the held-out reports. Before them, an
    effect of the features is as likely as none. If the odds of an effect stay below 3.2, all predictions are
    the base rate.

    References
    ----------
    Warner, Randomized response, Journal of the American Statistical Association 1965. Ghazi et al., Deep
    learning with label differential privacy, NeurIPS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import LabelPrivateClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(5000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = LabelPrivateClassifier(epsilon=1.0, classes=[0, 1]).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.privacy_spent_.relation
    (True, 'label')

    Any regressor can be used, and searched at no cost. Labels may also never leave their clients:

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> search = GridSearchCV(Ridge(), {"alpha": [1.0, 100.0]})
    >>> model = LabelPrivateClassifier(search, epsilon=1.0, classes=[0, 1])
    >>> reports = model.make_reporter().randomize(y)
    >>> model.fit_reports(X, reports).privacy_spent_.deployment
    'collected'
    """

    _declared, _kind = "classes", "classes"
    _leak = "the classes were read from private rows"
    leak_remedy = "Declare them from public knowledge (classes=...) or pass public rows."

    declared_roles = {**BaseLabelPrivate.declared_roles, "classes": "release"}

    _parameter_constraints: dict[str, list[Any]] = {**LABEL_CONSTRAINTS, "classes": ["array-like", None]}

    def __init__(
        self,
        estimator: Any = None,
        epsilon: float | Fraction = 1.0,
        *,
        classes: Any = None,
        cv: int | None = 4,
        max_rows_per_group: int = 1,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.classes = classes
        self.cv = cv
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger

    score = score_labels

    def _read_targets(self, y: Any, n_rows: int) -> NDArray[Any]:
        with public_errors():
            refuse_label_types(y, self.classes)
        if self.is_strict():
            return self.read_labels(y, n_rows)
        return validate_data(self, y=as_labels(y))

    def _make_reporter(self, y: Any, rows_per_unit: int) -> ClassReporter:
        classes = find_classes(y) if self.classes is None else self.classes
        return ClassReporter(check_epsilon(self.epsilon) / rows_per_unit, classes)

    def check_public(self, shape: PublicShape) -> None:
        super().check_public(shape)
        known_classes(self.classes, shape)

    def _mistaken_targets(self, targets: FloatArray) -> str | None:
        counts = targets.sum(axis=0)
        if len(counts) == 1:
            counts = np.append(len(targets) - counts, counts)
        # For a class without rows, all of the variance is noise.
        stds = np.sqrt(len(targets)) * targets.std(axis=0)
        return hardly_any_rows(self.classes_, counts, stds)

    def _clean_variance(self, reporter: ClassReporter, targets: FloatArray, known: BoolArray) -> float:
        share = 1 / len(reporter.classes)
        return UNEXPLAINED * share * (1 - share)

    def _calibrate(self, predictions: FloatArray | None, rows: NoisyRows, reports: NDArray[Any]) -> None:
        self.base_proba_ = base_rate(rows.targets, rows.weights, len(self.classes_))
        self.slope_, self.base_share_ = 1.0, LEAST_SHARE
        if predictions is None:
            return

        def likelihood(proba: FloatArray) -> FloatArray:
            of_labels = proba[np.arange(len(reports)), reports]
            return np.where(rows.known, of_labels, self.reporter_.likelihood(proba, reports))

        self.slope_, self.base_share_ = calibrate_classes(predictions, self.base_proba_, likelihood)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Never 0 or 1. Columns are in the order of ``classes_``.
        """
        predictions = self._predict_targets(X)
        return to_proba(predictions, self.base_proba_, self.slope_, self.base_share_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # 300 reports of three classes at epsilon 1 do not reach the score that the checks require.
        tags.classifier_tags.poor_score = True
        return tags
