# SPDX-License-Identifier: BSD-3-Clause
"""Ridge regression AdaSSP, plain and boosted, for comparison only: the noise is NumPy's and protects nobody.

Neither has an intercept: a constant column is added, of the size of a typical feature, and enters the norm.
Rows are shrunk to their public norm, targets clipped to theirs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Probability with which the ridge is allowed to be too small.
FAILURE = 0.05
#: Rounds of boosting, and what residuals are clipped to, as a share of the bound of y.
N_ROUNDS, CLIP = 100, 0.05
# Rows that may differ between neighbours of the boosted one.
ADJACENCY = 2
# Rows that stay in the cache of a processor while a round uses them twice.
_BLOCK = 4096


@dataclass(frozen=True)
class Norms:
    """Public bounds of the Euclidean norm of a row and of abs(y)."""

    x: float
    y: float

    def bounded(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows, the constant column first, and targets, both in units of their bounds."""
        X = X / np.maximum(np.linalg.norm(X, axis=1), self.x)[:, np.newaxis]
        rows = np.column_stack([np.full(len(X), 1.0 / math.sqrt(X.shape[1])), X])
        return rows, np.clip(y / self.y, -1.0, 1.0)

    def line(self, theta: FloatArray) -> tuple[FloatArray, float]:
        """Return slopes and intercept of coefficients in units of the bounds."""
        return theta[1:] * (self.y / self.x), float(theta[0] * self.y / math.sqrt(len(theta) - 1))


def adassp(gram: FloatArray, cross: FloatArray, epsilon: float, delta: float, seed: int) -> FloatArray:
    """Return coefficients from moments of bounded rows, the ridge chosen by the noisy least eigenvalue.

    Wang, Revisiting differentially private linear regression: optimal and adaptive prediction and estimation
    in unbounded domain, UAI 2018, Algorithm 2.
    """
    rng, d = np.random.default_rng(seed), len(cross)
    third, log = epsilon / 3, math.log(6 / delta)
    # The norm of a row with its constant.
    norm = math.hypot(1.0, 1.0 / math.sqrt(d - 1))
    noise = math.sqrt(log) / third * norm
    least = np.linalg.eigvalsh(gram)[0] + noise * norm * rng.standard_normal() - log / third * norm**2
    wanted = math.sqrt(d * log * math.log(2 * d * d / FAILURE)) * norm**2 / third
    ridge = max(0.0, wanted - max(least, 0.0))
    noisy = gram + noise * norm * _symmetric(rng.standard_normal((d, d)))
    return np.linalg.solve(noisy + ridge * np.eye(d), cross + noise * rng.standard_normal(d))


class Boosted:
    """Boosting of linear steps on noisy gradients of clipped residuals, preconditioned by noisy moments.

    Tang, Aydore, Kearns, Rho, Roth, Wang, Wang, Wu, Improved differentially private regression via gradient
    boosting, SaTML 2024: the ridge of AdaSSP once, then steps of it on clipped residuals. Charged by
    zero-concentrated differential privacy for a replaced row, a third of rho each to the least eigenvalue,
    the moments and all gradients. A replaced row moves X'X by at most sqrt(2) squared norms, the least
    eigenvalue by one, and a gradient by two norms times the clip.
    """

    def __init__(self, gram: FloatArray, rho: float, seed: int) -> None:
        """Release the moments of the rows: what a step multiplies noisy gradients by."""
        self._rng, d = np.random.default_rng(seed), len(gram) - 1
        square, sigma = 1.0 + 1.0 / d, 1.0 / math.sqrt(2.0 * rho / 3.0)
        # Noise on one triangle: products count twice in the squared sensitivity, so their variance is half.
        noise = math.sqrt(ADJACENCY) * square * sigma
        halved = np.where(np.eye(d + 1), 1.0, math.sqrt(2.0))
        matrix = gram + noise * _symmetric(self._rng.standard_normal(gram.shape)) / halved
        least = np.linalg.eigvalsh(gram)[0] + square * sigma * (self._rng.standard_normal() - 1.7)
        ridge = max(0.0, math.sqrt(2.0 * (d + 1)) * noise - max(least, 0.0))
        self._inverse = np.linalg.inv(matrix + ridge * np.eye(d + 1))
        self._spread = ADJACENCY * math.sqrt(square * N_ROUNDS) * CLIP * sigma
        self.theta = np.zeros(d + 1)

    def step(self, gradient: FloatArray) -> None:
        """Add noise to a gradient at `theta`, and move."""
        noisy = gradient + self._spread * self._rng.standard_normal(len(gradient))
        self.theta = self.theta + self._inverse @ noisy


def boost_together(fits: Sequence[Boosted], rows: FloatArray, targets: FloatArray) -> None:
    """Boost models that differ in rho and seed alone, so that rows are read once a round for all of them."""
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(rows), _BLOCK)]
    for _ in range(N_ROUNDS):
        thetas = np.column_stack([one.theta for one in fits])
        gradients = np.zeros(thetas.shape)
        for block in blocks:
            residuals = targets[block, np.newaxis] - rows[block] @ thetas
            gradients += rows[block].T @ np.clip(residuals, -CLIP, CLIP)
        for one, gradient in zip(fits, gradients.T, strict=True):
            one.step(gradient)


def _symmetric(draws: FloatArray) -> FloatArray:
    return np.triu(draws) + np.triu(draws, 1).T
