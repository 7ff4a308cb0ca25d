# SPDX-License-Identifier: BSD-3-Clause
"""Noise on what the parties submit, with which the collaborative prediction paper compares its swap.

Party j submits its share f_B = n_j / n times its answer. A copy of the victim's model comes from its noisy
shares of fake queries; the operator puts it in the victim's place, where it needs no noise. The noise is
NumPy's, and its scale is read from what it hides: it protects nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.collaborative import LocalAverageRegressor
from skprivate.metrics import record_linkage_score

from .._collaborative import CUBE
from .._perturbation import least_strength

FloatArray = NDArray[np.float64]
#: Takes shares of shape (queries, parties) and a generator, and returns noisy shares.
Noise = Callable[[FloatArray, np.random.Generator], FloatArray]


def multiplicative(strength: float, mean: float = 1.0) -> Noise:
    """Multiply by normal noise whose variance is `strength` times that of all shares.

    The paper prints a mean of zero, which erases the answers.
    """
    return lambda shares, rng: shares * rng.normal(mean, np.sqrt(strength) * shares.std(), shares.shape)


def laplace(epsilon: float) -> Noise:
    """Add Laplace noise of scale max_j |f_B_j| / epsilon, the maximum over the parties of one query."""

    def noise(shares: FloatArray, rng: np.random.Generator) -> FloatArray:
        return shares + rng.laplace(size=shares.shape) * np.abs(shares).max(axis=1, keepdims=True) / epsilon

    return noise


@dataclass(frozen=True)
class Attacked:
    """Linkage in percent; mean squared errors without the attack and with the victim replaced."""

    linkage: float
    mse: float
    mse_replaced: float


def shares_of(platform: Any, X: FloatArray) -> FloatArray:
    """Return what the parties submit to the platform for these queries; 0 from who has nothing to say."""
    sizes = platform.site_sizes_
    return np.nan_to_num(platform.site_responses(X)) * sizes / sizes.sum()


def synthesis(shares: FloatArray, sizes: NDArray[np.int64]) -> FloatArray:
    """Return eq. (16) of the paper: a party is active if its share, noisy or not, is at least n_j / n^2."""
    n = sizes.sum()
    active = np.abs(shares) >= sizes / n**2
    rows = np.maximum((active * sizes).sum(axis=1), 1)
    return n * np.where(active, shares, 0.0).sum(axis=1) / rows


def noisy_mse(platform: Any, X: FloatArray, truth: FloatArray, noise: Noise, seed: Any) -> float:
    """Return the mean squared error of a platform whose parties add noise to their shares."""
    noisy = noise(shares_of(platform, X), np.random.default_rng(seed))
    return float(np.mean((synthesis(noisy, platform.site_sizes_) - truth) ** 2))


def linkage(platform: Any, X: FloatArray, noise: Noise, seed: Any) -> float:
    """Return the record linkage of the noisy shares to the parties, in percent."""
    shares = shares_of(platform, X)
    return record_linkage_score(shares, noise(shares, np.random.default_rng(seed)))


def attacked(platform: Any, X: FloatArray, truth: FloatArray, noise: Noise, seed: Any) -> Attacked:
    """Copy the largest party's model from its noisy shares of as many fake queries as it has rows."""
    rng, sizes = np.random.default_rng(seed), platform.site_sizes_
    victim = int(np.argmax(sizes))
    fake = rng.uniform(size=(sizes[victim], X.shape[1]))
    shares = shares_of(platform, fake)
    noisy = noise(shares, rng)
    answers = noisy[:, victim] * sizes.sum() / sizes[victim]
    copy = LocalAverageRegressor("gaussian", bounds=CUBE).fit(_as_asked(platform, fake), answers)
    tested = shares_of(platform, X)
    others = np.delete(np.arange(len(sizes)), victim)
    replaced = np.empty_like(tested)
    replaced[:, others] = noise(tested[:, others], rng)
    replaced[:, victim] = copy.predict(_as_asked(platform, X)) * sizes[victim] / sizes.sum()
    return Attacked(
        linkage=record_linkage_score(shares, noisy),
        mse=float(np.mean((synthesis(noise(tested, rng), sizes) - truth) ** 2)),
        mse_replaced=float(np.mean((synthesis(replaced, sizes) - truth) ** 2)),
    )


def matched_strength(platform: Any, X: FloatArray, truth: FloatArray, target: float, seed: Any) -> float:
    """Return the strength of multiplicative noise at which the mean squared error is the target."""
    # The same noise every time, so that the error grows with its strength.
    errs = lambda strength: noisy_mse(platform, X, truth, multiplicative(strength), seed) > target  # noqa: E731
    return least_strength(errs, 1e-3, 1e9)


def _as_asked(platform: Any, X: FloatArray) -> FloatArray:
    return X if platform.query_perturber_ is None else platform.query_perturber_.transform(X)
