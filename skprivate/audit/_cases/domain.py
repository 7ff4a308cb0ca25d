# SPDX-License-Identifier: BSD-3-Clause
"""Data sets within the declared domain: private units, rows, and targets at its ends."""

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from ...base._pipeline_report import last_step
from ...domain import StressColumn, TableDomain
from ...utils import check_bounds

# Data sets as arguments of ``fit``: which rows are private, and which of them belong to one person.

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
    return with_values(rows, unit_of(rows), **values)


def with_values(rows: Arguments, where: NDArray[Any], **values: Any) -> Arguments:
    """Return the data set with other values in some rows; None leaves an argument as it is."""
    changed = dict(rows)
    for name, value in values.items():
        if value is None or rows.get(name) is None:
            continue
        column = np.array(rows[name])
        if column.dtype.kind == "U":
            # A longer text must not be cut.
            column = column.astype(np.result_type(column.dtype, np.asarray(value).dtype))
        column[where] = value
        changed[name] = column
    return changed


# The domain that an estimator declares, rows within it, and targets at its ends.

# Two levels of a tree have six rows a leaf, and a fit takes milliseconds.
_ROWS = 24
# One row in so many lacks a cell.
_LACKING = 5
# Beyond every bound; sums of some of them are still finite.
FAR = 1e300
# After what a lifetime came, and until when it had come.
_ENDS: dict[str, Callable[[float], tuple[float, float]]] = {
    "exact": lambda time: (time, time),
    "right": lambda time: (time, np.inf),
    "left": lambda time: (0.0, time),
    "interval": lambda time: (time / 2, time),
}
# A label that nobody declares.
_STRANGE = {"U": "zzz-undeclared", "i": 987654, "u": 987654, "f": 987654.5, "b": True}


def declared(estimator: Any, name: str) -> Any:
    """Return a parameter of an estimator, or of the last step of a pipeline; None if it has none."""
    last = last_step(estimator)
    return last.get_params(deep=False).get(name) if hasattr(last, "get_params") else None


def columns_of(estimator: Any) -> TableDomain | None:
    """Return the declared columns of an estimator, of a step of it or of what it searches."""
    known = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return next((value for value in known if isinstance(value, TableDomain)), None)


def make_rows(estimator: Any, n: int = _ROWS, seed: int = 0, width: int = 2) -> Arguments:
    """Return random rows within the declared domain, some of which lack a cell where columns are declared."""
    rng = np.random.default_rng(seed)
    width = n_columns(estimator, width)
    shares = rng.random((n, width))
    if columns_of(estimator) is not None:
        lacking = np.arange(0, n, _LACKING)
        shares[lacking, lacking // _LACKING % width] = np.nan
    X = rows_at(estimator, shares)
    if is_classifier(estimator):
        classes = np.asarray(domain_of_y(estimator))
        return {"X": X, "y": classes[rng.integers(len(classes), size=n)]}
    if is_regressor(estimator):
        low, high = domain_of_y(estimator)
        return {"X": X, "y": low + (high - low) * rng.random(n)}
    return {"X": X}


def n_columns(estimator: Any, n_features: int) -> int:
    """Return the number of columns of X: as declared, or as many as there are."""
    columns = columns_of(estimator)
    if columns is not None:
        return len(columns.names)
    sizes = [np.size(end) for end in bounds_of(estimator) or () if np.ndim(end)]
    return sizes[-1] if sizes else n_features


def bounds_of(estimator: Any) -> Any:
    """Return the declared bounds of X; None if there are none."""
    found = (declared(estimator, name) for name in ("bounds", "bounds_X"))
    return next((bounds for bounds in found if bounds is not None), None)


def rows_at(estimator: Any, shares: NDArray[np.float64]) -> NDArray[Any]:
    """Return rows of the declared domain: 0 is the lower end of a column, 1 the upper one.

    Rows are of float64, or of cells as a table has them where columns of other kinds are declared; levels are
    spread evenly. NaN is a missing cell, and the lower end where none is declared.
    """
    columns, (n, width) = columns_of(estimator), np.shape(shares)
    if columns is None:
        bounds = bounds_of(estimator)
        lower, upper = check_bounds((-1, 1) if bounds is None else bounds, width, name="bounds")
        return np.asarray((1 - shares) * lower + shares * upper)
    encoded, known = np.zeros((n, len(columns.encoded_names))), np.nan_to_num(shares)
    lower, upper = columns.bounds
    for group, share in zip(columns.groups, known.T, strict=True):
        if n_values := group.n_levels or len(group.values):
            place = np.minimum(share * n_values, n_values - 1).astype(np.intp)
        if group.n_levels:
            encoded[np.arange(n), group.start + place] = 1.0
        else:
            ends = (1 - share) * lower[group.start] + share * upper[group.start]
            encoded[:, group.start] = np.array(group.values)[place] if group.values else ends
    return _cells(columns, encoded, np.isnan(shares))


def _cells(columns: TableDomain, encoded: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Return encoded rows as cells, without those that are missing where that is declared."""
    cells = list(columns.decode(encoded).values())
    numbers = all(values.dtype.kind == "f" for values in cells)
    X = np.empty(missing.shape, dtype=np.float64 if numbers else object)
    for k, (column, values) in enumerate(zip(columns.columns.values(), cells, strict=True)):
        X[:, k] = values.astype(X.dtype)
        X[missing[:, k] & (column.missing != "error"), k] = np.nan if numbers else None
    return X


def row_at(estimator: Any, n_features: int, share: Any) -> NDArray[Any]:
    """Return one row of the declared domain, see `rows_at`; the share is one number, or one a column."""
    return rows_at(estimator, np.broadcast_to(share, (1, n_columns(estimator, n_features))))[0]


def row_of(estimator: Any, n_features: int, value: float) -> NDArray[Any]:
    """Return a row of one number, whether it lies within the bounds or not.

    Dates are the first or the last ones that there are. A column that takes no number has a missing cell, or
    its lower end where none is declared.
    """
    columns = columns_of(estimator)
    if columns is None:
        return np.full(n_columns(estimator, n_features), value)
    row = row_at(estimator, n_features, np.nan)
    for k, column in enumerate(columns.columns.values()):
        if column.kind == "number":
            row[k] = value
        elif column.kind == "date":
            row[k] = datetime.datetime.max if value > 0 else datetime.datetime.min
        elif isinstance(column, StressColumn):
            # Its distribution is not defined at its zero.
            zero = column.transform.zero
            row[k] = max(value, np.nextafter(zero, np.inf), zero + 1 / FAR)
    return row


def numbers_of(estimator: Any, row: NDArray[Any]) -> list[float]:
    """Return the numbers by which a row could be known again: those of its cells, and their encodings."""
    columns = columns_of(estimator)
    if columns is None:
        return [float(value) for value in row]
    encoded = columns.encode([list(row)], strict=True)[0]
    places = [group.start for group in columns.groups if not (group.n_levels or group.values)]
    cells = [cell for cell in row if isinstance(cell, float) and not np.isnan(cell)]
    return [float(value) for value in dict.fromkeys([*cells, *encoded[places]])]


def domain_of_y(estimator: Any) -> Any:
    """Return the declared classes, or bounds of the target."""
    if is_classifier(estimator):
        classes = declared(estimator, "classes")
        return [0, 1] if classes is None else classes
    bounds = declared(estimator, "bounds_y")
    if bounds is not None:
        return bounds
    positive = last_step(estimator).__sklearn_tags__().target_tags.positive_only
    return (0.5, 2.0) if positive else (-1.0, 1.0)


def extreme_targets(estimator: Any, rows: Arguments) -> Iterator[Any]:
    """Yield targets at the ends of the domain and beyond."""
    y = np.asarray(rows["y"])
    low, *_, high = domain_of_y(estimator)
    if is_classifier(estimator):
        yield from domain_of_y(estimator)
        yield strange_label(y)
        return
    positive = estimator.__sklearn_tags__().target_tags.positive_only or y.dtype.names is not None
    for end in (low, high, 1 / FAR if positive else -FAR, FAR):
        yield from targets_at(estimator, rows, end)


def targets_at(estimator: Any, rows: Arguments, time: float) -> list[Any]:
    """Return the number itself; where lifetimes are observed, every declared observation at that time."""
    names = np.asarray(rows["y"]).dtype.names
    if names is None:
        return [time]
    kinds = declared(estimator, "observations") or ("exact", "right")
    entries = (0.0, time / 4) if "entry" in names else (0.0,)
    ends = [_ENDS[kind](time) for kind in _ENDS if kind in kinds]
    roles = [
        {"event": lower == upper, "time": time, "lower": lower, "upper": upper, "entry": entry}
        for lower, upper in ends
        for entry in entries
    ]
    return [tuple(role[name] for name in names) for role in roles]


def strange_label(y: NDArray[Any]) -> Any:
    """Return a label of the same type that no class has."""
    return _STRANGE.get(y.dtype.kind, _STRANGE["U"])
