# SPDX-License-Identifier: BSD-3-Clause
"""Privacy units of rows, and the rows of each that count: chosen the same way wherever the rows are."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._groups import NOBODY, group_values

# Odd constants of the mixing function of splitmix64, and its step: 2^64 over the golden ratio.
_MIXING = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)
#: Bytes of the key that a choice of rows is drawn with.
KEY_BYTES = 8


@dataclass(frozen=True, eq=False)
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
    >>> from skprivate.utils._units import number_units
    >>> units = number_units(["Ann", "Bob", "Ann"], np.array([True, True, True]))
    >>> units.codes, units.n_units, len(units.choose_rows(1, bytes(8)))
    (array([0, 1, 0]), 2, 2)
    """
    if groups is None:
        return None
    codes, names = group_values(groups, is_private, strict=strict)
    if isinstance(names, np.ndarray) and names.dtype.kind in "iub":
        return RowUnits(codes, _mix(names.astype(np.int64).view(np.uint64)))
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
    if isinstance(name, bool | int | np.integer | np.bool_) and -(2**63) <= int(name) < 2**63:
        return int(_mix(np.array([int(name)], dtype=np.int64).view(np.uint64))[0])
    if isinstance(name, float | np.floating) and float(name).is_integer() and abs(name) < 2**63:
        return _hash(int(name))
    text = (
        name.encode() if isinstance(name, str) else name if isinstance(name, bytes) else repr(name).encode()
    )
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
