# SPDX-License-Identifier: BSD-3-Clause
"""Doses of warfarin from three sites: each site alone, and together on platforms that open no row."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from skprivate import (
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    DPBoostingRegressor,
    LocalAverageRegressor,
)
from skprivate.collaborative import SecureSumAggregator

from .data import Split
from .method import Method, Prediction, Predictions
from .peers import DELTA

#: Who is whose patient: anybody's, or by origin for the most part (Asian; White; all others).
DEALINGS = ("at random", "by origin")
N_SITES = 3
# mg/week: the usual start for everybody.
FIXED = 35.0
# Age, height and weight; then columns of 0 and 1 for Asian, Black, White and unknown origin.
QUASI_IDENTIFIERS, ASIAN, WHITE = [0, 1, 2], 3, 5

FloatArray = NDArray[np.float64]
Sites = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sites3:
    """A split whose training and test rows belong to sites; doses are shares of their public range."""

    split: Split
    dealing: str

    @property
    def training(self) -> Sites:
        return self._of(self.split.X, 11)

    @property
    def tested(self) -> Sites:
        return self._of(self.split.X_test, 12)

    @property
    def shares(self) -> FloatArray:
        low, high = self.range
        return (self.split.y - low) / (high - low)

    @property
    def range(self) -> tuple[float, float]:
        return self.split.target_range or (0.0, 1.0)

    def _of(self, X: FloatArray, stream: int) -> Sites:
        if self.dealing == "by origin":
            return np.where(X[:, ASIAN] == 1, 0, np.where(X[:, WHITE] == 1, 1, 2))
        return np.random.default_rng([self.split.seed, stream]).integers(N_SITES, size=len(X))


#: Predicted shares of the range, from rows at sites and epsilon.
Answer = Callable[[Sites3, float], FloatArray]


def _averages(rows: Sites3) -> LocalAverageRegressor:
    return LocalAverageRegressor(bounds=rows.split.bounds)


def _alone(rows: Sites3, epsilon: float) -> FloatArray:
    """Ask every patient's own site, whose model has its rows alone."""
    models = [
        _averages(rows).fit(rows.split.X[rows.training == k], rows.shares[rows.training == k])
        for k in range(N_SITES)
    ]
    return np.choose(rows.tested, [model.predict(rows.split.X_test) for model in models])


def _together(rows: Sites3, estimator: Any) -> FloatArray:
    """Every site has a model; only the sum of their answers is opened."""
    return _asked(rows, CollaborativeRegressor(estimator, aggregator=SecureSumAggregator()))


def _asked(rows: Sites3, platform: Any) -> FloatArray:
    return platform.fit(rows.split.X, rows.shares, sites=rows.training).predict(rows.split.X_test)


def _protected(rows: Sites3, epsilon: float) -> FloatArray:
    """The platform of the paper: coarsened queries, and answers swapped among three ranks."""
    parts: dict[str, Any] = {"depth": 4, "p_lower": 1, "p_upper": N_SITES - 1}
    parts |= {"quasi_identifiers": QUASI_IDENTIFIERS, "bounds": rows.split.bounds}
    return _asked(rows, CollaborativeLARRegressor(**parts))


def _boosted(rows: Sites3, epsilon: float) -> FloatArray:
    """Rows of sites are other people's: all models together cost what one of them costs."""
    known: dict[str, Any] = {"delta": DELTA, "bounds_X": rows.split.bounds, "bounds_y": (0, 1)}
    return _together(rows, DPBoostingRegressor(epsilon, **known))


_ANSWERS: dict[str, Answer] = {
    "three sites, DP boosting, secure sum": _boosted,
    "three sites, local averages, secure sum": lambda rows, _: _together(rows, _averages(rows)),
    "three sites, coarsened queries, swaps": _protected,
    "three sites, ridge, secure sum": lambda rows, _: _together(rows, Ridge()),
    "fixed, 35 mg/week": lambda rows, _: np.full(len(rows.split.X_test), FIXED / rows.range[1]),
    "every patient's own site": _alone,
    "pooled local averages, not private": lambda rows, _: (
        _averages(rows).fit(rows.split.X, rows.shares).predict(rows.split.X_test)
    ),
}


def sites() -> Iterator[tuple[str, Method]]:
    """Yield names and methods; only one of them draws noise by epsilon."""
    for dealing in DEALINGS:
        for name, answer in _ANSWERS.items():
            kind = "central" if answer is _boosted else "ceiling"
            yield f"{name} ({dealing})", Method(partial(_doses, answer, dealing), kind, on_public=False)


def _doses(answer: Answer, dealing: str, split: Split, epsilons: Sequence[float]) -> Predictions:
    """Yield predicted doses of the test patients, in mg/week."""
    rows = Sites3(split, dealing)
    low, high = rows.range
    for epsilon in epsilons:
        yield Prediction(epsilon, None, low + (high - low) * np.clip(answer(rows, epsilon), 0, 1))
