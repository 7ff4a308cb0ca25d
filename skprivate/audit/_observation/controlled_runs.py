# SPDX-License-Identifier: BSD-3-Clause
"""Runs under control: replaced functions that are put back, frozen randomness, and a limit on the time.

One thread at a time replaces anything: what it finds is then the original, and what it puts back is, too. A
run that was given up may replace nothing any more.
"""

import contextlib
import contextvars
import ctypes
import functools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import sklearn
from numpy.random import bit_generator

# Replacements of functions in modules and classes during an audit, which are undone in any case.


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
    stack, lock = contextlib.ExitStack(), _lock
    # The next thread is let in when all else has been put back.
    lock.acquire()
    stack.callback(_release, lock)
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


def _release(lock: Any) -> None:
    global _lock
    try:
        lock.release()
    except RuntimeError:  # held by a thread that was given up: the others take another lock
        if lock is _lock:
            _lock = threading.RLock()


# Runs a check in a thread for a limited time, so that a fit that never ends fails this check alone.

# For the thread to unwind; one that is stuck in compiled code, or takes no interrupt, is left behind.
_GRACE, _AGAIN = 2.0, 0.1


def run_within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return what a call returns, or raise what it raises, if it ends in time.

    Parameters
    ----------
    seconds : float
    call : callable
        It runs in a thread of its own, with the configurations of scikit-learn and of this package that hold
        here.

    Raises
    ------
    TimeoutError
        It did not end. What it had replaced in modules, to record noise or to repeat it, has been put back,
        and it can replace nothing any more. (Compiled code that never lets other threads run cannot be
        stopped.)
    RuntimeError
        It tried to end the program.
    """
    outcome: dict[str, Any] = {}
    run, context, config = CheckRun(), contextvars.copy_context(), sklearn.get_config()
    context.run(current_run.set, run)

    def work() -> None:
        sklearn.set_config(**config)
        try:
            outcome["value"] = context.run(call)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    finally:
        # Too late, or interrupted in the thread that waits.
        if thread.is_alive():
            run.give_up()
            ends = time.perf_counter() + _GRACE
            while thread.is_alive() and time.perf_counter() < ends:
                number = ctypes.c_ulong(thread.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(CheckInterrupted))
                thread.join(_AGAIN)
    error = outcome.get("error")
    if isinstance(error, CheckInterrupted) or not outcome:
        raise TimeoutError(f"it has not ended within {seconds:g} seconds: a fit hangs, or is too slow")
    if error is not None and not isinstance(error, Exception):
        raise RuntimeError(f"a fit ends with {type(error).__name__}, which stops whole programs") from error
    if error is not None:
        raise error
    return outcome["value"]


# Seeds every source of randomness of the process for a fit, and makes its draws extreme.

# Words of the Mersenne Twister's state, and how many of them are made extreme; as many bytes of the system.
_STATE_WORDS = 624
_EXTREME_WORDS = 32
# The word of the state from which the Mersenne Twister makes 32 ones.
_WORD_OF_ONES = 0x12DD9BB3
# Seeds among which those are chosen whose early draws are extreme: 6e-5 from either end of [0, 1].
_SEEDS = 2**14
_EARLY_DRAWS = 4

#: Ways in which `frozen_randomness` makes draws extreme: all of them, or one of a new NumPy generator.
EXTREME_DRAWS: tuple[str, ...] = tuple(
    f"{end} {which}" for which in range(_EARLY_DRAWS) for end in ("lowest", "highest")
)


@contextlib.contextmanager
def frozen_randomness(seed: int = 0, extreme: str | None = None) -> Iterator[None]:
    """Make the process's sources of randomness start alike: the system's bytes, Python's and NumPy's.

    What is random in a fit then repeats itself, so that two fits differ for no other reason than their rows.
    A generator that was made before goes on where it stands. The sources are put back at the end. The bytes
    of the system that other threads read meanwhile are not touched: a service may fit in one of them.

    Parameters
    ----------
    seed : int, default=0
    extreme : str, default=None
        One of `EXTREME_DRAWS`: the first draws are the lowest or the highest possible ones, of a new NumPy
        generator the first, second, third or fourth. So what happens with a small probability happens.

    Examples
    --------
    >>> import os, random
    >>> from skprivate.audit._observation.controlled_runs import frozen_randomness
    >>> with frozen_randomness(1):
    ...     one = os.urandom(4), random.random()
    >>> with frozen_randomness(1):
    ...     one == (os.urandom(4), random.random())
    True
    >>> with frozen_randomness(extreme="lowest 0"):
    ...     random.random()
    0.0
    """
    read = _system_bytes(seed, extreme)
    state = _twister_state(seed, extreme)
    with temporary_patches() as undo:
        undo.callback(random.setstate, random.getstate())
        undo.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        random.setstate((3, (*state, 0), None))
        np.random.set_state(("MT19937", np.array(state, dtype=np.uint32), 0, 0, 0.0))  # noqa: NPY002
        _replace(undo, os, "urandom", read)
        _replace(undo, random, "_urandom", read)
        _replace(undo, bit_generator, "randbits", _seeds_of_generators(seed, extreme))
        yield


def state_of_generators() -> int:
    """Return a digest of where the shared generators of Python and NumPy stand."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    return hash((random.getstate(), state["state"]["key"].tobytes(), state["state"]["pos"]))


def _replace(undo: contextlib.ExitStack, module: Any, name: str, value: Callable[[int], Any]) -> None:
    """Replace a source for this thread alone: noise that others draw meanwhile must stay unpredictable."""
    original, own = getattr(module, name, None), threading.local()
    if original is None:
        return
    # Numbers of threads are used again, this mark is not.
    own.audits = True

    def read(size: int) -> Any:
        return (value if getattr(own, "audits", False) else original)(size)

    undo.callback(setattr, module, name, original)
    setattr(module, name, read)


def _system_bytes(seed: int, extreme: str | None) -> Callable[[int], bytes]:
    source, left = random.Random(seed), [4 * _EXTREME_WORDS if extreme else 0]
    fill = b"\x00" if extreme and extreme.startswith("lowest") else b"\xff"

    def read(size: int) -> bytes:
        forced = min(int(size), left[0])
        left[0] -= forced
        return fill * forced + source.randbytes(int(size) - forced)

    return read


@functools.lru_cache(maxsize=64)
def _twister_state(seed: int, extreme: str | None) -> tuple[int, ...]:
    source = random.Random(seed)
    words = [source.getrandbits(32) for _ in range(_STATE_WORDS)]
    if extreme:
        word = 0 if extreme.startswith("lowest") else _WORD_OF_ONES
        words[:_EXTREME_WORDS] = [word] * _EXTREME_WORDS
    return tuple(words)


def _seeds_of_generators(seed: int, extreme: str | None) -> Callable[[int], int]:
    source = random.Random(seed)
    first = [_extreme_seeds()[extreme]] if extreme else []

    def bits(count: int) -> int:
        return first.pop() if first else source.getrandbits(count)

    return bits


@functools.cache
def _extreme_seeds() -> dict[str, int]:
    """Return seeds of NumPy's generator, the first, second, ... draw of which is the lowest, or highest."""
    draws = np.array([np.random.default_rng(seed).random(_EARLY_DRAWS) for seed in range(_SEEDS)])
    lowest, highest = draws.argmin(axis=0), draws.argmax(axis=0)
    return {
        f"{end} {which}": int(found[which])
        for end, found in (("lowest", lowest), ("highest", highest))
        for which in range(_EARLY_DRAWS)
    }


# Deadlines of a search, in processor time and on the clock.

# On a busy machine a second of the processor takes longer; a fit that sleeps takes none.
_CLOCK_PER_PROCESSOR = 6.0


class Deadline:
    """A number of seconds of the processor for this thread; of the clock, six times as many.

    Parameters
    ----------
    seconds : float

    Examples
    --------
    >>> from skprivate.audit._observation.controlled_runs import Deadline
    >>> Deadline(60).has_passed, Deadline(-1).has_passed
    (False, True)
    """

    def __init__(self, seconds: float) -> None:
        self._ends = time.thread_time() + seconds, time.perf_counter() + _CLOCK_PER_PROCESSOR * seconds

    @property
    def has_passed(self) -> bool:
        """Whether the time is over."""
        return time.thread_time() > self._ends[0] or time.perf_counter() > self._ends[1]
