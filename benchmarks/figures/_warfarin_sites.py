# SPDX-License-Identifier: BSD-3-Clause
"""Doses of warfarin from three sites: each site alone, and together on platforms that open no row."""

from collections.abc import Callable
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

from .._utility.data import Split
from .._utility.peers import DELTA

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


Predict = Callable[[Sites3, float], FloatArray]


def _alone(rows: Sites3, site: int | None) -> FloatArray:
    """Ask one site about all patients; None: every patient's own site."""
    found, split = np.empty(len(rows.split.X_test)), rows.split
    for k in range(N_SITES) if site is None else (site,):
        asked = rows.tested == k if site is None else np.ones(len(found), dtype=bool)
        own = rows.training == k
        model = LocalAverageRegressor(bounds=split.bounds).fit(split.X[own], rows.shares[own])
        found[asked] = model.predict(split.X_test[asked])
    return found


def _together(rows: Sites3, estimator: Any) -> FloatArray:
    """Every site has a model; only the sum of their answers is opened."""
    platform = CollaborativeRegressor(estimator, aggregator=SecureSumAggregator())
    return platform.fit(rows.split.X, rows.shares, sites=rows.training).predict(rows.split.X_test)


def _averages(rows: Sites3, epsilon: float) -> FloatArray:
    return _together(rows, LocalAverageRegressor(bounds=rows.split.bounds))


def _protected(rows: Sites3, epsilon: float) -> FloatArray:
    """The platform of the paper: coarsened queries, and answers swapped among three ranks."""
    parts: dict[str, Any] = {
        "depth": 4,
        "p_lower": 1,
        "p_upper": N_SITES - 1,
        "quasi_identifiers": QUASI_IDENTIFIERS,
    }
    platform = CollaborativeLARRegressor(bounds=rows.split.bounds, **parts)
    return platform.fit(rows.split.X, rows.shares, sites=rows.training).predict(rows.split.X_test)


def _boosted(rows: Sites3, epsilon: float) -> FloatArray:
    """Rows of sites are other people's: all models together cost what one of them costs."""
    known: dict[str, Any] = {"delta": DELTA, "bounds_X": rows.split.bounds, "bounds_y": (0, 1)}
    return _together(rows, DPBoostingRegressor(epsilon, **known))


def _pooled(rows: Sites3, epsilon: float) -> FloatArray:
    model = LocalAverageRegressor(bounds=rows.split.bounds).fit(rows.split.X, rows.shares)
    return model.predict(rows.split.X_test)


#: Predictions by name, and whether a fit draws noise by epsilon.
AT_SITES: dict[str, tuple[Predict, bool]] = {
    "fixed, 35 mg/week": (lambda rows, _: np.full(len(rows.split.X_test), FIXED / rows.range[1]), False),
    **{
        f"site {k + 1} alone": (partial(lambda rows, _, k: _alone(rows, k), k=k), False)
        for k in range(N_SITES)
    },
    "every patient's own site": (lambda rows, _: _alone(rows, None), False),
    "three sites, local averages, secure sum": (_averages, False),
    "three sites, coarsened queries, swaps": (_protected, False),
    "three sites, ridge, secure sum": (lambda rows, _: _together(rows, Ridge()), False),
    "three sites, DP boosting, secure sum": (_boosted, True),
    "pooled local averages, not private": (_pooled, False),
}


def doses(name: str, rows: Sites3, epsilon: float) -> FloatArray:
    """Return predicted doses of the test patients, in mg/week."""
    low, high = rows.range
    return low + (high - low) * np.clip(AT_SITES[name][0](rows, epsilon), 0, 1)
