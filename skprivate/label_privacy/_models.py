# SPDX-License-Identifier: BSD-3-Clause
"""Regressors that are fitted to noisy targets, and how much their predictions are trusted."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, logsumexp, ndtr
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import Tags
from sklearn.utils.validation import has_fit_parameter

from .._typing import BoolArray, FloatArray, IndexArray
from ..metrics._probabilities import products, row_totals, softmax
from ..utils._compat import num_samples, safe_indexing
from ..utils._public_module import public_module

# Regressors that are fitted to noisy targets, one per target, and the size of the default one.

# Least number of rows of a leaf of the default model, in rows with clean labels: noise is then a quarter of
# it.
_CLEAN_ROWS_IN_LEAF = 12
# The same of a tree per leaf: a leaf of an average tree then has five times the least. The most leaves are
# set by hand.
_CLEAN_ROWS_FOR_LEAF = 60
_MOST_LEAVES = 15
# Trees of the default model: the first try, and the largest number that doubling it reaches while more trees
# help. Set by hand.
_FIRST_TREES, _MOST_TREES = 40, 160
# Twice the usual one: half the trees, no worse on five designs at epsilon 0.5 and 2; 0.3 was.
_LEARNING_RATE = 0.2
# Part of the tried trees beyond which the best number counts as the end. Set by hand.
_NEAR_THE_END = 0.8
# Number of clean rows per tree if held-out rows do not show it, and the range of such numbers of trees. Set
# by hand.
_CLEAN_ROWS_FOR_TREE = 48
_USUAL_TREES = (8, 40)
# Seed of the folds, which are public. Set by hand.
_SEED_OF_FOLDS = 0
# Ridges that are tried, in sums of weights: from none to one that leaves nothing of columns of variance 1.
_RIDGES = np.geomspace(1e-5, 1e2, 15)
# Most numbers of trees whose losses are compared: each has a loss for every row that is held out.
_COMPARED = 40


@dataclass(frozen=True, eq=False)
class NoisyRows:
    """Rows with unbiased targets, and the weight of each.

    Attributes
    ----------
    X : array-like or data frame of n rows
    targets : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
        1 for a row whose target is exact.
    known : ndarray of bool of shape (n,)
        Rows with exact targets.
    folds : ndarray of int of shape (n,), or None
        Fold of every row.
    """

    X: Any
    targets: FloatArray
    weights: FloatArray
    known: BoolArray
    folds: IndexArray | None

    def splits(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return rows to fit and rows to predict of every fold."""
        if self.folds is None:
            return []
        numbers = range(int(self.folds.max()) + 1)
        return [(np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)) for fold in numbers]


def make_folds(known: BoolArray, units: IndexArray, n_folds: int | None) -> IndexArray | None:
    """Return a fold for every row, the same for all rows of one private unit; None for too few units."""
    n_units = int(units.max()) + 1 if len(units) else 0
    if n_folds is None or n_units < 2 * n_folds:
        return None
    # They are public: neither folds nor their seed depend on a label.
    generator = np.random.default_rng(_SEED_OF_FOLDS)
    folds = np.empty(len(known), dtype=np.intp)
    folds[~known] = (generator.permutation(n_units) % n_folds)[units]
    folds[known] = generator.permutation(np.count_nonzero(known)) % n_folds
    return folds


def takes_weights(estimator: Any) -> bool:
    """Return whether a regressor's ``fit`` takes weights of rows."""
    return estimator is None or has_fit_parameter(estimator, "sample_weight")


@public_module("skprivate.label_privacy")
class LinearThenTrees(RegressorMixin, BaseEstimator):
    """Ridge regression, its ridge by generalised cross-validation, then boosted trees of its residuals.

    From few noisy targets of many columns a line can be learned, when no leaf has rows enough. If X holds
    anything but numbers, there are only the trees.

    Parameters
    ----------
    trees : HistGradientBoostingRegressor
    """

    def __init__(self, trees: Any = None) -> None:
        self.trees = trees

    def fit(self, X: Any, y: FloatArray, sample_weight: FloatArray | None = None) -> Self:
        """Fit the line, then the trees."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self._fit_line(X, y, weights)
        self.trees_ = clone(self.trees).fit(X, y - self._line(X), sample_weight=sample_weight)
        return self

    def grow(self, n_trees: int, X: Any, y: FloatArray, weights: FloatArray) -> None:
        """Fit more trees to the same rows, up to a number."""
        self.trees_.set_params(warm_start=True, max_iter=n_trees)
        self.trees_.fit(X, y - self._line(X), sample_weight=weights if np.ptp(weights) > 0 else None)

    def _fit_line(self, X: Any, y: FloatArray, weights: FloatArray) -> None:
        self.coef_, rows, total = None, _numbers(X), float(weights.sum())
        if rows is None:
            return
        known = np.isfinite(rows)
        inside = np.where(known, rows, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            center = weights @ inside / np.maximum(weights @ known, 1e-300)
            inside = np.where(known, rows - center, 0.0)
            scale = np.sqrt(weights @ np.square(inside) / total)
        if not np.isfinite(scale).all():
            return
        inside /= np.where(scale > 0, scale, 1.0)
        mean = float(weights @ y) / total
        values, vectors = np.linalg.eigh((inside.T * weights) @ inside)
        values, seen = np.maximum(values, 0.0), vectors.T @ (inside.T @ (weights * (y - mean)))
        left = values + total * _RIDGES[:, np.newaxis]
        losses = weights @ np.square(y - mean) - (seen**2 / left * (2 - values / left)).sum(axis=1)
        losses /= np.maximum(len(y) - 1 - (values / left).sum(axis=1), 1e-9) ** 2
        slopes = vectors @ (seen / left[losses.argmin()])
        self.coef_ = slopes / np.where(scale > 0, scale, 1.0)
        self.center_, self.mean_ = center, mean
        self.ends_ = np.where(known, rows, center).min(axis=0), np.where(known, rows, center).max(axis=0)

    def _line(self, X: Any) -> FloatArray:
        if self.coef_ is None:
            return np.zeros(num_samples(X))
        rows = np.asarray(X, dtype=np.float64)
        rows = np.clip(np.where(np.isfinite(rows), rows, self.center_), *self.ends_) - self.center_
        return self.mean_ + products(rows, self.coef_[:, np.newaxis])[:, 0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def predict(self, X: Any) -> FloatArray:
        """Return the sum of both."""
        return np.asarray(self._line(X) + self.trees_.predict(X))

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield the sum after every tree."""
        line = self._line(X)
        yield from (line + stage for stage in self.trees_.staged_predict(X))


def _numbers(X: Any) -> FloatArray | None:
    rows = np.asarray(X)
    return rows.astype(np.float64) if rows.dtype.kind in "biuf" else None


def default_model(weights: FloatArray, max_iter: int = _FIRST_TREES) -> LinearThenTrees:
    """Return the default regressor: leaves of its trees hold so many rows that their noise averages out."""
    worth, n_rows = float(weights.mean()), len(weights)
    return LinearThenTrees(
        HistGradientBoostingRegressor(
            max_iter=max_iter,
            learning_rate=_LEARNING_RATE,
            # At most the number of rows: a tiny epsilon would give more than an integer holds.
            min_samples_leaf=int(min(max(20, _CLEAN_ROWS_IN_LEAF / max(worth, 1e-300)), max(20, n_rows))),
            max_leaf_nodes=int(np.clip(n_rows * worth / _CLEAN_ROWS_FOR_LEAF, 3, _MOST_LEAVES)),
            early_stopping=False,
            random_state=0,  # bins of large tables are made from a public draw of the rows
        )
    )


def fit_models(estimator: Any, X: Any, targets: FloatArray, weights: FloatArray) -> list[Any]:
    """Return one fitted clone for every target."""
    known = {"sample_weight": weights} if takes_weights(estimator) and np.ptp(weights) > 0 else {}
    return [clone(estimator).fit(X, target, **known) for target in np.ascontiguousarray(targets.T)]


def predict_targets(models: list[Any], X: Any) -> FloatArray:
    """Return the predictions of all models, of shape (n_rows, n_targets)."""
    columns = [np.asarray(model.predict(X), dtype=np.float64).ravel() for model in models]
    return np.column_stack(columns)


def cross_fit(estimator: Any, rows: NoisyRows) -> FloatArray | None:
    """Return predictions of all rows by models that were not fitted to them; None without folds."""
    if rows.folds is None:
        return None
    found = np.empty((len(rows.weights), rows.targets.shape[1]))
    for fitted, held in rows.splits():
        models = _fit_part(estimator, rows, fitted)
        found[held] = predict_targets(models, safe_indexing(rows.X, held))
    return found


def choose_default(rows: NoisyRows) -> tuple[LinearThenTrees, FloatArray | None]:
    """Return the default regressor with the number of trees that predicts held-out rows best.

    Of the numbers whose loss is at most a standard error above that of the best, it is the one nearest to the
    usual number. The standard error is that of the difference of the losses, row by row. Half of the folds
    are enough for this.
    """
    usual = int(np.clip(rows.weights.sum() / _CLEAN_ROWS_FOR_TREE, *_USUAL_TREES))
    if rows.folds is None:
        return default_model(rows.weights, usual), None
    splits, n_trees = rows.splits(), max(_FIRST_TREES, usual)
    tried = splits[: -(-len(splits) // 2)]
    estimator = default_model(rows.weights, n_trees)
    parts = [_fit_part(estimator, rows, fitted) for fitted, _ in tried]
    while True:
        step, pairs = -(-n_trees // _COMPARED), list(zip(parts, tried, strict=True))
        found = [_losses_by_stage(rows, models, held, step) for models, (_, held) in pairs]
        losses = np.concatenate(found, axis=1)
        best = int(losses.sum(axis=1).argmin())
        if n_trees >= _MOST_TREES or (best + 1) * step < _NEAR_THE_END * n_trees:
            break
        n_trees *= 2
        for models, (fitted, _) in pairs:
            table, targets = safe_indexing(rows.X, fitted), rows.targets[fitted]
            for model, target in zip(models, targets.T, strict=True):
                model.grow(n_trees, table, target, rows.weights[fitted])
    losses -= losses[best].copy()
    as_good = losses.sum(axis=1) <= np.sqrt(np.square(losses, out=losses).sum(axis=1))
    numbers = step * (np.flatnonzero(as_good) + 1)
    n_trees = int(numbers[np.argmin(np.abs(numbers - usual))])
    chosen = default_model(rows.weights, n_trees)
    parts += [_fit_part(chosen, rows, fitted) for fitted, _ in splits[len(tried) :]]
    predictions = np.empty((len(rows.weights), rows.targets.shape[1]))
    for models, (_, held) in zip(parts, splits, strict=True):
        table = safe_indexing(rows.X, held)
        stages = (itertools.islice(model.staged_predict(table), n_trees - 1, None) for model in models)
        predictions[held] = np.column_stack([next(stage) for stage in stages])
    return chosen, predictions


def _fit_part(estimator: Any, rows: NoisyRows, fitted: IndexArray) -> list[Any]:
    return fit_models(estimator, safe_indexing(rows.X, fitted), rows.targets[fitted], rows.weights[fitted])


def _losses_by_stage(rows: NoisyRows, models: list[Any], held: IndexArray, step: int) -> FloatArray:
    """Return the weighted squared errors of held-out rows after every so many trees."""
    table, weights, targets = safe_indexing(rows.X, held), rows.weights[held], rows.targets[held]
    stages = zip(*(model.staged_predict(table) for model in models), strict=True)
    found = [
        weights * np.square(np.column_stack(columns) - targets).sum(axis=1)
        for columns in itertools.islice(stages, step - 1, None, step)
    ]
    return np.array(found)


def rehearse(estimator: Any, X: Any, targets: FloatArray, n_left: int, weighted: bool) -> None:
    """Fit to made-up targets, so that a table that the regressor refuses is found before anything is charged.

    Parameters
    ----------
    estimator : regressor or None
    X : array-like or data frame of n rows
    targets : ndarray of shape (n_targets,)
        Made up. They are repeated for all rows.
    n_left : int
        Number of rows of the smallest fit in cross-fitting.
    weighted : bool
        Whether rows differ in their weights.
    """
    n_rows = num_samples(X)
    if estimator is None:
        estimator = default_model(np.ones(n_rows), max_iter=1)
    made = np.resize(targets, n_rows)
    clone(estimator).fit(X, made)
    if n_left < n_rows:
        known = weighted and takes_weights(estimator)
        weights = {"sample_weight": np.linspace(0.5, 1.0, n_left)} if known else {}
        part = clone(estimator).fit(safe_indexing(X, np.arange(n_left)), made[:n_left], **weights)
        part.predict(safe_indexing(X, np.arange(n_left, n_rows)))


# How much predictions are trusted: they are stretched or shrunk about the base rate, by the reports alone.

# Factors of the deviation from the base rate. They may be above 1: a regressor that stops early, or averages,
# deviates less than it could. At three, all but a third of its range is at the ends.
_SLOPES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 1.8, 2.0, 2.4, 3.0)
#: Least share of the base rate in a prediction. No class probability is below it, relative to the base rate.
#: Set by hand, as the other shares that are tried.
LEAST_SHARE = 0.01
_SHARES = (LEAST_SHARE, 0.02, 0.05, 0.1, 0.2, 0.4)
# Standard errors beyond the ends from which a mean counts as at that distance: floats still resolve it there.
_FARTHEST = 5.0
# Odds of an effect below which reports show none: Jeffreys (1961) calls such evidence a bare mention.
_LEAST_ODDS = 10**0.5
# Log-likelihood by which a slope must beat the mean: the parameters chosen, after Akaike.
_LEAST_GAIN = 2.0


def project(points: FloatArray) -> FloatArray:
    """Return the nearest points of the simplex, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.label_privacy._models import project
    >>> project(np.array([[0.5, 0.7, -0.2]])).round(3)
    array([[0.4, 0.6, 0. ]])
    """
    ordered = -np.sort(-points, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, points.shape[1] + 1)
    n_above = np.count_nonzero(ordered > excess, axis=1)
    above: FloatArray = np.maximum(points - excess[np.arange(len(points)), n_above - 1][:, None], 0.0)
    return above / row_totals(above)


def to_proba(predictions: FloatArray, base: FloatArray, slope: float, share: float) -> FloatArray:
    """Return class probabilities.

    Parameters
    ----------
    predictions : ndarray of shape (n, n_targets)
        Of every class; for two classes only those of the second.
    base : ndarray of shape (n_classes,)
        Base rate, above 0.
    slope : float
        Factor of the deviation from the base rate.
    share : float
        Share of the base rate, above 0.

    Returns
    -------
    proba : ndarray of shape (n, n_classes)
        At least ``share * base``.
    """
    inner = base[-predictions.shape[1] :]
    stretched = inner + slope * (predictions - inner)
    if stretched.shape[1] == 1:
        second = np.clip(stretched, 0.0, 1.0)
        simplex = np.hstack([1 - second, second])
    else:
        simplex = project(stretched)
    return (1 - share) * simplex + share * base


def base_rate(targets: FloatArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """Return the class probabilities of all rows together, never 0.

    Parameters
    ----------
    targets : ndarray of shape (n, n_targets)
        Unbiased.
    weights : ndarray of shape (n,)
    n_classes : int

    Returns
    -------
    rate : ndarray of shape (n_classes,)
        Means of the targets, shrunk toward equal ones by the share of noise in their differences, after James
        and Stein. Each is then replaced by the mean of a normal distribution about it, with its standard
        error, cut off at 0 and 1. So noise makes no rare class impossible.
    """
    shares = weights / weights.sum()
    means = shares @ targets
    errors = np.sqrt(np.square(shares) @ np.square(targets - means))
    # If all rows agree, the error is the change that one more row of another class would make.
    errors = np.maximum(errors, 1 / len(targets))
    if len(means) < n_classes:
        means, errors = np.array([1 - means[0], means[0]]), np.repeat(errors, 2)
    deviations = means - 1 / n_classes
    noise = np.square(errors).sum() / max(float(np.square(deviations).sum()), 1e-300)
    means = 1 / n_classes + max(0.0, 1 - noise) * deviations
    means = np.clip(means, -_FARTHEST * errors, 1 + _FARTHEST * errors)
    low, high = -means / errors, (1 - means) / errors
    density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    inside = means + errors * density / (ndtr(high) - ndtr(low))
    return inside / inside.sum()


def calibrate_classes(
    predictions: FloatArray, base: FloatArray, likelihood: Callable[[FloatArray], FloatArray]
) -> tuple[float, float]:
    """Return the mean slope and share of the base rate, given the reports; slope 0 if they show no effect.

    Before any report, an effect is as likely as none. If there is one, slopes within a factor of two of 1 and
    shares below a tenth are likelier than others. If there are few reports, the likeliest slope would be too
    large: among many, chance favours the largest.

    Parameters
    ----------
    predictions : ndarray of shape (n, n_targets)
        By models that were not fitted to these rows.
    base : ndarray of shape (n_classes,)
    likelihood : callable
        Takes class probabilities of the rows. It returns the probabilities of their reports, or of labels
        that are public.
    """
    none = likelihood(np.broadcast_to(base, (len(predictions), len(base))))
    gains = np.empty((len(_SLOPES), len(_SHARES)))
    for place, slope in enumerate(_SLOPES):
        # Mixing is linear: one projection is enough for all shares.
        ratio = likelihood(to_proba(predictions, base, slope, 0.0)) / none
        gains[place] = [np.log1p((1 - share) * (ratio - 1)).sum() for share in _SHARES]
    slopes, shares = np.array(_SLOPES)[:, np.newaxis], np.array(_SHARES)
    surprise = (np.log(slopes) / np.log(2)) ** 2 / 2 + (np.log(shares / LEAST_SHARE) / np.log(10)) ** 2 / 2
    odds = softmax((gains - surprise).ravel()[np.newaxis]).reshape(gains.shape)
    evidence = logsumexp(gains - surprise) - logsumexp(-surprise)
    if evidence < np.log(_LEAST_ODDS):
        return 0.0, LEAST_SHARE
    effect = float(expit(evidence))
    return effect * float((odds * slopes).sum()), float((odds * shares).sum())


def calibrate_numbers(
    predictions: FloatArray, mean: float, targets: FloatArray, weights: FloatArray
) -> float:
    """Return the slope about the mean with the least squared error; 0 without a gain.

    Parameters
    ----------
    predictions, targets, weights : ndarray of shape (n,)
        By models that were not fitted to these rows; unbiased; inverse to the variance of a target.
    mean : float
    """
    deviation, outcome = predictions - mean, targets - mean
    spread = float(weights @ np.square(deviation))
    if spread == 0.0:
        return 0.0
    slope = float(weights @ (deviation * outcome)) / spread
    # Gain in units of the variance of a target. One parameter takes half of that by chance.
    gain = slope**2 * spread / (2 * float(np.mean(weights * np.square(outcome))))
    return min(slope, _SLOPES[-1]) if slope > 0 and gain > _LEAST_GAIN else 0.0
