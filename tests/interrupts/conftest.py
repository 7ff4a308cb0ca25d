# SPDX-License-Identifier: BSD-3-Clause
"""A harness that interrupts an operation after every line, and looks at what it leaves behind.

``SKPRIVATE_INTERRUPTS=all pytest tests/interrupts -s`` tries every point and prints their numbers; the suite
tries every line of the files that an operation is about, once, and some of the others.
"""

import contextlib
import dis
import functools
import gc
import os
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import skprivate
from skprivate.accounting._ledger import sqlite_store

EVERY_POINT = os.environ.get("SKPRIVATE_INTERRUPTS") == "all"
PACKAGE = os.path.dirname(skprivate.__file__)
# What runs between our lines: the ends of ``with`` blocks are in contextlib.
BETWEEN = (contextlib.__file__, os.path.join("filelock", ""))
# Of the points outside the files that an operation is about, so many at most, evenly spaced.
MOST_OTHERS, FEW_OTHERS = int(os.environ.get("SKPRIVATE_INTERRUPTS_OTHERS", 600)), 3

Site = tuple[str, int, str]


class Interrupter:
    """Counts the points of an operation at which it can be interrupted, or interrupts it at one of them.

    A point is the start of a line, the return of a function, and the return of a call of C code, in this
    package's frames and in those of contextlib and filelock.

    Parameters
    ----------
    target : int, default=None
        Number of the point, from 0, at which KeyboardInterrupt is raised. None: none.
    """

    def __init__(self, target: int | None = None) -> None:
        self.target = target
        self.sites: list[Site] = []
        self._resumed: set[FrameType] = set()

    def run(self, act: Callable[[], Any]) -> bool:
        """Run an operation, and return whether it was interrupted."""
        # In a generator, which has exceptions of its own: one whose ``except`` clause was interrupted at its
        # end stays the exception that is handled, and would be the context of all later ones of its thread.
        return next(self._turn(act))

    def _turn(self, act: Callable[[], Any]) -> Iterator[bool]:
        try:
            sys.setprofile(self._profile)
            sys.settrace(self._trace)
            act()
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
            sys.setprofile(None)
        yield interrupted

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not _is_own(frame.f_code.co_filename):
            return None
        code, at = frame.f_code, frame.f_lasti
        if event == "call" and _yields(code, at):
            self._resumed.add(frame)
        elif event == "line" and frame in self._resumed:
            # A signal would be raised where the generator goes on: at the yield, in the `try` around it.
            self._resumed.remove(frame)
        # Nor is the end of its turn a point of its own: the next is in the frame that asked for it.
        elif (event == "line" and not _leaves_block(code, at)) or (
            event == "return" and not _yields(code, at)
        ):
            self._reach(frame, event)
        return self._trace

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        # Python 3.14 calls the start of a ``with`` block, and lets a signal come behind it. No code can close
        # that gap: an interrupt there leaves a lock of `threading` held. Before 3.14 there is none.
        starts_block = getattr(argument, "__name__", "") == "__enter__"
        if event == "c_return" and not starts_block and _is_own(frame.f_code.co_filename):
            self._reach(frame, event)

    def _reach(self, frame: FrameType, event: str) -> None:
        if self.target is None:
            self.sites.append((frame.f_code.co_filename, frame.f_lineno, event))
        elif self.target == 0:
            sys.settrace(None)
            sys.setprofile(None)
            self.target = -1
            raise KeyboardInterrupt
        else:
            self.target -= 1


@functools.cache
def _is_own(name: str) -> bool:
    return name.startswith(PACKAGE) or any(part in name for part in BETWEEN)


@functools.cache
def _yields(code: CodeType, last: int) -> bool:
    """Whether a generator stands at a yield, or goes on from one."""
    names = [dis.opname[code.co_code[at]] for at in (last, last - 2) if at >= 0]
    return names[:1] == ["YIELD_VALUE"] or names == ["RESUME", "YIELD_VALUE"]


@functools.cache
def _leaves_block(code: CodeType, at: int) -> bool:
    """Whether a frame is about to call the end of a ``with`` block, which no signal comes between.

    Nor does one at the ``try`` that begins a block, which does nothing; Python 3.14 leaves it out of that.
    """
    names = [dis.opname[name] for name in code.co_code[at : at + 10 : 2]]
    if names[0] == "NOP":
        return True
    # Before it, a value that the block returns is put aside; by two steps since Python 3.14.
    return [name for name in names if name != "SWAP"][:3] == ["LOAD_CONST"] * 3


@dataclass
class Operation:
    """What is interrupted, and what must hold afterwards.

    Attributes
    ----------
    name : str
    start : callable
        Returns the objects before the operation, in an empty folder.
    act : callable
        The operation, on these objects.
    check : callable
        Raises where the objects, or what is loaded from their files or bytes, are in a wrong state.
    retry : callable
        What a user does after an interrupt.
    end : callable
        The state after that, which must be that of an undisturbed run. None: whatever `check` allows.
    about : tuple of str
        Files that the operation is about, below the package.
    """

    name: str
    start: Callable[[Path], Any]
    act: Callable[[Any], Any]
    check: Callable[[Any], Any]
    retry: Callable[[Any], Any]
    end: Callable[[Any], Any] | None = None
    about: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A file that was moved would be left out in silence.
        assert all(os.path.exists(os.path.join(PACKAGE, file)) for file in self.about), self.about


def chosen(sites: list[Site], about: tuple[str, ...]) -> list[int]:
    """Return the numbers of the points to be tried."""
    visits = Counter(sites)
    seen: Counter[Site] = Counter()
    first, others = [], []
    for number, site in enumerate(sites):
        seen[site] += 1
        near = site[0].endswith(about)
        if EVERY_POINT:
            # A loop goes on for its first two turns and its last.
            if seen[site] in (1, 2, visits[site]):
                (first if near else others).append(number)
        elif near and seen[site] == 1 and site[2] == "line":
            first.append(number)
        else:
            others.append(number)
    step = max(1, -(-len(others) // (MOST_OTHERS if EVERY_POINT else FEW_OTHERS)))
    return sorted([*first, *others[::step]])


@dataclass
class Harness:
    """Interrupts operations in a folder."""

    folder: Path

    def __call__(self, operation: Operation) -> None:
        """Interrupt an operation at its points; AssertionError lists the wrong states."""
        with self._fresh(operation) as objects:
            operation.act(objects)  # what is imported and cached once
        with self._fresh(operation) as objects:
            counting = Interrupter()
            counting.run(lambda: operation.act(objects))
            operation.check(objects)
            expected = None if operation.end is None else operation.end(objects)
        points = chosen(counting.sites, operation.about)
        wrong = [
            f"{os.path.basename(site[0])}:{site[1]} ({site[2]}): {message}"
            for point in points
            for site in [counting.sites[point]]
            if (message := self._try(operation, point, expected))
        ]
        print(f"INTERRUPTS | {operation.name} | {len(points)} of {len(counting.sites)} | {len(wrong)} wrong")
        if EVERY_POINT:
            print(*wrong[:12], sep="\n", flush=True)
        assert not wrong, f"{operation.name}: {len(wrong)} wrong states\n" + "\n".join(wrong)

    def _try(self, operation: Operation, point: int, expected: Any) -> str:
        with self._fresh(operation) as objects:
            Interrupter(point).run(lambda: operation.act(objects))
            assert sys.exc_info()[1] is None, "an interrupt outlives its operation"
            try:
                # This thread could take it again, and others would wait for ever.
                assert not sqlite_store._NO_FORK._is_owned(), "the lock between threads is held"
                operation.check(objects)
                operation.retry(objects)
                operation.check(objects)
                if operation.end is not None:
                    assert operation.end(objects) == expected, "another end than undisturbed"
            except Exception as error:
                return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return ""

    def _fresh(self, operation: Operation) -> contextlib.nullcontext[Any]:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        # Not a generator: its end, interrupted, would stay the context of later exceptions of this process.
        return contextlib.nullcontext(operation.start(self.folder))


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """Return the function that tries an `Operation`."""
    # A lock that an interrupt left behind shows at once.
    monkeypatch.setattr(sqlite_store, "TIMEOUT", 0.05)
    with warnings.catch_warnings():
        # Files that are closed with the last reference to them, as the interrupt came before their end.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.freeze()  # so that the collection looks at what this test leaves, and at nothing else
        yield Harness(tmp_path / "folder")
        gc.collect()
        gc.unfreeze()


@pytest.fixture
def operation():
    """Return the class `Operation`."""
    return Operation
