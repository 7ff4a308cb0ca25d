# SPDX-License-Identifier: BSD-3-Clause
"""What audits replace in modules and classes while they run, and how it is put back in any case."""

import contextlib
from collections.abc import Iterator

_OPEN: list[contextlib.ExitStack] = []


@contextlib.contextmanager
def replacements() -> Iterator[contextlib.ExitStack]:
    """Yield a stack of callbacks that put things back; they run at the end, or when `undo_all` is called."""
    stack = contextlib.ExitStack()
    _OPEN.append(stack)
    try:
        yield stack
    finally:
        # Whoever was too slow finds that everything has been put back.
        if stack in _OPEN:
            _OPEN.remove(stack)
        stack.close()


def undo_all() -> None:
    """Put everything back, the last replacement first."""
    while _OPEN:
        _OPEN.pop().close()
