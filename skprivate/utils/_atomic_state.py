# SPDX-License-Identifier: BSD-3-Clause
"""Changes of an object's state by one assignment, which no interrupt can divide."""

from typing import Any


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
