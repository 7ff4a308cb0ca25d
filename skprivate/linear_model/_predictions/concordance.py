# SPDX-License-Identifier: BSD-3-Clause
"""Harrell's concordance index of predicted times, in O(n log n)."""

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from ...utils._user_frame import warn_user

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Predictions at most so far apart are tied, as in scikit-survival.
TIED = 1e-8


def concordance_index(event: NDArray[np.bool_], time: FloatArray, predicted: FloatArray) -> float:
    """Return the share of comparable pairs whose predicted times are in the right order.

    A pair is comparable if the shorter time ended in the event, or if the times are equal and exactly one
    did: the other then lived longer. Tied predictions count one half.

    Parameters
    ----------
    event : ndarray of bool of shape (n_samples,)
    time : ndarray of shape (n_samples,)
    predicted : ndarray of shape (n_samples,)
        Larger means later.

    Returns
    -------
    index : float
        From 0 to 1; nan, with an UndefinedMetricWarning, where no pair is comparable.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._predictions.concordance import concordance_index
    >>> event, time = np.array([True, True, False, True]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> concordance_index(event, time, np.array([10.0, 30.0, 20.0, 40.0]))
    0.8
    """
    ranks = np.unique(time, return_inverse=True)[1]
    # At equal times events come first: what is comparable to an event is all that follows.
    key = 2 * ranks + ~event
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], 2 * ranks[event] + 1)
    n_pairs = int(np.sum(len(time) - first))
    if n_pairs == 0:
        message = "The concordance index is not defined: no pair of rows is comparable."
        warn_user(message, UndefinedMetricWarning)
        return math.nan
    rising = np.sort(predicted)
    values = np.searchsorted(rising, predicted[order])
    own = predicted[event]
    above = np.searchsorted(rising, own + TIED, side="right")
    tied = np.searchsorted(rising, own - TIED, side="left")
    concordant = _count_from(values, first, above)
    return (concordant + _count_from(values, first, tied)) / (2 * n_pairs)


def _count_from(values: IntArray, first: IntArray, least: IntArray) -> int:
    """Pairs (i, j) with j >= first[i] and values[j] >= least[i]; values are below their number.

    A wavelet tree, from the highest bit down: values are partitioned stably by the bit, so that those that an
    i still has to compare stay contiguous.
    """
    n_values = len(values)
    low, high = first, np.full_like(first, n_values)
    found = 0
    for bit in reversed(range(n_values.bit_length())):
        one = (values >> bit & 1).astype(bool)
        zeros_before = np.concatenate([[0], np.cumsum(~one)])
        low_zeros, high_zeros = zeros_before[low], zeros_before[high]
        needs_one = (least >> bit & 1).astype(bool)
        # Where a 0 would do, all values with a 1 are large enough.
        found += int(np.sum((high - low - high_zeros + low_zeros)[~needs_one]))
        low = np.where(needs_one, zeros_before[-1] + low - low_zeros, low_zeros)
        high = np.where(needs_one, zeros_before[-1] + high - high_zeros, high_zeros)
        values = np.concatenate([values[~one], values[one]])
    return found + int(np.sum(high - low))
