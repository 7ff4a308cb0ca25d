# SPDX-License-Identifier: BSD-3-Clause
"""Simulated private and public rows whose labels have different posterior probabilities."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, RandomSource
from ..utils import check_int
from ._random_source import make_random_source

_DRIFTS = ("power", "flipped", "unrelated")


def make_posterior_drift(
    n_private: int = 10_000,
    n_public: int = 1_000,
    *,
    n_features: int = 2,
    gamma: float = 1.0,
    drift: Literal["power", "flipped", "unrelated"] = "power",
    random_state: RandomSource = None,
) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.bool_]]:
    """Simulate private and public rows that share P(X) but not P(Y | X).

    X is uniform on the unit cube. Private labels follow the rule of the LPCT paper's simulation (as in its
    authors' code: the printed formula exceeds 1) in the first two features::

        eta = .5 + .4 s (|1.5 x1 - .5| |1.5 x2 - .5| max(0, 1 - |2 x2 - 1|))^.1,
        s = sign(x1 - 1/3) sign(x2 - 1/3)

    and the best possible accuracy is about .786.

    Parameters
    ----------
    n_private, n_public : int, default=10000, 1000
        Number of private and of public rows.
    n_features : int, default=2
        Number of columns, at least 2; the others do not matter.
    gamma : float, default=1.0
        With drift "power": public labels follow ``.5 + .4 sign(eta - .5) (|eta - .5| / .4)^gamma``. Above 1
        they are noisier than private ones, below 1 cleaner.
    drift : {"power", "flipped", "unrelated"}, default="power"
        "flipped": public labels follow 1 - eta where x1 < 1/3. "unrelated": they are fair coins.
    random_state : None, int, RandomState or Generator, default=None
        Makes the rows reproducible.

    Returns
    -------
    X : ndarray of shape (n_private + n_public, n_features)
        Private rows first.
    y : ndarray of int of shape (n_private + n_public,)
    is_public : ndarray of bool of shape (n_private + n_public,)

    Examples
    --------
    >>> from skprivate.datasets import make_posterior_drift
    >>> X, y, is_public = make_posterior_drift(1000, 50, gamma=0.5, random_state=0)
    >>> X.shape, int(is_public.sum())
    ((1050, 2), 50)
    """
    n_private = check_int(n_private, "n_private", least=0)
    n_public = check_int(n_public, "n_public", least=0)
    n_features = check_int(n_features, "n_features", least=2)
    if not 0 < gamma < np.inf:
        raise ValueError("gamma must be greater than 0 and finite.")
    if drift not in _DRIFTS:
        raise ValueError(f"drift must be one of {_DRIFTS}, got {drift!r}.")
    rng = make_random_source(random_state)
    n_samples = n_private + n_public
    is_public = np.arange(n_samples) >= n_private
    X = rng.uniform(size=(n_samples, n_features))
    eta = posterior(X)
    eta[is_public] = _drifted(eta[is_public], X[is_public], gamma, drift)
    y = (rng.uniform(size=n_samples) < eta).astype(np.int64)
    return X, y, is_public


def posterior(X: FloatArray) -> FloatArray:
    """Return the probability of label 1 of a private row with these features."""
    first, second = X[:, 0], X[:, 1]
    side = np.sign(first - 1 / 3) * np.sign(second - 1 / 3)
    hill = np.abs(1.5 * first - 0.5) * np.abs(1.5 * second - 0.5) * np.maximum(0, 1 - np.abs(2 * second - 1))
    return 0.5 + 0.4 * side * hill**0.1


def _drifted(eta: FloatArray, X: FloatArray, gamma: float, drift: str) -> FloatArray:
    if drift == "unrelated":
        return np.full(len(eta), 0.5)
    if drift == "flipped":
        return np.where(X[:, 0] < 1 / 3, 1.0 - eta, eta)
    return 0.5 + 0.4 * np.sign(eta - 0.5) * (np.abs(eta - 0.5) / 0.4) ** gamma
