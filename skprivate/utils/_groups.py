# SPDX-License-Identifier: BSD-3-Clause
"""The privacy unit: which private rows belong to one person, and which of a person's rows count."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._parameter_checks import as_cells, as_labels

# Odd constants of the mixing function of splitmix64, and its step: 2^64 over the golden ratio.
_MIXING = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)
#: Bytes of the key that a choice of rows is drawn with.
KEY_BYTES = 8


def number_groups(
    groups: Any, is_private: NDArray[np.bool_], *, strict: bool = False
) -> NDArray[np.intp] | None:
    """Number the groups of the private rows 0, 1, ...; None where the unit is the row.

    Parameters
    ----------
    groups : array-like of shape (n_rows,), or None
        Anything that can be compared; public rows may lack a group.
    is_private : ndarray of bool of shape (n_rows,)
    strict : bool, default=False
        Private rows without a group that can be used are all one person's, and no error: together they have
        no more influence than any other.

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
    **Privacy.** In strict mode what is raised depends on the shape and the type of the container alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.base import number_groups
    >>> number_groups(["Ann", "Bob", "Ann"], np.array([True, True, True]))
    array([0, 1, 0])
    """
    return None if groups is None else group_values(groups, is_private, strict=strict)[0]


def group_values(
    groups: Any, is_private: NDArray[np.bool_], *, strict: bool = False
) -> tuple[NDArray[np.intp], Any]:
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
    """Return a column of names as an array in which one that is missing changes no other.

    NumPy makes floats of nullable integers, objects of dates, and so on, where one is missing. So names that
    are there are converted without those that are not, in the one way that a column without gaps is.
    """
    drop = next((getattr(groups, name) for name in _DROPS if hasattr(groups, name)), None)
    if drop is None or isinstance(getattr(groups, "dtype", None), np.dtype):
        return _plain(np.asarray(groups))
    lacks = np.asarray(groups.isna() if hasattr(groups, "isna") else groups.is_null(), dtype=bool)
    if not lacks.any():
        return _plain(np.asarray(groups))
    names = np.empty(len(lacks), dtype=object)
    names[~lacks] = _as_objects(_plain(np.asarray(drop())))
    return names


# What columns of pandas, polars and pyarrow call it.
_DROPS = ("dropna", "drop_nulls", "drop_null")


def _plain(names: NDArray[Any]) -> NDArray[Any]:
    """Return dates and durations as their numbers."""
    if names.dtype.kind not in "mM":
        return names
    lacks, numbers = np.isnat(names), names.view(np.int64)
    if not lacks.any():
        return numbers
    objects = _as_objects(numbers)
    objects[lacks] = None
    return objects


def _as_objects(names: NDArray[Any]) -> NDArray[Any]:
    objects = np.empty(len(names), dtype=object)
    objects[:] = names.tolist() if names.dtype != object else names
    return objects


# The group of private rows that have none.
NOBODY = object()


def _is_usable(value: Any) -> bool:
    try:
        return not _is_missing(value) and hash(value) is not None
    except Exception:  # unhashable, or a type of the user's own
        return False


def _number_objects(values: list[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Number objects by equality alone: those without an order, or with a partial one, cannot be sorted."""
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


def select_rows(codes: NDArray[np.intp], max_rows: int, random_bytes: Any) -> NDArray[np.intp]:
    """Choose at most so many rows of every group at random.

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
    **Privacy.** With a cap of m, one person changes at most m of the rows that are kept, so a sensitivity per
    row is multiplied by m.

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
        Of the names of the persons: equal names have equal hashes in every process.
    """

    codes: NDArray[np.intp]
    hashes: NDArray[np.uint64]

    @property
    def n_units(self) -> int:
        """Number of persons."""
        return len(self.hashes)

    def choose_rows(self, max_rows: int, key: bytes) -> NDArray[np.intp]:
        """Choose at most so many rows of every person.

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
        **Privacy.** Which rows of a person are kept follows from the key, the person's name and the order of
        the person's rows, and from nothing about others. So one person changes at most ``max_rows`` of the
        rows that are kept, whatever the key, and a sensitivity per row is multiplied by that. The choice is
        the same in one table and in parts of it, as long as a person's rows are in one part, in their order.
        """
        order = np.argsort(self.codes, kind="stable")
        codes = self.codes[order]
        starts = np.searchsorted(codes, np.arange(self.n_units))
        occurrence = (np.arange(len(codes)) - starts[codes]).astype(np.uint64)
        salt = np.frombuffer(key, dtype="<u8").astype(np.uint64)[0]
        ranks = _mix(_mix(self.hashes[codes] ^ salt) + occurrence * _STEP)
        by_rank = np.lexsort((ranks, codes))
        return np.sort(order[by_rank[np.arange(len(codes)) - starts[codes] < max_rows]])


def number_units(groups: Any, is_private: NDArray[np.bool_], *, strict: bool = False) -> RowUnits | None:
    """Number the groups of the private rows, and hash their names; None where the unit is the row.

    Parameters
    ----------
    groups, is_private, strict
        As in `number_groups`, which raises the same.

    Returns
    -------
    units : RowUnits, or None

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.utils._groups import number_units
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
    """Hash the name of one person; a number that stands for an integer as that integer."""
    if name is NOBODY:
        return 0
    # NumPy's durations are integers to Python, and none here.
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
    """Tell whether a cross-validation splitter keeps groups together; by what it asks for, whoever made it.

    Parameters
    ----------
    splitter : object
        Anything that a search takes as ``cv``.

    Returns
    -------
    by_group : bool
    """
    routing = getattr(splitter, "get_metadata_routing", None)
    requests = getattr(getattr(routing(), "split", None), "requests", {}) if callable(routing) else {}
    return requests.get("groups") is True
