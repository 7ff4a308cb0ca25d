# SPDX-License-Identifier: BSD-3-Clause
"""Traces the lines of an estimator's own code that a call runs through."""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ...domain import _readers, _values
from ...utils import _refused_values
from .defining_modules import FOREIGN, defining_module

Line = tuple[str, int]

# How cells of declared columns are read: text, numbers and missing ones take ways of their own, by that cell
# alone, and the values that come out are compared.
_READERS = (_readers, _values, _refused_values)
# These, and the whole of `skprivate.audit`.
_NOT_FOLLOWED = (str(Path(__file__).parents[1]), *(str(module.__file__) for module in _READERS))


def trace_lines(estimator: Any, call: Callable[[], Any]) -> list[Line]:
    """Return the lines of the estimator's package that a call runs through, in order.

    Comprehensions and loops over rows appear once for every turn. Compiled code is not seen.
    """
    roots = own_code(estimator)
    lines: list[Line] = []

    def own(filename: str) -> bool:
        return filename.startswith(roots) and not filename.startswith(_NOT_FOLLOWED)

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        if not own(frame.f_code.co_filename):
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
    """Return the modules in which an estimator's classes are written."""
    names = dict.fromkeys(defining_module(cls) for cls in type(estimator).__mro__)
    own = [name for name in names if name.partition(".")[0] not in FOREIGN]
    return [sys.modules[name] for name in own if name in sys.modules]


def own_code(estimator: Any) -> tuple[str, ...]:
    """Return the files, or folders of packages, in which an estimator's classes are written."""
    roots = set()
    for module in own_modules(estimator):
        top, _, below = module.__name__.partition(".")
        file = getattr(module, "__file__", None)
        if file is None:
            continue
        package = getattr(sys.modules.get(top), "__file__", None)
        is_package = below and package is not None
        roots.add(str(Path(package).parent) + "/" if is_package and package else str(file))
    return tuple(sorted(roots))


def first_difference(one: list[Line], other: list[Line]) -> str:
    """Return where two runs part, as file:line."""
    last = ("the start", 0)
    for mine, theirs in itertools.zip_longest(one, other):
        if mine != theirs:
            break
        last = mine
    return f"{Path(last[0]).name}:{last[1]}"
