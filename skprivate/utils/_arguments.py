# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the arguments of a fit other than the table: amounts, bounds, masks, labels and groups.

No message repeats a value of the data.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, FloatArray, IndexArray

# Largest amount: any up to it can be printed and turned into a float. Set by hand.
_LARGEST_AMOUNT = 10**300


def check_epsilon(epsilon: Any) -> Fraction:
    """Return a privacy budget as an exact Fraction.

    Parameters
    ----------
    epsilon : float or Fraction
        Finite and positive.

    Returns
    -------
    epsilon : Fraction
        Equal to the given number; a float has its exact binary value.

    Raises
    ------
    TypeError
        Not a number (a bool is not a number here).
    ValueError
        Not finite, or not positive.

    Notes
    -----
    **Privacy.** A float is a multiple of a power of two, so that a Fraction equals it exactly. The charged
    budget is the requested one.

    Examples
    --------
    >>> from skprivate.base import check_epsilon
    >>> check_epsilon(0.5)
    Fraction(1, 2)
    """
    return check_positive(epsilon, "epsilon")


def check_positive(value: Any, name: str) -> Fraction:
    """Return a finite real number above 0 as the Fraction equal to it."""
    amount = _exact(value, name)
    if amount <= 0:
        raise ValueError(f"{name} must be greater than 0.")
    if amount > _LARGEST_AMOUNT:
        raise ValueError(f"{name} must be at most 1e300.")
    return amount


def check_epsilons(epsilons: Any) -> list[float | Fraction]:
    """Return different budgets of plans and pictures, in ascending order."""
    if isinstance(epsilons, str) or not np.iterable(epsilons):
        raise TypeError(f"epsilons must be a sequence of numbers, got {type(epsilons).__name__}.")
    grid = sorted(epsilons, key=lambda epsilon: check_positive(epsilon, "each of epsilons"))
    if not grid or len(set(grid)) < len(grid):
        raise ValueError("epsilons must be at least one number, and none of them twice.")
    return [epsilon if isinstance(epsilon, Fraction) else float(epsilon) for epsilon in grid]


def check_probability(value: Any, name: str) -> Fraction:
    """Return a real number in [0, 1) as the Fraction equal to it."""
    amount = _exact(value, name)
    if not 0 <= amount < 1:
        raise ValueError(f"{name} must be at least 0 and below 1.")
    return amount


def _exact(value: Any, name: str) -> Fraction:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be an int, a float or a Fraction, not {type(value).__name__}.")
    if isinstance(value, Rational):
        # int(): a NumPy integer inside a Fraction would overflow.
        return Fraction(int(value.numerator), int(value.denominator))
    number: Any = value
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite.")
    return Fraction(*number.as_integer_ratio())


def check_int(value: Any, name: str, *, least: int) -> int:
    """Return an integer that is at least `least`, as a Python int."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    return int(value)


def check_bounds(
    bounds: Any, n_features: int, feature_names: Sequence[str] | None = None, *, name: str = "bounds"
) -> tuple[FloatArray, FloatArray]:
    """Return declared bounds as two arrays, one value per feature.

    Parameters
    ----------
    bounds : pair or dict
        ``(lower, upper)``, each a scalar or an array of shape (n_features,); or a dict
        ``{column: (lower, upper)}`` with an entry for every column, by name or by position.
    n_features : int
        Number of columns of X.
    feature_names : sequence of str, default=None
        Names of the columns, if X has names.
    name : str, default="bounds"
        The parameter's name, for messages.

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)

    Raises
    ------
    TypeError, ValueError
        Not a pair or a dict; a wrong length; unknown, repeated or missing columns; a bound that is not
        finite; ``lower >= upper`` for a column.

    Examples
    --------
    >>> from skprivate.utils import check_bounds
    >>> lower, upper = check_bounds(([0, 18], [1, 99]), n_features=2)
    >>> lower, upper
    (array([ 0., 18.]), array([ 1., 99.]))
    """
    if isinstance(bounds, Mapping):
        lower, upper = _bounds_from_columns(bounds, n_features, feature_names, name)
    else:
        lower, upper = _bounds_from_pair(bounds, n_features, name, feature_names)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise ValueError(f"{name} must be finite.")
    if n_features == 1 and lower[0] >= upper[0]:
        raise ValueError(f"{name}: lower must be below upper.")
    if (lower >= upper).any():
        column = int(np.argmax(lower >= upper))
        raise ValueError(
            f"{name}: lower must be below upper in every column; it is not in column {column}. A pair is "
            "(lower, upper) over all columns; for a pair per column pass {column: (lower, upper)}."
        )
    return lower, upper


def _bounds_from_pair(
    bounds: Any, n_features: int, name: str, feature_names: Sequence[str] | None = None
) -> tuple[FloatArray, FloatArray]:
    if isinstance(bounds, str | Set) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        raise TypeError(f"{name} must be a pair (lower, upper) or a dict {{column: (lower, upper)}}.")
    lower, upper = bounds
    return _side(lower, n_features, name, feature_names), _side(upper, n_features, name, feature_names)


def _side(side: Any, n_features: int, name: str, feature_names: Sequence[str] | None) -> FloatArray:
    if feature_names is not None and hasattr(side, "to_dict") and set(side.to_dict()) == set(feature_names):
        # A labelled column of bounds is read by name, not by position.
        by_name = side.to_dict()
        side = [by_name[feature] for feature in feature_names]
    values = np.asarray(side)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers.")
    if values.ndim > 1 or (values.ndim == 1 and values.shape[0] != n_features):
        raise ValueError(
            f"{name}: each side must be a scalar or have one value per column "
            f"({n_features}), got shape {values.shape}."
        )
    return np.array(np.broadcast_to(values, n_features), dtype=np.float64)


def _bounds_from_columns(
    bounds: Mapping[Any, Any], n_features: int, feature_names: Sequence[str] | None, name: str
) -> tuple[FloatArray, FloatArray]:
    lower, upper = np.full((2, n_features), np.nan)
    seen: set[int] = set()
    for column, pair in bounds.items():
        index = _column_index(column, n_features, feature_names, name)
        if index in seen:
            raise ValueError(f"{name}: column {column!r} is given twice.")
        seen.add(index)
        pair_lower, pair_upper = _bounds_from_pair(pair, 1, name)
        lower[index], upper[index] = pair_lower[0], pair_upper[0]
    if len(seen) < n_features:
        missing = next(i for i in range(n_features) if i not in seen)
        label = repr(feature_names[missing]) if feature_names is not None else missing
        raise ValueError(f"{name}: column {label} has no bounds.")
    return lower, upper


def _column_index(column: Any, n_features: int, feature_names: Sequence[str] | None, name: str) -> int:
    if isinstance(column, Integral) and not isinstance(column, bool):
        index = int(column)
        if not 0 <= index < n_features:
            raise ValueError(f"{name}: there is no column {index}; X has {n_features} columns.")
        return index
    names = [] if feature_names is None else list(feature_names)
    if column not in names:
        raise ValueError(f"{name}: there is no column {column!r}.")
    return names.index(column)


def check_characters(text: str, what: str) -> None:
    """Raise ValueError for a text that UTF-8 cannot encode: it holds half of a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds lone surrogates, which UTF-8 cannot encode.") from None


def as_labels(values: Any) -> Any:
    """Return labels in a form in which no value changes the type of another.

    NumPy gives a list one common type: ``[0, 1, "?"]`` becomes text, and then no row has the label 1. So a
    list or tuple becomes an array of objects. An array or a column is returned unchanged.
    """
    if getattr(getattr(values, "dtype", None), "kind", None) == "T":
        # NumPy's text of any length, which scikit-learn does not accept.
        return values.astype(object)
    if not isinstance(values, list | tuple):
        return values
    try:
        if np.ndim(values) > 1:
            return np.array(values, dtype=object)
    except ValueError:
        raise ValueError("labels must be one-dimensional: some of these are sequences.") from None
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_cells(values: list[Any] | tuple[Any, ...]) -> Any:
    """Return a list of rows, or of cells, as an array of objects in which no cell changes another's type."""
    if values and all(_is_row(row) for row in values):
        width = len(values[0])
        if any(len(row) != width for row in values):
            return values
        table = np.empty((len(values), width), dtype=object)
        for i, row in enumerate(values):
            for j, cell in enumerate(row):
                table[i, j] = cell
        return table
    return _as_objects(values)


def _is_row(value: Any) -> bool:
    return isinstance(value, Sized) and hasattr(value, "__getitem__") and not isinstance(value, str | bytes)


def _as_objects(values: Any) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def as_column(values: Any) -> Any:
    """Return a list of targets as an array of objects; no row changes how another row is read.

    A list, tuple or array of one item counts as the item. Rows that all have the same other length make a
    table, which a later check refuses. Anything but a list or a tuple is returned unchanged.
    """
    if not isinstance(values, list | tuple):
        return values
    widths = [_width(value) for value in values]
    if len(set(widths)) == 1 and widths[0] not in (None, 1):
        return as_cells(values)
    pairs = zip(values, widths, strict=True)
    return _as_objects([value[0] if width == 1 else value for value, width in pairs])


def _width(value: Any) -> int | None:
    """Return the number of items of a list, tuple or array; None for a single value."""
    # By type(value), because an object of a user may hide its class.
    if issubclass(type(value), np.ndarray):
        return len(value) if value.ndim else None
    return len(value) if issubclass(type(value), list | tuple) else None


def is_frame(values: Any) -> bool:
    """Return whether an object is a data frame: two-dimensional, with named columns."""
    return hasattr(values, "columns") and hasattr(values, "shape") and len(values.shape) == 2


def is_structured(y: Any) -> bool:
    """Return whether a target has fields: a structured or record array, or a frame of several columns."""
    if is_frame(y):
        return bool(y.shape[1] > 1)
    return getattr(getattr(y, "dtype", None), "names", None) is not None


def check_row_mask(mask: Any, n_rows: int, *, name: str = "is_public", strict: bool = False) -> BoolArray:
    """Return a mask over rows as a boolean array; None means that no row is marked.

    Parameters
    ----------
    mask : array-like of bool, of shape (n_rows,), or None
    n_rows : int
    name : str, default="is_public"
        The parameter's name, for messages.
    strict : bool, default=False
        Whether objects other than True, as in a list, leave a row private without an error.

    Returns
    -------
    mask : ndarray of bool, of shape (n_rows,)

    Raises
    ------
    TypeError
        The values are not booleans (0 and 1 are refused: they may be row numbers).
    ValueError
        Wrong length or not one-dimensional.

    Notes
    -----
    Values belong to rows by position. The index of a data frame is ignored, as in scikit-learn.
    """
    if mask is None:
        return np.zeros(n_rows, dtype=bool)
    if isinstance(mask, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array: a hidden value is neither public nor private.")
    cells = as_cells(mask) if strict and isinstance(mask, list | tuple) else mask
    array = np.asarray(cells)
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), one value per row of X, not {array.shape}.")
    if strict and array.dtype == object:
        array = np.array([isinstance(cell, bool | np.bool_) and bool(cell) for cell in array], dtype=bool)
    if array.dtype == object and all(isinstance(value, bool | np.bool_) for value in array):
        array = array.astype(bool)
    if array.dtype != bool:
        raise TypeError(f"{name} must hold booleans, True for a public row, not {array.dtype}.")
    return array


# The privacy unit: which private rows belong to one person, and which of a person's rows count.

# Odd constants of the mixing function of splitmix64, and its step: 2^64 divided by the golden ratio.
_MIXING = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)
#: Bytes of the random key for a choice of rows.
KEY_BYTES = 8


def number_groups(groups: Any, is_private: BoolArray, *, strict: bool = False) -> IndexArray | None:
    """Number the groups of the private rows 0, 1, ...; return None if the unit is the row.

    Parameters
    ----------
    groups : array-like of shape (n_rows,), or None
        Values that can be compared; public rows may lack a group.
    is_private : ndarray of bool of shape (n_rows,)
        Marks the private rows.
    strict : bool, default=False
        Whether private rows without a usable group are all assigned to one person, without an error.
        Together they have no more influence than any other person.

    Returns
    -------
    codes : ndarray of int of shape (n_private,), or None

    Raises
    ------
    TypeError
        A group is not hashable, outside strict mode.
    ValueError
        Wrong shape, or, outside strict mode, a private row without a group.

    Notes
    -----
    **Privacy.** In strict mode errors depend only on the shape and the type of the container.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.base import number_groups
    >>> number_groups(["Ann", "Bob", "Ann"], np.array([True, True, True]))
    array([0, 1, 0])
    """
    return None if groups is None else group_values(groups, is_private, strict=strict)[0]


def group_values(groups: Any, is_private: BoolArray, *, strict: bool = False) -> tuple[IndexArray, Any]:
    """Return the numbers of the private rows' groups, and the groups in the order of their numbers."""
    if isinstance(groups, np.ma.MaskedArray):
        raise TypeError("groups must not be a masked array: a hidden group is nobody's.")
    cells = as_cells(groups) if strict and isinstance(groups, list | tuple) else as_labels(groups)
    array = exact_names(cells)
    if array.shape != is_private.shape:
        raise ValueError(
            f"groups must have shape {is_private.shape}, one value per row of X, not {array.shape}."
        )
    array = array[is_private]
    if array.dtype.kind in "iubUS":
        names, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.intp, copy=False), names
    values = array.tolist()
    return _number_objects([value if _is_usable(value) else NOBODY for value in values] if strict else values)


def exact_names(groups: Any) -> NDArray[Any]:
    """Return a column of names as an array in which a missing name changes no other name.

    If a name is missing, NumPy converts nullable integers to floats, dates to objects, and so on. So the
    present names are converted without the missing ones, exactly as in a column without gaps.
    """
    drop = next((getattr(groups, name) for name in _DROPS if hasattr(groups, name)), None)
    if drop is None or isinstance(getattr(groups, "dtype", None), np.dtype):
        return _plain(np.asarray(groups))
    lacks = np.asarray(groups.isna() if hasattr(groups, "isna") else groups.is_null(), dtype=bool)
    if not lacks.any():
        return _plain(np.asarray(groups))
    names = np.empty(len(lacks), dtype=object)
    names[~lacks] = _as_objects(_plain(np.asarray(drop())).tolist())
    return names


# Name of the method that drops missing values in pandas, polars and pyarrow.
_DROPS = ("dropna", "drop_nulls", "drop_null")


def _plain(names: NDArray[Any]) -> NDArray[Any]:
    """Return dates and durations as their numbers."""
    if names.dtype.kind not in "mM":
        return names
    lacks, numbers = np.isnat(names), names.view(np.int64)
    if not lacks.any():
        return numbers
    objects = _as_objects(numbers.tolist())
    objects[lacks] = None
    return objects


# The group of private rows without a usable group.
NOBODY = object()


def _is_usable(value: Any) -> bool:
    try:
        return not _is_missing(value) and hash(value) is not None
    except Exception:  # unhashable, or a type of the user's own
        return False


def _number_objects(values: list[Any]) -> tuple[IndexArray, list[Any]]:
    """Number objects by equality alone, because objects without a complete order cannot be sorted."""
    if any(_is_missing(value) for value in values):
        raise ValueError("groups has missing values: every private row needs one.")
    codes: dict[Any, int] = {}
    try:
        return np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.intp), list(codes)
    except TypeError:
        pass
    raise TypeError("groups must hold hashable values, such as numbers or strings.")


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA has no truth value.
        return True


def select_rows(codes: IndexArray, max_rows: int, random_bytes: Any) -> IndexArray:
    """Choose at most `max_rows` rows of every group at random.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        As returned by `number_groups`.
    max_rows : int
        Cap per group.
    random_bytes : callable
        ``random_bytes(n)`` returns n random bytes.

    Returns
    -------
    rows : ndarray of int
        Row numbers, ascending.

    Notes
    -----
    **Privacy.** With a cap of m, one person changes at most m of the kept rows. So a sensitivity per row is
    multiplied by m.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.base import select_rows
    >>> from skprivate.noise import check_entropy
    >>> codes = np.array([0, 0, 0, 1])
    >>> len(select_rows(codes, 2, check_entropy(None).random_bytes))
    3
    """
    keys = np.frombuffer(random_bytes(8 * len(codes)), dtype=np.uint64)
    order = np.lexsort((keys, codes))
    starts = np.searchsorted(codes[order], codes[order], side="left")
    return np.sort(order[np.arange(len(codes)) - starts < max_rows])


@dataclass(frozen=True, eq=False, repr=False)
class RowUnits:
    """The persons of private rows.

    Attributes
    ----------
    codes : ndarray of int of shape (n_rows,)
        Number of every row's person, 0 to ``n_units - 1``.
    hashes : ndarray of uint64 of shape (n_units,)
        Hashes of the persons' names: equal names have equal hashes in every process.
    """

    codes: IndexArray
    hashes: NDArray[np.uint64]

    @property
    def n_units(self) -> int:
        """Number of persons."""
        return len(self.hashes)

    def choose_rows(self, max_rows: int, key: bytes) -> IndexArray:
        """Choose at most `max_rows` rows of every person.

        Parameters
        ----------
        max_rows : int
            Cap per person.
        key : bytes
            Eight random bytes; they may be public.

        Returns
        -------
        rows : ndarray of int
            Row numbers, ascending.

        Notes
        -----
        **Privacy.** The choice among a person's rows depends only on the key, the person's name and the order
        of the person's rows, and not on other persons. So one person changes at most ``max_rows`` of the kept
        rows, whatever the key, and a sensitivity per row is multiplied by that. The choice is the same in a
        whole table and in parts of it, if the rows of a person are in one part, in their order.
        """
        order = np.argsort(self.codes, kind="stable")
        codes = self.codes[order]
        starts = np.searchsorted(codes, np.arange(self.n_units))
        occurrence = (np.arange(len(codes)) - starts[codes]).astype(np.uint64)
        salt = np.frombuffer(key, dtype="<u8").astype(np.uint64)[0]
        ranks = _mix(_mix(self.hashes[codes] ^ salt) + occurrence * _STEP)
        by_rank = np.lexsort((ranks, codes))
        return np.sort(order[by_rank[np.arange(len(codes)) - starts[codes] < max_rows]])


def number_units(groups: Any, is_private: BoolArray, *, strict: bool = False) -> RowUnits | None:
    """Number the groups of the private rows, and hash their names; return None if the unit is the row.

    Parameters
    ----------
    groups, is_private, strict
        As in `number_groups`, which raises the same errors.

    Returns
    -------
    units : RowUnits, or None

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.utils._arguments import number_units
    >>> units = number_units(["Ann", "Bob", "Ann"], np.array([True, True, True]))
    >>> units.codes, units.n_units, len(units.choose_rows(1, bytes(8)))
    (array([0, 1, 0]), 2, 2)
    """
    if groups is None:
        return None
    codes, names = group_values(groups, is_private, strict=strict)
    if isinstance(names, np.ndarray) and names.dtype.kind in "iub":
        return RowUnits(codes, _mix(names.astype(np.uint64)))
    return RowUnits(codes, np.array([_hash(name) for name in names], dtype=np.uint64))


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = values
    for shift, factor in zip((30, 27), _MIXING, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    return mixed ^ (mixed >> np.uint64(31))


def _hash(name: Any) -> int:
    """Hash the name of one person; a float with an integer value has the hash of the integer."""
    if name is NOBODY:
        return 0
    # NumPy's durations are integers for Python, but not here.
    is_whole = isinstance(name, bool | int | np.integer | np.bool_) and not isinstance(name, np.timedelta64)
    if is_whole and -(2**63) <= int(name) < 2**64:
        return int(_mix(np.array([int(name) % 2**64], dtype=np.uint64))[0])
    if isinstance(name, float | np.floating) and float(name).is_integer() and abs(float(name)) < 2**63:
        return _hash(int(name))
    return int.from_bytes(hashlib.blake2b(_as_bytes(name), digest_size=8).digest(), "little")


def _as_bytes(name: Any) -> bytes:
    if isinstance(name, bytes):
        return name
    try:
        text = name if isinstance(name, str) else repr(name)
    except Exception:  # a type of the user's own
        text = type(name).__name__
    # Text may hold half of a surrogate pair, and no error may repeat it.
    return text.encode("utf-8", "surrogatepass")


def splits_by_group(splitter: Any) -> bool:
    """Return whether a cross-validation splitter requests groups, and so keeps them together.

    Parameters
    ----------
    splitter : object
        Any object that a search accepts as ``cv``.

    Returns
    -------
    by_group : bool
    """
    routing = getattr(splitter, "get_metadata_routing", None)
    requests = getattr(getattr(routing(), "split", None), "requests", {}) if callable(routing) else {}
    return requests.get("groups") is True
