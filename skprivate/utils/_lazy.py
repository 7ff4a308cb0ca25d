# SPDX-License-Identifier: BSD-3-Clause
"""Lazy package exports (PEP 562): a name is imported when it is first used."""

import importlib
import sys
from collections.abc import Callable


def lazy_exports(
    package: str, homes: dict[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Build ``__getattr__`` and ``__dir__`` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : dict
        Public name -> module that defines it, relative to the package (``"._classifier"``).

    Returns
    -------
    getattr_, dir_ : callables
        To be bound to ``__getattr__`` and ``__dir__``.
    """

    def getattr_(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return getattr_, dir_
