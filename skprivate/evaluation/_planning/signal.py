# SPDX-License-Identifier: BSD-3-Clause
"""How strong the signal of public rows is: cross-validated, and what more rows would add."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from ..._typing import FloatArray, IntArray
from .areas import area, explained, indicators

# The learning curve is read at training on nine tenths and on half of the public rows, ten fits each.
_FOLDS, _HALVES, _REPEATS = 10, 2, 5
# Draws of the rows whose spread is the standard error of a strength: its own error is 5 %.
_BOOTSTRAP = 200
#: Least probability of a model of public labels.
LEAST_SHARE = 1e-4
# What 1 is not reached by.
_STRONGEST = 0.999


def models_of_labels(labels: bool, n_rows: int) -> dict[str, Any]:
    """Return models that a few hundred rows can train, by name."""
    ranks = QuantileTransformer(n_quantiles=min(100, n_rows // _HALVES), subsample=None)
    small = {"max_iter": 50, "max_leaf_nodes": 6, "l2_regularization": 1.0, "random_state": 0}
    if labels:
        linear = {f"logistic, C={c}": LogisticRegression(C=c, max_iter=500) for c in (0.01, 0.1, 1.0)}
        boosting: Any = HistGradientBoostingClassifier(**small)
    else:
        linear = {"ridge": RidgeCV(np.logspace(-1, 3, 9))}
        boosting = HistGradientBoostingRegressor(**small)
    found = {}
    for name, model in linear.items():
        found[name] = make_pipeline(_imputer(), StandardScaler(), model)
        found[f"{name}, on ranks"] = make_pipeline(_imputer(), ranks, StandardScaler(), model)
    return {**found, "boosting": boosting}


def _imputer() -> SimpleImputer:
    return SimpleImputer(keep_empty_features=True)


def predict(model: Any, X: FloatArray, n_classes: int) -> FloatArray:
    """Return probabilities of shape (n, n_classes) by a model of codes, or numbers where there are none."""
    if not n_classes:
        return np.asarray(model.predict(X), dtype=np.float64)
    found = np.zeros((len(X), n_classes))
    found[:, model.classes_] = model.predict_proba(X)
    bounded = np.maximum(found, LEAST_SHARE)
    result: FloatArray = bounded / bounded.sum(axis=1, keepdims=True)
    return result


@dataclass(frozen=True)
class Signal:
    """What public rows tell of how well the target can be predicted.

    Attributes
    ----------
    strength : float
        AUC (a mean over classes), or R2: expected of a model of n rows.
    below, above : float
        Standard errors towards less and more.
    models : tuple of (estimator, ndarray)
        Unfitted, with cross-validated predictions: those that predict the public rows as well as the best.
    """

    strength: float
    below: float
    above: float
    models: tuple[tuple[Any, NDArray[Any]], ...]

    def at(self, deviation: float) -> float:
        """Return the strength some standard errors away."""
        found = self.strength + deviation * (self.above if deviation > 0 else self.below)
        return min(found, max(_STRONGEST, self.strength))


def measure_signal(
    X: FloatArray, y: NDArray[Any], n_classes: int, n: int, rng: np.random.Generator
) -> Signal:
    """Cross-validate models of public rows, and extend the learning curve of the best one to n rows.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    y : ndarray of shape (m,)
        Codes 0 to ``n_classes`` - 1, or numbers.
    n_classes : int
        0: numbers.
    n : int
    rng : Generator
    """
    models = models_of_labels(bool(n_classes), len(y))
    seed = int(rng.integers(2**31))
    full = {name: _cross_predict(one, X, y, n_classes, _FOLDS, seed) for name, one in models.items()}
    losses = {name: _losses(found, y) for name, found in full.items()}
    best = min(losses, key=lambda name: losses[name].mean())
    equal = [best]
    for name, loss in losses.items():
        excess = loss - losses[best]
        if name != best and excess.mean() <= excess.std() / np.sqrt(len(y)):
            equal.append(name)
    halves = [
        _cross_predict(models[best], X, y, n_classes, _HALVES, seed + 1 + repeat)
        for repeat in range(_REPEATS)
    ]
    at_full = _strength(full[best], y)
    gain = max(at_full - float(np.mean([_strength(one, y) for one in halves])), 0.0)
    m = len(y)
    spread = _standard_error(full[best], y, rng)
    # The excess of a model with a fixed number of parameters falls by 1/m, of a richer one by m^(-1/2).
    likely, most = (gain * _extension(m, n, power) for power in (1.0, 0.5))
    strength = min(at_full + likely, max((1 + at_full) / 2, at_full))
    above = float(np.hypot(spread, most - likely))
    kept = tuple((models[name], full[name]) for name in equal)
    return Signal(min(strength, _STRONGEST), float(np.hypot(spread, likely)), above, kept)


def _extension(m: int, n: int, power: float) -> float:
    """Return how far the curve rises from training on m rows to n, in rises from m/2 to 0.9 m."""
    few, many, all_rows = (m / 2) ** -power, (0.9 * m) ** -power, max(n, m) ** -power
    return (many - all_rows) / (few - many)


def _cross_predict(
    model: Any, X: FloatArray, y: NDArray[Any], n_classes: int, folds: int, seed: int
) -> FloatArray:
    found = np.zeros((len(y), n_classes) if n_classes else len(y))
    splitter: Any = KFold
    if n_classes:
        splitter, folds = StratifiedKFold, min(folds, int(np.bincount(y)[np.unique(y)].min()))
    for train, test in splitter(folds, shuffle=True, random_state=seed).split(X, y):
        found[test] = predict(clone(model).fit(X[train], y[train]), X[test], n_classes)
    return found


def _losses(found: FloatArray, y: NDArray[Any]) -> FloatArray:
    if found.ndim == 1:
        return (found - y) ** 2
    result: FloatArray = -np.log(found[np.arange(len(y)), y])
    return result


def _strength(found: FloatArray, y: NDArray[Any]) -> float:
    if found.ndim == 1:
        return explained(found, y)
    return area(found, indicators(y, found.shape[1]))


def _standard_error(found: FloatArray, y: IntArray, rng: np.random.Generator) -> float:
    drawn = rng.integers(len(y), size=(_BOOTSTRAP, len(y)))
    spread = float(np.std([_strength(found[rows], y[rows]) for rows in drawn]))
    if found.ndim == 1:
        return spread
    # Near 1 no drawn row is ranked wrongly, and a bootstrap sees no error: half a row more is taken to be.
    share = (_strength(found, y) * len(y) + 0.5) / (len(y) + 1)
    return max(spread, float(np.sqrt(share * (1 - share) / len(y))))
