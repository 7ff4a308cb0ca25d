# SPDX-License-Identifier: BSD-3-Clause
"""Walks between data sets, unit by unit: everything that depends on how many rows are such passes its steps.

A statistic that moves by much when one row changes does so somewhere: a median where half of the rows lie at
either end of the domain, a quantile, a majority or a number of distinct values elsewhere on the way.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .._cases.domain import domain_of_X, domain_of_y
from .._cases.units import Arguments, private_rows, take_rows, units_of, without_unit
from .._observation.code_constants import values_in_code

Design = tuple[str, Iterator[Arguments]]

_FEW = (3, 2, 1)
_MIDDLE = 0.5
# Rows of a sweep: a prime, so that what holds in one hundredth of a column's range is met in every column.
_VALUES = 127
_GENERATOR = 3  # of all residues


@dataclass(frozen=True, eq=False)
class Row:
    """What a private row may hold: its features, or None for those that it has, and its target."""

    X: NDArray[np.float64] | None
    y: Any = None


def rows_of_the_domain(estimator: Any, rows: Arguments, relation: str) -> list[Row]:
    """Return rows at the ends of the declared domain, at its middle and at values that the code names."""
    lower, upper = domain_of_X(estimator, np.shape(rows["X"])[1])
    targets = targets_of_the_domain(estimator, rows)
    if relation == "label":
        return [Row(None, target) for target in targets]
    middle = lower + _MIDDLE * (upper - lower)
    odd = np.arange(len(lower)) % 2 == 1
    corners = [lower, upper, np.where(odd, lower, upper), np.where(odd, upper, lower), middle]
    found = [Row(corner, targets[k % len(targets)]) for k, corner in enumerate(corners)]
    for k, value in enumerate(values_in_code(estimator)):
        number = isinstance(targets[0], float | int) and not is_classifier(estimator)
        found.append(Row(np.full(len(lower), value), value if number else targets[k % len(targets)]))
    return found


def targets_of_the_domain(estimator: Any, rows: Arguments) -> list[Any]:
    """Return the classes, or the ends of the target, with and without an event; [None] without a target."""
    if rows.get("y") is None:
        return [None]
    if is_classifier(estimator):
        return list(domain_of_y(estimator))
    low, *_, high = domain_of_y(estimator)
    if np.asarray(rows["y"]).dtype.names is None:
        return [low, high]
    return [(True, low), (True, high), (False, low), (False, high)]


def walks(estimator: Any, rows: Arguments, relation: str) -> Iterator[Design]:
    """Yield the designs: data sets, each of them a neighbour of the one before."""
    domain = rows_of_the_domain(estimator, rows, relation)
    first, second = filled(rows, domain[0]), filled(rows, domain[1 % len(domain)])
    yield "from one end of the domain to the other", _walk(first, second, relation)
    for target in targets_of_the_domain(estimator, rows)[1:]:
        yield "from one target to another", _walk(first, filled(first, Row(None, target)), relation)
        yield "one target more and more often", _walk(rows, filled(rows, Row(None, target)), relation)
    if rows.get("groups") is not None:
        yield "a person with fewer rows", _shorter(rows)
    yield "one row through the whole domain", _sweep(estimator, rows, relation)
    if relation != "label":
        ties = filled(rows, Row(domain[4].X, domain[0].y))
        yield "from one end of the features to the other", _walk(first, _with(second, y=first), relation)
        yield "from scattered rows to ties", _walk(rows, _with(ties, y=rows), relation)
        yield "from ties to an end", _walk(ties, second, relation)
        crossed = filled(rows, domain[2]), filled(rows, domain[3])
        yield "from duplicates to duplicates", _walk(*crossed, relation)
        for row in domain[5:]:
            yield "a value that the code names", _walk(rows, filled(rows, row), relation, most=2)
    if relation == "add-remove":
        half = take_of(first, second)
        yield "fewer and fewer rows", _fewer(half)
    for n_units in _FEW:
        few = _first_units(first, n_units), _first_units(second, n_units)
        yield f"{n_units} units alone", _walk(*few, relation)


def _sweep(estimator: Any, rows: Arguments, relation: str) -> Iterator[Arguments]:
    """Yield data sets whose last unit takes values all over the domain, in turns with those at its ends."""
    unit, domain = units_of(rows)[-1], rows_of_the_domain(estimator, rows, relation)
    ends = [with_row(rows, unit, row) for row in domain[:2]]
    if relation == "add-remove":
        ends = [without_unit(rows, unit)]
    for k in range(_VALUES if relation != "label" else 0):
        yield with_row(rows, unit, _row_within(estimator, rows, k))
        yield ends[k % len(ends)]


def _row_within(estimator: Any, rows: Arguments, k: int) -> Row:
    """Return the k-th row of a lattice on the domain, which every column passes in even steps (Korobov)."""
    lower, upper = domain_of_X(estimator, np.shape(rows["X"])[1])
    shares = np.array(
        [(k * pow(_GENERATOR, axis, _VALUES) % _VALUES + 0.5) / _VALUES for axis in range(len(lower) + 1)]
    )
    target: Any = None
    targets = targets_of_the_domain(estimator, rows)
    if rows.get("y") is not None and is_classifier(estimator):
        target = targets[k % len(targets)]
    elif rows.get("y") is not None:
        low, *_, high = domain_of_y(estimator)
        time = low + float(shares[-1]) * (high - low)
        target = time if np.asarray(rows["y"]).dtype.names is None else (k % 2 == 0, time)
    return Row(lower + shares[:-1] * (upper - lower), target)


def take_of(one: Arguments, other: Arguments) -> Arguments:
    """Return a data set of which every second unit is that of another one."""
    for unit in units_of(one)[1::2]:
        one = _swapped(one, other, unit)
    return one


def filled(rows: Arguments, row: Row) -> Arguments:
    """Return the data set with all private rows alike."""
    private, changed = private_rows(rows), dict(rows)
    for name, value in (("X", row.X), ("y", row.y)):
        if value is not None and rows.get(name) is not None:
            column = np.array(rows[name])
            if column.dtype.kind == "U":
                column = column.astype(np.result_type(column.dtype, np.asarray(value).dtype))
            elif name == "X" and column.dtype.kind in "iub":
                column = column.astype(np.float64)
            column[private] = value
            changed[name] = column
    return changed


def _with(rows: Arguments, *, y: Arguments) -> Arguments:
    """Return a data set with the targets of another one."""
    return {**rows, "y": y["y"]} if rows.get("y") is not None else rows


def _walk(start: Arguments, end: Arguments, relation: str, most: int | None = None) -> Iterator[Arguments]:
    """Yield the data sets on the way, in which one unit after the other is that of the end."""
    yield start
    for unit in units_of(start)[:most]:
        if relation == "add-remove":
            # To replace is to remove, and to add.
            yield without_unit(start, unit)
        start = _swapped(start, end, unit)
        yield start


def _swapped(rows: Arguments, other: Arguments, unit: NDArray[np.intp]) -> Arguments:
    changed = dict(rows)
    for name in ("X", "y"):
        if rows.get(name) is not None:
            mine, theirs = np.asarray(rows[name]), np.asarray(other[name])
            column = mine.astype(np.result_type(mine, theirs)) if mine.dtype != theirs.dtype else mine.copy()
            column[unit] = theirs[unit]
            changed[name] = column
    return changed


def _fewer(rows: Arguments) -> Iterator[Arguments]:
    yield rows
    while len(units := units_of(rows)) > 1:
        rows = without_unit(rows, units[0])
        yield rows


def _shorter(rows: Arguments) -> Iterator[Arguments]:
    """Yield the data set, and those in which one person has fewer rows, one at least."""
    yield rows
    for row in units_of(rows)[-1][:-1]:
        keep = np.ones(len(rows["X"]), dtype=bool)
        keep[row] = False
        yield take_rows(rows, keep)


def _first_units(rows: Arguments, count: int) -> Arguments:
    """Return the public rows and the first private units."""
    keep = ~private_rows(rows)
    for unit in units_of(rows)[:count]:
        keep[unit] = True
    return take_rows(rows, keep)


def scattered(
    domain: list[Row], rows: Arguments, units: list[NDArray[np.intp]], rng: np.random.Generator
) -> Arguments:
    """Return the data set with a few kinds of rows of the domain, in random shares."""
    kinds = rng.choice(len(domain), size=min(len(domain), int(rng.integers(1, 4))), replace=False)
    shares = rng.dirichlet(np.ones(len(kinds)))
    sources = [filled(rows, domain[kind]) for kind in kinds]
    for unit, kind in zip(units, rng.choice(len(kinds), size=len(units), p=shares), strict=True):
        rows = _swapped(rows, sources[kind], unit)
    return rows


def with_row(rows: Arguments, unit: NDArray[np.intp], row: Row) -> Arguments:
    """Return the data set with another row of one unit."""
    return _swapped(rows, filled(rows, row), unit)
