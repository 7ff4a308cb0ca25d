# SPDX-License-Identifier: BSD-3-Clause
"""Targets of life models from columns: what is known of every lifetime."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._config import get_config
from ._raw_columns import read_table
from ._table_domain import TableDomain

# What stands for an end that is missing: it is not known.
_UNKNOWN = {"lower": 0.0, "upper": np.inf}


def life_data(
    table: Any = None,
    *,
    time: Any = None,
    event: Any = None,
    lower: Any = None,
    upper: Any = None,
    entry: Any = None,
) -> NDArray[Any]:
    """Return the target of a life model: what is known of every lifetime.

    Parameters
    ----------
    table : data frame, Arrow table or dict of columns, default=None
        Where the columns are; the other parameters are then their names. None: they are the columns.
    time : array-like of shape (n_samples,) or str, default=None
        Times of events or of right-censoring, above 0.
    event : array-like of shape (n_samples,) or str, default=None
        With `time`: true, yes or 1 where the event happened at the time; false, no or 0 where it had not
        happened yet. None: all happened.
    lower, upper : array-like of shape (n_samples,) or str, default=None
        In place of `time` and `event`: the event came after lower, and not after upper. Equal ends: it came
        at that time. An infinite upper end: it had not come at lower (right-censored). A lower end of 0: it
        had come by upper (left-censored). Else it came between two times (interval-censored). A missing end
        is not known: 0, or infinity.
    entry : array-like of shape (n_samples,) or str, default=None
        Time from which the row was watched: had the event come before, the row would not be there (delayed
        entry, left truncation). 0: from the start, as all rows are with None.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        Structured, with the fields "event" and "time", or "lower" and "upper", and "entry" where it is given:
        a target of `DPLogLocationScaleRegressor`, whose ``observations`` must declare what may occur.

    Raises
    ------
    TypeError, ValueError
        Neither times nor both ends; a column is not there, or of a type that cannot be read. Outside strict
        mode also a cell that is no number, or an event that is missing or neither true nor false. The message
        names the column, and no value.

    See Also
    --------
    skprivate.rounds.TableSource : Takes the same names of columns, of tables that stay where they are.

    Notes
    -----
    **Privacy.** Nothing is released, and a row of the target depends on that row alone. In strict mode no
    cell makes it fail: one that cannot be read is NaN, of an event False, and `fit` says what becomes of it.
    Whether a lifetime is possible is checked by `fit`.

    Examples
    --------
    >>> from skprivate import life_data
    >>> life_data(lower=[2, 2, None, 2], upper=[2, None, 3, 3])
    array([(2.,  2.), (2., inf), (0.,  3.), (2.,  3.)],
          dtype=[('lower', '<f8'), ('upper', '<f8')])
    >>> life_data({"hours": ["7", "9.5"], "failed": ["yes", "no"]}, time="hours", event="failed")
    array([( True, 7. ), (False, 9.5)],
          dtype=[('event', '?'), ('time', '<f8')])
    """
    roles = {"event": event, "time": time, "lower": lower, "upper": upper, "entry": entry}
    given = {role: column for role, column in roles.items() if column is not None}
    if set(given) - {"entry"} not in ({"time"}, {"time", "event"}, {"lower", "upper"}):
        raise ValueError("pass time and event, or lower and upper, and no other of them; and entry, if any.")
    names = {role: repr(name) if isinstance(name, str) else role for role, name in given.items()}
    columns = given if table is None else _columns_of(table, given)
    strict = get_config()["strict"]
    domain = TableDomain({role: bool if role == "event" else (0, 1) for role in given})
    readings = domain.read_columns(columns)
    values = {}
    for role, (numbers, unusable) in readings.items():
        if not strict and (unusable & ~np.isinf(numbers)).any():
            kind = "neither true nor false" if role == "event" else "no number"
            raise ValueError(f"column {names[role]} holds a value that is {kind}.")
        if not strict and role == "event" and np.isnan(numbers).any():
            raise ValueError(f"column {names[role]} does not say of every row whether the event happened.")
        values[role] = np.where(np.isnan(numbers), _UNKNOWN.get(role, np.nan), numbers)
    if "time" in values:
        happened = values.get("event", np.ones(len(values["time"])))
        values = {"event": happened == 1, **{role: part for role, part in values.items() if role != "event"}}
    y = np.empty(
        len(next(iter(values.values()))), dtype=[(role, part.dtype) for role, part in values.items()]
    )
    for role, part in values.items():
        y[role] = part
    return y


def _columns_of(table: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of these names."""
    if not all(isinstance(name, str) for name in given.values()):
        raise TypeError("with a table, time, event, lower, upper and entry are names of its columns.")
    raw = read_table(table)
    names = list(raw.names or ())
    missing = sorted(name for name in given.values() if names.count(name) != 1)
    if missing:
        raise ValueError(f"the table must have each of these columns once: {', '.join(missing)}.")
    return {role: raw.columns[names.index(name)] for role, name in given.items()}
