# SPDX-License-Identifier: BSD-3-Clause
"""Public names of a checkout."""

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any


def public(name: str, what: str) -> Any:
    """Return a public object of a room."""
    return getattr(importlib.import_module(f"skprivate.{name}"), what)


def rooms() -> dict[str, ModuleType]:
    """Import the package and all its public modules."""
    top = importlib.import_module("skprivate")
    names = [entry.name for entry in pkgutil.iter_modules(top.__path__) if not entry.name.startswith("_")]
    return {
        "skprivate": top,
        **{name: importlib.import_module(f"skprivate.{name}") for name in sorted(names)},
    }


def public_objects() -> dict[str, Any]:
    """Return every public object once, by its name."""
    found: dict[str, Any] = {}
    for module in rooms().values():
        for name in getattr(module, "__all__", ()):
            found.setdefault(name, getattr(module, name))
    return found


def public_estimators() -> dict[str, type]:
    """Return every public class that has a ``fit``, or is fitted in another way."""
    kinds = {name: kind for name, kind in public_objects().items() if inspect.isclass(kind)}
    return {name: kind for name, kind in kinds.items() if callable(getattr(kind, "fit", None))}
