# SPDX-License-Identifier: BSD-3-Clause
"""Worlds in which a study is tried: rows are drawn, and labels follow a model of a stated strength."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.base import clone

from ..._typing import FloatArray, IntArray
from ...utils._compat import num_samples
from .areas import area
from .signal import predict
from .tables import PublicTable

# Rows on which a model is brought to its strength: the standard error of an AUC of these is below 0.01.
_N_TUNING = 4_000
# Steps in which the shares of classes are restored: each leaves a small part of the error.
_N_STEPS = 20
# Factors of the log-odds that are looked at: from no signal to certainty.
_FACTORS = (1e-3, 1e3)
# Least number of public labels that tells the ends of a target.
_TINY = 1e-12


class World(Protocol):
    """Where rows come from."""

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        """Return rows and targets."""


class StatedWorld:
    """Rows by a simulation of the user; ValueError or TypeError where it returns something else."""

    def __init__(self, simulate: Callable[[int, np.random.Generator], Any]) -> None:
        self._simulate = simulate

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        """Return what the simulation does."""
        drawn = self._simulate(n, rng)
        if not isinstance(drawn, tuple) or len(drawn) != 2:
            raise TypeError("simulate(n, rng) must return a pair (X, y).")
        X, y = drawn[0], np.asarray(drawn[1])
        if y.ndim != 1 or len(y) != n or num_samples(X) != n:
            raise ValueError(
                "simulate(n, rng) must return n rows and n targets: X of n rows, y of shape (n,)."
            )
        return X, y


class LabelWorld:
    """Labels by a model of the public ones, whose log-odds are stretched until it has a given AUC."""

    def __init__(
        self,
        table: PublicTable,
        codes: IntArray,
        classes: NDArray[Any],
        model: Any,
        strength: float,
        rng: np.random.Generator,
    ) -> None:
        self._table, self._classes = table, classes
        self._model = clone(model).fit(table.encoded, codes)
        self._shares = np.bincount(codes, minlength=len(classes)) / len(codes)
        odds = self._log_odds(table.draw(_N_TUNING, rng))
        self._factor = _solve(lambda factor: self._area(odds, factor) - strength)
        self._offset = _restore_shares(odds * self._factor, self._shares)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        """Return rows and labels."""
        X = self._table.draw(n, rng)
        proba = _softmax(self._log_odds(X) * self._factor + self._offset)
        codes = (proba.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
        return X, self._classes[np.minimum(codes, len(self._classes) - 1)]

    def _log_odds(self, X: Any) -> FloatArray:
        found = np.log(predict(self._model, self._table.encode(X), len(self._classes)))
        result: FloatArray = found - found.mean(axis=1, keepdims=True)
        return result

    def _area(self, odds: FloatArray, factor: float) -> float:
        proba = _softmax(odds * factor + _restore_shares(odds * factor, self._shares))
        return area(proba, proba)


class NumberWorld:
    """Targets by a model of the public ones plus its cross-validated residuals, at a given R2."""

    def __init__(
        self,
        table: PublicTable,
        y: FloatArray,
        model: Any,
        predicted: FloatArray,
        strength: float,
        rng: np.random.Generator,
        *,
        limits: tuple[float, float] | None = None,
        logarithm: bool = False,
    ) -> None:
        self._table, self._logarithm = table, logarithm
        self._limits = (float(y.min()), float(y.max())) if limits is None else limits
        target = np.log(y) if logarithm else y
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


def _softmax(odds: FloatArray) -> FloatArray:
    grown = np.exp(odds - odds.max(axis=1, keepdims=True))
    result: FloatArray = grown / grown.sum(axis=1, keepdims=True)
    return result


def _restore_shares(odds: FloatArray, shares: FloatArray) -> FloatArray:
    """Return what is added to log-odds so that classes keep their shares."""
    offset = np.zeros(odds.shape[1])
    for _ in range(_N_STEPS):
        mean = _softmax(odds + offset).mean(axis=0)
        offset += np.where(shares > 0, np.log(np.maximum(shares, _TINY) / np.maximum(mean, _TINY)), 0.0)
    return offset


def _solve(excess: Callable[[float], float]) -> float:
    """Return the factor at which an increasing function is 0, or the end that is nearest."""
    low, high = np.log(_FACTORS)
    if excess(_FACTORS[0]) >= 0:
        return _FACTORS[0]
    if excess(_FACTORS[1]) <= 0:
        return 1.0
    return float(np.exp(brentq(lambda power: excess(float(np.exp(power))), low, high, xtol=1e-3)))
