# SPDX-License-Identifier: BSD-3-Clause
"""Targets of life models from columns: the observation of every lifetime."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._config import get_config
from .._typing import FloatArray
from ..utils._tables import holds_booleans, is_temporal_type
from ._columns import CategoricalColumn
from ._table_columns import read_table
from ._table_domain import TableDomain

# Largest number of names of columns in a message.
_SHOWN = 10
# Values of missing ends, which are not known.
_UNKNOWN = {"lower": 0.0, "upper": np.inf}


def life_data(
    table: Any = None,
    *,
    time: Any = None,
    event: Any = None,
    lower: Any = None,
    upper: Any = None,
    entry: Any = None,
    happened: Any = None,
    censored: Any = None,
) -> NDArray[Any]:
    """Return the target of a life model: the observation of every lifetime.

    Parameters
    ----------
    table : data frame, Arrow table or dict of columns, default=None
        Table with the columns; the other parameters are then names. None: the other parameters are the
        columns.
    time : array-like of shape (n_samples,) or str, default=None
        Times of events or of right-censoring, above 0.
    event : array-like of shape (n_samples,) or str, default=None
        With `time`: true, yes or 1 if the event happened at the time; false, no or 0 if it had not happened
        yet; or the values of `happened`. None: it happened in all rows.
    lower, upper : array-like of shape (n_samples,) or str, default=None
        In place of `time` and `event`: the event happened after lower, and not after upper. Equal ends: it
        happened at that time. An infinite upper end: it had not happened at lower (right-censored). A lower
        end of 0: it had happened by upper (left-censored). Otherwise it happened between two times
        (interval-censored). A missing end is unknown, and replaced by 0 or infinity.
    entry : array-like of shape (n_samples,) or str, default=None
        Time from which the row was observed. If the event had happened before, the row would not be in the
        table (delayed entry, left truncation). 0: from the start. None: 0 for all rows.
    happened : str, int, float, bool or a collection of these, default=None
        With `event`: the values which mean that the event happened, such as 2 if a status is 1 (censored) or
        2 (dead). They are all text, all numbers or all booleans. None: true, yes and 1.
    censored : str, int, float, bool or a collection of these, default=None
        With `happened`: the values which mean that the event had not happened yet. Any other value counts as
        missing. None: every other value of the same kind, number or text, means that it had not happened yet.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        Structured, with the fields "event" and "time", or "lower" and "upper", and "entry" if it is given. It
        is a target of `DPLogLocationScaleRegressor`, whose ``observations`` must declare the kinds of
        observations.

    Raises
    ------
    TypeError, ValueError
        Neither times nor both ends are given. A column is missing, has a type that cannot be read, or holds
        numbers although `happened` is text. Outside strict mode also: a cell is not a number, or an event is
        missing, neither true nor false, or not a declared value. The message names the column, and shows no
        value.

    See Also
    --------
    skprivate.rounds.TableSource : Takes the same names of columns for tables that stay where they are.

    Notes
    -----
    **Privacy.** Nothing is released, and a row of the target depends on that row alone. In strict mode no
    cell raises an error. A cell that cannot be read becomes NaN, and `fit` documents how it is treated. A row
    whose event is missing, or has an undeclared value, gets the event False and the time NaN. In strict mode
    `fit` counts it as censored at the lower bound, which carries no information. `fit` checks whether a
    lifetime is possible.

    Examples
    --------
    >>> from skprivate import life_data
    >>> life_data(lower=[2, 2, None, 2], upper=[2, None, 3, 3])
    array([(2.,  2.), (2., inf), (0.,  3.), (2.,  3.)],
          dtype=[('lower', '<f8'), ('upper', '<f8')])
    >>> life_data({"hours": ["7", "9.5"], "failed": ["yes", "no"]}, time="hours", event="failed")
    array([( True, 7. ), (False, 9.5)],
          dtype=[('event', '?'), ('time', '<f8')])
    >>> life_data(time=[306, 1010], event=[2, 1], happened=2)
    array([( True,  306.), (False, 1010.)],
          dtype=[('event', '?'), ('time', '<f8')])
    """
    roles = {"event": event, "time": time, "lower": lower, "upper": upper, "entry": entry}
    given = {role: column for role, column in roles.items() if column is not None}
    if set(given) - {"entry"} not in ({"time"}, {"time", "event"}, {"lower", "upper"}):
        raise ValueError("pass time and event, or lower and upper, but not both; and entry, if any.")
    coding = EventCoding.of(happened, censored)
    if coding.declared and event is None:
        raise ValueError("happened and censored declare the values of event: pass event, too.")
    names = {role: repr(name) if isinstance(name, str) else role for role, name in given.items()}
    columns = given if table is None else _columns_of(table, given)
    _refuse_durations(columns, names)
    domain = TableDomain({role: (0, 1) for role in given if role != "event"} or {"time": (0, 1)})
    readings = domain.read_columns({role: column for role, column in columns.items() if role != "event"})
    strict = get_config()["strict"]
    values = {}
    for role, (numbers, unusable) in readings.items():
        if not strict and (unusable & ~np.isinf(numbers)).any():
            raise ValueError(f"column {names[role]} holds a value that is not a number.")
        values[role] = np.where(np.isnan(numbers), _UNKNOWN.get(role, np.nan), numbers)
    if "time" in values:
        found = (
            np.ones(len(values["time"])) if event is None else coding.read(columns["event"], names["event"])
        )
        if len(found) != len(values["time"]):
            raise ValueError("the columns of a table must have one length.")
        missing = np.isnan(found)
        values = {"event": found == 1, **values, "time": np.where(missing, np.nan, values["time"])}
    y = np.empty(
        len(next(iter(values.values()))), dtype=[(role, part.dtype) for role, part in values.items()]
    )
    for role, part in values.items():
        y[role] = part
    return y


@dataclass(frozen=True)
class EventCoding:
    """Values of a column which mean that the event happened, or that it had not happened yet.

    Attributes
    ----------
    happened, censored : tuple
        Declared values. If `happened` is empty: true, yes and 1, and their opposites.
    """

    happened: tuple[Any, ...] = ()
    censored: tuple[Any, ...] = ()

    @classmethod
    def of(cls, happened: Any, censored: Any) -> Self:
        """Check the user's declarations: a value, a collection of values, or None."""
        coding = cls(_values_of(happened, "happened"), _values_of(censored, "censored"))
        values = (*coding.happened, *coding.censored)
        if coding.censored and not coding.happened:
            raise ValueError("censored needs happened: the values which mean that the event happened.")
        if values:
            CategoricalColumn(values)  # all of one kind, and none of them twice
        return coding

    @property
    def declared(self) -> bool:
        """Whether any values are declared."""
        return bool(self.happened)

    @property
    def is_text(self) -> bool:
        """Whether the declared values are text."""
        return self.declared and isinstance(self.happened[0], str)

    def read(self, column: Any, name: str) -> FloatArray:
        """Return 1 if the event happened, 0 if it had not, and NaN if that is not known.

        Outside strict mode, a missing or undeclared cell raises ValueError.
        """
        values = (*self.happened, *self.censored)
        text = self.is_text
        if text and _holds_numbers(column):
            raise TypeError(f"column {name} holds numbers, and happened is text: declare numbers.")
        if values and holds_booleans(column) and not set(self.happened) & {0, 1}:
            raise TypeError(f"column {name} holds booleans, and happened names none: declare happened=True.")
        kind: Any = bool if not values or isinstance(values[0], bool) else (0, 1)
        domain = TableDomain({"event": CategoricalColumn(values) if text else kind})
        cells, unusable = domain.read_columns({"event": column})["event"]
        n = len(self.happened)
        places = EventCoding(tuple(range(n)), tuple(range(n, len(values)))) if text else self
        events = places.events_of(cells)
        if text and not self.censored:
            events[unusable] = 0.0
        elif not text:
            events[unusable] = np.nan
        if not get_config()["strict"] and np.isnan(events).any():
            raise ValueError(
                self._why_unknown(bool((np.isnan(events) & ~np.isnan(cells) | unusable).any()), name)
            )
        return events

    def events_of(self, cells: FloatArray) -> FloatArray:
        """Return 1, 0 or NaN for cells that are read as numbers; the declared values are numbers too."""
        if not self.declared:
            return cells.copy()
        happened, censored = (np.array(values, dtype=np.float64) for values in (self.happened, self.censored))
        others = np.isin(cells, censored) if self.censored else ~np.isnan(cells)
        return np.where(np.isin(cells, happened), 1.0, np.where(others, 0.0, np.nan))

    def _why_unknown(self, undeclared: bool, name: str) -> str:
        if not undeclared:
            return f"column {name} does not state for every row whether the event happened."
        if self.declared:
            return f"column {name} holds a value that is declared neither in happened nor in censored."
        return (
            f"column {name} holds a value that is neither true nor false. Declare the values which mean that "
            "the event happened: life_data(..., happened=2) if 2 means this and 1 is censored; or "
            "happened='dead', for example."
        )


#: No values are declared: true, yes and 1, and their opposites.
TRUE_OR_FALSE = EventCoding()


def _values_of(values: Any, name: str) -> tuple[Any, ...]:
    if values is None:
        return ()
    given = [values] if isinstance(values, str) or not hasattr(values, "__iter__") else list(values)
    plain = [value.item() if isinstance(value, np.generic) else value for value in given]
    if not plain or not all(isinstance(value, str | int | float) for value in plain):
        raise TypeError(f"{name} must be a text, a number, a boolean, or a collection of these.")
    return tuple(value.strip() if isinstance(value, str) else value for value in plain)


def _holds_numbers(column: Any) -> bool:
    """Return whether the type of a column of NumPy, pandas or polars is one of numbers or booleans."""
    dtype = getattr(column, "dtype", None)
    tells = getattr(dtype, "is_numeric", None)
    return bool(tells()) if callable(tells) else getattr(dtype, "kind", "O") in "biuf"


def _refuse_durations(columns: dict[str, Any], names: dict[str, str]) -> None:
    for role, column in columns.items():
        if is_temporal_type(getattr(column, "dtype", getattr(column, "type", None))) and role != "event":
            raise TypeError(
                f"column {names[role]} holds dates or durations: its type is not one of numbers. Pass "
                "durations as numbers of one unit, such as durations.dt.total_seconds() / 86400."
            )


def _columns_of(table: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of these names."""
    if not all(isinstance(name, str) for name in given.values()):
        raise TypeError("with a table, time, event, lower, upper and entry are names of its columns.")
    raw = read_table(table)
    names = list(raw.names or ())
    missing = sorted(name for name in given.values() if names.count(name) != 1)
    if missing:
        raise ValueError(
            f"the table must have each of these columns once: {', '.join(missing)}. Its columns are "
            f"{', '.join(map(str, names[:_SHOWN]))}{', ...' if len(names) > _SHOWN else ''}."
        )
    return {role: raw.columns[names.index(name)] for role, name in given.items()}
