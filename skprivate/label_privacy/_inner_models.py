# SPDX-License-Identifier: BSD-3-Clause
"""Regressors that are fitted to noisy targets, one a target, and how large the default one may be."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import has_fit_parameter

from .._typing import BoolArray, FloatArray, IndexArray
from ..utils._compat import num_samples, safe_indexing

# Rows with clean labels that a leaf of the default model is worth at least: noise then is a quarter of it.
_CLEAN_ROWS_IN_LEAF = 12
# What a tree is worth of them for every leaf: a leaf of an average tree then has five times the least.
_CLEAN_ROWS_FOR_LEAF = 60
_MOST_LEAVES = 15
# Trees of the default model: the first try, and the most of those that double it while more trees help.
_FIRST_TREES, _MOST_TREES = 40, 160
# Twice the usual one: half the trees, no worse on five designs at epsilon .5 and 2; .3 was.
_LEARNING_RATE = 0.2
# Of the tried trees, beyond which the best number counts as the end.
_NEAR_THE_END = 0.8
# Clean rows that a tree is worth where held-out rows do not tell, and the range of such numbers of trees.
_CLEAN_ROWS_FOR_TREE = 48
_USUAL_TREES = (8, 40)
_SEED_OF_FOLDS = 0


@dataclass(frozen=True, eq=False)
class NoisyRows:
    """Rows with unbiased targets, and what each is worth.

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
    # Public: neither folds nor their seed tell of a label.
    generator = np.random.default_rng(_SEED_OF_FOLDS)
    folds = np.empty(len(known), dtype=np.intp)
    folds[~known] = (generator.permutation(n_units) % n_folds)[units]
    folds[known] = generator.permutation(np.count_nonzero(known)) % n_folds
    return folds


def takes_weights(estimator: Any) -> bool:
    """Tell whether a regressor's ``fit`` takes weights of rows."""
    return estimator is None or has_fit_parameter(estimator, "sample_weight")


def default_model(weights: FloatArray, max_iter: int = _FIRST_TREES) -> HistGradientBoostingRegressor:
    """Return the default regressor: its leaves hold so many rows that their noise averages out."""
    worth, n_rows = float(weights.mean()), len(weights)
    return HistGradientBoostingRegressor(
        max_iter=max_iter,
        learning_rate=_LEARNING_RATE,
        # No more than there are: a tiny epsilon would ask for more than an integer holds.
        min_samples_leaf=int(min(max(20, _CLEAN_ROWS_IN_LEAF / max(worth, 1e-300)), max(20, n_rows))),
        max_leaf_nodes=int(np.clip(n_rows * worth / _CLEAN_ROWS_FOR_LEAF, 3, _MOST_LEAVES)),
        early_stopping=False,
        random_state=0,  # bins of large tables are made of a public draw of the rows
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
    """Return predictions of all rows by models that have not seen them; None without folds."""
    if rows.folds is None:
        return None
    found = np.empty((len(rows.weights), rows.targets.shape[1]))
    for fitted, held in rows.splits():
        models = _fit_part(estimator, rows, fitted)
        found[held] = predict_targets(models, safe_indexing(rows.X, held))
    return found


def choose_default(rows: NoisyRows) -> tuple[HistGradientBoostingRegressor, FloatArray | None]:
    """Return the default regressor with the number of trees that predicts rows it has not seen best."""
    usual = int(np.clip(rows.weights.sum() / _CLEAN_ROWS_FOR_TREE, *_USUAL_TREES))
    if rows.folds is None:
        return default_model(rows.weights, usual), None
    n_trees = max(_FIRST_TREES, usual)
    while True:
        estimator = default_model(rows.weights, n_trees)
        parts = [(_fit_part(estimator, rows, fitted), held) for fitted, held in rows.splits()]
        losses = _LossesByStage(parts, rows)
        best = losses.best()
        if n_trees >= _MOST_TREES or best < _NEAR_THE_END * n_trees:
            break
        n_trees *= 2
    chosen = losses.nearest_as_good(best, usual)
    found = np.empty((len(rows.weights), rows.targets.shape[1]))
    for models, held in parts:
        found[held] = _predict_at(chosen, models, safe_indexing(rows.X, held))
    return default_model(rows.weights, chosen), found


def _fit_part(estimator: Any, rows: NoisyRows, fitted: IndexArray) -> list[Any]:
    return fit_models(estimator, safe_indexing(rows.X, fitted), rows.targets[fitted], rows.weights[fitted])


class _LossesByStage:
    """Weighted squared errors on held-out rows after every tree."""

    def __init__(self, parts: list[tuple[list[Any], IndexArray]], rows: NoisyRows) -> None:
        self._parts, self._rows = parts, rows
        self._sums = np.sum([[error.sum() for error in self._errors(*part)] for part in parts], axis=0)

    def best(self) -> int:
        """Return the number of trees with the least error."""
        return int(np.argmin(self._sums)) + 1

    def nearest_as_good(self, best: int, usual: int) -> int:
        """Return the number nearest to the usual one whose error is at most a standard error above the least.

        The standard error is that of the difference of the errors, row by row.
        """
        total, squares = np.zeros((2, len(self._sums)))
        for models, held in self._parts:
            errors = self._errors(models, held)
            least = next(itertools.islice(self._errors(models, held), best - 1, None))
            for stage, error in enumerate(errors):
                total[stage] += (error - least).sum()
                squares[stage] += np.square(error - least).sum()
        as_good = np.flatnonzero(total <= np.sqrt(squares)) + 1
        return int(as_good[np.argmin(np.abs(as_good - usual))])

    def _errors(self, models: list[Any], held: IndexArray) -> Iterator[FloatArray]:
        """Yield the errors of held rows after every tree."""
        table, weights = safe_indexing(self._rows.X, held), self._rows.weights[held]
        targets = self._rows.targets[held]
        for columns in zip(*(model.staged_predict(table) for model in models), strict=True):
            yield weights * np.square(np.column_stack(columns) - targets).sum(axis=1)


def _predict_at(n_trees: int, models: list[Any], X: Any) -> FloatArray:
    stages = (itertools.islice(model.staged_predict(X), n_trees - 1, None) for model in models)
    return np.column_stack([next(stage) for stage in stages])


def rehearse(estimator: Any, X: Any, targets: FloatArray, n_left: int, weighted: bool) -> None:
    """Fit to made-up targets, so that what the regressor refuses is found before anything is paid for.

    Parameters
    ----------
    estimator : regressor or None
    X : array-like or data frame of n rows
    targets : ndarray of shape (n_targets,)
        Made up, one for some rows, and again from the first on.
    n_left : int
        Rows that the smallest fit of cross-fitting has.
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
