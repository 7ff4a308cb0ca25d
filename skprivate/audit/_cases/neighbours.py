# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours of a data set: extreme units, and chains from one data set to another unit by unit.

A statistic that moves by much when one row changes does so somewhere: a median where half of the rows lie at
either end of the domain, a quantile, a majority or a number of distinct values elsewhere on the way.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .._observation.source_code import values_in_code
from .domain import (
    FAR,
    Arguments,
    columns_of,
    domain_of_y,
    extreme_targets,
    private_rows,
    row_at,
    row_of,
    take_rows,
    targets_at,
    units_of,
    with_unit,
    with_values,
    without_unit,
)

# Data sets that differ in one unit, as far apart as the declared domain allows, and further.


def extreme_variants(estimator: Any, rows: Arguments, *, only_label: bool = False) -> Iterator[Arguments]:
    """Yield the data set with the most extreme units."""
    width = np.shape(rows["X"])[1]
    corners = [row_at(estimator, width, share) for share in (0.0, 1.0, np.arange(width) % 2)]
    corners += [row_of(estimator, width, -FAR), row_of(estimator, width, FAR), row_at(estimator, width, 0.5)]
    if columns_of(estimator) is not None:
        corners.append(row_at(estimator, width, np.nan))
    targets = list(extreme_targets(estimator, rows)) if rows.get("y") is not None else []
    if only_label:
        yield from (with_unit(rows, y=target) for target in targets)
        return
    for k, corner in enumerate(corners):
        if not targets:
            yield with_unit(rows, X=corner)
        # Every target meets the first two corners; the others take turns.
        for target in targets if k < 2 else targets[k % len(targets) :: len(targets)] if targets else []:
            yield with_unit(rows, X=corner, y=target)


def make_unrelated_data_sets(
    estimator: Any, rows: Arguments, *, only_label: bool = False
) -> Iterator[Arguments]:
    """Yield the data set with all private rows at one end of the domain, and at the other."""
    targets = list(extreme_targets(estimator, rows)) if rows.get("y") is not None else [None]
    for share, target in zip((0.0, 1.0), targets[:2], strict=False):
        X = None if only_label else row_at(estimator, np.shape(rows["X"])[1], share)
        yield with_all_rows(rows, DomainRow(X, target))


# Chains of neighbouring data sets, from one data set to another unit by unit.

# Numbers of units of the smallest data sets: medians, ties and single rows.
_FEW = (3, 2, 1)

# Rows of a sweep: a prime, so that what holds in one hundredth of a column's range is met in every column.
_VALUES = 127
_GENERATOR = 3  # of all residues
_LACKING = 3


@dataclass(frozen=True, eq=False)
class NeighbourChain:
    """Data sets, each of them a neighbour of the one before, and which they are."""

    description: str
    data_sets: Iterator[Arguments]


@dataclass(frozen=True, eq=False)
class DomainRow:
    """What a private row may hold: its features, or None for those that it has, and its target."""

    X: NDArray[np.float64] | None
    y: Any = None


def domain_rows(estimator: Any, rows: Arguments, relation: str) -> list[DomainRow]:
    """Return rows at the ends of the declared domain, at its middle and at values that the code names."""
    width, targets = np.shape(rows["X"])[1], domain_targets(estimator, rows)
    if relation == "label":
        return [DomainRow(None, target) for target in targets]
    odd = np.arange(width) % 2
    shares = [0.0, 1.0, 1 - odd, odd, 0.5, *([] if columns_of(estimator) is None else [np.nan])]
    corners = [row_at(estimator, width, share) for share in shares]
    found = [DomainRow(corner, targets[k % len(targets)]) for k, corner in enumerate(corners)]
    for k, value in enumerate(values_in_code(estimator)):
        number = isinstance(targets[0], float | int) and not is_classifier(estimator)
        row = row_of(estimator, width, value)
        found.append(DomainRow(row, value if number else targets[k % len(targets)]))
    return found


def domain_targets(estimator: Any, rows: Arguments) -> list[Any]:
    """Return the classes, or the ends of the target, with and without an event; [None] without a target."""
    if rows.get("y") is None:
        return [None]
    if is_classifier(estimator):
        return list(domain_of_y(estimator))
    low, *_, high = domain_of_y(estimator)
    pairs = zip(*(targets_at(estimator, rows, end) for end in (low, high)), strict=True)
    return [target for pair in pairs for target in pair]


def neighbour_chains(estimator: Any, rows: Arguments, relation: str) -> Iterator[NeighbourChain]:
    """Yield the chains that a search follows, those that find most first."""
    domain = domain_rows(estimator, rows, relation)
    first, second = with_all_rows(rows, domain[0]), with_all_rows(rows, domain[1 % len(domain)])
    exchanged = functools.partial(_exchange_units, relation=relation)
    if relation == "replace-one":
        yield NeighbourChain(
            "a row on the wrong side of one column or of another", _wrong_sides(rows, domain)
        )
    yield NeighbourChain("from one end of the domain to the other", exchanged(first, second))
    for target in domain_targets(estimator, rows)[1:]:
        row = DomainRow(None, target)
        yield NeighbourChain("from one target to another", exchanged(first, with_all_rows(first, row)))
        yield NeighbourChain("one target more and more often", exchanged(rows, with_all_rows(rows, row)))
    if rows.get("groups") is not None:
        yield NeighbourChain("a person with fewer rows", _remove_rows_of_last_person(rows))
    yield NeighbourChain("one row through the whole domain", _sweep_last_unit(estimator, rows, relation))
    if relation != "label":
        yield from _chains_of_features(rows, domain, relation)
    if relation == "add-remove":
        half = _with_every_second_unit_of(first, second)
        yield NeighbourChain("fewer and fewer rows", _remove_units(half))
    for n_units in _FEW:
        few = _first_units(first, n_units), _first_units(second, n_units)
        yield NeighbourChain(f"{n_units} units alone", exchanged(*few))


def _chains_of_features(rows: Arguments, domain: list[DomainRow], relation: str) -> Iterator[NeighbourChain]:
    exchanged = functools.partial(_exchange_units, relation=relation)
    first, second, third, fourth = (with_all_rows(rows, row) for row in domain[:4])
    ties = with_all_rows(rows, DomainRow(domain[4].X, domain[0].y))
    same_targets = _with_targets_of(second, y=first)
    yield NeighbourChain("from one end of the features to the other", exchanged(first, same_targets))
    yield NeighbourChain("from scattered rows to ties", exchanged(rows, _with_targets_of(ties, y=rows)))
    yield NeighbourChain("from ties to an end", exchanged(ties, second))
    yield NeighbourChain("from duplicates to duplicates", exchanged(third, fourth))
    for row in domain[5:]:
        chain = exchanged(rows, with_all_rows(rows, row), most=2)
        yield NeighbourChain("missing cells, or a value that the code names", chain)


def _wrong_sides(rows: Arguments, domain: list[DomainRow]) -> Iterator[Arguments]:
    """Yield data sets of which two columns part the targets alike, but for one unit.

    It is on the right side of one column, and on the wrong side of the other: scores of splits move most.
    """
    first, second, *others = domain
    parted = _with_every_second_unit_of(with_all_rows(rows, first), with_all_rows(rows, second))
    for target in (first.y, second.y):
        for row in others[:2]:
            yield with_row(parted, units_of(rows)[-1], DomainRow(row.X, target))


def _sweep_last_unit(estimator: Any, rows: Arguments, relation: str) -> Iterator[Arguments]:
    """Yield data sets whose last unit takes values all over the domain, in turns with those at its ends."""
    unit, domain = units_of(rows)[-1], domain_rows(estimator, rows, relation)
    ends = [with_row(rows, unit, row) for row in domain[:2]]
    if relation == "add-remove":
        ends = [without_unit(rows, unit)]
    for k in range(_VALUES if relation != "label" else 0):
        yield with_row(rows, unit, _row_within(estimator, rows, k))
        yield ends[k % len(ends)]


def _row_within(estimator: Any, rows: Arguments, k: int) -> DomainRow:
    """Return the k-th row of a lattice on the domain, which every column passes in even steps (Korobov).

    Where columns are declared, one cell of every third row is missing.
    """
    width = np.shape(rows["X"])[1]
    shares = np.array(
        [(k * pow(_GENERATOR, axis, _VALUES) % _VALUES + 0.5) / _VALUES for axis in range(width + 1)]
    )
    target: Any = None
    targets = domain_targets(estimator, rows)
    if rows.get("y") is not None and is_classifier(estimator):
        target = targets[k % len(targets)]
    elif rows.get("y") is not None:
        low, *_, high = domain_of_y(estimator)
        times = targets_at(estimator, rows, low + float(shares[-1]) * (high - low))
        target = times[k % len(times)]
    if columns_of(estimator) is not None and k % _LACKING == 0:
        shares[k // _LACKING % width] = np.nan
    return DomainRow(row_at(estimator, width, shares[:-1]), target)


def _with_every_second_unit_of(one: Arguments, other: Arguments) -> Arguments:
    """Return a data set of which every second unit is that of another one."""
    for unit in units_of(one)[1::2]:
        one = _with_unit_of(one, other, unit)
    return one


def with_all_rows(rows: Arguments, row: DomainRow) -> Arguments:
    """Return the data set with all private rows alike."""
    private = private_rows(rows)
    if row.X is not None and np.asarray(rows["X"]).dtype.kind in "iub":
        rows = {**rows, "X": np.asarray(rows["X"], dtype=np.float64)}
    return with_values(rows, private, X=row.X, y=row.y)


def _with_targets_of(rows: Arguments, *, y: Arguments) -> Arguments:
    """Return a data set with the targets of another one."""
    return {**rows, "y": y["y"]} if rows.get("y") is not None else rows


def _exchange_units(
    start: Arguments, end: Arguments, relation: str, most: int | None = None
) -> Iterator[Arguments]:
    """Yield the data sets on the way, in which one unit after the other is that of the end."""
    yield start
    for unit in units_of(start)[:most]:
        if relation == "add-remove":
            # To replace is to remove, and to add.
            yield without_unit(start, unit)
        start = _with_unit_of(start, end, unit)
        yield start


def _with_unit_of(rows: Arguments, other: Arguments, unit: NDArray[np.intp]) -> Arguments:
    changed = dict(rows)
    for name in ("X", "y"):
        if rows.get(name) is not None:
            mine, theirs = np.asarray(rows[name]), np.asarray(other[name])
            column = mine.astype(np.result_type(mine, theirs)) if mine.dtype != theirs.dtype else mine.copy()
            column[unit] = theirs[unit]
            changed[name] = column
    return changed


def _remove_units(rows: Arguments) -> Iterator[Arguments]:
    yield rows
    while len(units := units_of(rows)) > 1:
        rows = without_unit(rows, units[0])
        yield rows


def _remove_rows_of_last_person(rows: Arguments) -> Iterator[Arguments]:
    """Yield the data set, and those in which one person has fewer rows, one at least."""
    yield rows
    for row in units_of(rows)[-1][:-1]:
        yield without_unit(rows, row)


def _first_units(rows: Arguments, count: int) -> Arguments:
    """Return the public rows and the first private units."""
    keep = ~private_rows(rows)
    for unit in units_of(rows)[:count]:
        keep[unit] = True
    return take_rows(rows, keep)


def with_random_rows(
    domain: list[DomainRow], rows: Arguments, units: list[NDArray[np.intp]], rng: np.random.Generator
) -> Arguments:
    """Return the data set with a few kinds of rows of the domain, in random shares."""
    kinds = rng.choice(len(domain), size=min(len(domain), int(rng.integers(1, 4))), replace=False)
    shares = rng.dirichlet(np.ones(len(kinds)))
    sources = [with_all_rows(rows, domain[kind]) for kind in kinds]
    for unit, kind in zip(units, rng.choice(len(kinds), size=len(units), p=shares), strict=True):
        rows = _with_unit_of(rows, sources[kind], unit)
    return rows


def with_row(rows: Arguments, unit: NDArray[np.intp], row: DomainRow) -> Arguments:
    """Return the data set with another row of one unit."""
    return _with_unit_of(rows, with_all_rows(rows, row), unit)
