# SPDX-License-Identifier: BSD-3-Clause
"""Fixed-point numbers modulo 2^256 in units of 2^-128, whose sums are exact and can be masked."""

import numpy as np
from numpy.typing import NDArray

#: Words of 32 bits, the lowest first. In int64 there is room to add 2^30 of them before carries are settled.
WORDS = 8
BITS = 32
#: The step of the grid is 2^-128, about 3e-39.
FRACTION_BITS = 128
#: 2^100, about 1.3e30: with any number of parties below 2^27 a sum stays in the half-ring of its sign.
LIMIT = 2.0**100

_SCALES = 2.0 ** (-BITS * np.arange(WORDS + 1))
_WEIGHTS = [2.0 ** (BITS * word - FRACTION_BITS) for word in range(WORDS)]


def to_words(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return floats below 2^100 in magnitude as signed words, exactly but for what lies below the grid.

    Parameters
    ----------
    values : ndarray of shape (n,)

    Returns
    -------
    words : ndarray of shape (n, 8)
        All of the value's sign; carries are for `settle`.
    """
    # A double above 2^53 steps is a whole number of steps already: rint changes small ones only.
    steps = np.rint(np.ldexp(np.abs(values), FRACTION_BITS))
    # Exact: powers of two, floors, and differences that fit 32 bits.
    whole = np.floor(steps[:, np.newaxis] * _SCALES)
    words = whole[:, :-1] - whole[:, 1:] * 2.0**BITS
    return np.copysign(words, values[:, np.newaxis]).astype(np.int64)


def settle(words: NDArray[np.int64], lowest: int) -> NDArray[np.int64]:
    """Carry, so that every word lies in [lowest, lowest + 2^32); what leaves the top is dropped.

    Parameters
    ----------
    words : ndarray of shape (n, 8)
        Any sum of words.
    lowest : int
        0, or -2^31 for the representation in which the highest word that is not 0 has the number's sign.

    Returns
    -------
    words : ndarray of shape (n, 8)
        The same numbers modulo 2^256.
    """
    # Word by word, all numbers at once; a carry out of the highest word is a multiple of 2^256.
    settled = np.ascontiguousarray(words.T) - lowest
    for word in range(WORDS - 1):
        settled[word + 1] += settled[word] >> BITS
    settled &= 2**BITS - 1
    settled += lowest
    return settled.T


def to_floats(words: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the numbers in (-2^127, 2^127) that words stand for, within 2 units in the last place.

    Parameters
    ----------
    words : ndarray of shape (n, 8)
        Any sum of words, masked parts included once the masks have cancelled.

    Returns
    -------
    values : ndarray of shape (n,)
    """
    settled = settle(words, -(2 ** (BITS - 1))).astype(np.float64)
    # From the lowest word up, in one order for any number of rows; what is added last is by far the largest.
    total = np.zeros(len(settled))
    for word, weight in enumerate(_WEIGHTS):
        total += settled[:, word] * weight
    return total
