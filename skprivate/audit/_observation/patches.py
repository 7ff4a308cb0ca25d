# SPDX-License-Identifier: BSD-3-Clause
"""Replacements of functions in modules and classes during an audit, which are undone in any case.

One thread at a time replaces anything: what it finds is then the original, and what it puts back is, too. A
run that was given up may replace nothing any more.
"""

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any


class CheckInterrupted(BaseException):
    """Ends what runs for a check that was given up; no ``except Exception`` may catch it."""


class CheckRun:
    """The run of one check, with what it has replaced."""

    def __init__(self) -> None:
        self.given_up = False
        self.open: list[contextlib.ExitStack] = []

    def give_up(self) -> None:
        """Put back what the run has replaced, the last first, and let it replace nothing more."""
        self.given_up = True
        while self.open:
            self.open.pop().close()


current_run: ContextVar[CheckRun | None] = ContextVar("skprivate_audit_run", default=None)
_lock = threading.RLock()


@contextlib.contextmanager
def temporary_patches() -> Iterator[contextlib.ExitStack]:
    """Yield a stack of callbacks that put things back: at the end, or when the run is given up."""
    run = current_run.get() or CheckRun()
    stack = _locked()
    if run.given_up:
        stack.close()
        raise CheckInterrupted
    run.open.append(stack)
    try:
        yield stack
    finally:
        # Whoever was too slow finds that everything has been put back.
        if stack in run.open:
            run.open.remove(stack)
            stack.close()


def _locked() -> contextlib.ExitStack:
    """Return a stack that lets the next thread in when all else has been put back."""
    stack, lock = contextlib.ExitStack(), _lock
    lock.acquire()
    stack.callback(_release, lock)
    return stack


def _release(lock: Any) -> None:
    global _lock
    try:
        lock.release()
    except RuntimeError:  # held by a thread that was given up: the others take another lock
        if lock is _lock:
            _lock = threading.RLock()
