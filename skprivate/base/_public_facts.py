# SPDX-License-Identifier: BSD-3-Clause
"""Public facts before a fit: its cost, the shape of its rows, roles of its parameters, and classes."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import column_or_1d

from .._typing import BoolArray, Relation
from ..accounting._privacy_amounts import ReadableAmounts
from ..accounting._statements.spent import source_of_input
from ..domain import _labels as labels
from ..utils import as_labels, check_bounds
from ..utils._private_fit import redact_errors
from ..utils._public_module import public_module

#: Roles of a parameter: it changes the release, only the post-processing of the release, or neither.
ROLES = ("release", "post-processing", "computing")

# With a larger epsilon, e^epsilon times delta is no useful bound.
_LARGEST_EPSILON = 100


@public_module("skprivate.base")
@dataclass(frozen=True, kw_only=True, repr=False)
class PlannedCost(ReadableAmounts):
    """An upper bound on the cost of a fit, from parameters alone.

    Attributes
    ----------
    epsilon, delta : Fraction
        Never below those of ``privacy_spent_`` after the fit.
    relation : {"replace-one", "add-remove", "local", "label", "joint"}
    leaks : tuple of str
        Descriptions of values that will be read from private rows without spending budget.
    seeded : bool
        Whether the noise will come from a seed.

    Notes
    -----
    **Privacy.** A private search charges this cost before any fit, and fails if a fit then states more.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.base import PlannedCost
    >>> cost = PlannedCost(epsilon=Fraction(1, 2), relation="add-remove").against_replacement()
    >>> cost.epsilon, cost.relation
    (Fraction(1, 1), 'replace-one')
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    relation: Relation
    leaks: tuple[str, ...] = ()
    seeded: bool = False

    def against_replacement(self) -> "PlannedCost":
        """Return the cost in terms of a replaced unit.

        Notes
        -----
        To replace is to remove and to add. Let P, Q, R be the distributions of the release on one data set,
        on the same without the unit, and with another unit instead. Then P(S) <= e^epsilon Q(S) + delta <=
        e^(2 epsilon) R(S) + (1 + e^epsilon) delta. A local report is private against any change of its unit.
        """
        if self.relation == "local":
            return replace(self, relation="replace-one")
        if self.relation != "add-remove":
            return self
        delta = self.delta * (1 + _exp_above(self.epsilon)) if self.delta else self.delta
        return replace(self, epsilon=2 * self.epsilon, delta=delta, relation="replace-one")


@public_module("skprivate.base")
@dataclass(frozen=True, kw_only=True)
class PublicShape:
    """Public facts about the rows of a fit. A check before a charge may use nothing else.

    Attributes
    ----------
    n_features : int or None
        None: it is not known before an earlier step is fitted.
    feature_names : tuple of str or None
        None: columns have no names, or the names are not known.
    names_known : bool
        False: an earlier step decides about names.
    n_rows : int
        Number of rows, or of groups.
    grouped : bool
        Whether groups are passed.
    structured : bool
        Whether the target has fields, as censored times have.
    public_labels : ndarray or None
        Targets of the public rows; None: there are none.
    no_targets : array-like or None
        The targets without any row: their names and types. None: a fit has read its targets already.

    Notes
    -----
    **Privacy.** It holds no private row, so a check that uses nothing else reveals nothing about one.

    Examples
    --------
    >>> from skprivate.base import PublicShape
    >>> PublicShape(n_features=2, n_rows=100).check_bounds((1, 0), "bounds")
    Traceback (most recent call last):
    ValueError: bounds: lower must be below upper in every column; it is not in column 0. ...
    """

    n_features: int | None
    feature_names: tuple[str, ...] | None = None
    names_known: bool = True
    n_rows: int
    grouped: bool = False
    structured: bool = False
    public_labels: Any = None
    no_targets: Any = None

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return 0 if self.public_labels is None else len(self.public_labels)

    def check_bounds(self, bounds: Any, name: str) -> None:
        """Refuse declared bounds that are invalid, or do not fit the columns as far as these are known."""
        by_name = isinstance(bounds, Mapping) and any(isinstance(key, str) for key in bounds)
        if bounds is None or self.n_features is None or (by_name and not self.names_known):
            return
        check_bounds(bounds, self.n_features, self.feature_names, name=name)


def _exp_above(epsilon: Fraction) -> Fraction:
    if epsilon > _LARGEST_EPSILON:
        raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON} if delta is above 0.")
    # exp and the rounding of its argument have a relative error below 2^-45.
    return Fraction(math.exp(float(epsilon))) * (1 + Fraction(1, 2**40))


# Roles of parameters.


def assign_roles(*, release: str = "", post_processing: str = "", computing: str = "") -> dict[str, str]:
    """Return roles by parameter, for the declaration of a private estimator; see `parameter_roles`.

    Parameters
    ----------
    release, post_processing, computing : str
        Names of the parameters of each role, with spaces between them.

    Returns
    -------
    roles : dict

    Notes
    -----
    **Privacy.** A private search sets parameters of role "post-processing" after a fit and charges one fit.
    Give this role only to parameters that `PrivateEstimatorMixin.post_processed` changes without rows.

    Examples
    --------
    >>> from skprivate.base import assign_roles
    >>> assign_roles(release="epsilon bounds", computing="ledger")
    {'epsilon': 'release', 'bounds': 'release', 'ledger': 'computing'}
    """
    named = zip(ROLES, (release, post_processing, computing), strict=True)
    return {name: role for role, names in named for name in names.split()}


def parameter_roles(estimator: BaseEstimator, y: Any = None) -> dict[str, str]:
    """Return the role of every parameter: whether tuning it spends budget.

    Parameters
    ----------
    estimator : estimator
        A private estimator, or a pipeline. It need not be fitted.
    y : array-like, default=None
        The targets. With censored targets, some parameters have another role. Only their shape and type are
        used.

    Returns
    -------
    roles : dict
        Roles by the names of ``get_params`` and of a grid. "release": it changes the release, so another
        value needs another fit, and spends budget. "post-processing": it changes only how released values are
        used, which is free. "computing": it changes neither. Parameters of estimators that declare no roles
        are "release". In a pipeline only those of the last step can be "post-processing", since later steps
        learn from the earlier ones.

    Notes
    -----
    **Privacy.** The classes declare the roles. Nothing about rows is read.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skprivate import BoundsScaler, DPTreeClassifier
    >>> from skprivate.base import parameter_roles
    >>> roles = parameter_roles(DPTreeClassifier())
    >>> roles["epsilon"], roles["public_weight"], roles["ledger"]
    ('release', 'post-processing', 'computing')
    >>> roles = parameter_roles(make_pipeline(BoundsScaler((0, 1)), DPTreeClassifier()))
    >>> roles["dptreeclassifier__prune"]
    'post-processing'
    """
    roles = dict.fromkeys(estimator.get_params(deep=True), "release")
    own = getattr(estimator, "roles_for", None)
    if own is not None:
        return roles | own(y)
    if type(estimator) is not Pipeline:
        return roles
    for position, (step, child) in enumerate(estimator.steps, start=1):
        if isinstance(child, BaseEstimator):
            inner = parameter_roles(child, y)
            last = position == len(estimator.steps)
            roles |= {
                f"{step}__{name}": role if last or role == "computing" else "release"
                for name, role in inner.items()
            }
    return roles


# Statements of estimators about their rows and parameters.


def shape_of(estimator: Any, n_rows: int, grouped: bool = False, **more: Any) -> PublicShape:
    """Return the shape of the rows that an estimator has read; `more` are other attributes of it."""
    names = getattr(estimator, "feature_names_in_", None)
    return PublicShape(
        n_features=estimator.n_features_in_,
        feature_names=None if names is None else tuple(names),
        n_rows=n_rows,
        grouped=grouped,
        **more,
    )


def cost_of(estimator: Any, budget: Any, leaks: Iterable[str]) -> PlannedCost:
    """Return the planned cost of an estimator that spends a budget and has these leaks."""
    return PlannedCost(
        epsilon=budget.epsilon,
        delta=budget.delta,
        relation=estimator.relation,
        leaks=tuple(leaks),
        seeded=estimator.random_state is not None,
    )


def sources_of(estimator: Any, names: Iterable[str], otherwise: str) -> dict[str, str]:
    """Return the sources of parameters that declare bounds, classes and the like.

    Parameters
    ----------
    estimator : estimator
    names : iterable of str
        Names of the parameters.
    otherwise : str
        The source of those that are not declared.
    """
    sources = {}
    for name in names:
        declared = getattr(estimator, name)
        sources[name] = otherwise if declared is None else source_of_input(declared)
        if name == getattr(estimator, "_bounds_parameter", None) and estimator.domain is not None:
            sources[name] = "declared by the domain"
    return sources


# Classes: fits and scores read them by one rule.


def resolve_classes(declared: Any, y: NDArray[Any], public: BoolArray) -> NDArray[Any]:
    """Return the classes: the declared ones, else those of the public rows, else of all rows."""
    if declared is None:
        return labels.find_classes(y[public] if public.any() else y)
    classes = labels.declared_classes(declared)
    labels.refuse_unknown_labels(y[public], classes)
    return classes


def known_classes(declared: Any, shape: PublicShape) -> NDArray[Any] | None:
    """Check the public facts, and return the classes as far as these facts determine them."""
    if declared is None:
        return None if shape.public_labels is None else labels.find_classes(shape.public_labels)
    labels.refuse_label_types(shape.no_targets, declared)
    classes = labels.declared_classes(declared)
    if shape.public_labels is not None:
        labels.refuse_unknown_labels(shape.public_labels, classes)
    return classes


@redact_errors
def score_labels(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy of `predict`, an exact function of the given rows.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        True labels, read as in ``fit``: white space around text does not count. A label that is not in
        ``classes_`` is never predicted.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. None: all rows have the same weight.

    Returns
    -------
    score : float

    Raises
    ------
    TypeError
        y holds numbers and the classes are text, or the reverse.
    """
    labels.refuse_label_types(y, self.classes_)
    predicted = labels.number_labels(self.predict(X), self.classes_)
    right = labels.number_labels(column_or_1d(np.asarray(as_labels(y))), self.classes_, elsewhere=-1)
    return float(accuracy_score(right, predicted, sample_weight=sample_weight))
