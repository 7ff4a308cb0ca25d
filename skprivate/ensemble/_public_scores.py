# SPDX-License-Identifier: BSD-3-Clause
"""Scores of a model that is trained on public rows alone: the start of boosting, and one more feature."""

import contextlib
import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray

from .._typing import FloatArray
from ..base._public_model import (
    LEAST_GAIN,
    SAME,
    TableModel,
    cross_fit_shares,
    fit_model,
    fit_temperature,
    log_likelihood_gain,
    predict_shares,
    tempered,
)
from ..metrics._model_outputs import aligned_copy, is_same_in_any_table, rows_alone
from ..metrics._probabilities import log, row_totals
from ..rounds._plans.boosting import CodedFeature
from ..rounds._rates import shift_to
from ..utils._public_module import public_module
from ._plan import ColumnCells

# Quantile bins of the score, as one more feature.
_BINS = 12
# Largest residual of numbers, in standard deviations of the public rows' errors. And the least limit of it,
# in half-widths of the bounds, as few rows show little.
_SPREADS, _LEAST_CLIP = 2.5, 1 / 16
# Number of parts of the public rows. A model that has not seen a part predicts it.
_FOLDS = 5
# Prior of the slope of predicted numbers, around 1, like the prior of a temperature.
_SLOPE_ERROR, _HIGHEST_SLOPE = 0.5, 4.0


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class PublicScores:
    """A fitted model, and the way its predictions become columns beside those of X.

    Attributes
    ----------
    estimator : object
        Fitted to public rows.
    n_columns : int
        Number of columns of X. The columns that are made come after them.
    thresholds : ndarray
        Between the bins of the feature.
    classes : ndarray of shape (n_labels,), or None
        None: a model of numbers.
    center, half : float
        Of the bounds of numbers.
    clip : float
        Limit to which residuals of numbers are clipped, in half-widths.
    slope : float
        Factor of the scores by which they fit the public rows in cross-fitting.
    shift : ndarray of shape (n_outputs,)
        Added to the scores after that.
    public : ndarray of shape (n_public, n_columns + n_outputs + 1)
        Public rows with their columns, made by models that have not seen them; kept during the fit only.
    """

    estimator: Any
    n_columns: int
    thresholds: FloatArray
    classes: NDArray[Any] | None = None
    center: float = 0.0
    half: float = 1.0
    clip: float = 2.0
    slope: float = 1.0
    shift: FloatArray = field(default_factory=lambda: np.zeros(1))
    public: FloatArray = field(default_factory=lambda: np.zeros((0, 1)))

    @property
    def offsets(self) -> tuple[int, ...]:
        """Columns that hold the scores to start from."""
        n_outputs = 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)
        return tuple(range(self.n_columns, self.n_columns + n_outputs))

    @property
    def column(self) -> ColumnCells:
        """The score as a feature. Its column follows the offsets."""
        feature = CodedFeature(self.offsets[-1] + 1, self.thresholds)
        ends = self.thresholds if len(self.thresholds) else np.zeros(1)
        return ColumnCells("public_model", feature, float(ends[0]), float(ends[-1]), fixed=True)

    def augment(self, X: FloatArray) -> FloatArray:
        """Return the new columns: the scores and the feature."""
        if self.classes is None:
            scores = _scaled(self.estimator, X, self.center, self.half)[:, np.newaxis]
            return np.column_stack([self._calibrated(scores), scores])
        shares = predict_shares(self.estimator, X, self.classes)
        return np.column_stack([self._calibrated(_logits(shares)), _feature(shares)])

    def _calibrated(self, scores: FloatArray) -> FloatArray:
        return self.slope * scores + self.shift

    def augment_private(self, X: FloatArray, *, strict: bool) -> FloatArray:
        """Return the new columns of private rows. No warning or error reveals anything about these rows.

        Raises
        ------
        ValueError
            The model cannot predict all rows. In strict mode, the other rows get even predictions instead.

        Notes
        -----
        **Privacy.** The columns of a row are predictions of a table with only this row, or are known to have
        the same bits (:doc:`/proofs/rows`). Other rows therefore do not change them.
        """
        found, fails = np.tile(self._nothing(), (len(X), 1)), False
        # A model may keep the rows that it predicts. So a copy predicts, and the original sees no private
        # row.
        asked = replace(self, estimator=copy.deepcopy(self.estimator))
        # In threads, the trees of a forest would be added in any order.
        with warnings.catch_warnings(), parallel_config(backend="sequential"):
            warnings.simplefilter("ignore")
            if is_same_in_any_table(self.estimator):
                with contextlib.suppress(Exception):
                    return asked.augment(X)
            model, rows = asked, X
            if isinstance(asked.estimator, TableModel):
                with contextlib.suppress(Exception):
                    estimator, rows = asked.estimator.last_step(X)
                    model = replace(asked, estimator=estimator)
            for number, row in enumerate(rows_alone(rows)):
                # The error is dropped, as it may hold a private value.
                try:
                    found[number] = model.augment(row)
                except Exception:
                    fails = True
        if fails and not strict:
            raise ValueError("public_model cannot predict all private rows.")
        return found

    def _nothing(self) -> FloatArray:
        """Return the columns of a row without a prediction."""
        if self.classes is None:
            return np.column_stack([self._calibrated(np.zeros((1, 1))), np.zeros(1)])
        even = np.full((1, len(self.classes)), 1.0 / len(self.classes))
        return np.column_stack([self._calibrated(_logits(even)), _feature(even)])

    @classmethod
    def of_labels(
        cls, estimator: Any, X: FloatArray, labels: NDArray[np.int32], classes: NDArray[Any]
    ) -> "PublicScores":
        """Fit a classifier to public rows, and bin its cross-fitted scores of these.

        Raises
        ------
        ValueError
            The rows have only one class, or the model cannot be fitted to them. Or it predicts the same for
            all of them, predicts no probabilities, or predicts a row by the other rows.
        """
        if len(np.unique(labels)) < 2:
            raise ValueError("public_model needs public rows of two classes at least.")
        fitted = fit_model(estimator, X, classes[labels])
        _check_predictions(lambda rows: predict_shares(fitted, rows, classes), X)
        shares = cross_fit_shares(estimator, X, labels, classes)
        slope = fit_temperature(shares, labels)
        if log_likelihood_gain(tempered(shares, slope), labels) < LEAST_GAIN:
            slope = 0.0
        scores = slope * _logits(shares)
        counts = np.bincount(labels, minlength=len(classes)) + 0.5
        shift = shift_to(scores, counts / counts.sum())
        thresholds = _thresholds(_feature(shares), len(classes))
        public = np.column_stack([X, scores + shift, _feature(shares)])
        return cls(fitted, X.shape[1], thresholds, classes, slope=slope, shift=shift, public=public)

    @classmethod
    def of_numbers(
        cls, estimator: Any, X: FloatArray, y: FloatArray, center: float, half: float
    ) -> "PublicScores":
        """Fit a regressor to public rows, and bin its cross-fitted predictions of these."""
        y = np.clip(y, center - half, center + half)
        fitted = fit_model(estimator, X, y)
        _check_predictions(lambda rows: _scaled(fitted, rows, center, half), X)
        fold, scores = np.arange(len(X)) % _FOLDS, np.zeros(len(X))
        for number in range(min(_FOLDS, len(X))):
            held = fold == number
            others = fit_model(estimator, X[~held], y[~held]) if len(X) > _FOLDS else fitted
            scores[held] = _scaled(others, X[held], center, half)
        slope, shift, errors = _line(scores, (y - center) / half)
        clip = float(np.clip(_SPREADS * errors, _LEAST_CLIP, 2.0))
        thresholds, shifts = _thresholds(scores, 1), np.array([shift])
        return cls(fitted, X.shape[1], thresholds, None, center, half, clip, slope, shifts)


def _scaled(estimator: Any, X: FloatArray, center: float, half: float) -> FloatArray:
    try:
        found = np.asarray(estimator.predict(aligned_copy(X)), dtype=np.float64)
    except Exception as error:
        raise ValueError(f"public_model cannot predict numbers: {error}") from error
    if found.shape != (len(X),) or not np.isfinite(found).all():
        raise ValueError("public_model must predict one finite number a row.")
    return np.clip((found - center) / half, -1.0, 1.0)


def _line(scores: FloatArray, target: FloatArray) -> tuple[float, float, float]:
    """Return slope and constant by which cross-fitted scores fit the target, and the remaining error."""
    x, y = scores - scores.mean(), target - target.mean()
    prior = np.mean((target - scores) ** 2) / _SLOPE_ERROR**2
    slope = float(np.clip((x @ y + prior) / (x @ x + prior), 0.0, _HIGHEST_SLOPE))
    return slope, float(target.mean() - slope * scores.mean()), float(np.sqrt(np.mean((y - slope * x) ** 2)))


def _logits(shares: FloatArray) -> FloatArray:
    """Return scores: one for two classes, and one for each of three or more."""
    logs = log(shares)
    if shares.shape[1] == 2:
        return logs[:, 1:] - logs[:, :1]
    return logs - row_totals(logs) / shares.shape[1]


def _feature(shares: FloatArray) -> FloatArray:
    """Return a number for each row: the second class's share, or the most probable class plus its share."""
    if shares.shape[1] == 2:
        return shares[:, 1]
    first = np.argmax(shares, axis=1)
    # Shares are below 1.
    return first + shares[np.arange(len(shares)), first]


def _thresholds(feature: FloatArray, n_classes: int) -> FloatArray:
    """Return thresholds at quantiles; for three or more classes, at those of each most probable class."""
    if n_classes <= 2:
        return np.unique(np.quantile(feature, np.arange(1, _BINS) / _BINS))
    found, bins = [np.arange(1.0, n_classes)], max(_BINS // n_classes, 2)
    for number in range(n_classes):
        own = feature[(feature >= number) & (feature < number + 1)]
        if len(own):
            found.append(np.quantile(own, np.arange(1, bins) / bins))
    return np.unique(np.concatenate(found))


def _check_predictions(predict: Callable[[FloatArray], FloatArray], X: FloatArray) -> None:
    """Raise an error if a model predicts the same for all public rows, or a row by the other rows."""
    found = predict(X)
    if np.ptp(found, axis=0).max() < SAME:
        raise ValueError("public_model predicts the same for all public rows: leave it out.")
    apart = np.empty_like(found)
    for first in range(min(2, len(X))):
        apart[first::2] = predict(X[first::2])
    if np.abs(apart - found).max() > SAME:
        raise ValueError(
            "public_model predicts a row by what other rows are beside it: one private row would move the "
            "scores of all. Its prediction must be a function of the row alone."
        )
