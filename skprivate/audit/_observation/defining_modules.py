# SPDX-License-Identifier: BSD-3-Clause
"""The modules in which classes are written, which need not be those that they report."""

import functools
import inspect
import sys
import types
from typing import Any

# Their code is not the estimator's own.
FOREIGN = ("sklearn", "numpy", "scipy", "builtins", "abc", "typing", "collections")


def defining_module(cls: type) -> str:
    """Return the name of the module that a class is written in: where the code of its own functions is.

    A class may report another module: the public one that users import it from.
    """
    for member in vars(cls).values():
        function = function_of(member)
        # A function may be made elsewhere and assigned.
        if function is not None and function.__qualname__ == f"{cls.__qualname__}.{function.__name__}":
            return str(function.__globals__["__name__"])
    return cls.__module__


def module_of(cls: type) -> types.ModuleType | None:
    """Return the module that a class is written in, if it is still loaded."""
    return sys.modules.get(defining_module(cls))


def function_of(member: Any) -> types.FunctionType | None:
    """Return the function behind a method, a property or a decorated function; None where there is none."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, functools.cached_property):
        member = member.func
    function = inspect.unwrap(getattr(member, "__func__", member))
    return function if isinstance(function, types.FunctionType) else None
