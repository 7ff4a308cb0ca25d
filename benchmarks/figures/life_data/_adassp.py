# SPDX-License-Identifier: BSD-3-Clause
"""Ridge regression AdaSSP, for comparison only: its noise is NumPy's, so that it protects nobody."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Probability with which the ridge is allowed to be too small.
FAILURE = 0.05
# Rows that stay in the cache of a processor while a round uses them twice.
_BLOCK = 4096


class AdaSSP:
    """Ridge regression on noisy sufficient statistics, the ridge chosen by the noisy least eigenvalue.

    Wang, Revisiting differentially private linear regression: optimal and adaptive prediction and estimation
    in unbounded domain, UAI 2018, Algorithm 2. The method has no intercept; a constant column is added, of
    the size of a typical feature, and enters the norm. Rows are shrunk to their norm, targets clipped.

    Parameters
    ----------
    epsilon, delta : float
    x_norm, y_norm : float
        Public bounds of the Euclidean norm of a row and of abs(y).
    seed : int

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    """

    def __init__(self, epsilon: float, delta: float, x_norm: float, y_norm: float, seed: int) -> None:
        self.epsilon, self.delta, self.seed = epsilon, delta, seed
        self.x_norm, self.y_norm = x_norm, y_norm

    def fit(self, X: FloatArray, y: FloatArray) -> "AdaSSP":
        return self.fit_moments(*self.moments(X, y))

    def moments(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return X'X and X'y of bounded rows, the constant column first."""
        X = X * np.minimum(1.0, self.x_norm / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, np.newaxis]
        rows = np.column_stack([np.full(len(X), self._constant(X.shape[1])), X])
        return rows.T @ rows, rows.T @ np.clip(y, -self.y_norm, self.y_norm)

    def fit_moments(self, gram: FloatArray, cross: FloatArray) -> "AdaSSP":
        """Fit to exact statistics."""
        rng, d = np.random.default_rng(self.seed), len(cross)
        third, log = self.epsilon / 3, math.log(6 / self.delta)
        norm = math.hypot(self.x_norm, self._constant(d - 1))
        noise = math.sqrt(log) / third * norm
        least = np.linalg.eigvalsh(gram)[0] + noise * norm * rng.standard_normal() - log / third * norm**2
        wanted = math.sqrt(d * log * math.log(2 * d * d / FAILURE)) * norm**2 / third
        ridge = max(0.0, wanted - max(least, 0.0))
        gram = gram + noise * norm * _symmetric(rng.standard_normal((d, d)))
        cross = cross + noise * self.y_norm * rng.standard_normal(d)
        theta = np.linalg.solve(gram + ridge * np.eye(d), cross)
        self.coef_, self.intercept_ = theta[1:], float(theta[0] * self._constant(d - 1))
        return self

    def predict(self, X: FloatArray) -> Any:
        return X @ self.coef_ + self.intercept_

    def _constant(self, n_features: int) -> float:
        return self.x_norm / math.sqrt(n_features)


class BoostedAdaSSP:
    """Boosting of linear steps on noisy gradients of clipped residuals, preconditioned by noisy moments.

    Tang, Aydore, Kearns, Rho, Roth, Wang, Wang, Wu, Improved differentially private regression via gradient
    boosting, SaTML 2024: the ridge of AdaSSP once, then `n_rounds` steps of it on residuals clipped to `clip`
    times the bound of y. Charged by zero-concentrated differential privacy for a replaced row, a third of rho
    each to the least eigenvalue, the moments and all gradients. A replaced row moves X'X by at most sqrt(2)
    squared norms, the least eigenvalue by one, and a gradient by two norms times the clip.
    With ``adjacency=1`` moments and gradients are charged as if a row were added or removed, which is less.

    Parameters
    ----------
    rho : float
    x_norm, y_norm : float
    seed : int
    n_rounds : int, default=100
    clip : float, default=0.05
    adjacency : {1, 2}, default=2
        Rows that may differ.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    """

    def __init__(
        self,
        rho: float,
        x_norm: float,
        y_norm: float,
        seed: int,
        n_rounds: int = 100,
        clip: float = 0.05,
        adjacency: int = 2,
    ) -> None:
        self.rho, self.x_norm, self.y_norm, self.seed = rho, x_norm, y_norm, seed
        self.n_rounds, self.clip, self.adjacency = n_rounds, clip, adjacency

    def fit(self, X: FloatArray, y: FloatArray) -> "BoostedAdaSSP":
        fit_together([self], X, y)
        return self

    def prepare(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounded rows, the constant column first, and bounded targets; in units of the bounds."""
        X = X * np.minimum(1.0, self.x_norm / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, np.newaxis]
        rows = np.column_stack([np.full(len(X), 1.0 / math.sqrt(X.shape[1])), X / self.x_norm])
        return rows, np.clip(y / self.y_norm, -1.0, 1.0)

    def start(self, gram: FloatArray) -> None:
        """Release the moments of the rows: what a step multiplies noisy gradients by."""
        self._rng, d = np.random.default_rng(self.seed), len(gram) - 1
        square, sigma = 1.0 + 1.0 / d, 1.0 / math.sqrt(2.0 * self.rho / 3.0)
        # Noise on one triangle: products count twice in the squared sensitivity, so their variance is half.
        noise = math.sqrt(self.adjacency) * square * sigma
        matrix = gram + noise * _symmetric(self._rng.standard_normal(gram.shape)) / np.where(
            np.eye(d + 1), 1.0, math.sqrt(2.0)
        )
        least = np.linalg.eigvalsh(gram)[0] + square * sigma * (self._rng.standard_normal() - 1.7)
        ridge = max(0.0, math.sqrt(2.0 * (d + 1)) * noise - max(least, 0.0))
        self._inverse = np.linalg.inv(matrix + ridge * np.eye(d + 1))
        self._spread = self.adjacency * math.sqrt(square * self.n_rounds) * self.clip * sigma
        self.theta = np.zeros(d + 1)

    def step(self, gradient: FloatArray) -> None:
        """Add noise to a gradient at `theta`, and move."""
        noisy = gradient + self._spread * self._rng.standard_normal(len(gradient))
        self.theta = self.theta + self._inverse @ noisy
        self.coef_ = self.theta[1:] * (self.y_norm / self.x_norm)
        self.intercept_ = float(self.theta[0] * self.y_norm / math.sqrt(len(self.theta) - 1))


def fit_together(fits: Sequence[BoostedAdaSSP], X: FloatArray, y: FloatArray) -> None:
    """Fit models that differ in rho and seed alone, so that rows are read once a round for all of them."""
    rows, targets = fits[0].prepare(X, y)
    gram, clip = rows.T @ rows, fits[0].clip
    for one in fits:
        one.start(gram)
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(rows), _BLOCK)]
    for _ in range(fits[0].n_rounds):
        thetas = np.column_stack([one.theta for one in fits])
        gradients = np.zeros(thetas.shape)
        for block in blocks:
            residuals = targets[block, np.newaxis] - rows[block] @ thetas
            gradients += rows[block].T @ np.clip(residuals, -clip, clip)
        for one, gradient in zip(fits, gradients.T, strict=True):
            one.step(gradient)


def _symmetric(draws: FloatArray) -> FloatArray:
    return np.triu(draws) + np.triu(draws, 1).T
