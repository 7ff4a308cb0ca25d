# SPDX-License-Identifier: BSD-3-Clause
"""Monotone constraints: what they may say, and the nearest table of weights that keeps one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from ..._typing import FloatArray, IntArray
from .columns import ColumnCells


def check_monotone(constraint: Any, columns: Sequence[ColumnCells]) -> tuple[int, ...]:
    """Return -1, 0 or 1 for every column.

    Raises
    ------
    ValueError
        Other values; another number of columns, or unknown names; a column whose cells have no order.
    """
    if constraint is None:
        return (0,) * len(columns)
    names = [column.name for column in columns]
    if isinstance(constraint, Mapping):
        unknown = [name for name in constraint if name not in names]
        if unknown:
            raise ValueError(f"monotonic_cst names a column that X does not have: {unknown[0]!r}.")
        signs = [constraint.get(name, 0) for name in names]
    else:
        signs = list(np.asarray(constraint, dtype=object).ravel())
    if len(signs) != len(columns):
        raise ValueError(f"monotonic_cst must have one value for each of the {len(columns)} columns.")
    if not all(not isinstance(sign, bool) and sign in (-1, 0, 1) for sign in signs):
        raise ValueError("monotonic_cst must hold -1, 0 and 1.")
    for sign, column in zip(signs, columns, strict=True):
        if sign and not column.has_order:
            raise ValueError(f"monotonic_cst: the levels of column {column.name!r} have no order.")
    return tuple(int(sign) for sign in signs)


def project(table: IntArray, sizes: FloatArray, sign: int, column: ColumnCells) -> IntArray:
    """Return the nearest monotone table in weighted least squares; a cell of missing values stays."""
    n_cells = len(table) - (column.feature.missing is not None)
    fitted = isotonic_regression(
        table[:n_cells, 0].astype(np.float64),
        sample_weight=np.maximum(sizes[:n_cells], 1.0),
        increasing=sign > 0,
    )
    projected = table.copy()
    # Rounding is monotone.
    projected[:n_cells, 0] = np.rint(fitted).astype(np.int64)
    return projected
