# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic of predictions whose result for a row has the same bits alone and in any table.

An operation of IEEE 754 on each cell rounds alike wherever the cell is. A matrix product need not: BLAS
chooses the order of its sums by the shape. Nor need exponentials and logarithms of NumPy: vectorised code may
round otherwise than the code for what is left over. Those of SciPy are computed cell by cell.
"""

import numpy as np
from scipy import special

from .._typing import FloatArray

# Of 256 to 100,000 rows of 20 columns at once this took the least time: columns of a block stay in the cache.
_ROWS_AT_ONCE = 4096


def products(X: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return ``X @ slopes``, the columns added in their order; slopes have one or two dimensions."""
    found = np.zeros((len(X), *slopes.shape[1:]))
    for first in range(0, len(X), _ROWS_AT_ONCE):
        here = slice(first, first + _ROWS_AT_ONCE)
        for column, slope in zip(X[here].T, slopes, strict=True):
            found[here] += np.multiply.outer(column, slope)
    return found


def exp(values: FloatArray) -> FloatArray:
    """Return exponentials: the Box-Cox transform of parameter 0, inverted, is one."""
    powers: FloatArray = special.inv_boxcox(values, 0.0)
    return powers


def log(values: FloatArray) -> FloatArray:
    """Return natural logarithms; of 0 minus infinity."""
    logarithms: FloatArray = special.xlogy(1.0, values)
    return logarithms


def row_totals(parts: FloatArray) -> FloatArray:
    """Return the sum over the last axis, which stays, in the order of its entries."""
    found = np.zeros((*parts.shape[:-1], 1))
    for number in range(parts.shape[-1]):
        found += parts[..., number : number + 1]
    return found


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return logarithms of shares that are in proportion to the exponentials of logits, by row."""
    below = logits - logits.max(axis=-1, keepdims=True)
    return below - log(row_totals(exp(below)))


def softmax(logits: FloatArray) -> FloatArray:
    """Return shares in proportion to the exponentials of logits, by row."""
    odds = exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / row_totals(odds)
