# SPDX-License-Identifier: BSD-3-Clause
"""Honest private regressors: noisy means, moments, bins, a noisy maximum, sparse vector and bisection."""

import math
from fractions import Fraction

import numpy as np

from skprivate.base import SHARED_CONSTRAINTS
from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, check_entropy
from skprivate.utils import number_groups, select_rows

from .honest import Base, Regressor, U, finite


class DPMeanRegressor(Regressor):
    """Noisy sum of the clipped target, divided by the public number of rows."""

    def _exact(self, X, y):
        return np.array([self._units(self._y(y)).sum()])

    def _sensitivity(self, d):
        return max(int(self._width * U), 1)

    def _adopt(self, released, n, d):
        self.mean_ = float(np.clip(self.bounds_y_[0] + released[0] / (U * n), *self.bounds_y_))


class DPGroupMeanRegressor(DPMeanRegressor):
    """The same with the person as the unit, of whom max_rows_per_group rows count."""

    _parameter_constraints = Base._parameter_constraints | {
        "max_rows_per_group": SHARED_CONSTRAINTS["max_rows_per_group"]
    }
    __metadata_request__fit = {"groups": True}

    def __init__(
        self,
        epsilon=1.0,
        *,
        bounds_X=None,
        bounds_y=None,
        max_rows_per_group=1,
        random_state=None,
        ledger=None,
    ):
        super().__init__(
            epsilon, bounds_X=bounds_X, bounds_y=bounds_y, random_state=random_state, ledger=ledger
        )
        self.max_rows_per_group = max_rows_per_group

    def fit(self, X, y, groups=None):
        self._groups = groups
        try:
            return super().fit(X, y)
        finally:
            del self._groups

    def _keep(self, codes, entropy):
        return select_rows(codes, self.max_rows_per_group, entropy.random_bytes)

    def _exact(self, X, y):
        if self._groups is None:
            self._rows, self._unit_now = 1, "row"
            return super()._exact(X, y)
        codes = number_groups(self._groups, np.ones(len(X), dtype=bool), strict=self.is_strict())
        kept = self._keep(codes, check_entropy(self.random_state))
        self._rows, self._unit_now = self.max_rows_per_group, "group"
        # A person with fewer rows than the cap is made up with rows in the middle: n = persons * cap.
        self._persons = int(codes.max()) + 1
        centred = self._units(self._y(y)[kept]) - self._units(np.array([self._width / 2]))
        return np.array([centred.sum()])

    def _sensitivity(self, d):
        # centred rows: within +-width/2, and an absent row is 0
        return super()._sensitivity(d) * self._rows + 2 * self._rows

    def _facts(self, mechanism, n):
        if self._unit_now == "row":
            return super()._facts(mechanism, n)
        facts = super()._facts(mechanism, self._persons)
        return facts | {"unit": "group", "max_rows_per_unit": self._rows}

    def _finish(self, X, y, exact, released):
        n = len(X) if self._unit_now == "row" else self._persons * self._rows
        self.n_rows_, self.released_ = n, released
        offset = 0 if self._unit_now == "row" else self._width / 2
        mean = self.bounds_y_[0] + offset + released[0] / (U * n)
        self.mean_ = float(np.clip(mean, *self.bounds_y_))
        for name in ("_rows", "_unit_now", "_persons"):
            self.__dict__.pop(name, None)


class DPGaussianMeanRegressor(DPMeanRegressor):
    """Mean with discrete Gaussian noise: (epsilon, delta)."""

    _parameter_constraints = Base._parameter_constraints | {"delta": "no_validation"}
    _name = "discrete Gaussian"

    def __init__(
        self, epsilon=1.0, *, delta=1e-6, bounds_X=None, bounds_y=None, random_state=None, ledger=None
    ):
        super().__init__(
            epsilon, bounds_X=bounds_X, bounds_y=bounds_y, random_state=random_state, ledger=ledger
        )
        self.delta = delta

    def _mechanism(self, d):
        return DiscreteGaussianMechanism(
            epsilon=self.epsilon, delta=self.delta, squared_sensitivity=self._sensitivity(d) ** 2
        )

    def _scale_of(self, mechanism):
        return math.isqrt(mechanism.squared_sensitivity), mechanism.sigma

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"delta": mechanism.delta, "rho": mechanism.rho}


class DPLinearRegressor(Regressor):
    """Least squares from noisy moments of (1, x, y), each scaled to [0, 1]."""

    _grid = 2**10

    def _rows_on_grid(self, X, y):
        y = self._y(y) / (self._width or 1.0)
        Z = np.column_stack([np.ones(len(X)), self._unit_X(X), y])
        return np.trunc(Z * self._grid).astype(np.int64)

    def _exact(self, X, y):
        Z = self._rows_on_grid(X, y)
        gram = Z.T @ Z
        return gram[np.triu_indices(gram.shape[0])][1:]

    def _sensitivity(self, d):
        D = d + 2
        return (D * (D + 1) // 2 - 1) * self._grid**2

    def _adopt(self, released, n, d):
        D = d + 2
        gram = np.zeros((D, D))
        rows, columns = np.triu_indices(D)
        gram[rows[1:], columns[1:]] = released / self._grid**2
        gram = np.maximum(gram, gram.T)
        gram[0, 0] = n
        A = gram[:-1, :-1] + np.eye(D - 1) * (0.1 * n)
        self.weights_ = np.linalg.lstsq(A, gram[:-1, -1], rcond=None)[0]

    def _predict(self, X):
        z = np.column_stack([np.ones(len(X)), self._unit_X(X)]) @ self.weights_
        return self.bounds_y_[0] + self._width * np.clip(z, 0, 1)


class DPBinnedRegressor(Regressor):
    """Noisy count and sum of the target in equal bins of the first feature."""

    n_bins = 4

    def _bins(self, X):
        return np.minimum((self._unit_X(X)[:, 0] * self.n_bins).astype(int), self.n_bins - 1)

    def _exact(self, X, y):
        bins, q = self._bins(X), self._units(self._y(y) / (self._width or 1.0))
        counts = np.bincount(bins, minlength=self.n_bins) * U
        sums = np.array([q[bins == b].sum() for b in range(self.n_bins)])
        return np.concatenate([counts, sums]).astype(np.int64)

    def _sensitivity(self, d):
        return 4 * U

    def _adopt(self, released, n, d):
        counts, sums = released[: self.n_bins] / U, released[self.n_bins :] / U
        means = np.clip(sums / np.maximum(counts, 1.0), 0, 1)
        self.bin_means_ = self.bounds_y_[0] + self._width * means

    def _predict(self, X):
        return self.bin_means_[self._bins(X)]


class DPMedianRegressor(Regressor):
    """Report noisy max over a public grid of candidates; nothing but the winner is released."""

    n_candidates = 33
    releases_all_draws = False  # but of the noisy scores, their largest one's position

    def _candidates(self):
        return np.linspace(*self.bounds_y_, self.n_candidates)

    def _exact(self, X, y):
        y = finite(y, *self.bounds_y_)
        c = self._candidates()[:, None]
        return -np.abs((y < c).sum(axis=1) - (y > c).sum(axis=1)).astype(np.int64)

    def _sensitivity(self, d):
        return 4  # twice that of a score: the winner's threshold moves by so much

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        self.winner_ = int(np.argmax(released))
        self.mean_ = float(self._candidates()[self.winner_])


class DPFirstBinRegressor(Regressor):
    """Sparse vector: the first bin of the target with more than `threshold` rows; half of epsilon each."""

    n_bins, threshold = 8, 8
    releases_all_draws = False  # but which count is the first above the noisy bar

    def _exact(self, X, y):
        scaled = self._y(y) / (self._width or 1.0)
        bins = np.minimum((scaled * self.n_bins).astype(int), self.n_bins - 1)
        return np.bincount(bins, minlength=self.n_bins).astype(np.int64)

    def _mechanism(self, d):
        half = Fraction(self.epsilon) / 2
        self_ = DiscreteLaplaceMechanism(half, 2)
        self_.threshold = DiscreteLaplaceMechanism(half, 1)
        return self_

    def _facts(self, mechanism, n):
        total = mechanism.epsilon + mechanism.threshold.epsilon
        return super()._facts(mechanism, n) | {"epsilon": total}

    def _randomize(self, exact, mechanism, entropy):
        bar = mechanism.threshold.randomize(np.array([self.threshold]), entropy)[0]
        above = mechanism.randomize(exact, entropy) >= bar
        return int(np.argmax(above)) if above.any() else self.n_bins

    def _adopt(self, released, n, d):
        self.mean_ = self.bounds_y_[0] + self._width * (released + 0.5) / (self.n_bins + 1)


class DPBisectionRegressor(Regressor):
    """Median by bisection: a round releases how many targets lie above the guess, for epsilon / rounds."""

    n_rounds = 4

    def _exact(self, X, y):
        return self._y(y)

    def _sensitivity(self, d):
        return 1

    def _mechanism(self, d):
        return DiscreteLaplaceMechanism(Fraction(self.epsilon) / self.n_rounds, 1)

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"epsilon": mechanism.epsilon * self.n_rounds}

    def _randomize(self, exact, mechanism, entropy):
        low, high, counts = 0.0, self._width, []
        for _ in range(self._rounds(exact)):
            guess = (low + high) / 2
            above = mechanism.randomize(np.array([int((exact > guess).sum())]), entropy)[0]
            counts.append(int(above))
            low, high = (guess, high) if 2 * above > len(exact) else (low, guess)
        self.mean_ = self.bounds_y_[0] + (low + high) / 2
        return np.array(counts)

    def _rounds(self, exact):
        return self.n_rounds

    def _adopt(self, released, n, d):
        self.n_iter_ = len(released)
