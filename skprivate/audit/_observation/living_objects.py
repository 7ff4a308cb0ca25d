# SPDX-License-Identifier: BSD-3-Clause
"""Finds numbers in all objects that are alive in the process."""

import gc
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

# Of tuples in tuples; deeper ones the collector lists.
_DEEPEST = 6
# Bytes of a double.
_DOUBLE = 8
# Larger arrays are no rows of the battery's data sets.
_LARGEST_ARRAY = 2**20
# Most of what objects refer to: it holds no double, or the collector lists it by itself.
_NO_DOUBLES = frozenset(
    {str, int, bool, type(None), type, types.FunctionType, types.BuiltinFunctionType, types.CodeType}
    | {types.ModuleType, list, set}
)


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
        kinds = _kinds_holding(gc.get_referents(holder), negated, packed, 0)
        found += [f"{kind} in a {type(holder).__name__}" for kind in kinds]
    return found


def _kinds_holding(
    objects: Sequence[Any], negated: Sequence[float], packed: Sequence[bytes], depth: int
) -> list[str]:
    """Return the types of objects that hold a number, and of those in containers that nobody lists."""
    found = []
    for held in objects:
        kind = type(held)
        if kind in _NO_DOUBLES:
            continue
        if kind is tuple or kind is dict:
            if not gc.is_tracked(held) and depth < _DEEPEST:
                found += _kinds_holding(gc.get_referents(held), negated, packed, depth + 1)
        elif _holds(held, negated, packed):
            found.append(kind.__name__)
    return found


def _holds(held: Any, negated: Sequence[float], packed: Sequence[bytes]) -> bool:
    kind = type(held)
    if kind is float or kind is np.float64:
        return -held in negated
    if kind is bytes or kind is bytearray:
        return len(held) >= _DOUBLE and any(one in held for one in packed)
    if isinstance(held, np.ndarray) and held.size < _LARGEST_ARRAY:
        if held.dtype == object:
            return any(type(cell) is float and -cell in negated for cell in held.flat)
        return held.dtype == np.float64 and bool(np.isin(-held, negated).any())
    return False
