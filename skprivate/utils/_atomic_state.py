# SPDX-License-Identifier: BSD-3-Clause
"""Changes of an object's state that no interrupt and no other thread can divide."""

import functools
import os
from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

Method = TypeVar("Method", bound=Callable[..., Any])

# Beside the objects, not in them: a copy and a pickle hold no lock.
_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
# Ids of the objects in the midst of a method; numbers, as an interrupt cannot divide a change of such a set.
_BUSY: set[int] = set()
if hasattr(os, "register_at_fork"):
    # The thread that holds a lock does not come along into the child, where nobody would release it.
    os.register_at_fork(after_in_child=_LOCKS.clear)
    os.register_at_fork(after_in_child=_BUSY.clear)


def assign(target: Any, **changes: Any) -> None:
    """Set attributes of an object, all of them by one assignment.

    Parameters
    ----------
    target : object
        An instance of a class without ``__slots__``.
    **changes
        The attributes.

    Examples
    --------
    >>> from skprivate.utils._atomic_state import assign
    >>> class Account:
    ...     rows, batches = 8, 1
    >>> account = Account()
    >>> assign(account, rows=16, batches=2)
    >>> account.rows, account.batches
    (16, 2)
    """
    target.__dict__ = {**vars(target), **changes}


def draft_of(target: Any) -> Any:
    """Return another object of the same type and attributes; its attributes become its own.

    Parameters
    ----------
    target : object
        An instance of a class without ``__slots__``.

    Returns
    -------
    draft : object
    """
    draft = object.__new__(type(target))
    draft.__dict__ = dict(vars(target))
    return draft


def lock_of(target: Any) -> Any:
    """Return the lock of an object, the same for all threads of a process.

    Parameters
    ----------
    target : object
        Hashed and compared by identity.

    Returns
    -------
    lock : RLock
        To be held in a ``with`` statement; the thread that holds it may take it again.
    """
    # setdefault is atomic: of two threads that ask at once, both get the lock of the first.
    return _LOCKS.setdefault(target, RLock())


def one_thread_at_a_time(method: Method) -> Method:
    """Decorate a method of an object that other threads may use too: they wait until it has ended.

    Parameters
    ----------
    method : callable
        All methods of one object that are decorated share one lock.

    Returns
    -------
    method : callable
        The decorated method.

    Examples
    --------
    >>> from skprivate.utils._atomic_state import one_thread_at_a_time
    >>> class Counter:
    ...     count = 0
    ...     @one_thread_at_a_time
    ...     def add(self):
    ...         self.count += 1
    ...         return self.count
    >>> Counter().add()
    1
    """

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self):
            return method(self, *args, **kwargs)

    return cast(Method, wrapper)


def refused_within_another(method: Method) -> Method:
    """Decorate a method that waits for other threads, and is refused in the midst of such a method.

    A batch that is read, a callback or a signal handler runs in the thread that holds the lock, and so
    cannot wait for it.

    Parameters
    ----------
    method : callable
        Of an object whose lock it takes, by `one_thread_at_a_time`.

    Returns
    -------
    method : callable
        The decorated method; it raises RuntimeError.
    """

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _BUSY:
            raise RuntimeError(
                f"This {type(self).__name__} is in the midst of another method, which called this one: "
                "by a batch, a callback or a signal handler. Nothing was changed; call it afterwards."
            )
        try:
            _BUSY.add(id(self))
            return method(self, *args, **kwargs)
        finally:
            _BUSY.discard(id(self))

    return one_thread_at_a_time(cast(Method, wrapper))
