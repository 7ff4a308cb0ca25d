# SPDX-License-Identifier: BSD-3-Clause
"""Public names of a checkout."""

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any


@cache
def rooms() -> dict[str, ModuleType]:
    """Import the package and all its public modules."""
    top = importlib.import_module("skprivate")
    names = sorted(entry.name for entry in pkgutil.iter_modules(top.__path__) if entry.name[0] != "_")
    return {"skprivate": top, **{name: importlib.import_module(f"skprivate.{name}") for name in names}}


@cache
def public_objects() -> dict[str, Any]:
    """Return every public object once, by its name."""
    found: dict[str, Any] = {}
    for module in rooms().values():
        for name in getattr(module, "__all__", ()):
            found.setdefault(name, getattr(module, name))
    return found


def public(name: str) -> Any:
    """Return a public object, whatever room exports it."""
    return public_objects()[name]
