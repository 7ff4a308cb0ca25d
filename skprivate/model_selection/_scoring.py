# SPDX-License-Identifier: BSD-3-Clause
"""What ``scoring`` stands for: a score per row by name or by the user, or a score of classifiers."""

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from .._typing import FloatArray
from ..domain._labels import codes_of, declared_classes, plain_labels, refuse_unknown_labels
from ..utils import is_structured
from ..utils._compat import BaseScorer, num_samples
from ..utils._private_fit import public_errors
from ._class_scores import AreaUnderCurve, BalancedAccuracy, LogLoss
from ._scores import WRONG_SHAPE, ClassScorer, OnCopies, RowScorer, ScoreShapeError


def accuracy(estimator: Any, X: Any, y: Any) -> NDArray[np.bool_]:
    """Score 1 where the predicted label is right."""
    classes = estimator.classes_
    predicted = codes_of(estimator.predict(X), classes, 0, num_samples(X), "what predict returns")
    right: NDArray[np.bool_] = predicted == codes_of(y, classes, -1, num_samples(X), "y")
    return right


@dataclass(frozen=True)
class ErrorScore:
    """Score 1 minus the error in units of the target's width, or its square; 0 beyond the width."""

    width: float
    power: int

    def __call__(self, estimator: Any, X: Any, y: Any) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(np.asarray(estimator.predict(X), dtype=np.float64) - np.asarray(y)) / self.width
            score: FloatArray = 1.0 - np.minimum(error, 1.0) ** self.power
        return score


#: Scores of classifiers that need more than a score per row, by name.
CLASS_SCORERS: dict[str, ClassScorer] = {
    "balanced_accuracy": BalancedAccuracy(),
    "roc_auc": AreaUnderCurve(),
    "neg_log_loss": LogLoss(),
}
_POWERS = {"absolute_error": 1, "squared_error": 2}
#: Names that ``scoring`` takes.
Scoring = Literal[
    "accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss", "absolute_error", "squared_error"
]


def resolve_scorer(
    scoring: Any,
    estimator: Any,
    candidates: Sequence[Any],
    y: Any,
    *,
    announced: bool = False,
    class_labels: Any = None,
    public_labels: Any = None,
) -> RowScorer | ClassScorer:
    """Return what scores models.

    Parameters
    ----------
    scoring : str, callable or None
    estimator : estimator
        What is tuned; tells classifiers from regressors.
    candidates : list of estimators
        The last step of every candidate; errors are in units of the width of their ``bounds_y``.
    y : array-like
        Read for its width only where a candidate reads its bounds too, and says so.
    announced : bool, default=False
        Whether every candidate has said that it reads something from rows.
    class_labels : array-like or None, default=None
        Labels that tell the classes to candidates that declare none: of public rows, or read and announced.
    public_labels : array-like or None, default=None
        Labels of the rows that are scored, if those are public.
    """
    if isinstance(scoring, BaseScorer):
        raise ScoreShapeError(
            f"{WRONG_SHAPE} A scorer of scikit-learn returns one number for all; pass one of the names "
            f"{', '.join(get_args(Scoring))} instead."
        )
    if public_labels is not None and is_classifier(estimator):
        _refuse_unknown(public_labels, candidates)
    if callable(scoring):
        _check_callable(scoring)
        return OnCopies(scoring)
    name = scoring or _default(estimator)
    if name == "accuracy":
        return accuracy
    if name in CLASS_SCORERS:
        known = _check_classifiers(name, estimator, candidates, class_labels)
        if name == "roc_auc" and public_labels is not None:
            _check_both(public_labels, known)
        return CLASS_SCORERS[name]
    if is_structured(y):
        raise ValueError("censored targets have no score by name: pass scoring=callable.")
    return ErrorScore(_width(candidates, y, announced), _POWERS[name])


def _check_classifiers(name: str, estimator: Any, candidates: Sequence[Any], labels: Any) -> list[Any]:
    """Refuse candidates that a score of classifiers cannot be computed for; return the classes if known."""
    if not is_classifier(estimator):
        raise ValueError(f"scoring={name!r} is for classifiers; {type(estimator).__name__} is none.")
    for one in candidates:
        if name != "balanced_accuracy" and not hasattr(one, "predict_proba"):
            raise ValueError(f"scoring={name!r} needs predict_proba, which {type(one).__name__} lacks.")
    declared = [getattr(one, "classes", None) for one in candidates]
    known = {tuple(declared_classes(classes).tolist()) for classes in declared if classes is not None}
    if labels is not None and any(classes is None for classes in declared):
        known.add(tuple(np.unique(plain_labels(labels)).tolist()))
    if len(known) > 1:
        raise ValueError(f"scoring={name!r} compares candidates of the same classes: declare them alike.")
    classes = [label for labels in known for label in labels]
    if name == "roc_auc" and len(classes) > 2:
        raise ValueError("scoring='roc_auc' is for two classes; 'balanced_accuracy' takes more.")
    return classes


@public_errors()
def _refuse_unknown(labels: Any, candidates: Sequence[Any]) -> None:
    for one in candidates:
        if getattr(one, "classes", None) is not None:
            refuse_unknown_labels(labels, declared_classes(one.classes))


def _check_both(labels: Any, classes: list[Any]) -> None:
    """Refuse public rows without an AUC."""
    codes = codes_of(labels, classes, 0, len(labels), "y") if classes else plain_labels(labels)
    if len(np.unique(codes)) < 2:
        raise ValueError("scoring='roc_auc' needs public validation rows of both classes.")


@public_errors()
def _check_callable(scoring: Any) -> None:
    """Refuse what would fail whatever the rows: another number of arguments, or no copies."""
    try:
        copy.deepcopy(scoring)
    except Exception as error:
        raise TypeError("scoring cannot be copied, which every run does: pass a function.") from error
    try:
        signature = inspect.signature(scoring)
    except ValueError:  # of some builtins
        return
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise TypeError("scoring must take three arguments: estimator, X and y.") from None


def _default(estimator: Any) -> str:
    if is_classifier(estimator):
        return "accuracy"
    if is_regressor(estimator):
        return "absolute_error"
    raise ValueError(f"{type(estimator).__name__} has no default score: pass scoring.")


def _width(candidates: Sequence[Any], y: Any, announced: bool) -> float:
    if not all(hasattr(candidate, "bounds_y") for candidate in candidates):
        raise ValueError(
            "errors are measured by the estimator's bounds_y; it has none: pass scoring=callable."
        )
    declared = [candidate.bounds_y for candidate in candidates]
    if any(bounds is None for bounds in declared):
        if not announced:
            raise ValueError("errors are measured by bounds_y: declare them, or pass scoring=callable.")
        spread = float(np.ptp(np.asarray(y, dtype=np.float64)))
        return spread if spread > 0 else 1.0
    widths = {float(high) - float(low) for low, high in declared}
    if len(widths) > 1 or not min(widths) > 0:
        raise ValueError(
            "errors are measured by one width of bounds_y, above 0, for all candidates: pass a callable "
            "scoring."
        )
    return widths.pop()
