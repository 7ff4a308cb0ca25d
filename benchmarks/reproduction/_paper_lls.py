# SPDX-License-Identifier: BSD-3-Clause
"""DP-LLS regression as printed by Sheng and Fang, for comparison only: it protects NOBODY.

Its scaling reads minima and maxima from the private rows, so that no sensitivity holds, and its noise is
NumPy's Laplace noise in floating point, from a seed.
"""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Per distribution: linear and quadratic coefficients of the truncated log-likelihood in z = q y - x.p, and
# what 4 + 4 sqrt(d) + d is multiplied by.
QUADRATIC = {"sev": 1 / 2, "logistic": 1 / 4}
SHARE_OF_DELTA = {"sev": 1.0, "logistic": 0.5}


def delta_of(distribution: str, n_features: int) -> float:
    """Return the sensitivity that the paper claims."""
    return SHARE_OF_DELTA[distribution] * (4 + 4 * sqrt(n_features) + n_features)


@dataclass(frozen=True)
class Scaling:
    """Affine maps READ FROM THE ROWS, as the paper does.

    Attributes
    ----------
    x_origin, x_unit : ndarray of shape (n_features,)
    y_origin, y_unit : float
    """

    x_origin: FloatArray
    x_unit: FloatArray
    y_origin: float
    y_unit: float

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, kind: str = "min-max") -> Self:
        x_low, y_low = X.min(axis=0), float(y.min())
        y_half = float(y.max() - y.min()) / 2
        if kind == "min-max":
            return cls(x_low, (X.max(axis=0) - x_low) * sqrt(X.shape[1]), y_low + y_half, y_half)
        return cls(X.mean(axis=0), X.std(axis=0), float(y.mean()), float(y.std()))

    def features(self, X: FloatArray) -> FloatArray:
        """Return rows with a leading 1; with "min-max" the features are in [0, 1 / sqrt(d)]."""
        return np.column_stack([np.ones(len(X)), (X - self.x_origin) / self.x_unit])

    def target(self, y: FloatArray) -> FloatArray:
        """Return the target; with "min-max" in [-1, 1]."""
        return (y - self.y_origin) / self.y_unit

    def original(self, y: FloatArray) -> FloatArray:
        return self.y_origin + self.y_unit * y


def weights(distribution: str, rows: FloatArray, y: FloatArray) -> dict[str, FloatArray]:
    """Return the weights of the polynomial, by its monomials: q, q^2, p_j q, and p_j p_h over (j, h)."""
    n, c = len(y), QUADRATIC[distribution]
    return {
        "q": np.array([2.0 * n]),
        "q^2": np.array([-(n / 2 + c * y @ y)]),
        "pq": 2 * c * rows.T @ y,
        # The diagonal holds p_j^2; p_j p_h and p_h p_j stand apart.
        "pp": -c * rows.T @ rows,
    }


@dataclass
class PaperLLS:
    """Algorithms 1 (SEV) and 2 (logistic), without a regulariser.

    Parameters
    ----------
    distribution : {"sev", "logistic"}
    epsilon : float
        Nominal; infinity adds no noise.
    scaling : {"min-max", "standard"}
        As stated; or X and y of mean 0 and variance 1, which comes near the paper's figures, but no
        sensitivity holds for it, wherever means and variances come from.
    seed : int
        Of NumPy's Laplace noise.
    """

    distribution: str
    epsilon: float
    scaling: str = "min-max"
    seed: Any = 0
    coef_: FloatArray = field(init=False, repr=False)
    scale_: float = field(init=False, repr=False)

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        self._scaling = Scaling.of(X, y, self.scaling)
        exact = weights(self.distribution, self._scaling.features(X), self._scaling.target(y))
        noisy = self._perturb(exact, X.shape[1])
        p, q = _stationary_point(noisy)
        self.scale_, self.coef_ = 1 / q, p / q
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the fitted mean, in the units of y."""
        return self._scaling.original(self._scaling.features(X) @ self.coef_)

    def _perturb(self, exact: dict[str, FloatArray], n_features: int) -> dict[str, FloatArray]:
        rng, delta = np.random.default_rng(self.seed), delta_of(self.distribution, n_features)
        # One draw per weight: those of p_j p_h and p_h p_j are independent.
        return {
            name: weight + rng.laplace(scale=delta / self.epsilon, size=weight.shape)
            for name, weight in exact.items()
        }


def _stationary_point(noisy: dict[str, FloatArray]) -> tuple[FloatArray, float]:
    """Solve for a vanishing gradient in (p, q): the maximum only where the noisy quadratic has one."""
    size = len(noisy["pq"]) + 1
    hessian, gradient = np.empty((size, size)), np.zeros(size)
    hessian[:-1, :-1] = noisy["pp"] + noisy["pp"].T
    hessian[-1, :-1] = hessian[:-1, -1] = noisy["pq"]
    hessian[-1, -1] = 2 * noisy["q^2"][0]
    gradient[-1] = noisy["q"][0]
    solution = np.linalg.solve(hessian, -gradient)
    return solution[:-1], float(solution[-1])


def moved_weights(distribution: str, X: FloatArray, y: FloatArray, record: tuple[FloatArray, float]) -> float:
    """Return how far the weights move, in L1, when the last record is replaced, the scaling being read."""
    X_other, y_other = X.copy(), y.copy()
    X_other[-1], y_other[-1] = record
    before, after = (
        weights(distribution, scaling.features(table), scaling.target(targets))
        for table, targets in ((X, y), (X_other, y_other))
        for scaling in (Scaling.of(table, targets),)
    )
    return float(sum(np.abs(before[name] - after[name]).sum() for name in before))
