# SPDX-License-Identifier: BSD-3-Clause
"""What to look at where cells, or the type of a column, are not what is declared: public facts alone."""

from typing import Any

import numpy as np

from ._columns import CategoricalColumn, Column

# Levels, and characters of each, that a message shows.
_SHOWN, _WIDTH = 3, 30

_UNUSABLE = {
    "number": "no finite number",
    "stress": "no finite number for which its law is defined",
    "date": "no date (text is ISO 8601, or in the format of DateColumn)",
    "boolean": "neither true nor false",
}
_NUMBERS = "the format of numbers (NumberColumn(decimal=, thousands=, unit=)); other texts are declared as a "
_NUMBERS += "list of levels"
_HINTS = {
    "number": _NUMBERS,
    "stress": _NUMBERS,
    "date": "the format of dates (DateColumn(format=))",
    "boolean": "how true and false are written; other texts are declared as a list of levels",
}


def refusal(name: str, column: Column) -> str:
    """Return the message about a cell that is no value of its column."""
    what = _UNUSABLE.get(column.kind) or f"none of the declared levels {shown_levels(column)}"
    return (
        f"column {name!r} holds a value that is {what}, and is not declared as missing. Look at "
        f"{hint_of(column)}."
    )


def hint_of(column: Column) -> str:
    """Return what to look at where many cells of a column are no values of it."""
    if not isinstance(column, CategoricalColumn):
        return _HINTS[column.kind]
    numbers = [level for level in column.levels if not isinstance(level, str | bool)]
    if len(column.levels) == len(numbers) == 2 and numbers[0] < numbers[1]:
        ends = ", ".join(map(str, numbers))
        return f"the brackets: [{ends}] declares two levels, and ({ends}) all numbers between them"
    return f"the spelling of the declared levels {shown_levels(column)}"


def shown_levels(column: Any) -> str:
    """Return some levels of a column as Python writes them."""
    shown = [repr(level)[:_WIDTH] for level in column.levels[:_SHOWN]]
    return ", ".join([*shown, "..."] if len(column.levels) > _SHOWN else shown)


def when_empty(dtype: np.dtype[Any]) -> str:
    """Return what to do with a column that is of this type since all of its cells are missing."""
    return " Where all cells are missing, too: column.astype('str')." if dtype.kind == "f" else ""
