# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic of predictions whose result for a row has the same bits alone and in any table.

An operation of IEEE 754 on each cell rounds alike wherever the cell is, and the kernels add up row by row. A
matrix product need not: BLAS chooses the order of its sums by the shape. Nor need exponentials and logarithms
of NumPy: vectorised code may round otherwise than the code for what is left over. Those of SciPy are computed
cell by cell.
"""

import numpy as np
from scipy import special

from .._typing import FloatArray
from ._row_kernels import add_dot_products, add_products


def products(X: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return ``X @ slopes``, the columns added in their order; slopes have one or two dimensions."""
    rows, factors = (np.ascontiguousarray(one, dtype=np.float64) for one in (X, slopes))
    found = np.zeros((len(rows), *factors.shape[1:]))
    (add_products if factors.ndim == 2 else add_dot_products)(rows, factors, found)
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
