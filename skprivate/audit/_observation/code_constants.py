# SPDX-License-Identifier: BSD-3-Clause
"""Numeric constants in an estimator's own code, which rows of a search should hold."""

import sys
import types
from collections.abc import Iterator
from typing import Any

from .defining_modules import FOREIGN, defining_module, function_of

# Named everywhere, and tried by other chains.
_COMMON = {0.0, 1.0, -1.0, 2.0, 0.5}
# Two fits for each, a tenth of a search.
_MOST = 24
# Beyond, whole numbers do not fit into floats.
_LARGEST = 1e300


def values_in_code(estimator: Any) -> list[float]:
    """Return numbers that stand in the methods of an estimator's classes, and in functions that they call.

    Those of its own classes come before those of the classes that it is made from, and fractions before whole
    numbers: those are sizes and positions, as a rule.
    """
    found: dict[float, None] = {}
    for cls in type(estimator).__mro__:
        if defining_module(cls).partition(".")[0] in FOREIGN:
            continue
        named = sorted(set(_numbers_of_class(cls)), key=lambda value: (value.is_integer(), abs(value)))
        found |= dict.fromkeys(named)
    return [value for value in found if value not in _COMMON][:_MOST]


def _numbers_of_class(cls: type) -> Iterator[float]:
    home = defining_module(cls)
    module = sys.modules.get(home)
    for member in vars(cls).values():
        code = _code_of(member)
        if code is None:
            yield from _numbers([member])
            continue
        yield from _numbers_of_code(code)
        for name in code.co_names:
            value = getattr(module, name, None)
            called = value if isinstance(value, types.FunctionType) else None
            own = called is not None and called.__module__ == home
            yield from _numbers_of_code(called.__code__) if called is not None and own else _numbers([value])


def _code_of(member: Any) -> types.CodeType | None:
    function = function_of(member)
    return None if function is None else function.__code__


def _numbers_of_code(code: types.CodeType) -> Iterator[float]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _numbers_of_code(constant)
        else:
            yield from _numbers(constant if isinstance(constant, tuple | frozenset) else [constant])


def _numbers(values: Any) -> Iterator[float]:
    for value in values:
        # A whole number may be too large for a float.
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST:
            yield float(value)


def names_in_code(function: Any) -> list[str]:
    """Return the texts in a function that could be names of attributes."""
    code = _code_of(function)
    texts = [text for text in (code.co_consts if code else ()) if isinstance(text, str)]
    return [text for text in texts if text.isidentifier()]
