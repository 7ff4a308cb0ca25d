# SPDX-License-Identifier: BSD-3-Clause
"""Public names of classes, lazy exports, and whether a report may trust the statements of an object."""

import importlib
import re
import sys
from abc import ABCMeta
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

# Lazy package exports (PEP 562): a name is imported when it is first used.


def lazy_exports(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Build ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub.

    Type checkers read the stub too, so that each name needs only one line.

    Parameters
    ----------
    package : str
        ``__name__`` of the package. Its ``__init__.pyi`` has a line ``from .module import name as name`` for
        each name, and lists the public ones in ``__all__``.

    Returns
    -------
    getattr_, dir_ : callables
    public : list of str
    """
    module = sys.modules[package]
    stub = Path(str(module.__file__)).with_name("__init__.pyi").read_text(encoding="utf-8")
    homes = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as \w+$", stub, re.MULTILINE)}
    public = re.findall(r'"(\w+)"', stub.partition("__all__ = ")[2])

    def getattr_(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name], package), name)
        setattr(module, name, value)
        return value

    def dir_() -> list[str]:
        return sorted({*vars(module), *homes})

    return getattr_, dir_, public


# The public module and name of a class, and whether a report may trust the statements of an object.

Class = TypeVar("Class", bound=type)

# Attributes of a class at its definition; a method that replaces one later is not the author's.
_DEFINED: dict[type, dict[str, Any]] = {}
# Attributes that Python and pickle add to a class when they first need them.
_WRITTEN_LATER = {"__annotations__", "__annotations_cache__", "__doc__", "__slotnames__"}


def public_module(name: str) -> Callable[[Class], Class]:
    """Decorate a class whose public module differs from the module that defines it.

    A pickle names a class by its ``__module__``. If that were a private module, no file could be moved:
    pickles of users would not load any more. Subclasses keep the modules in which they are defined.

    Parameters
    ----------
    name : str
        A package that exports the class (lazily) under its own name. This must be the outermost decorator,
        because ``dataclass`` reads the module that defines the class.

    Returns
    -------
    decorate : callable
        Returns the class itself.

    Examples
    --------
    >>> from skprivate.utils._public_module import public_module
    >>> @public_module("skprivate.tree")
    ... class DPForest:
    ...     pass
    >>> DPForest
    <class 'skprivate.tree.DPForest'>
    """

    def decorate(cls: Class) -> Class:
        cls.__module__ = name
        remember(cls)
        return cls

    return decorate


def name_constructor(cls: Class) -> Class:
    """Decorate a class that inherits its constructor, so that errors of a call name the class.

    Python's error about an unknown argument names the called function, which otherwise is that of the base
    class.

    Parameters
    ----------
    cls : type
        A class whose constructor is a Python function of a base class.

    Returns
    -------
    cls : type
        The same class, with a copy of the constructor.

    Examples
    --------
    >>> from skprivate.utils._public_module import name_constructor
    >>> class Base:
    ...     def __init__(self, epsilon):
    ...         self.epsilon = epsilon
    >>> @name_constructor
    ... class DPForest(Base):
    ...     pass
    >>> DPForest(depth=1)
    Traceback (most recent call last):
    ...
    TypeError: DPForest.__init__() got an unexpected keyword argument 'depth'
    """
    base = cls.__init__  # type: ignore[misc]
    own = FunctionType(base.__code__, base.__globals__, base.__name__, base.__defaults__, base.__closure__)
    own.__kwdefaults__, own.__annotations__ = base.__kwdefaults__, base.__annotations__
    own.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = own  # type: ignore[misc]
    return cls


def remember(cls: type) -> None:
    """Record the present attributes of a class and of all its base classes."""
    for base in cls.__mro__[:-1]:
        _DEFINED.setdefault(base, dict(vars(base)))


def reason_against(estimator: Any, mixin: str) -> str | None:
    """Return why a report cannot trust the statements of an object; None if it can.

    A report trusts classes that this package exports, and classes with a mixin of this package among their
    own bases. It does not trust subclasses of these: a subclass may do anything.

    Parameters
    ----------
    estimator : object
    mixin : {"PrivateEstimatorMixin", "StatelessMixin"}
        The mixin that the class must list for this kind of statement.
    """
    cls = type(estimator)
    if not any(type(cls) is plain for plain in (type, ABCMeta)):
        return "has a metaclass, which may answer for it"
    if not is_exported(cls):
        module = vars(cls).get("__module__")
        if type(module) is not str or _is_of_package(module):
            return "names a module of skprivate, which does not export it"
        if all(vars(base).get("_declares") != mixin for base in cls.__bases__):
            return f"is undeclared: a subclass may do anything; list {mixin} among its own bases"
    return changed_methods(estimator) or _strange_part(estimator)


def declared_by(estimator: Any) -> str:
    """Return the module of a third party's class that lists a mixin of this package; otherwise empty."""
    cls = type(estimator)
    module = str(vars(cls).get("__module__"))
    if _is_of_package(module) or not any("_declares" in vars(base) for base in cls.__bases__):
        return ""
    # A line break in the name could forge a line of a report.
    return module if module.isprintable() else repr(module)


def changed_methods(estimator: Any) -> str | None:
    """Return why the methods of an object may differ from those at the definition of its class, or None."""
    cls = type(estimator)
    parameters = cls._get_param_names() if hasattr(cls, "_get_param_names") else ()
    for name, value in vars(estimator).items():
        # The class need not have the name: a pipeline calls a fit_transform of the object.
        public = not name.startswith("_") and not name.endswith("_")
        may_be_called = public or name.startswith("__") or hasattr(cls, name)
        if callable(value) and name not in parameters and may_be_called:
            return "has methods of its own, which may do anything"
    return changed_class(cls)


def changed_class(cls: type) -> str | None:
    """Return why the methods of a class may differ from those at its definition, or None."""
    for base in cls.__mro__[:-1]:
        now, then = vars(base), _DEFINED.get(base, vars(base))
        names = (now.keys() | then.keys()) - _WRITTEN_LATER
        if any(now.get(name) is not then.get(name) for name in names):
            return f"was changed after its definition: others wrote into the class {base.__name__}"
    return None


def is_exported(cls: type) -> bool:
    """Return whether this package defines and exports exactly this class in the module that it names."""
    module = vars(cls).get("__module__")
    return (
        type(module) is str
        and _is_of_package(module)
        and cls in _DEFINED
        and getattr(sys.modules.get(module), cls.__name__, None) is cls
    )


def _is_of_package(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _strange_part(estimator: Any) -> str | None:
    """Return why a part of an object that inherits from our classes, such as a domain, cannot be trusted."""
    for name, part in vars(estimator).items():
        kind = type(part)
        # Inner estimators are checked by themselves, and a ledger sees no row.
        ours = [cls for cls in kind.__mro__ if is_exported(cls) and not hasattr(cls, "get_params")]
        if name == "ledger" or all(hasattr(cls, "_declares") for cls in ours):
            continue
        own = getattr(part, "__dict__", {})
        if not is_exported(kind) or any(callable(own[key]) and hasattr(kind, key) for key in own):
            return f"has a {name} with methods of others, which may do anything"
    return None
