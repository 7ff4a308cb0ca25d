# SPDX-License-Identifier: BSD-3-Clause
"""Scores of a private search, by row or by class, and their sensitivity."""

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.special import lambertw
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from .._config import get_config
from .._typing import BoolArray, FloatArray, IndexArray, IntArray
from ..domain._labels import codes_of, declared_classes, plain_labels, refuse_unknown_labels
from ..metrics import _model_outputs as outputs
from ..noise import DiscreteLaplaceMechanism
from ..utils import check_int, is_structured
from ..utils._compat import BaseScorer, num_samples
from ..utils._private_fit import public_errors

RowScorer = Callable[[Any, Any, Any], Any]

#: A row's score is a whole number of steps of 2^-20.
SCORE_STEPS = 2**20


WRONG_SHAPE = "scoring must return one score per row, an array of shape (n_rows,)."


@dataclass(frozen=True)
class OnCopies:
    """A scorer of the user that runs on copies of itself, the model and the rows.

    So it can keep nothing. A scoring object is a parameter of the search, and is saved with it.
    """

    scorer: RowScorer

    def __call__(self, estimator: Any, X: Any, y: Any) -> Any:
        scorer, *arguments = copy.deepcopy((self.scorer, estimator, X, y))
        return scorer(*arguments)

    def for_rows(self, estimator: Any) -> tuple[RowScorer, Any]:
        """Return a scorer of single rows, and a copy of the model for all of them."""
        scorer, model = copy.deepcopy((self.scorer, estimator))
        return lambda model, *row: scorer(model, *copy.deepcopy(row)), model


class ScoreShapeError(ValueError):
    """A scoring function did not return one score per row; `single`: it returned one number."""

    def __init__(self, message: str, single: bool = False) -> None:
        super().__init__(message, single)
        self.single = single

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class ScoringRows:
    """The rows for scores of models, and the release of these scores.

    Attributes
    ----------
    X, y : array-like
    groups : ndarray of int of shape (n_rows,) or None
        Number of every row's group, 0 to n_units - 1; None: a row is a unit.
    n_units : int
        Number of units, which is public.
    epsilon : Fraction or None
        None: the rows are public, and scores are exact.

    Notes
    -----
    **Privacy.** A model is scored by one release, `noisy_mean` or `noisy_counts`. All else is computed from
    it and from public numbers. Both are exact sums over units, each of mass ``SCORE_STEPS``:

    - The score of a unit is that of its row, or the mean of its rows rounded down, a whole number between 0
      and ``SCORE_STEPS``. So replacing a unit moves the sum by at most ``SCORE_STEPS``.
    - A unit gives every cell its share of rows there, rounded down to steps. These numbers are at least 0,
      and their sum is at most ``SCORE_STEPS``. So replacing a unit moves the table by at most
      2 ``SCORE_STEPS`` in L1.

    Exact discrete Laplace noise with the scale of this sensitivity over epsilon, on the sum or on every cell,
    makes either epsilon-DP for any number of rows of a unit. The score of a row comes from a table of this
    row only, or is known to have the same bits (:doc:`/proofs/rows`). So other rows do not move it.
    """

    X: Any
    y: Any
    groups: IndexArray | None
    n_units: int
    epsilon: Fraction | None

    def score(self, scorer: "RowScorer | ClassScorer", estimator: Any, entropy: Any) -> Fraction:
        """Return the score of a model, with noise unless the rows are public."""
        if not isinstance(scorer, ClassScorer):
            return self.noisy_mean(scorer, estimator, entropy)
        if self.epsilon is None:
            return Fraction(scorer.exact(estimator, self.X, self.y))
        return scorer.private(self, self.epsilon, estimator, entropy)

    def noisy_mean(self, scorer: RowScorer, estimator: Any, entropy: Any) -> Fraction:
        """Return the mean score of the units, with noise unless the rows are public."""
        steps = row_scores(scorer, estimator, self.X, self.y, public=self.epsilon is None)
        if self.groups is not None:
            # Exact: sums of whole numbers below 2^53.
            sums = np.bincount(self.groups, weights=steps, minlength=self.n_units).astype(np.int64)
            steps = sums // np.bincount(self.groups, minlength=self.n_units)
        total = np.array([steps.sum()], dtype=np.int64)
        if self.epsilon is not None:
            total = DiscreteLaplaceMechanism(self.epsilon, SCORE_STEPS).randomize(total, entropy)
        return Fraction(int(total[0]), SCORE_STEPS * self.n_units)

    def noisy_counts(
        self, cells: IndexArray, n_cells: int, epsilon: Fraction, entropy: Any
    ) -> tuple[FloatArray, float]:
        """Return the noisy number of units in every cell, and the standard deviation of the noise of each.

        All counts are moved by the same amount, so that they sum to the public number of units.
        """
        mechanism = DiscreteLaplaceMechanism(epsilon, 2 * SCORE_STEPS)
        released = mechanism.randomize(self.masses(cells, n_cells), entropy) / SCORE_STEPS
        counts: FloatArray = released + (self.n_units - released.sum()) / n_cells
        return counts, float(np.sqrt(mechanism.variance)) / SCORE_STEPS

    def masses(self, cells: IndexArray, n_cells: int) -> IntArray:
        """Return the exact mass of every cell; a unit has at most ``SCORE_STEPS`` in all cells together."""
        units = np.arange(self.n_units) if self.groups is None else self.groups
        places, rows = np.unique(units * n_cells + cells, return_counts=True)
        masses = SCORE_STEPS * rows // np.bincount(units, minlength=self.n_units)[places // n_cells]
        # Exact: sums of whole numbers below 2^53.
        return np.bincount(places % n_cells, weights=masses, minlength=n_cells).astype(np.int64)


class ClassScorer(ABC):
    """A score of classifiers that is no mean of scores of rows."""

    @abstractmethod
    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score on public rows: scikit-learn's."""

    @abstractmethod
    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return the score from one noisy sum or table of the rows."""


def check_score_epsilon(epsilon: Fraction) -> None:
    """Refuse an epsilon that is unusable for scores."""
    try:
        DiscreteLaplaceMechanism(epsilon, 2 * SCORE_STEPS)
    except ValueError as error:
        raise ValueError(f"score_epsilon cannot be used for scores: {error}") from error


def row_scores(scorer: RowScorer, estimator: Any, X: Any, y: Any, *, public: bool = False) -> IntArray:
    """Return the rows' scores as whole numbers between 0 and ``SCORE_STEPS``; NaN counts as 0.

    In strict mode a row on which the scorer fails counts as 0, too. A scorer that returns a single number is
    refused.

    Notes
    -----
    **Privacy.** The score of a private row is computed from a table that holds this row only. Rows are scored
    together if this gives the same bits: with a score of this package, and if `takes_rows_together`.
    """
    # In threads, the trees of a forest could be added in any order.
    with parallel_config(backend="sequential"):
        return _row_scores(scorer, estimator, X, y, public)


def _row_scores(scorer: RowScorer, estimator: Any, X: Any, y: Any, public: bool) -> IntArray:
    n_rows, strict = num_samples(y), get_config()["strict"]
    ours = not isinstance(scorer, OnCopies)
    if public or (ours and outputs.takes_rows_together(estimator, X)):
        try:
            return _steps_of(np.asarray(scorer(estimator, X, y)), n_rows)
        except Exception as error:
            if not strict or _is_single(error):
                raise
    if isinstance(scorer, OnCopies):
        scorer, estimator = scorer.for_rows(estimator)
    steps = np.zeros(n_rows, dtype=np.int64)
    for number, (row, target) in enumerate(zip(outputs.rows_alone(X), outputs.rows_alone(y), strict=True)):
        try:
            steps[number] = _steps_of(np.asarray(scorer(estimator, row, target)), 1)[0]
        except Exception as error:
            if not strict or _is_single(error):
                raise
    return steps


def _is_single(error: Exception) -> bool:
    return isinstance(error, ScoreShapeError) and error.single


def _steps_of(scores: NDArray[Any], n_rows: int) -> IntArray:
    if scores.shape != (n_rows,):
        raise ScoreShapeError(WRONG_SHAPE, single=scores.ndim == 0)
    clipped = np.clip(np.nan_to_num(scores.astype(np.float64), nan=0.0), 0.0, 1.0)
    return np.floor(clipped * SCORE_STEPS).astype(np.int64)


def hold_out(n_units: int, share: float, random_bytes: Callable[[int], bytes]) -> BoolArray:
    """Choose the units for the scores of models: a public number of them, at random.

    Returns
    -------
    held : ndarray of bool of shape (n_units,)
    """
    n_held = max(1, round(check_int(n_units, "n_units", least=1) * share))
    if n_held >= n_units:
        raise ValueError(f"n_samples={n_units} private units cannot be split into training and hold-out.")
    keys = np.frombuffer(random_bytes(8 * n_units), dtype=np.uint64)
    held = np.zeros(n_units, dtype=bool)
    held[np.argsort(keys)[:n_held]] = True
    return held


# Scores of classifiers.


class LogLoss(ClassScorer):
    """The negative log loss, in nats, as scikit-learn's "neg_log_loss".

    The loss of a private row is cut off at `log_loss_bound`. The released mean is that of 1 - loss / bound.
    """

    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return scikit-learn's value, for probabilities in double precision."""
        table = np.clip(_probabilities(estimator, X), 0.0, 1.0)
        return -float(log_loss(_codes(estimator, y), table, labels=np.arange(table.shape[1])))

    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return it from the noisy mean of bounded losses."""
        bound = log_loss_bound(rows.n_units, epsilon, len(estimator.classes_))
        return (rows.noisy_mean(_BoundedLoss(bound), estimator, entropy) - 1) * Fraction(bound)


@dataclass(frozen=True)
class _BoundedLoss:
    """Score of every row: 1 - loss / bound, and 0 if the loss is above the bound."""

    bound: float

    def __call__(self, estimator: Any, X: Any, y: Any) -> FloatArray:
        codes = _codes(estimator, y)
        table = outputs.probabilities(estimator, X, len(estimator.classes_), strict=False)
        least = np.exp(-self.bound)
        own = np.clip(table[np.arange(len(codes)), codes], least, 1.0)
        return 1.0 + np.log(own) / self.bound


def log_loss_bound(n_units: int, epsilon: Fraction, n_classes: int) -> float:
    """Return the largest loss that counts, L, in nats: a function of public numbers.

    Notes
    -----
    Losses above L belong to probabilities below exp(-L). If such a probability p is right, cutting off takes
    p (log(1 / p) - L) from the class's part of the mean loss. This is at most exp(-L) / e, and it is 0 for at
    least one of the K classes. The noise has a standard deviation of 2^(1/2) L / (epsilon n). Bias and noise
    are equal at L exp(L) = (K - 1) epsilon n / (e 2^(1/2)), which Lambert's W solves. L is at least log(2 K),
    so that the loss of a constant model, log(K), is well within.
    """
    odds = (n_classes - 1) * float(epsilon) * n_units / (np.e * np.sqrt(2))
    return float(max(lambertw(odds).real, np.log(2 * n_classes)))


class BalancedAccuracy(ClassScorer):
    """The mean recall of the classes; for private rows, from a noisy table of classes by right and wrong."""

    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return scikit-learn's value. A class without rows does not count."""
        return float(balanced_accuracy_score(_codes(estimator, y), _predicted_codes(estimator, X)))

    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return it from noisy counts."""
        codes = _codes(estimator, rows.y)
        cells = 2 * codes + (codes == _predicted_codes(estimator, rows.X))
        counts, std = rows.noisy_counts(cells, 2 * len(estimator.classes_), epsilon, entropy)
        return Fraction(balanced_accuracy(counts.reshape(-1, 2), std))


def balanced_accuracy(counts: FloatArray, std: float) -> float:
    """Return the mean recall from noisy counts of shape (n_classes, 2): rows that are wrong, and right.

    Notes
    -----
    Let r be the recall of a class, N its rows and s the standard deviation of the noise of a count. The ratio
    of noisy counts has a variance of about s^2 (r^2 + (1 - r)^2) / N^2. The mean of K ratios has the sum of
    their variances over K^2. If N is no larger than the noise, such a ratio is useless. So the recall is
    shrunk towards the accuracy of all rows, a. The numerator right - a N has the mean (r - a) N and the
    variance v = s^2 (a^2 + (1 - a)^2). Recalls are assumed to spread around a as uniform ones do (variance
    1/12). The bias is (a - r) v / (v + N^2 / 12).
    """
    right, sizes = counts[:, 1], counts.sum(axis=1)
    whole = float(np.clip(right.sum() / sizes.sum(), 0.0, 1.0))
    variance = std**2 * (whole**2 + (1 - whole) ** 2)
    recalls = whole + _drawn_to_zero(right - whole * sizes, sizes, variance, 1 / 12)
    return float(recalls.mean())


class AreaUnderCurve(ClassScorer):
    """The AUC of two classes; for private rows, from a noisy table of classes by intervals of probability.

    The intervals are those of `private_evaluate`. Their number depends on the public number of units and on
    the noise.
    """

    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return scikit-learn's value."""
        return float(roc_auc_score(_codes(estimator, y), _of_second_class(estimator, X)))

    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return it from noisy counts."""
        n_bins = outputs.choose_number(rows.n_units, float(np.sqrt(8)) / float(epsilon))
        ends = np.sort(np.append(outputs.inner_ends(n_bins), 0.5))
        place = np.searchsorted(ends, _of_second_class(estimator, rows.X))
        cells = _codes(estimator, rows.y) * (len(ends) + 1) + place
        counts, std = rows.noisy_counts(cells, 2 * (len(ends) + 1), epsilon, entropy)
        negatives, positives = counts.reshape(2, -1)
        return Fraction(area_under_curve(negatives, positives, std))


def area_under_curve(negatives: FloatArray, positives: FloatArray, std: float) -> float:
    """Return the AUC from noisy counts by interval.

    Notes
    -----
    Let p and q be the counts of positives and negatives, P and Q their sums, and A = 1 above, -1 below and 0
    on the diagonal. The AUC of scores put into the intervals, with ties counted by half, is
    1/2 + p'A q / (2 P Q). Noises of p and q have a constant covariance, since counts are moved to a known
    sum, and the entries of A sum to 0. So the numerator is unbiased. Its variance is
    s^2 (|A q|^2 + |A'p|^2) + s^4 |A|^2. Noisy counts overstate it by 2 s^4 |A|^2. 2 AUC - 1 is between -1 and
    1, and is assumed to be uniform there (variance 1/3). So the ratio is shrunk towards 0 if the noise v of
    the numerator is no smaller than P Q. The bias is the share v / (v + (P Q)^2 / 3) of 2 AUC - 1. Pairs of
    rows in one interval count as ties, which also moves the AUC towards 1/2.
    """
    order = np.sign(np.subtract.outer(np.arange(len(positives)), np.arange(len(negatives))))
    above, below = order @ negatives, order.T @ positives
    least = std**4 * float((order**2).sum())
    variance = max(std**2 * float(above @ above + below @ below) - least, least)
    pairs = max(positives.sum(), 0.0) * max(negatives.sum(), 0.0)
    return float(0.5 + _drawn_to_zero(positives @ above, pairs, variance, 1 / 3) / 2)


def _drawn_to_zero(numerator: Any, denominator: Any, variance: float, spread: float) -> Any:
    """Return the ratio shrunk towards 0: the best linear estimate of a quantity of variance `spread`."""
    size = np.maximum(denominator, 0.0)
    return numerator * size / (size**2 + variance / spread)


def _codes(estimator: Any, y: Any) -> IndexArray:
    """Return the place of every row's class; an unknown label counts as the first class, as in fits."""
    return codes_of(y, _classes(estimator), 0, num_samples(y), "y")


def _classes(estimator: Any) -> list[Any]:
    return np.asarray(estimator.classes_).tolist()


def _predicted_codes(estimator: Any, X: Any) -> IndexArray:
    """Return the places of predicted labels; an unknown label, or a failed prediction, is never right."""

    def check(found: Any, n_rows: int) -> IndexArray:
        return codes_of(found, _classes(estimator), -1, n_rows, "what predict returns")

    return outputs.predictions(estimator, "predict", X, get_config()["strict"], check, -1)


def _probabilities(estimator: Any, X: Any) -> FloatArray:
    """Return the probabilities of the classes. In strict mode, a row that fails has equal ones."""
    return outputs.probabilities(estimator, X, len(estimator.classes_), get_config()["strict"])


def _of_second_class(estimator: Any, X: Any) -> FloatArray:
    table = _probabilities(estimator, X)
    if table.shape[1] != 2:
        raise ValueError("the AUC is of two classes")
    return table[:, 1]


# Scores by name.


def accuracy(estimator: Any, X: Any, y: Any) -> BoolArray:
    """Score 1 if the predicted label is right, else 0."""
    classes = estimator.classes_
    predicted = codes_of(estimator.predict(X), classes, 0, num_samples(X), "what predict returns")
    return predicted == codes_of(y, classes, -1, num_samples(X), "y")


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


#: Scores of classifiers that are no means of scores of rows, by name.
CLASS_SCORERS: dict[str, ClassScorer] = {
    "balanced_accuracy": BalancedAccuracy(),
    "roc_auc": AreaUnderCurve(),
    "neg_log_loss": LogLoss(),
}
_POWERS = {"absolute_error": 1, "squared_error": 2}
#: Names for ``scoring``.
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
    """Return the scorer of models.

    Parameters
    ----------
    scoring : str, callable or None
    estimator : estimator
        The tuned estimator, a classifier or a regressor.
    candidates : list of estimators
        The last step of every candidate. Errors are in units of the width of their ``bounds_y``.
    y : array-like
        Its width is read only if a candidate reads its bounds, too, and has announced it.
    announced : bool, default=False
        Whether every candidate has announced that it reads something from rows.
    class_labels : array-like or None, default=None
        Labels for the classes of candidates that declare none: of public rows, or read and announced.
    public_labels : array-like or None, default=None
        Labels of the rows for scores, if these are public.
    """
    if isinstance(scoring, BaseScorer):
        raise ScoreShapeError(
            f"{WRONG_SHAPE} A scorer of scikit-learn returns one number for all rows. Pass one of the names "
            f"{', '.join(get_args(Scoring))} instead."
        )
    if public_labels is not None and is_classifier(estimator):
        _refuse_unknown(public_labels, candidates)
    if callable(scoring):
        _check_callable(scoring)
        return OnCopies(scoring)
    name = scoring or ("accuracy" if is_classifier(estimator) else "absolute_error")
    if not (scoring or is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"{type(estimator).__name__} has no default score: pass scoring.")
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
    """Refuse candidates without this score of classifiers; return the classes if they are known."""
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
    """Refuse a scorer that fails for any rows: a wrong number of arguments, or no copies."""
    try:
        copy.deepcopy(scoring)
    except Exception as error:
        raise TypeError("scoring cannot be copied, as every run requires: pass a function.") from error
    try:
        signature = inspect.signature(scoring)
    except ValueError:  # of some builtins
        return
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise TypeError("scoring must take three arguments: estimator, X and y.") from None


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
