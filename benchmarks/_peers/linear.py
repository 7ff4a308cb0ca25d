# SPDX-License-Identifier: BSD-3-Clause
"""Two private logistic regressions of the literature, for comparison only: their noise is NumPy's.

Both protect rows of norm at most 1 whose neighbours differ by the replacement of one row. Labels are 0 and 1.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

FloatArray = NDArray[np.float64]

# Rounds and momentum of the gradient descent; a step of 4 is the inverse of the largest curvature, 1/4.
ROUNDS, MOMENTUM, STEP = 100, 0.9, 4.0


def log_share(share: Any) -> Any:
    """Return the logarithm of places in [0, 1], from 0 to 1 too: a hundred times as far is twice as far."""
    return np.log1p(99 * share) / np.log(100)


class UnitBall:
    """The map of rows into the unit ball by what is publicly known of the columns.

    Numbers go to [-1, 1], the ``logged`` ones by the logarithm of their place in the bounds, and levels
    stay 0 and 1. A constant is appended, and every row scaled to norm 1.
    """

    def __init__(self, bounds: Any, categories: Any = (), logged: Any = ()) -> None:
        self.lower, self.upper = bounds
        self.coded = [j for group in categories for j in group]
        self.logged = list(logged)

    def __call__(self, X: FloatArray) -> FloatArray:
        rows = np.clip((X - self.lower) / (self.upper - self.lower), 0, 1)
        rows[:, self.logged] = log_share(rows[:, self.logged])
        numbers = np.setdiff1d(np.arange(X.shape[1]), self.coded)
        rows[:, numbers] = 2 * rows[:, numbers] - 1
        rows = np.column_stack([rows, np.ones(len(rows))])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class _Linear(ClassifierMixin, BaseEstimator):
    classes_ = np.array([0, 1])

    def predict_proba(self, X: FloatArray) -> FloatArray:
        second = expit(X @ self.coef_)
        return np.column_stack([1 - second, second])

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        return (X @ self.coef_ > 0).astype(np.int64)


@dataclass(eq=False, repr=False)
class ObjectivePerturbation(_Linear):
    """Algorithm 2 of Chaudhuri, Monteleoni and Sarwate (2011): pure epsilon, if the minimum is exact.

    The penalty is ``ridge`` / (n epsilon) |w|^2 / 2.
    """

    epsilon: float
    ridge: float = 10.0
    random_state: Any = None

    def fit(self, X: FloatArray, y: NDArray[Any]) -> Self:
        n, d = X.shape
        curvature, penalty = 0.25, self.ridge / (n * self.epsilon)
        left = self.epsilon - 2 * np.log1p(curvature / (n * penalty))
        if left <= 0:
            penalty = max(penalty, curvature / (n * np.expm1(self.epsilon / 4)))
            left = self.epsilon / 2
        rng = np.random.default_rng(self.random_state)
        direction = rng.normal(size=d)
        noise = rng.gamma(d, 2 / left) * direction / np.linalg.norm(direction)
        sign = 2 * y - 1

        def objective(w: FloatArray) -> tuple[float, FloatArray]:
            margin = sign * (X @ w)
            value = np.logaddexp(0, -margin).mean() + noise @ w / n + penalty / 2 * (w @ w)
            return value, -X.T @ (sign * expit(-margin)) / n + noise / n + penalty * w

        found = minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", options={"gtol": 1e-9})
        self.coef_ = found.x
        return self


@dataclass(eq=False, repr=False)
class NoisyGradientDescent(_Linear):
    """Full gradients with Gaussian noise: (epsilon, delta) by zero-concentrated differential privacy.

    Every round releases the sum of x (sigmoid(w.x) - y), whose L2 sensitivity is 2; weights are averaged
    over the second half of the rounds.
    """

    epsilon: float
    delta: float = 1e-6
    random_state: Any = None

    def fit(self, X: FloatArray, y: NDArray[Any]) -> Self:
        rng, (n, d) = np.random.default_rng(self.random_state), X.shape
        tail = np.log(1 / self.delta)
        rho = (np.sqrt(tail + self.epsilon) - np.sqrt(tail)) ** 2
        scale = 2 * np.sqrt(ROUNDS / (2 * rho))
        weights, speed, late = np.zeros(d), np.zeros(d), []
        for step in range(ROUNDS):
            gradient = X.T @ (expit(X @ weights) - y) + scale * rng.normal(size=d)
            speed = MOMENTUM * speed - STEP * gradient / n
            weights = weights + speed
            if step >= ROUNDS // 2:
                late.append(weights)
        self.coef_ = np.mean(late, axis=0)
        return self
