# SPDX-License-Identifier: BSD-3-Clause
"""Text tables whose rows are printed as soon as they are there, and the cells that several tables have."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

_SPEC = re.compile(r"([<>])(\d+)(.*)")


class Table:
    """Columns of fixed width; the heading is printed when the table is made.

    Parameters
    ----------
    *columns : tuple of (str, str)
        Heading, and alignment, least width and format of the numbers: ">9.3f". Text is aligned as it is.
    indent : int
        Spaces before each line.
    """

    def __init__(self, *columns: tuple[str, str], indent: int = 0) -> None:
        self._indent = " " * indent
        self._columns = [_column(heading, spec) for heading, spec in columns]
        if any(heading for heading, _ in columns):
            self.row(*(heading for heading, _ in columns))

    def row(self, *values: Any) -> None:
        """Print one row; None is printed as a dash."""
        cells = (
            f"{_cell(value, kind):{side}{width}}"
            for value, (side, width, kind) in zip(values, self._columns, strict=True)
        )
        print((self._indent + " ".join(cells)).rstrip(), flush=True)


def _column(heading: str, spec: str) -> tuple[str, int, str]:
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise ValueError(f"{spec!r} is no alignment, width and format")
    side, width, kind = found.groups()
    return side, max(int(width), len(heading)), kind


def _cell(value: Any, kind: str) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else format(value, kind)


def across(values: Iterable[Any], spec: str) -> list[tuple[str, str]]:
    """Return one column for each value, which is its heading."""
    return [(value if isinstance(value, str) else f"{value:g}", spec) for value in values]


def standard_error(values: ArrayLike) -> Any:
    """Return the standard error of the mean over the first axis; NaN where that is one value."""
    table = np.asarray(values, dtype=float)
    if len(table) < 2:
        return np.full(table.shape[1:], np.nan)[()]
    return table.std(axis=0, ddof=1) / np.sqrt(len(table))


def mean_and_error(values: ArrayLike, digits: int = 3) -> str:
    """Return the mean of independent values, and its standard error."""
    return f"{np.mean(values):.{digits}f} ±{standard_error(values):.{digits}f}"
