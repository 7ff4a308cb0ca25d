# SPDX-License-Identifier: BSD-3-Clause
"""Regressors that are fitted to noisy targets, one a target, and how large the default one may be."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import has_fit_parameter

from .._typing import FloatArray, IndexArray
from ..utils._compat import num_samples, safe_indexing

# Rows with clean labels that a leaf of the default model is worth at least: noise then is a quarter of it.
_CLEAN_ROWS_IN_LEAF = 12
# What a tree is worth of them for every leaf: a leaf of an average tree then has five times the least.
_CLEAN_ROWS_FOR_LEAF = 60
_MOST_LEAVES = 15
# Trees of the default model: the first try, and the last of those that double it while more trees help.
_FIRST_TREES, _MOST_TREES = 40, 320
# Of the tried trees, beyond which the best number counts as the end.
_NEAR_THE_END = 0.8
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
    scored : ndarray of int
        Rows with noisy targets, on which models are judged.
    folds : ndarray of int of shape (len(scored),), or None
        Fold of each of these rows.
    """

    X: Any
    targets: FloatArray
    weights: FloatArray
    scored: IndexArray
    folds: IndexArray | None

    def splits(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return rows to fit and rows to predict of every fold; rows that are not scored are always fitted."""
        if self.folds is None:
            return []
        parts = []
        for fold in range(int(self.folds.max()) + 1):
            held = self.scored[self.folds == fold]
            fitted = np.ones(len(self.weights), dtype=bool)
            fitted[held] = False
            parts.append((np.flatnonzero(fitted), held))
        return parts


def make_folds(units: IndexArray, n_folds: int | None) -> IndexArray | None:
    """Return a fold for every row, the same for all rows of one unit; None for too few units."""
    n_units = int(units.max()) + 1 if len(units) else 0
    if n_folds is None or n_units < 2 * n_folds:
        return None
    # Public: neither folds nor their seed tell of a label.
    folds: IndexArray = (np.random.default_rng(_SEED_OF_FOLDS).permutation(n_units) % n_folds)[units]
    return folds


def takes_weights(estimator: Any) -> bool:
    """Tell whether a regressor's ``fit`` takes weights of rows."""
    return estimator is None or has_fit_parameter(estimator, "sample_weight")


def default_model(weights: FloatArray, max_iter: int = _FIRST_TREES) -> HistGradientBoostingRegressor:
    """Return the default regressor: its leaves hold so many rows that their noise averages out."""
    worth = float(weights.mean())
    return HistGradientBoostingRegressor(
        max_iter=max_iter,
        min_samples_leaf=int(max(20, _CLEAN_ROWS_IN_LEAF / worth)),
        max_leaf_nodes=int(np.clip(len(weights) * worth / _CLEAN_ROWS_FOR_LEAF, 3, _MOST_LEAVES)),
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
    """Return predictions of the scored rows by models that have not seen them; None without folds."""
    if rows.folds is None:
        return None
    found = np.empty((len(rows.weights), rows.targets.shape[1]))
    for fitted, held in rows.splits():
        models = _fit_part(estimator, rows, fitted)
        found[held] = predict_targets(models, safe_indexing(rows.X, held))
    return found[rows.scored]


def choose_default(rows: NoisyRows) -> tuple[HistGradientBoostingRegressor, FloatArray | None]:
    """Return the default regressor with the number of trees that predicts rows it has not seen best."""
    if rows.folds is None:
        return default_model(rows.weights), None
    n_trees = _FIRST_TREES
    while True:
        estimator = default_model(rows.weights, n_trees)
        parts = [(_fit_part(estimator, rows, fitted), held) for fitted, held in rows.splits()]
        losses = sum(_losses(models, rows, held) for models, held in parts)
        best = int(np.argmin(losses)) + 1
        if n_trees >= _MOST_TREES or best < _NEAR_THE_END * n_trees:
            break
        n_trees *= 2
    found = np.empty((len(rows.weights), rows.targets.shape[1]))
    for models, held in parts:
        table = safe_indexing(rows.X, held)
        for place, model in enumerate(models):
            found[held, place] = next(
                values for stage, values in enumerate(model.staged_predict(table), start=1) if stage == best
            )
    return default_model(rows.weights, best), found[rows.scored]


def _fit_part(estimator: Any, rows: NoisyRows, fitted: IndexArray) -> list[Any]:
    return fit_models(
        estimator, safe_indexing(rows.X, fitted), rows.targets[fitted], rows.weights[fitted]
    )


def _losses(models: list[Any], rows: NoisyRows, held: IndexArray) -> FloatArray:
    """Return the sum of squared errors on held rows after every tree."""
    table = safe_indexing(rows.X, held)
    return np.sum(
        [
            [np.square(values - rows.targets[held, place]).sum() for values in model.staged_predict(table)]
            for place, model in enumerate(models)
        ],
        axis=0,
    )


def rehearse(estimator: Any, X: Any, targets: FloatArray) -> None:
    """Fit to made-up targets, so that what the regressor refuses is found before anything is paid for."""
    n_rows = num_samples(X)
    if estimator is None:
        estimator = default_model(np.ones(n_rows), max_iter=1)
    clone(estimator).fit(X, np.resize(targets, n_rows))


