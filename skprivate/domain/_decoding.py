# SPDX-License-Identifier: BSD-3-Clause
"""Values of a column from its encoded columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ._columns import BooleanColumn, CategoricalColumn, Column, DateColumn
from ._stress_columns import StressColumn
from ._values import DAY


def decode_column(column: Column, encoded: FloatArray) -> NDArray[Any]:
    """Return the values of a column.

    Parameters
    ----------
    column : Column
    encoded : ndarray of shape (n, width)
        As `TableDomain.encode` writes it, the indicator last where there is one.

    Returns
    -------
    values : ndarray of shape (n,)
        float64, datetime64[us] or objects; NaN, NaT or None where the value is missing.
    """
    absent: NDArray[np.bool_] = np.logical_not(np.isfinite(encoded).all(axis=1))
    if column.missing == "indicator":
        absent = absent | (encoded[:, -1] > 0.5)
    # What cannot be a value is missing; here it only must not fail.
    usable = np.where(np.isfinite(encoded), encoded, 0.0)
    if isinstance(column, CategoricalColumn):
        return _levels(column, usable, absent)
    if isinstance(column, BooleanColumn):
        return _objects((False, True), (usable[:, 0] > 0.5).astype(np.intp), absent | (usable[:, 0] == 0.5))
    if isinstance(column, DateColumn):
        # Ten thousand years: far from the ends of 64 bits.
        days = np.clip(usable[:, 0], -3.7e6, 3.7e6)
        instants = np.rint(days * DAY).astype(np.int64) + column.start
        return np.where(absent, np.datetime64("NaT", "us"), instants.view("M8[us]"))
    values = column.transform.invert(usable[:, 0]) if isinstance(column, StressColumn) else usable[:, 0]
    return np.where(absent, np.nan, values)


def _levels(column: CategoricalColumn, encoded: FloatArray, absent: NDArray[np.bool_]) -> NDArray[Any]:
    if column.ordered:
        places = np.rint(np.clip(encoded[:, 0], 0, len(column.levels) - 1)).astype(np.intp)
        return _objects(column.levels, places, absent)
    of_levels = encoded[:, : len(column.levels)]
    return _objects(column.levels, of_levels.argmax(axis=1), absent | (of_levels.max(axis=1) <= 0.5))


def _objects(values: Any, places: NDArray[np.intp], absent: NDArray[np.bool_]) -> NDArray[Any]:
    known = np.empty(len(values) + 1, dtype=object)
    known[:-1] = values
    return known[np.where(absent, len(values), places)]
