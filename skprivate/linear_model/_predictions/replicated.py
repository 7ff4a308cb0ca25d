# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of functions that are linear in a row, from the replicates of a fit."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from ...metrics._row_arithmetic import products

# Replicated values that are held at once, of 8 bytes each: 256 kB, which stay in the second cache of a core
# (1 to 2 MB on today's servers) while they are sorted.
_AT_ONCE = 2**15

#: What a mark of an interval says.
BEYOND = (
    "an end of an interval lies beyond bounds_y by more than the bounds are apart on the scale of the model: "
    "no row says anything about such values."
)


def replicate_quantiles(
    rows: FloatArray, slopes: FloatArray, offsets: FloatArray, levels: ArrayLike
) -> FloatArray:
    """Return quantiles over replicates of ``rows @ slopes[r] + offsets[k, r]``, for every row and every k.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
    slopes : ndarray of shape (n_replicates, n_features)
    offsets : ndarray of shape (n_functions, n_replicates)
    levels : array-like of shape (n_levels,)
        Probabilities, from 0 to 1.

    Returns
    -------
    quantiles : ndarray of shape (n_samples, n_functions, n_levels)
        Interpolated linearly between order statistics, as `numpy.quantile` does.

    Notes
    -----
    Rows come in parts that stay in the cache. A whole sort takes less time than a partition around the few
    order statistics that are needed: it is vectorised.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._predictions.replicated import replicate_quantiles
    >>> replicate_quantiles(np.ones((1, 1)), np.arange(5.0)[:, None], np.zeros((1, 5)), [0.5, 0.9])
    array([[[2. , 3.6]]])
    """
    n_replicates = len(slopes)
    places = np.asarray(levels, dtype=np.float64) * (n_replicates - 1)
    below = np.floor(places).astype(np.intp)
    above = np.minimum(below + 1, n_replicates - 1)
    weights = places - below
    n_at_once = max(1, _AT_ONCE // n_replicates)
    transposed = np.ascontiguousarray(slopes.T)
    values = np.empty((n_at_once, n_replicates))
    quantiles = np.empty((len(rows), len(offsets), len(places)))
    for start in range(0, len(rows), n_at_once):
        part = rows[start : start + n_at_once]
        product, value = products(part, transposed), values[: len(part)]
        for k, offset in enumerate(offsets):
            np.add(product, offset, out=value)
            value.sort(axis=-1)
            low = value[:, below]
            quantiles[start : start + n_at_once, k] = low + weights * (value[:, above] - low)
    return quantiles


def pivotal_bounds(
    estimates: FloatArray,
    rows: FloatArray,
    slopes: FloatArray,
    offsets: FloatArray,
    levels: Sequence[float],
) -> FloatArray:
    """Return bounds by the pivotal rule: twice the estimate minus a quantile of the replicates.

    Parameters
    ----------
    estimates : ndarray of shape (n_samples, n_functions)
    rows, slopes, offsets
        Of `replicate_quantiles`.
    levels : sequence of float of length n_bounds
        Probability, under sampling and noise, that the truth is below the bound.

    Returns
    -------
    bounds : ndarray of shape (n_samples, n_functions, n_bounds)

    Notes
    -----
    With t the truth, e the estimate and r a replicate, the bootstrap takes the distribution of e - t to be
    that of r - e. So t < 2 e - r_p, with r_p the p-quantile of the replicates, has the probability
    P(e - t > r_p - e) = 1 - p.
    """
    quantiles = replicate_quantiles(rows, slopes, offsets, 1.0 - np.asarray(levels))
    return 2.0 * estimates[..., np.newaxis] - quantiles


def check_confidence(confidence: float) -> None:
    """Raise ValueError where a confidence is not above 0 and below 1."""
    if not 0 < confidence < 1:
        raise ValueError("confidence must be above 0 and below 1.")


def ends_of(confidence: float) -> tuple[float, float]:
    """Return the levels of the two ends of an interval."""
    return 0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence
