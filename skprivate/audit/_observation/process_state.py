# SPDX-License-Identifier: BSD-3-Clause
"""What stands in an estimator's classes and modules, and in the environment, and what a fit changes there."""

import os
import re
import threading
import types
from collections import Counter
from typing import Any

import numpy as np

from .defining_modules import defining_module
from .flat_objects import flatten_object, same_value
from .line_trace import own_modules

State = dict[str, Any]

_INDEX = re.compile(r"\[[^\]]*\]|\{[^}]*\}")


def process_state(estimator: Any) -> State:
    """Return what stands in the estimator's classes and modules, and in the environment."""
    state: State = {}
    for module in own_modules(estimator):
        members = {name: value for name, value in vars(module).items() if not name.startswith("__")}
        state |= flatten_object(members, f"module {module.__name__}")
        # A class of a function stands in no module.
        for cls in (*members.values(), *type(estimator).__mro__):
            if isinstance(cls, type) and defining_module(cls) == module.__name__:
                data = {name: value for name, value in vars(cls).items() if not _is_plain_code(value)}
                state |= flatten_object(data, f"class {cls.__name__}")
    state |= flatten_object(dict(os.environ), "environment")
    state |= flatten_object([thread.name for thread in threading.enumerate()], "names of threads")
    state["working directory"] = os.getcwd()
    return state


def _is_plain_code(value: Any) -> bool:
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    if isinstance(function, types.FunctionType):
        return not (
            function.__closure__ or function.__defaults__ or function.__kwdefaults__ or vars(function)
        )
    return isinstance(function, types.GetSetDescriptorType | types.MemberDescriptorType)


def changes_by_place(before: State, after: State) -> dict[str, Counter[Any]]:
    """Return what was added or changed, by the place without positions: numbers by how much they changed."""
    changed: dict[str, Counter[Any]] = {}
    missing = object()
    for path in before.keys() | after.keys():
        old, new = before.get(path, missing), after.get(path, missing)
        if old is missing or new is missing or not same_value(old, new):
            place = _INDEX.sub("[]", path)
            changed.setdefault(place, Counter())[_change(old, new, missing)] += 1
    return changed


def _change(old: Any, new: Any, missing: object) -> Any:
    if new is missing:
        return "gone"
    number = isinstance(new, int | float | np.number) and not isinstance(new, bool)
    if number and isinstance(old, int | float | np.number) and not isinstance(old, bool):
        return repr(new - old)
    return repr(new.tobytes() if isinstance(new, np.ndarray) else new)
