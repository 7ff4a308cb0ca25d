# SPDX-License-Identifier: BSD-3-Clause
"""Finds numbers in all objects that are alive in the process."""

import gc
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

# Of tuples in tuples; deeper ones the collector lists.
_DEEPEST = 6
# Bytes of a double.
_DOUBLE = 8
# Larger arrays are no rows of the battery's data sets.
_LARGEST_ARRAY = 2**20


def objects_holding(negated: Sequence[float]) -> list[str]:
    """Return the kinds of living objects that hold a number: what is left of a row when all else was deleted.

    Looked at are all objects that the garbage collector knows, and the arrays, numbers and bytes in them. The
    numbers are handed over with the other sign, so that they are not found here.
    """
    gc.collect()
    found = []
    packed = [np.float64(-minus).tobytes() for minus in negated]
    for holder in gc.get_objects():
        if isinstance(holder, types.FrameType) or holder is packed:
            continue
        for held in _held_by(holder, 0):
            if _holds(held, negated, packed):
                found.append(f"{type(held).__name__} in a {type(holder).__name__}")
    return found


def _held_by(holder: Any, depth: int) -> Iterator[Any]:
    """Yield what an object refers to, through containers that the collector does not list."""
    for held in gc.get_referents(holder):
        if type(held) in (tuple, dict) and not gc.is_tracked(held) and depth < _DEEPEST:
            yield from _held_by(held, depth + 1)
        else:
            yield held


def _holds(held: Any, negated: Sequence[float], packed: Sequence[bytes]) -> bool:
    kind = type(held)
    if kind is float or kind is np.float64:
        return -held in negated
    if kind is bytes or kind is bytearray:
        return len(held) >= _DOUBLE and any(one in held for one in packed)
    if isinstance(held, np.ndarray) and held.dtype == np.float64 and held.size < _LARGEST_ARRAY:
        return bool(np.isin(-held, negated).any())
    return False
