# SPDX-License-Identifier: BSD-3-Clause
"""Simulated populations for a study: public rows, their signal, and rows that are drawn like them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from ..._typing import FloatArray, IntArray
from ...domain import TableDomain
from ...utils import is_frame
from ...utils._compat import num_samples, safe_indexing

# Fewer rows cannot be split into useful folds.
_FEWEST_PUBLIC = 30
# A column of numbers with fewer different values may be a code, and is not moved.
_FEW_VALUES = 10
# Bandwidth for one normal column, in its standard deviations: 0.9 m^(-1/5), Silverman's rule.
_BANDWIDTH, _RATE = 0.9, -0.2


@dataclass(frozen=True)
class _Column:
    """Public values of a column of numbers, in order, and whether most of them differ."""

    ordered: FloatArray
    continuous: bool

    def move(self, values: FloatArray, share: float, rng: np.random.Generator) -> FloatArray:
        """Return values with moved normal scores: a new row has the distribution of the public ones."""
        known = np.isfinite(values)
        left, right = (np.searchsorted(self.ordered, values[known], side=side) for side in ("left", "right"))
        ranks = (left + rng.uniform(size=len(left)) * (right - left)) / len(self.ordered)
        tail = 0.5 / len(self.ordered)
        scores = ndtri(np.clip(ranks, tail, 1 - tail))
        moved = ndtr(np.sqrt(1 - share**2) * scores + share * rng.normal(size=len(scores)))
        result = values.copy()
        if self.continuous:
            places = (np.arange(len(self.ordered)) + 0.5) / len(self.ordered)
            result[known] = np.interp(moved, places, self.ordered)
        else:
            result[known] = self.ordered[
                np.minimum(moved * len(self.ordered), len(self.ordered) - 1).astype(int)
            ]
        return result


class PublicTable:
    """Public rows as the estimator takes them, and as numbers.

    Parameters
    ----------
    table : array-like or data frame of shape (m, d)
    domain : TableDomain or None
        None: numbers are not encoded, and a table of other values by a domain from the public rows.

    Attributes
    ----------
    table : ndarray or data frame
    encoded : ndarray of float64 of shape (m, k)
    is_moved : bool
        Whether numbers of any column are moved when rows are drawn.
    """

    def __init__(self, table: Any, domain: TableDomain | None) -> None:
        self.table: Any = table if is_frame(table) else np.asarray(table)
        self._domain = domain
        if domain is None:
            try:
                np.asarray(self.table, dtype=np.float64)
            except (TypeError, ValueError):
                self._domain = TableDomain.from_public(table)
        self.encoded = self.encode(self.table)
        self._columns = self._find_columns()
        self._share = min(_BANDWIDTH * len(self) ** _RATE, 1.0)
        self.is_moved = bool(self._columns)

    def __len__(self) -> int:
        return num_samples(self.table)

    def encode(self, table: Any) -> FloatArray:
        """Return rows as numbers."""
        if self._domain is not None:
            return self._domain.encode(table)
        return np.asarray(table, dtype=np.float64)

    def draw(self, n: int, rng: np.random.Generator) -> Any:
        """Return rows of the same kind as the public ones."""
        drawn = safe_indexing(self.table, rng.integers(len(self), size=n))
        if not is_frame(drawn):
            drawn = np.array(drawn)
            for place, column in self._columns.items():
                drawn[:, place] = column.move(drawn[:, place].astype(np.float64), self._share, rng)
            return drawn
        moved = {
            name: column.move(drawn[name].to_numpy(dtype=np.float64), self._share, rng)
            for name, column in self._columns.items()
        }
        return drawn.reset_index(drop=True).assign(**moved) if moved else drawn

    def _find_columns(self) -> dict[Any, _Column]:
        """Return the columns of numbers to move, by name or place; only those of pandas and NumPy."""
        named: dict[Any, NDArray[Any]]
        if not is_frame(self.table):
            named = dict(enumerate(self.table.T)) if self.table.dtype.kind in "fiu" else {}
        elif hasattr(self.table, "assign"):
            named = {name: self.table[name].to_numpy() for name in self.table.columns}
        else:
            named = {}
        columns = {}
        for name, values in named.items():
            if values.dtype.kind not in "fiu":
                continue
            ordered = np.sort(values[np.isfinite(values)].astype(np.float64))
            n_values = len(np.unique(ordered))
            if n_values >= _FEW_VALUES:
                columns[name] = _Column(ordered, n_values > len(ordered) / 2)
        return columns


@dataclass(frozen=True, eq=False)
class PublicRows:
    """Checked public rows.

    Attributes
    ----------
    table : PublicTable
    y : ndarray of shape (m,)
        Labels or numbers.
    codes : ndarray of shape (m,)
        Positions of the labels; the numbers, or their logarithms.
    classes : ndarray or None
        None: the targets are numbers.
    limits : tuple of float
        Bounds of the drawn numbers.
    logarithm : bool
        Whether the logarithms of the numbers are modelled.
    """

    table: PublicTable
    y: NDArray[Any]
    codes: NDArray[Any]
    classes: NDArray[Any] | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)
    logarithm: bool = False


def check_public(public: Any, read_targets: Callable[[Any], NDArray[Any]]) -> tuple[Any, NDArray[Any]]:
    """Return public rows and targets; TypeError or ValueError if they are no pair, or too few."""
    if not isinstance(public, tuple | list) or len(public) != 2:
        raise TypeError("public must be a pair (X, y).")
    X, y = public[0], read_targets(public[1])
    if y.ndim != 1 or (X is not None and num_samples(X) != len(y)):
        raise ValueError("public=(X, y) must hold as many targets as rows, y of shape (m,).")
    if len(y) < _FEWEST_PUBLIC:
        raise ValueError(f"at least {_FEWEST_PUBLIC} public rows are needed. Some hundreds are better.")
    return X, y


# AUC and R2 of predictions, with weights.


def area(proba: FloatArray, weights: FloatArray) -> float:
    """Return the mean over classes of the AUC of one against the rest; two classes have one AUC.

    Parameters
    ----------
    proba, weights : ndarray of shape (n, k)
        Predictions, and the share of each row in each class. The shares are indicators if labels are known,
        and the predictions themselves if labels are drawn from them.
    """
    columns = (1,) if proba.shape[1] == 2 else range(proba.shape[1])
    found = [_area_of_one(proba[:, k], weights[:, k]) for k in columns]
    known = [one for one in found if np.isfinite(one)]
    return float(np.mean(known)) if known else 0.5


def _area_of_one(scores: FloatArray, positive: FloatArray) -> float:
    _, places = np.unique(scores, return_inverse=True)
    of_class = np.bincount(places, weights=positive)
    of_others = np.bincount(places, weights=1 - positive)
    pairs = of_class.sum() * of_others.sum()
    if pairs <= 0:
        return float("nan")
    return float(of_class @ (np.cumsum(of_others) - of_others / 2) / pairs)


def indicators(codes: IntArray, n_classes: int) -> FloatArray:
    """Return rows that are 1 at the code and else 0."""
    return (codes[:, np.newaxis] == np.arange(n_classes)).astype(np.float64)


def explained(found: FloatArray, y: FloatArray) -> float:
    """Return R2."""
    spread = float(np.var(y))
    return 1 - float(np.mean((found - y) ** 2)) / spread if spread > 0 else 0.0


# The strength of the signal.

# The learning curve is read at training on nine tenths and on half of the public rows, with ten fits each.
_FOLDS, _HALVES, _REPEATS = 10, 2, 5
# Bootstrap draws for the standard error of a strength; the error of that is 5 %.
_BOOTSTRAP = 200
#: Least probability of a model of public labels.
LEAST_SHARE = 1e-4
# Greatest strength: a model of public rows is never certain.
_STRONGEST = 0.999


def models_of_labels(labels: bool, n_rows: int) -> dict[str, Any]:
    """Return models for a few hundred rows, by name."""
    ranks = QuantileTransformer(n_quantiles=min(100, n_rows // _HALVES), subsample=None)
    small = {"max_iter": 50, "max_leaf_nodes": 6, "l2_regularization": 1.0, "random_state": 0}
    if labels:
        linear = {f"logistic, C={c}": LogisticRegression(C=c, max_iter=500) for c in (0.01, 0.1, 1.0)}
        boosting: Any = HistGradientBoostingClassifier(**small)
    else:
        linear = {"ridge": RidgeCV(np.logspace(-1, 3, 9))}
        boosting = HistGradientBoostingRegressor(**small)
    found, imputer = {}, SimpleImputer(keep_empty_features=True)
    for name, model in linear.items():
        found[name] = make_pipeline(imputer, StandardScaler(), model)
        found[f"{name}, on ranks"] = make_pipeline(imputer, ranks, StandardScaler(), model)
    return {**found, "boosting": boosting}


def predict(model: Any, X: FloatArray, n_classes: int) -> FloatArray:
    """Return probabilities of shape (n, n_classes) by a model of codes, or numbers without classes."""
    if not n_classes:
        return np.asarray(model.predict(X), dtype=np.float64)
    found = np.zeros((len(X), n_classes))
    found[:, model.classes_] = model.predict_proba(X)
    bounded = np.maximum(found, LEAST_SHARE)
    return bounded / bounded.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Signal:
    """The strength of the signal in public rows: how well the target can be predicted.

    Attributes
    ----------
    strength : float
        Expected AUC (a mean over classes) or R2 of a model of n rows.
    below, above : float
        Standard errors downwards and upwards.
    models : tuple of (estimator, ndarray)
        Unfitted models that predict the public rows as well as the best one, and their cross-validated
        predictions.
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
    losses = {
        name: -np.log(found[np.arange(len(y)), y]) if n_classes else (found - y) ** 2
        for name, found in full.items()
    }
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
    # The excess loss of a model with a fixed number of parameters falls as 1/m, of a richer one as m^(-1/2).
    likely, most = (gain * _extension(m, n, power) for power in (1.0, 0.5))
    strength = min(at_full + likely, max((1 + at_full) / 2, at_full))
    above = float(np.hypot(spread, most - likely))
    kept = tuple((models[name], full[name]) for name in equal)
    return Signal(min(strength, _STRONGEST), float(np.hypot(spread, likely)), above, kept)


def _extension(m: int, n: int, power: float) -> float:
    """Return the rise of the curve from 0.9 m training rows to n, in units of that from m/2 to 0.9 m."""
    few, many, all_rows = (m / 2) ** -power, (0.9 * m) ** -power, max(n, m) ** -power
    return (many - all_rows) / (few - many)


def _cross_predict(
    model: Any, X: FloatArray, y: NDArray[Any], n_classes: int, folds: int, seed: int
) -> FloatArray:
    found = np.zeros((len(y), n_classes) if n_classes else len(y))
    for train, test in splitter(y, bool(n_classes), folds, seed).split(X, y):
        found[test] = predict(clone(model).fit(X[train], y[train]), X[test], n_classes)
    return found


def splitter(y: Any, labels: bool, folds: int, seed: int) -> Any:
    """Return a splitter into folds: of labels stratified, and at most as many as the smallest class."""
    if not labels:
        return KFold(folds, shuffle=True, random_state=seed)
    smallest = int(np.unique(y, return_counts=True)[1].min())
    return StratifiedKFold(min(folds, smallest), shuffle=True, random_state=seed)


def _strength(found: FloatArray, y: NDArray[Any]) -> float:
    if found.ndim == 1:
        return explained(found, y)
    return area(found, indicators(y, found.shape[1]))


def _standard_error(found: FloatArray, y: IntArray, rng: np.random.Generator) -> float:
    drawn = rng.integers(len(y), size=(_BOOTSTRAP, len(y)))
    spread = float(np.std([_strength(found[rows], y[rows]) for rows in drawn]))
    if found.ndim == 1:
        return spread
    # Near 1 no drawn row is ranked wrongly, and a bootstrap shows no error. So half a wrong row is added.
    share = (_strength(found, y) * len(y) + 0.5) / (len(y) + 1)
    return max(spread, float(np.sqrt(share * (1 - share) / len(y))))


# Worlds: rows are drawn, and targets follow a model of a stated strength.

# Rows for the tuning of a model to its strength: the standard error of their AUC is below 0.01.
_N_TUNING = 4_000
# Steps that restore the shares of classes: each leaves a small part of the error.
_N_STEPS = 20
# Range of factors of the log-odds: from no signal to certainty.
_FACTORS = (1e-3, 1e3)
# Guards divisions and logarithms against 0.
_TINY = 1e-12


class StatedWorld:
    """Rows by a simulation of the user; ValueError or TypeError if it returns something else."""

    def __init__(self, simulate: Callable[[int, np.random.Generator], Any]) -> None:
        self._simulate = simulate

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        """Return rows and targets of the simulation."""
        drawn = self._simulate(n, rng)
        if not isinstance(drawn, tuple) or len(drawn) != 2:
            raise TypeError("simulate(n, rng) must return a pair (X, y).")
        X, y = drawn[0], np.asarray(drawn[1])
        if y.ndim != 1 or len(y) != n or (X is not None and num_samples(X) != n):
            raise ValueError(
                "simulate(n, rng) must return n rows and n targets: X of n rows, y of shape (n,)."
            )
        return X, y


class LabelWorld:
    """Labels by a model of the public ones. Its log-odds are stretched until it has a given AUC."""

    def __init__(
        self, known: PublicRows, classes: NDArray[Any], model: Any, strength: float, rng: np.random.Generator
    ) -> None:
        self._table, self._classes = known.table, classes
        self._model = clone(model).fit(known.table.encoded, known.codes)
        self._shares = np.bincount(known.codes, minlength=len(classes)) / len(known.codes)
        odds = self._log_odds(known.table.draw(_N_TUNING, rng))
        self._factor = _solve(lambda factor: self._area(odds, factor) - strength)
        self._offset = _restore_shares(odds * self._factor, self._shares)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        """Return rows and labels."""
        X = self._table.draw(n, rng)
        proba = softmax(self._log_odds(X) * self._factor + self._offset, axis=1)
        codes = (proba.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
        return X, self._classes[np.minimum(codes, len(self._classes) - 1)]

    def _log_odds(self, X: Any) -> FloatArray:
        found = np.log(predict(self._model, self._table.encode(X), len(self._classes)))
        return found - found.mean(axis=1, keepdims=True)

    def _area(self, odds: FloatArray, factor: float) -> float:
        proba = softmax(odds * factor + _restore_shares(odds * factor, self._shares), axis=1)
        return area(proba, proba)


class NumberWorld:
    """Targets by a model of the public ones plus its cross-validated residuals, at a given R2."""

    def __init__(
        self, known: PublicRows, model: Any, predicted: FloatArray, strength: float, rng: np.random.Generator
    ) -> None:
        self._table = table = known.table
        self._limits, self._logarithm, target = known.limits, known.logarithm, known.codes
        self._model = clone(model).fit(table.encoded, target)
        drawn = predict(self._model, table.encode(table.draw(_N_TUNING, rng)), 0)
        residuals = target - predicted
        share = float(np.clip(strength, 0, 1))
        self._mean, self._centre = float(target.mean()), float(drawn.mean())
        self._factor = float(np.sqrt(share * target.var() / max(drawn.var(), _TINY)))
        scale = np.sqrt((1 - share) * target.var() / max(residuals.var(), _TINY))
        self._residuals = scale * (residuals - residuals.mean())

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        """Return rows and numbers, within the limits."""
        X = self._table.draw(n, rng)
        signal = self._factor * (predict(self._model, self._table.encode(X), 0) - self._centre)
        y = self._mean + signal + rng.choice(self._residuals, size=n)
        return X, np.clip(np.exp(y) if self._logarithm else y, *self._limits)


World = StatedWorld | LabelWorld | NumberWorld


def _restore_shares(odds: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the offsets of log-odds with which classes keep their shares."""
    offset = np.zeros(odds.shape[1])
    for _ in range(_N_STEPS):
        mean = softmax(odds + offset, axis=1).mean(axis=0)
        offset += np.where(shares > 0, np.log(np.maximum(shares, _TINY) / np.maximum(mean, _TINY)), 0.0)
    return offset


def _solve(excess: Callable[[float], float]) -> float:
    """Return the factor at which an increasing function is 0; 1 if it is below 0 for all factors."""
    low, high = np.log(_FACTORS)
    if excess(_FACTORS[0]) >= 0:
        return _FACTORS[0]
    if excess(_FACTORS[1]) <= 0:
        return 1.0
    return float(np.exp(brentq(lambda power: excess(float(np.exp(power))), low, high, xtol=1e-3)))
