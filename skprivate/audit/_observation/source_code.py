# SPDX-License-Identifier: BSD-3-Clause
"""An estimator's own code: its modules, its constants, and the lines of a call."""

import functools
import inspect
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from ...domain import _readers, _text_values
from ...utils import _tables

# The modules that define classes, which may differ from those that the classes report.

# Packages whose code is not the estimator's own.
FOREIGN = ("sklearn", "numpy", "scipy", "builtins", "abc", "typing", "collections")


def defining_module(cls: type) -> str:
    """Return the name of the module that defines a class: the module with the code of its functions.

    A class may report another module: the public one from which users import it.
    """
    for member in vars(cls).values():
        function = function_of(member)
        # A function may be defined elsewhere and assigned.
        if function is not None and function.__qualname__ == f"{cls.__qualname__}.{function.__name__}":
            return str(function.__globals__["__name__"])
    return cls.__module__


def module_of(cls: type) -> types.ModuleType | None:
    """Return the module that defines a class, if it is still loaded."""
    return sys.modules.get(defining_module(cls))


def function_of(member: Any) -> types.FunctionType | None:
    """Return the function behind a method, a property or a decorated function; None if there is none."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, functools.cached_property):
        member = member.func
    function = inspect.unwrap(getattr(member, "__func__", member))
    return function if isinstance(function, types.FunctionType) else None


# Numeric constants in an estimator's own code, which rows of a search should hold.

# Constants that are used everywhere; other chains try them.
_COMMON_CONSTANTS = {0.0, 1.0, -1.0, 2.0, 0.5}
# Set by hand: each constant takes two fits, together a tenth of a search.
_MOST_CONSTANTS = 24
# Larger whole numbers may not fit into floats.
_LARGEST_CONSTANT = 1e300


def values_in_code(estimator: Any) -> list[float]:
    """Return numbers in the methods of an estimator's classes, and in functions that these call.

    Numbers of a class come before those of its base classes. Fractions come before whole numbers, which are
    usually sizes and positions.
    """
    found: dict[float, None] = {}
    for cls in type(estimator).__mro__:
        if defining_module(cls).partition(".")[0] in FOREIGN:
            continue
        named = sorted(set(_numbers_of_class(cls)), key=lambda value: (value.is_integer(), abs(value)))
        found |= dict.fromkeys(named)
    return [value for value in found if value not in _COMMON_CONSTANTS][:_MOST_CONSTANTS]


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
            if isinstance(value, types.FunctionType) and value.__module__ == home:
                yield from _numbers_of_code(value.__code__)
            else:
                yield from _numbers([value])


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
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST_CONSTANT:
            yield float(value)


def names_in_code(function: Any) -> list[str]:
    """Return texts in a function that could be names of attributes."""
    code = _code_of(function)
    texts = [text for text in (code.co_consts if code else ()) if isinstance(text, str)]
    return [text for text in texts if text.isidentifier()]


# Traces of the lines of an estimator's own code during a call.

Line = tuple[str, int]

# Readers of cells of declared columns. Text, numbers and missing cells are read by different lines, depending
# on that cell alone; the resulting values are compared instead.
_READERS = (_readers, _text_values, _tables)
# Functions there that treat all rows equally, and are traced.
FOLLOWED_OF_TABLES = (
    *("validate_data", "check_array", "read_numbers", "refuse_series", "_refuse"),
    *("numbers_of", "within_bounds", "_columns_of_frame", "_numbers_of_column", "_number"),
    *("kind_of_labels", "holds_booleans"),
)
# Files that are not traced: the readers, and the whole of `skprivate.audit`.
_NOT_FOLLOWED = (str(Path(__file__).parents[1]), *(str(module.__file__) for module in _READERS))


def trace_lines(estimator: Any, call: Callable[[], Any]) -> list[Line]:
    """Return the lines of the estimator's package during a call, in order.

    Comprehensions and loops over rows appear once for every iteration. Compiled code is not seen.
    """
    roots = own_code(estimator)
    lines: list[Line] = []

    def own(code: types.CodeType) -> bool:
        file = code.co_filename
        if file == _tables.__file__ and code.co_qualname.partition(".")[0] in FOLLOWED_OF_TABLES:
            return file.startswith(roots)
        return file.startswith(roots) and not file.startswith(_NOT_FOLLOWED)

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        if not own(frame.f_code):
            return None
        if event == "line":
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def own_modules(estimator: Any) -> list[Any]:
    """Return the modules that define an estimator's classes."""
    names = dict.fromkeys(defining_module(cls) for cls in type(estimator).__mro__)
    own = [name for name in names if name.partition(".")[0] not in FOREIGN]
    return [sys.modules[name] for name in own if name in sys.modules]


def own_code(estimator: Any) -> tuple[str, ...]:
    """Return the files, or folders of packages, that define an estimator's classes."""
    roots = set()
    for module in own_modules(estimator):
        top, _, below = module.__name__.partition(".")
        file = getattr(module, "__file__", None)
        package = getattr(sys.modules.get(top), "__file__", None)
        if file is not None:
            roots.add(f"{Path(package).parent}/" if below and package else str(file))
    return tuple(sorted(roots))


def first_difference(one: list[Line], other: list[Line]) -> str:
    """Return the last common line of two runs, as file:line."""
    last = ("the start", 0)
    for mine, theirs in itertools.zip_longest(one, other):
        if mine != theirs:
            break
        last = mine
    return f"{Path(last[0]).name}:{last[1]}"
