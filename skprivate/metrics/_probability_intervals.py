# SPDX-License-Identifier: BSD-3-Clause
"""Public intervals that probabilities are counted in: how many, and where they end."""

import numpy as np

from .._typing import FloatArray

#: Probabilities are taken no nearer to 0 and 1, so that a logarithm of one is bounded.
CLIP = 1e-3
# Most intervals of a grid: more of them add noise, and their bins are narrower than any error that matters.
_MOST = 64
_FEWEST = 4
# Intervals where the number of rows is not public, of a study of some 5,000 rows at epsilon 1.
_WITHOUT_ROWS = 20


def choose_number(n_rows: int | None, std: float) -> int:
    """Return an even number of intervals, by the public number of rows and the noise of a count.

    Notes
    -----
    With B intervals on a grid over [0, 1], rounding at random errs in a squared score by w^2 / 4 = 1 / (4
    B^2) at the most for the widest of width w = 1 / B; the widest here is twice as wide, so by 1 / B^2.
    Accuracy is a signed sum over 4 B cells, two for each interval and label, and has a noise of std B^(1/2)
    / n. The two are equal at B^(5/2) = n / std.
    """
    if n_rows is None:
        return _WITHOUT_ROWS
    best = (n_rows / std) ** 0.4
    return 2 * round(min(max(best, _FEWEST), _MOST) / 2)


def inner_ends(intervals: int) -> FloatArray:
    """Return the ends of an even number of intervals of (0, 1), without 0, 1/2 and 1.

    Half of the intervals are below 1/2. Their ends are sigmoid(2 logit(j / B)): equal steps in rank of a
    logistic distribution of scale 2, so that both rare events and scores around 1/2 have intervals.
    """
    half = max(intervals, 2) // 2
    odds = (np.arange(1, half) / (2 * half - np.arange(1, half))) ** 2
    low = odds / (1 + odds)
    low = low[low > 1.5 * CLIP]
    return np.concatenate([low, 1 - low[::-1]])
