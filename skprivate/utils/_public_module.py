# SPDX-License-Identifier: BSD-3-Clause
"""The public module and the public name of a class, as pickles, errors and documentation show them."""

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

Class = TypeVar("Class", bound=type)


def public_module(name: str) -> Callable[[Class], Class]:
    """Decorate a class that is imported from another module than the one that defines it.

    A pickle names a class by its ``__module__``. With a private module there, no file could be moved: pickles
    of users would not load any more. Subclasses keep the modules that they are defined in.

    Parameters
    ----------
    name : str
        A package which has the class among its (lazy) names, under the name of the class. It is the outermost
        decorator: ``dataclass`` looks into the module that defines the class.

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
        return cls

    return decorate


def name_constructor(cls: Class) -> Class:
    """Decorate a class that inherits its constructor, so that errors of a call name the class.

    Python's error about an unknown argument names the function that was called: else the base class.

    Parameters
    ----------
    cls : type
        Its constructor is a Python function of a base class.

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
