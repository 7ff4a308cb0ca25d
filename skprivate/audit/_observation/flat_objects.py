# SPDX-License-Identifier: BSD-3-Clause
"""Flattens an object to its numbers, texts and arrays by path, and compares two of them."""

import contextvars
import functools
import gc
import math
import pickle
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

# Deeper than anything sensible; a chain that long is not a model.
_DEEPEST = 40
_PLAIN = (bool, int, float, complex, str, bytes, bytearray, type(None), np.dtype)
# Not state: code is the same whatever the rows were.
_OF_ERRORS = ("args", "__traceback__", "__cause__", "__context__", "__notes__")
_CODE = (type, types.ModuleType, types.BuiltinFunctionType, types.CodeType, np.ufunc)


def flatten_object(root: Any, name: str = "") -> dict[str, Any]:
    """Return every number, text and array inside an object, by its path.

    Parameters
    ----------
    root : object
        Dicts, sequences, sets, arrays (of objects too), instances with attributes or slots, what closures
        and bound methods hold, and what compiled objects pickle.
    name : str, default=""
        Path of the root.

    Returns
    -------
    leaves : dict of str to value
        Values that can be compared by `same_value`.

    Examples
    --------
    >>> from skprivate.audit._observation.flat_objects import flatten_object
    >>> flatten_object([1, (2.5, "text")], "state_")
    {'state_[0]': 1, 'state_[1][0]': 2.5, 'state_[1][1]': 'text', 'state_[1].len': 2, 'state_.len': 2}
    """
    found: dict[str, Any] = {}
    # Held until the end: the id of an object that was made on the way must not be given to another.
    seen: dict[int, Any] = {}
    _collect(root, name, found, seen, 0)
    return found


def _collect(value: Any, path: str, found: dict[str, Any], seen: dict[int, Any], depth: int) -> None:
    if isinstance(value, (_PLAIN, np.generic)):
        found[path] = value
        return
    if isinstance(value, _CODE) or id(value) in seen or depth > _DEEPEST:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        found[path] = value
        found[path + ".order"] = value.flags.f_contiguous, value.flags.c_contiguous
        if value.base is not None:
            _collect(value.base, path + ".base", found, seen, depth + 1)
        return
    for step, child in _children(value):
        _collect(child, path + step, found, seen, depth + 1)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", item) for key, item in value.items())
        # Two sets of keys may differ where the values do not.
        yield ".keys()", tuple(value)
    elif isinstance(value, list | tuple):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
        yield ".len", len(value)
    elif isinstance(value, set | frozenset):
        yield from ((f"{{{index}}}", item) for index, item in enumerate(sorted(value, key=repr)))
        yield ".len", len(value)
    elif isinstance(value, np.ndarray):
        yield from ((f"[{index}]", item) for index, item in enumerate(value.ravel().tolist()))
        yield ".shape", value.shape
    else:
        look = next((look for kind, look in _LOOKS.items() if isinstance(value, kind)), _of_instance)
        yield from look(value)


def _of_function(value: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for index, cell in enumerate(value.__closure__ or ()):
        try:
            yield f".closure[{index}]", cell.cell_contents
        except ValueError:  # an empty cell
            continue
    yield ".defaults", value.__defaults__
    yield ".kwdefaults", value.__kwdefaults__
    yield ".attributes", vars(value)


def _cached(holder: Any, depth: int) -> Iterator[Any]:
    """Yield what a cache of a function holds."""
    for held in gc.get_referents(holder):
        if isinstance(held, (_PLAIN, np.generic, np.ndarray)):
            yield held
        elif depth < _DEEPEST and not isinstance(held, (_CODE, types.FunctionType)):
            yield from _cached(held, depth + 1)


def _of_instance(value: Any) -> Iterator[tuple[str, Any]]:
    state = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                state[slot] = getattr(value, slot)
    if not state:
        # A compiled object, or one that keeps its state elsewhere: what it would pickle.
        try:
            yield ".reduced", value.__reduce_ex__(2)[1:]
        except (TypeError, AttributeError, pickle.PicklingError):
            return
    yield from ((f".{key}", item) for key, item in state.items())


# How to look into what the interpreter makes.
_LOOKS: dict[type, Callable[[Any], Any]] = {
    types.FunctionType: _of_function,
    types.MethodType: lambda value: [(".__self__", value.__self__)],
    types.GeneratorType: lambda value: [
        (".locals", dict(value.gi_frame.f_locals) if value.gi_frame else None)
    ],
    types.TracebackType: lambda value: [(".locals", dict(value.tb_frame.f_locals)), (".next", value.tb_next)],
    BaseException: lambda value: [(f".{name}", getattr(value, name, None)) for name in _OF_ERRORS],
    weakref.ref: lambda value: [(".target", value())],
    contextvars.ContextVar: lambda value: [(".value", value.get(None))],
    functools._lru_cache_wrapper: lambda value: [(".cached", sorted(map(repr, _cached(value, 0))))],
}


def same_value(one: Any, other: Any) -> bool:
    """Whether two leaves are the same to the last bit; NaN equals NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        first, second = np.asarray(one), np.asarray(other)
        same_form = first.dtype == second.dtype and first.shape == second.shape
        return same_form and first.tobytes() == second.tobytes()
    if type(one) is not type(other):
        return False
    if isinstance(one, float | np.floating):
        same_sign = math.copysign(1, one) == math.copysign(1, other)
        return bool(math.isnan(other)) if math.isnan(one) else bool(one == other and same_sign)
    return bool(one == other)


def differing_paths(one: Any, other: Any) -> list[str]:
    """Return the paths at which two objects differ.

    Parameters
    ----------
    one, other : object or dict of leaves
        Objects, or what `leaves` returned of them.

    Returns
    -------
    paths : list of str
        Sorted; those that only one of them has included.

    Examples
    --------
    >>> from skprivate.audit._observation.flat_objects import differing_paths
    >>> differing_paths({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]})
    ["['b'][1]"]
    """
    first = one if isinstance(one, FlatObject) else FlatObject(flatten_object(one))
    second = other if isinstance(other, FlatObject) else FlatObject(flatten_object(other))
    missing = object()
    paths = first.keys() | second.keys()
    return sorted(p for p in paths if not same_value(first.get(p, missing), second.get(p, missing)))


class FlatObject(dict[str, Any]):
    """FlatObject of an object, already collected."""


def fitted_state(estimator: Any) -> FlatObject:
    """Return the leaves of what a fit left on an estimator; its parameters are not looked at."""
    parameters = set(estimator.get_params(deep=False)) if hasattr(estimator, "get_params") else set()
    state = {key: value for key, value in vars(estimator).items() if key not in parameters}
    return FlatObject(
        {path: leaf for key, value in state.items() for path, leaf in flatten_object(value, key).items()}
    )
