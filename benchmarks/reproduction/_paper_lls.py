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
from sklearn.preprocessing import MinMaxScaler, StandardScaler

FloatArray = NDArray[np.float64]

# Per distribution: linear and quadratic coefficients of the truncated log-likelihood in z = q y - x.p, and
# what 4 + 4 sqrt(d) + d is multiplied by.
QUADRATIC = {"sev": 1 / 2, "logistic": 1 / 4}
SHARE_OF_DELTA = {"sev": 1.0, "logistic": 0.5}


def delta_of(distribution: str, n_features: int) -> float:
    """Return the sensitivity that the paper claims."""
    return SHARE_OF_DELTA[distribution] * (4 + 4 * sqrt(n_features) + n_features)


def scalers(kind: str, X: FloatArray, y: FloatArray) -> tuple[Any, Any]:
    """Return scalers of features and target, READ FROM THE ROWS, as the paper does."""
    if kind == "min-max":
        of_features, of_target = MinMaxScaler((0, 1 / sqrt(X.shape[1]))), MinMaxScaler((-1, 1))
    else:
        of_features, of_target = StandardScaler(), StandardScaler()
    return of_features.fit(X), of_target.fit(y[:, np.newaxis])


def with_ones(X: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(X)), X])


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

    def weigh(self, X: FloatArray, y: FloatArray) -> dict[str, FloatArray]:
        """Return the weights of scaled rows, before noise."""
        self._features, self._target = scalers(self.scaling, X, y)
        targets = self._target.transform(y[:, np.newaxis])[:, 0]
        return weights(self.distribution, with_ones(self._features.transform(X)), targets)

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        rng = np.random.default_rng(self.seed)
        scale = delta_of(self.distribution, X.shape[1]) / self.epsilon
        # One draw per weight: those of p_j p_h and p_h p_j are independent.
        noisy = {name: w + rng.laplace(scale=scale, size=w.shape) for name, w in self.weigh(X, y).items()}
        # A vanishing gradient in (p, q): the maximum only where the noisy quadratic has one.
        across = noisy["pq"][:, np.newaxis]
        hessian = np.block([[noisy["pp"] + noisy["pp"].T, across], [across.T, 2 * noisy["q^2"]]])
        *p, q = np.linalg.solve(hessian, np.append(np.zeros(len(across)), -noisy["q"]))
        self.coef_ = np.array(p) / q
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the fitted mean, in the units of y."""
        fitted = with_ones(self._features.transform(X)) @ self.coef_
        return self._target.inverse_transform(fitted[:, np.newaxis])[:, 0]


def moved_weights(distribution: str, X: FloatArray, y: FloatArray, record: tuple[FloatArray, float]) -> float:
    """Return how far the weights move, in L1, when the last record is replaced, the scaling being read."""
    X_other, y_other = X.copy(), y.copy()
    X_other[-1], y_other[-1] = record
    model = PaperLLS(distribution, np.inf)
    before, after = model.weigh(X, y), model.weigh(X_other, y_other)
    return float(sum(np.abs(before[name] - after[name]).sum() for name in before))
