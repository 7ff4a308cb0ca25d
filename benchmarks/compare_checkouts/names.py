# SPDX-License-Identifier: BSD-3-Clause
"""Public names of either checkout: looked up by their new name, then by their old one."""

import importlib
import importlib.util
import inspect
import pkgutil
from types import ModuleType
from typing import Any

# New name -> old name, and new room -> old room.
_NAMES = {
    "PrivateGridSearch": "PrivateGridSearchCV",
    "PrivateRandomizedSearch": "PrivateRandomizedSearchCV",
}
_ROOMS = {"collection": "tree"}
# New parameter -> old parameter.
_PARAMETERS = {
    "max_iter": "n_newton",
    "max_rows": "n_max",
    "hazard_clip": "weight_clip",
    "validation_fraction": "holdout",
    "on_progress": ("done", "progress"),
}
_COLLECTION = ("TreeClient", "TreeCurator", "TreeSpecification", "ReportWriter")


def room(name: str) -> ModuleType:
    """Import a sub-package, or the one that held its content before."""
    found = importlib.util.find_spec(f"skprivate.{name}")
    return importlib.import_module(f"skprivate.{name if found else _ROOMS[name]}")


def public(name: str, what: str) -> Any:
    """Return a public object of a room, by its new or its old name."""
    module = room(name)
    return getattr(module, what if what in module.__all__ else _NAMES.get(what, what))


def adapted(function: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """Rename keyword arguments to those that a function of this checkout takes."""
    known = inspect.signature(function).parameters
    return {_known_name(name, known): value for name, value in parameters.items()}


def _known_name(name: str, known: Any) -> str:
    if name in known:
        return name
    # The names that a sweep finds are this checkout's own; the table is about those that are written here.
    older = _PARAMETERS.get(name, name)
    candidates = (older,) if isinstance(older, str) else older
    return next((candidate for candidate in candidates if candidate in known), name)


def collection_command() -> str:
    """Return the module of the command line that collects reports."""
    return "skprivate.collection" if importlib.util.find_spec("skprivate.collection") else "skprivate.tree"


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
