# SPDX-License-Identifier: BSD-3-Clause
"""Narrower bounds of numbers, by noisy counts of the private targets between the declared ones."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from .._noisy_leaf_counts import NoisyHistogram

#: Bins of equal width between the declared bounds: bounds that are ten times too wide keep four of them.
N_BINS = 32
#: Share of the splits' budget that the counts get. On Friedman's, a linear, a skewed, a step and a weak
# function with 4,000 and 40,000 rows, epsilon .5 and 2, a tenth cost nothing within tight bounds but in one
# case; within bounds ten times too wide it won .1 to .8 in R2 where n epsilon is 8,000 or more.
RANGE_SHARE = Fraction(1, 10)
# Bins at an end are given up one by one, while the sum of those that are is within so many standard
# deviations of its noise, and while these are no more than this share of the rows: so many targets may be
# clipped there. Of .05, .1, .2 and .4 on the same functions with 1,500 to 8,000 rows, the last two were
# better where bounds are too wide, and none where they are tight. An end that holds a few per cent of the
# rows, as of claims that are mostly 0, stops it at once: a single bin has the least noise.
_DEVIATIONS, _MOST_CLIPPED = 2.5, 1 / 5


def narrow_bounds(counts: IntArray, noise: NoisyHistogram, bounds: NDArray[np.float64]) -> FloatArray:
    """Return the bounds between which nearly all targets lie, as noisy counts tell.

    Parameters
    ----------
    counts : ndarray of int64 of shape (n_bins, 1)
        Noisy counts of the targets, in bins of equal width.
    noise : NoisyHistogram
        What was added.
    bounds : ndarray of shape (2,)
        The declared bounds.

    Returns
    -------
    bounds : ndarray of shape (2,)
        Edges of bins. The declared ones where noise hides too many rows.
    """
    n_bins, n_rows = len(counts), float(counts.sum())
    variance = float(noise.variance(1)[0]) / 2
    first, last = (_empty_bins(each, variance, n_rows) for each in (counts.ravel(), counts.ravel()[::-1]))
    if first + last >= n_bins:
        return bounds
    share = np.array([first, n_bins - last]) / n_bins
    narrowed: FloatArray = bounds[0] * (1 - share) + bounds[1] * share
    return narrowed


def _empty_bins(counts: IntArray, variance: float, n_rows: float) -> int:
    """Return how many of the first bins hold no more than noise explains, each with those before it."""
    limit = _DEVIATIONS * np.sqrt(variance * np.arange(1, len(counts) + 1))
    filled = (np.cumsum(counts) > limit) | (limit > _MOST_CLIPPED * n_rows)
    return int(np.argmax(filled)) if filled.any() else len(counts)
