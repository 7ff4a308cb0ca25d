# SPDX-License-Identifier: BSD-3-Clause
"""An estimator with the data sets on which it is audited: its declared domain, and neighbours in it.

A statistic may change by much when one row changes, but only on certain data sets. A median does so if half
of the rows are at either end of the domain. A quantile, a majority or a number of distinct values does so on
other data sets between the two ends. The chains of neighbours pass through all of these.
"""

import contextlib
import datetime
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from .._typing import Relation
from ..accounting import PrivacyLedger
from ..base._pipeline_report import last_step
from ..domain import StressColumn, TableDomain
from ..utils import check_bounds
from ..utils._public_module import public_module
from ._observation.recorder import (
    Recording,
    captured_output,
    frozen_randomness,
    record_releases,
    state_of_generators,
    temporary_patches,
)
from ._observation.source_code import values_in_code

# Data sets as arguments of ``fit``: which rows are private, and which of them belong to one person.

Arguments = dict[str, Any]


def n_rows(X: Any) -> int:
    """Return the number of rows of an array, a sparse matrix or a data frame."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def n_rows_of(data: Any) -> int | None:
    """Return the number of rows of a data set; None for arguments of ``fit`` without rows."""
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
    """Return a mask of the private rows: all rows that are not marked public."""
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
    """Return whether an argument has one entry per row."""
    return np.ndim(value) > 0 and len(value) == len(rows["X"])


def with_unit(rows: Arguments, **values: Any) -> Arguments:
    """Return the data set with other values of the last unit."""
    return with_values(rows, unit_of(rows), **values)


def with_values(rows: Arguments, where: NDArray[Any], **values: Any) -> Arguments:
    """Return the data set with other values in some rows; None leaves an argument unchanged."""
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

# Set by hand: a tree of two levels has six rows per leaf, and a fit takes milliseconds.
_ROWS = 24
# Every fifth row lacks a cell; set by hand.
_LACKING = 5
# A number beyond every bound; sums of some of them are still finite.
FAR = 1e300
# Time after which, and time until which, a lifetime has ended, by kind of observation.
_ENDS: dict[str, Callable[[float], tuple[float, float]]] = {
    "exact": lambda time: (time, time),
    "right": lambda time: (time, np.inf),
    "left": lambda time: (0.0, time),
    "interval": lambda time: (time / 2, time),
}
# A label that no case declares.
_STRANGE = {"U": "zzz-undeclared", "i": 987654, "u": 987654, "f": 987654.5, "b": True}


def declared(estimator: Any, name: str) -> Any:
    """Return a parameter of an estimator, or of the last step of a pipeline; None if it has none."""
    last = last_step(estimator)
    return last.get_params(deep=False).get(name) if hasattr(last, "get_params") else None


def columns_of(estimator: Any) -> TableDomain | None:
    """Return the declared columns of an estimator, of one of its steps or of its candidates."""
    known = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return next((value for value in known if isinstance(value, TableDomain)), None)


def make_rows(estimator: Any, n: int = _ROWS, seed: int = 0, width: int = 2) -> Arguments:
    """Return random rows within the declared domain; if columns are declared, some rows lack a cell."""
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
    """Return the number of columns of X: as declared, otherwise `n_features`."""
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
    """Return rows of the declared domain: share 0 is the lower end of a column, share 1 the upper end.

    Rows are float64. If columns of other kinds are declared, they are cells as in a table, with evenly spread
    levels. NaN is a missing cell, or the lower end if missing cells are not declared.
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
    """Return encoded rows as cells; missing cells are left out if they are declared."""
    cells = list(columns.decode(encoded).values())
    numbers = all(values.dtype.kind == "f" for values in cells)
    X = np.empty(missing.shape, dtype=np.float64 if numbers else object)
    for k, (column, values) in enumerate(zip(columns.columns.values(), cells, strict=True)):
        X[:, k] = values.astype(X.dtype)
        X[missing[:, k] & (column.missing != "error"), k] = np.nan if numbers else None
    return X


def row_at(estimator: Any, n_features: int, share: Any) -> NDArray[Any]:
    """Return one row of the declared domain, see `rows_at`; the share is one number, or one per column."""
    return rows_at(estimator, np.broadcast_to(share, (1, n_columns(estimator, n_features))))[0]


def row_of(estimator: Any, n_features: int, value: float) -> NDArray[Any]:
    """Return a row with one number in all columns, within the bounds or not.

    Dates are the first or the last possible date. A column that accepts no number has a missing cell, or its
    lower end if missing cells are not declared.
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
            # The distribution is not defined at the zero of the transform.
            zero = column.transform.zero
            row[k] = max(value, np.nextafter(zero, np.inf), zero + 1 / FAR)
    return row


def numbers_of(estimator: Any, row: NDArray[Any]) -> list[float]:
    """Return the numbers that could identify a row: those of its cells, and their encodings."""
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
    """Return the number itself; for lifetimes, every declared kind of observation at that time."""
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


# Data sets that differ in one unit, as far apart as the declared domain allows, and farther.


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
        # Every target is combined with the first two corners; the other corners have one target in turn.
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

# Rows of a sweep: a prime above 100, so that the sweep meets every hundredth of every column's range.
_VALUES = 127
_GENERATOR = 3  # its powers are all residues of 127 except 0
# Every third row of a sweep lacks a cell; set by hand.
_LACKING_IN_SWEEP = 3


@dataclass(frozen=True, eq=False)
class NeighbourChain:
    """A sequence of data sets, each a neighbour of the one before, and its description."""

    description: str
    data_sets: Iterator[Arguments]


@dataclass(frozen=True, eq=False)
class DomainRow:
    """Values of a private row: its features, or None for its present ones, and its target."""

    X: NDArray[np.float64] | None
    y: Any = None


def domain_rows(estimator: Any, rows: Arguments, relation: str) -> list[DomainRow]:
    """Return rows at the ends of the declared domain, at its middle and at constants in the code."""
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
    """Return the classes, or the ends of the target with and without an event; [None] without a target."""
    if rows.get("y") is None:
        return [None]
    if is_classifier(estimator):
        return list(domain_of_y(estimator))
    low, *_, high = domain_of_y(estimator)
    pairs = zip(*(targets_at(estimator, rows, end) for end in (low, high)), strict=True)
    return [target for pair in pairs for target in pair]


def neighbour_chains(estimator: Any, rows: Arguments, relation: str) -> Iterator[NeighbourChain]:
    """Yield the chains that a search follows, starting with those that find most."""
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
    """Yield data sets in which two columns split the targets equally well, except for one unit.

    This unit is on the right side of one column and on the wrong side of the other: then the scores of splits
    change most.
    """
    first, second, *others = domain
    parted = _with_every_second_unit_of(with_all_rows(rows, first), with_all_rows(rows, second))
    for target in (first.y, second.y):
        for row in others[:2]:
            yield with_row(parted, units_of(rows)[-1], DomainRow(row.X, target))


def _sweep_last_unit(estimator: Any, rows: Arguments, relation: str) -> Iterator[Arguments]:
    """Yield data sets whose last unit is all over the domain, in turn with data sets with it at the ends."""
    unit, domain = units_of(rows)[-1], domain_rows(estimator, rows, relation)
    ends = [with_row(rows, unit, row) for row in domain[:2]]
    if relation == "add-remove":
        ends = [without_unit(rows, unit)]
    for k in range(_VALUES if relation != "label" else 0):
        yield with_row(rows, unit, _row_within(estimator, rows, k))
        yield ends[k % len(ends)]


def _row_within(estimator: Any, rows: Arguments, k: int) -> DomainRow:
    """Return the k-th row of a lattice on the domain with even steps in every column (Korobov).

    If columns are declared, one cell of every third row is missing.
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
    if columns_of(estimator) is not None and k % _LACKING_IN_SWEEP == 0:
        shares[k // _LACKING_IN_SWEEP % width] = np.nan
    return DomainRow(row_at(estimator, width, shares[:-1]), target)


def _with_every_second_unit_of(one: Arguments, other: Arguments) -> Arguments:
    """Return a data set in which every second unit comes from another data set."""
    for unit in units_of(one)[1::2]:
        one = _with_unit_of(one, other, unit)
    return one


def with_all_rows(rows: Arguments, row: DomainRow) -> Arguments:
    """Return the data set with all private rows equal."""
    private = private_rows(rows)
    if row.X is not None and np.asarray(rows["X"]).dtype.kind in "iub":
        rows = {**rows, "X": np.asarray(rows["X"], dtype=np.float64)}
    return with_values(rows, private, X=row.X, y=row.y)


def _with_targets_of(rows: Arguments, *, y: Arguments) -> Arguments:
    """Return a data set with the targets of another data set."""
    return {**rows, "y": y["y"]} if rows.get("y") is not None else rows


def _exchange_units(
    start: Arguments, end: Arguments, relation: str, most: int | None = None
) -> Iterator[Arguments]:
    """Yield the data sets between start and end; one unit after the other is replaced by that of the end."""
    yield start
    for unit in units_of(start)[:most]:
        if relation == "add-remove":
            # Replacing a unit removes one and adds another.
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
    """Yield the data set, and data sets in which one person has fewer rows, but at least one."""
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
    """Return the data set with units of a few kinds of rows of the domain, in random shares."""
    kinds = rng.choice(len(domain), size=min(len(domain), int(rng.integers(1, 4))), replace=False)
    shares = rng.dirichlet(np.ones(len(kinds)))
    sources = [with_all_rows(rows, domain[kind]) for kind in kinds]
    for unit, kind in zip(units, rng.choice(len(kinds), size=len(units), p=shares), strict=True):
        rows = _with_unit_of(rows, sources[kind], unit)
    return rows


def with_row(rows: Arguments, unit: NDArray[np.intp], row: DomainRow) -> Arguments:
    """Return the data set with another row of one unit."""
    return _with_unit_of(rows, with_all_rows(rows, row), unit)


@public_module("skprivate.audit")
@dataclass(frozen=True, eq=False, kw_only=True)
class AuditCase:
    """An estimator with the data sets on which it is audited.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with a declared domain (bounds, classes) as a private fit needs it.
    data_sets : tuple of dict
        Arguments of ``fit``; the data sets are neighbours of each other.
    pairs : tuple of pairs of int, default=None
        Positions of neighbours in `data_sets`. None: every two of them are neighbours.
    unrelated_data_sets : tuple of dict, default=()
        Arguments of ``fit`` with the same number of rows. All private rows are different, the public ones are
        the same. If their fits receive the same outputs of the noise, even they must end in the same object.
    released : callable, default=None
        Takes the fitted estimator and returns its released numbers in the released form: integers, or floats
        on the grid. None: the outputs of skprivate's mechanisms.
    reference : callable, default=None
        Takes the arguments of ``fit`` and returns the answer of the non-private model, which ``answer``
        approaches as epsilon grows.
    answer : callable, default=None
        Takes the fitted estimator and the arguments of ``fit``. None: ``predict`` of the rows.
    recorder : callable, default=None
        Replaces `record_releases` if noise is added in another way: ``recorder(given_outputs)`` is a context
        manager that yields a `Recording`.
    n_trials : int, default=1000
        Number of fits of either neighbour in the audit of whole fits. Near epsilon 1.5, noise of half the
        scale needs 1,000, and noise 1.25 times too small needs 20,000. There are fewer if fits take too long.
        Noise of skprivate is judged without such fits.
    relation : {"replace-one", "add-remove", "label", "local"}, default="replace-one"
        The neighbouring relation of the estimator. If ``fit`` takes rows ``X``, further neighbours by this
        relation are searched for, within the declared domain.
    thorough : bool, default=False
        True: search for up to a minute, not ten seconds, with more neighbours and more fits. Whole fits are
        counted even if their noise was recorded.
    notes : dict, default={}
        Name of a check -> why it does not apply. The check is skipped with this reason.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.audit import AuditCase
    >>> case = AuditCase.of(DPTreeClassifier(max_depth=2, bounds=(0, 1), classes=[0, 1]))
    >>> sorted(case.data_sets[0])
    ['X', 'y']
    """

    estimator: Any
    data_sets: tuple[Arguments, ...]
    pairs: tuple[tuple[int, int], ...] | None = None
    unrelated_data_sets: tuple[Arguments, ...] = ()
    released: Callable[[Any], Any] | None = None
    reference: Callable[..., Any] | None = None
    answer: Callable[..., Any] | None = None
    recorder: Callable[..., Any] | None = None
    n_trials: int = 1000
    relation: Relation = "replace-one"
    thorough: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, estimator: Any, data: Mapping[str, Any] | None = None, **options: Any) -> "AuditCase":
        """Return a case with data sets from the estimator's declared domain.

        Parameters
        ----------
        estimator : estimator
        data : mapping, default=None
            Arguments of ``fit``. The last private row (with ``groups``: the last person) is replaced by
            extreme ones. None: random rows within the declared bounds and classes.
        **options : dict
            Fields of the case.

        Returns
        -------
        case : AuditCase

        Raises
        ------
        TypeError
            ``estimator`` is not an estimator, or `data` is not a mapping of arguments of ``fit``.
        """
        if isinstance(estimator, type) or not (
            hasattr(estimator, "fit") and hasattr(estimator, "get_params")
        ):
            raise TypeError(f"estimator must be an unfitted estimator, not {_kind(estimator)}.")
        if data is not None and not (isinstance(data, Mapping) and "X" in data):
            raise TypeError('data must be a mapping of arguments of fit, such as {"X": X, "y": y}.')
        rows = dict(make_rows(estimator) if data is None else data)
        relation = _declared_relation(estimator, rows)
        only_label = relation == "label"
        variants = list(extreme_variants(estimator, rows, only_label=only_label))
        unrelated_data_sets = tuple(make_unrelated_data_sets(estimator, rows, only_label=only_label))
        if relation == "add-remove":
            variants = [without_unit(rows), *variants]
        pairs = tuple((0, k) for k in range(1, len(variants))) if relation == "add-remove" else None
        return cls(
            estimator=estimator,
            data_sets=tuple(variants),
            **{"pairs": pairs, "unrelated_data_sets": unrelated_data_sets, "relation": relation, **options},
        )

    @property
    def neighbours(self) -> tuple[tuple[int, int], ...]:
        """Positions of the data sets that are neighbours."""
        return self.pairs or tuple(combinations(range(len(self.data_sets)), 2))

    @property
    def can_be_recorded(self) -> bool:
        """Whether a fit releases all that it draws; it does not if it keeps the best of several draws."""
        return bool(getattr(last_step(self.estimator), "releases_all_draws", True))

    def make(self, **parameters: Any) -> Any:
        """Return an unfitted copy without a ledger, with other parameters if the estimator has them."""
        copy = without_ledgers(clone(self.estimator))
        known = copy.get_params(deep=False)
        return copy.set_params(**{name: value for name, value in parameters.items() if name in known})

    def has(self, *names: str) -> bool:
        """Whether the estimator has these parameters."""
        return set(names) <= set(self.estimator.get_params(deep=False))

    def fit(self, data: int | Arguments, estimator: Any = None, **parameters: Any) -> Any:
        """Return a fitted copy; its warnings are not shown."""
        return self.fit_with_warnings(data, estimator, **parameters)[0]

    def fit_with_warnings(
        self, data: int | Arguments, estimator: Any = None, **parameters: Any
    ) -> tuple[Any, list[str]]:
        """Return a fitted copy and its warnings."""
        arguments = self.data_sets[data] if isinstance(data, int) else data
        model = self.make(**parameters) if estimator is None else estimator
        with temporary_patches() as undo:
            caught: Any = undo.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            model = fit_with(model, arguments)
        return model, [f"{one.category.__name__}: {one.message}" for one in caught]

    def record(
        self,
        data: int | Arguments,
        given_outputs: Sequence[NDArray[Any]] | None = None,
        *,
        seed: int = 0,
        extreme: str | None = None,
        **parameters: Any,
    ) -> tuple[Any, Recording]:
        """Return a fitted copy and its releases; `given_outputs` replace the outputs of its noise.

        Other random choices, such as the choice among a person's rows, are the same in all such fits: see
        `frozen_randomness`, which takes `seed` and `extreme`.
        """
        if not vars(self).get("_started"):
            # Objects that a first fit makes for the whole process, such as a generator, must not be frozen.
            vars(self)["_started"] = True
            with contextlib.suppress(Exception):
                self.fit(data)
        with (
            frozen_randomness(seed, extreme),
            (self.recorder or record_releases)(given_outputs) as recording,
            captured_output() as heard,
        ):
            model, warned = self.fit_with_warnings(data, self.make(**parameters))
            recording.generator_digest = state_of_generators()
        recording.messages = [*warned, heard()]
        return model, recording


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def without_ledgers(estimator: Any) -> Any:
    """Return an estimator without its ledgers and those of its steps: no audit spends a budget."""
    known = estimator.get_params(deep=True)
    ledgers = [name for name, value in known.items() if isinstance(value, PrivacyLedger)]
    return estimator.set_params(**dict.fromkeys(ledgers))


def fit_with(model: Any, arguments: Mapping[str, Any], method: str = "fit") -> Any:
    """Call ``fit`` or another method; X and y, if given, are passed by position."""
    rest = {name: value for name, value in arguments.items() if name not in ("X", "y")}
    return getattr(model, method)(*(arguments[name] for name in ("X", "y") if name in arguments), **rest)


def _declared_relation(estimator: Any, rows: Arguments) -> str:
    """Return the neighbouring relation of the estimator, if necessary from a trial fit."""
    asked = declared(estimator, "relation")
    if isinstance(asked, str):
        return asked
    with contextlib.suppress(Exception):
        return str(fit_quietly(without_ledgers(clone(estimator)), rows).privacy_spent_.relation)
    return "replace-one"


def fit_quietly(model: Any, rows: Arguments) -> Any:
    """Fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_with(model, rows)
