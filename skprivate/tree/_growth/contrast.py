# SPDX-License-Identifier: BSD-3-Clause
"""Scores of splits of numbers: how far the sum of the smaller side is from what the others' mean makes it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import IntArray

# Scores are counted in steps of 2^-10 rows, a thousandth of what a row adds at most: far below the noise.
IMPURITY_BITS = 10
# Weights of the two parts of a score, and the digits of their sum, 4. Of 1 : 0, 7 : 3, 1 : 1 and 0 : 1 the
# second was within .04 of the best explained variance in all but one of 12 settings (.06): nine functions,
# 1,000 and 6,000 rows, epsilon .3 to 10, bounds tight and ten times too wide. Where noise is large 0 : 1 lost
# up to .08; where it is small 1 : 0 lost .02: its score may be the same from the best cut to the middle.
_LARGER_SIDE, _NODE, _PART_BITS = 3, 1, 2
# Products of fewer steps of rows fit 64 bits.
_FITS = 2**31


def contrast_scores(table: IntArray, bits: int) -> IntArray:
    """Return the scores of the thresholds between bins, in steps of 2^-10: the higher, the more contrast.

    Parameters
    ----------
    table : ndarray of int64 of shape (n_nodes, 2, n_bins)
        Sums of `NumberMasses` of degree 1.
    bits : int
        Those of the masses.

    Returns
    -------
    scores : ndarray of int64 of shape (n_nodes, n_bins - 1)
        ``floor(2**7 * 3 * f) + floor(2**7 * g)``, exactly: f is how far the sum of the smaller side is from
        its size times the mean of the larger side, and g from its size times the mean of the node; targets
        are in [0, 1], and sizes are in rows, or steps of weight. 0 where a side is empty.

    Notes
    -----
    For means m_l and m_r of sides of sizes n_l and n_r, f is ``min(n_l, n_r) * abs(m_l - m_r)``, and g is
    ``n_l * n_r / n * abs(m_l - m_r)``.

    A row of weight w, 1 without weights, moves every score by at most ``2**9 * w`` up or down, and so those
    of a node by amounts within a range of ``2**10 * w``, as for `split_scores`. Proof: add the row to one
    side, little by little, with its target t; n, T and m are the weight, the sum and the mean of that side,
    n', T' and m' those of the other one; if this is empty, the score stays 0. With sign, f is T - n m' while
    n <= n', and n' m - T' from there on: it is continuous, and its derivative is t - m' in the first case,
    (t - m) n' / n in the second. With sign, g is T - n M, where M is the mean of the node, and its derivative
    (t - M) n' / (n + n'). All are within [-1, 1]. So f and g move by at most w, and the integers below
    2^7 3 f and 2^7 g by at most the integers 2^7 3 w and 2^7 w.

    The impurity of two labels, n m (1 - m) of each side, needs the same noise, but is quadratic in the
    difference of the means: on average over nine functions, trees of four levels of 6,000 rows explained .79
    of the variance at epsilon 1 and tight bounds (impurity .54), and .55 at epsilon 3 and wide bounds (.25).
    """
    weight, total = table.sum(axis=1) >> bits, table[:, 1]
    if weight.size and weight.sum(axis=1).max() >= _FITS:
        # Python's integers have no end.
        weight, total = weight.astype(object), total.astype(object)
    fine = max(bits, IMPURITY_BITS)
    sizes, sums = _sides(weight), _sides(total * 2 ** (fine - bits))
    swap = sizes[0] > sizes[1]
    n, larger_n = (np.where(swap, *sides) for sides in (sizes[::-1], sizes))
    total, larger_total = (np.where(swap, *sides) for sides in (sums[::-1], sums))
    from_larger = _gap(n, total * _LARGER_SIDE, larger_n, larger_total * _LARGER_SIDE)
    from_node = _gap(n, total * _NODE, n + larger_n, (total + larger_total) * _NODE)
    shift = fine - IMPURITY_BITS + 1 + _PART_BITS
    return np.asarray((from_larger >> shift) + (from_node >> shift), dtype=np.int64)


def _gap(n: NDArray[Any], total: NDArray[Any], other_n: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return ``floor(abs(total - n * other / other_n))``, 0 where other_n is; n is at most other_n.

    No product passes the square of other_n.
    """
    other_n = np.maximum(other_n, 1)
    product = n * (other % other_n)
    # The difference is whole - rest / other_n.
    whole, rest = total - n * (other // other_n) - product // other_n, product % other_n
    below = whole - (rest > 0)
    return np.where(below >= 0, below, -whole)


def _sides(bins: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sums of the bins before every threshold, and of those behind it."""
    left = np.cumsum(bins[:, :-1], axis=1)
    return left, bins.sum(axis=1, keepdims=True) - left
