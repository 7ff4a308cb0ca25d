# SPDX-License-Identifier: BSD-3-Clause
"""The public module of a class: where pickles, messages and documentation say that it is."""

from collections.abc import Callable
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
