# SPDX-License-Identifier: BSD-3-Clause
"""How far predictions are to be trusted: stretched or shrunk about the base rate, by the reports alone."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from .._typing import FloatArray
from ..metrics._row_arithmetic import row_totals

# Factors of the deviation from the base rate. Above 1: a regressor that stops early, or averages, says less
# than it could. Three is where all but a third of its range is at the ends.
_SLOPES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 1.8, 2.0, 2.4, 3.0)
#: Share of the base rate in a prediction, at least: what no class probability falls below, relative to it.
LEAST_SHARE = 0.01
_SHARES = (LEAST_SHARE, 0.02, 0.05, 0.1, 0.2, 0.4)
# Standard errors beyond the ends from which a mean counts as at that distance: floats tell tails apart there.
_FARTHEST = 5.0
# Log-likelihood by which a model must beat the base rate: the parameters chosen, after Akaike.
_LEAST_GAIN = 2.0


def project(points: FloatArray) -> FloatArray:
    """Return the nearest points of the simplex, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.label_privacy._calibration import project
    >>> project(np.array([[0.5, 0.7, -0.2]])).round(3)
    array([[0.4, 0.6, 0. ]])
    """
    ordered = -np.sort(-points, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, points.shape[1] + 1)
    n_above = np.count_nonzero(ordered > excess, axis=1)
    above: FloatArray = np.maximum(points - excess[np.arange(len(points)), n_above - 1][:, None], 0.0)
    return above / row_totals(above)


def to_proba(predictions: FloatArray, base: FloatArray, slope: float, share: float) -> FloatArray:
    """Return class probabilities.

    Parameters
    ----------
    predictions : ndarray of shape (n, n_targets)
        Of every class; of two classes those of the second.
    base : ndarray of shape (n_classes,)
        Base rate, above 0.
    slope : float
        Factor of the deviation from the base rate.
    share : float
        Share of the base rate, above 0.

    Returns
    -------
    proba : ndarray of shape (n, n_classes)
        At least ``share * base``.
    """
    inner = base[-predictions.shape[1] :]
    stretched = inner + slope * (predictions - inner)
    if stretched.shape[1] == 1:
        second = np.clip(stretched, 0.0, 1.0)
        simplex = np.hstack([1 - second, second])
    else:
        simplex = project(stretched)
    proba: FloatArray = (1 - share) * simplex + share * base
    return proba


def base_rate(targets: FloatArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """Return the class probabilities of all rows together, never 0.

    Parameters
    ----------
    targets : ndarray of shape (n, n_targets)
        Unbiased.
    weights : ndarray of shape (n,)
    n_classes : int

    Returns
    -------
    rate : ndarray of shape (n_classes,)
        Means of the targets, drawn to equal ones by the share of noise in what they differ by, after James
        and Stein. Then each is the mean of a normal distribution about it, with its standard error, cut off
        at 0 and 1: noise makes no class impossible that is only rare.
    """
    shares = weights / weights.sum()
    means = shares @ targets
    errors = np.sqrt(np.square(shares) @ np.square(targets - means))
    # Rows that all agree: what one more of another class would change.
    errors = np.maximum(errors, 1 / len(targets))
    if len(means) < n_classes:
        means, errors = np.array([1 - means[0], means[0]]), np.repeat(errors, 2)
    deviations = means - 1 / n_classes
    noise = np.square(errors).sum() / max(float(np.square(deviations).sum()), 1e-300)
    means = 1 / n_classes + max(0.0, 1 - noise) * deviations
    means = np.clip(means, -_FARTHEST * errors, 1 + _FARTHEST * errors)
    low, high = -means / errors, (1 - means) / errors
    density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    inside = means + errors * density / (ndtr(high) - ndtr(low))
    rate: FloatArray = inside / inside.sum()
    return rate


def calibrate_classes(
    predictions: FloatArray,
    base: FloatArray,
    likelihood: Callable[[FloatArray], FloatArray],
) -> tuple[float, float]:
    """Return slope and share of the base rate that make the reports likeliest; slope 0 without a gain.

    Where few reports tell little, a slope within a factor of two of 1 and a share below a tenth are likelier.

    Parameters
    ----------
    predictions : ndarray of shape (n, n_targets)
        By models that have not seen these rows.
    base : ndarray of shape (n_classes,)
    likelihood : callable
        Takes class probabilities of the rows, and returns the probabilities of their reports, or of labels
        that are public.
    """
    none = likelihood(np.broadcast_to(base, (len(predictions), len(base))))
    best, found = np.log(none).sum() + _LEAST_GAIN, (0.0, LEAST_SHARE)
    for slope in _SLOPES[1:]:
        # Mixing is linear: one projection does for all shares.
        full = likelihood(to_proba(predictions, base, slope, 0.0))
        for share in _SHARES:
            total = np.log((1 - share) * full + share * none).sum() - _surprise(slope, share)
            if total > best:
                best, found = total, (slope, share)
    return found


def _surprise(slope: float, share: float) -> float:
    """Return how much less likely than the usual ones these values are before any report, as a logarithm."""
    return (np.log(slope) / np.log(2)) ** 2 / 2 + (np.log(share / LEAST_SHARE) / np.log(10)) ** 2 / 2


def calibrate_numbers(
    predictions: FloatArray, mean: float, targets: FloatArray, weights: FloatArray
) -> float:
    """Return the slope about the mean with the least squared error; 0 without a gain.

    Parameters
    ----------
    predictions, targets, weights : ndarray of shape (n,)
        By models that have not seen these rows; unbiased; inverse to the variance of a target.
    mean : float
    """
    deviation, outcome = predictions - mean, targets - mean
    spread = float(weights @ np.square(deviation))
    if spread == 0.0:
        return 0.0
    slope = float(weights @ (deviation * outcome)) / spread
    # Gain in units of the variance of a target, of which one parameter takes half by chance.
    gain = slope**2 * spread / (2 * float(np.mean(weights * np.square(outcome))))
    return min(slope, _SLOPES[-1]) if slope > 0 and gain > _LEAST_GAIN else 0.0
