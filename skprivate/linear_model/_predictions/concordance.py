# SPDX-License-Identifier: BSD-3-Clause
"""Harrell's concordance index of predicted times, in O(n log n)."""

import math
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..._typing import BoolArray, FloatArray, IntArray
from ...utils._user_frame import warn_user

# Predictions at most so far apart are tied, as in scikit-survival.
TIED = 1e-8


def concordance_index(
    event: BoolArray, time: FloatArray, predicted: FloatArray, entry: FloatArray | None = None
) -> float:
    """Return the share of comparable pairs whose predicted times are in the right order.

    A pair is comparable if the shorter time ended in the event, or if the times are equal and exactly one
    did: the other then lived longer. Tied predictions count one half. Where rows were watched from an entry
    on, the other must have been watched at the event.

    Parameters
    ----------
    event : ndarray of bool of shape (n_samples,)
    time : ndarray of shape (n_samples,)
    predicted : ndarray of shape (n_samples,)
        Larger means later.
    entry : ndarray of shape (n_samples,), default=None
        Below the times; -inf: from the start. None: all rows from the start.

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
    n_pairs, right = _compare(key, 2 * ranks[event] + 1, event, predicted)
    if entry is not None:
        # Those who entered later are all among them: they lived longer.
        later, ordered = _compare(entry, time[event], event, predicted)
        n_pairs, right = n_pairs - later, right - ordered
    if n_pairs == 0:
        message = "The concordance index is not defined: no pair of rows is comparable."
        warn_user(message, UndefinedMetricWarning)
        return math.nan
    return right / (2 * n_pairs)


def _compare(key: Any, least: Any, event: BoolArray, predicted: FloatArray) -> tuple[int, int]:
    """Count pairs of an event and a row whose key is not less; those in order twice, tied ones once."""
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], least)
    rising = np.sort(predicted)
    values = np.searchsorted(rising, predicted[order])
    own = predicted[event]
    above = np.searchsorted(rising, own + TIED, side="right")
    tied = np.searchsorted(rising, own - TIED, side="left")
    n_pairs = int(np.sum(len(key) - first))
    return n_pairs, _count_from(values, first, above) + _count_from(values, first, tied)


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
