# SPDX-License-Identifier: BSD-3-Clause
"""Data sets as arguments of ``fit``: which rows are private, and which of them belong to one person."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Arguments = dict[str, Any]


def n_rows(X: Any) -> int:
    """Return the number of rows of an array, a sparse matrix or a data frame."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def n_rows_of(data: Any) -> int | None:
    """Return the number of rows of a data set; None of arguments of ``fit`` without rows."""
    return n_rows(data["X"]) if isinstance(data, dict) and "X" in data else None


def unit_of(rows: Arguments) -> NDArray[np.intp]:
    """Return the rows of the unit that differs: the last private one, or those of its person."""
    private = private_rows(rows)
    last = int(np.flatnonzero(private)[-1])
    if rows.get("groups") is None:
        return np.array([last])
    groups = np.asarray(rows["groups"])
    return np.flatnonzero((groups == groups[last]) & private)


def private_rows(rows: Arguments) -> NDArray[np.bool_]:
    """Return which rows are private: all that are not marked public."""
    public = rows.get("is_public")
    return np.ones(n_rows(rows["X"]), dtype=bool) if public is None else ~np.asarray(public, dtype=bool)


def units_of(rows: Arguments) -> list[NDArray[np.intp]]:
    """Return the rows of every private unit: one each, or those of one person."""
    private = np.flatnonzero(private_rows(rows))
    if rows.get("groups") is None:
        return list(private[:, None])
    groups = np.asarray(rows["groups"])[private]
    return [private[groups == person] for person in dict.fromkeys(groups.tolist())]


def without_unit(rows: Arguments, unit: NDArray[np.intp] | None = None) -> Arguments:
    """Return the data set without one unit."""
    keep = np.ones(len(rows["X"]), dtype=bool)
    keep[unit_of(rows) if unit is None else unit] = False
    return take_rows(rows, keep)


def take_rows(rows: Arguments, keep: NDArray[np.bool_]) -> Arguments:
    """Return some rows of a data set."""
    return {k: np.asarray(v)[keep] if is_column(v, rows) else v for k, v in rows.items()}


def is_column(value: Any, rows: Arguments) -> bool:
    """Whether an argument has one entry a row."""
    return np.ndim(value) > 0 and len(value) == len(rows["X"])


def with_unit(rows: Arguments, **values: Any) -> Arguments:
    """Return the data set with other values of the last unit."""
    changed, unit = dict(rows), unit_of(rows)
    for name, value in values.items():
        column = np.array(rows[name])
        if column.dtype.kind == "U":
            # A longer text must not be cut.
            column = column.astype(np.result_type(column.dtype, np.asarray(value).dtype))
        column[unit] = value
        changed[name] = column
    return changed
