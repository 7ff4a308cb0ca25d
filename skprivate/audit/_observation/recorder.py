# SPDX-License-Identifier: BSD-3-Clause
"""Controlled runs: patches that are undone, frozen randomness, limits of time, recorded mechanisms.

Only one thread at a time replaces functions. So it always finds the originals, and restores them. A run that
was given up may replace nothing any more.
"""

import contextlib
import contextvars
import ctypes
import functools
import io
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import sklearn
from numpy.random import bit_generator
from numpy.typing import NDArray

from ...noise import DiscreteLaplaceMechanism, check_entropy
from ...noise._mechanisms import NoisyMax, _IntegerMechanism
from ...randomizers._interface import LocalRandomizer
from ...randomizers._laplace import _NoisyVectorRandomizer

# Replacements of functions in modules and classes during an audit, which are always undone.


class CheckInterrupted(BaseException):
    """Ends the run of a check that was given up; ``except Exception`` does not catch it."""


class CheckRun:
    """The run of one check, with its replacements."""

    def __init__(self) -> None:
        self.given_up = False
        self.open: list[contextlib.ExitStack] = []

    def give_up(self) -> None:
        """Undo the replacements of the run, the last first, and allow no further ones."""
        self.given_up = True
        while self.open:
            self.open.pop().close()


current_run: ContextVar[CheckRun | None] = ContextVar("skprivate_audit_run", default=None)
_lock = threading.RLock()


@contextlib.contextmanager
def temporary_patches() -> Iterator[contextlib.ExitStack]:
    """Yield a stack of callbacks that undo replacements: at the end, or when the run is given up."""
    run = current_run.get() or CheckRun()
    stack, lock = contextlib.ExitStack(), _lock
    # The next thread can enter after all replacements are undone.
    lock.acquire()
    stack.callback(_release, lock)
    if run.given_up:
        stack.close()
        raise CheckInterrupted
    run.open.append(stack)
    try:
        yield stack
    finally:
        # If the run was given up, everything is already undone.
        if stack in run.open:
            run.open.remove(stack)
            stack.close()


def _release(lock: Any) -> None:
    global _lock
    try:
        lock.release()
    except RuntimeError:  # held by a thread that was given up: other threads use a new lock
        if lock is _lock:
            _lock = threading.RLock()


# Runs of checks in a thread with a time limit, so that a fit that never ends fails only its own check.

# Seconds for the thread to end, and between interrupts; set by hand. A thread that does not end is abandoned.
_GRACE, _AGAIN = 2.0, 0.1


def run_within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return the result of a call, or raise its error, if it ends in time.

    Parameters
    ----------
    seconds : float
        The time limit.
    call : callable
        It runs in its own thread, with the caller's configurations of scikit-learn and of this package.

    Raises
    ------
    TimeoutError
        The call did not end. Its replacements in modules, to record or repeat noise, are undone, and it can
        replace nothing any more. Compiled code that never lets other threads run cannot be stopped.
    RuntimeError
        The call tried to end the program.
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
        # The time is over, or the waiting thread was interrupted.
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


# Seeds for every source of randomness of the process during a fit, and extreme draws.

# Words of the Mersenne Twister's state, and the number of extreme words among them, also in the system's
# bytes; the latter is set by hand.
_STATE_WORDS = 624
_EXTREME_WORDS = 32
# The word of the state from which the Mersenne Twister makes 32 ones.
_WORD_OF_ONES = 0x12DD9BB3
# Number of seeds to choose from, and of early draws that may be extreme: the best seed is about 6e-5 from
# either end of [0, 1]. Both are set by hand.
_SEEDS = 2**14
_EARLY_DRAWS = 4

#: Kinds of extreme draws of `frozen_randomness`: an end, and the number of a draw of a new NumPy generator.
EXTREME_DRAWS: tuple[str, ...] = tuple(
    f"{end} {which}" for which in range(_EARLY_DRAWS) for end in ("lowest", "highest")
)


@contextlib.contextmanager
def frozen_randomness(seed: int = 0, extreme: str | None = None) -> Iterator[None]:
    """Give all sources of randomness the same start: the system's bytes, Python's and NumPy's generators.

    The random values of a fit then repeat, so that two fits differ only because of their rows. An existing
    generator continues from its present state. The sources are restored at the end. Bytes of the system for
    other threads are unchanged, because a service may fit in one of them.

    Parameters
    ----------
    seed : int, default=0
        Seed of the sources.
    extreme : str, default=None
        One of `EXTREME_DRAWS`. The first draws are the lowest or the highest possible ones. For a new NumPy
        generator, it is the first, second, third or fourth draw. So rare events happen.

    Examples
    --------
    >>> import os, random
    >>> from skprivate.audit._observation.recorder import frozen_randomness
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
    """Return a digest of the states of the shared generators of Python and NumPy."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    return hash((random.getstate(), state["state"]["key"].tobytes(), state["state"]["pos"]))


def _replace(undo: contextlib.ExitStack, module: Any, name: str, value: Callable[[int], Any]) -> None:
    """Replace a source for this thread alone: the noise of other threads must stay unpredictable."""
    original, own = getattr(module, name, None), threading.local()
    if original is None:
        return
    # Thread numbers are used again; this mark is not.
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
    """Return seeds of NumPy's generator whose first, second, ... draw is the lowest or highest."""
    draws = np.array([np.random.default_rng(seed).random(_EARLY_DRAWS) for seed in range(_SEEDS)])
    lowest, highest = draws.argmin(axis=0), draws.argmax(axis=0)
    return {
        f"{end} {which}": int(found[which])
        for end, found in (("lowest", lowest), ("highest", highest))
        for which in range(_EARLY_DRAWS)
    }


# Deadlines of a search, in processor time and on the clock.

# Clock seconds per processor second, set by hand: on a busy machine a processor second takes longer, and a
# sleeping fit uses none.
_CLOCK_PER_PROCESSOR = 6.0


class Deadline:
    """A time limit in processor seconds of this thread, and six times as many seconds of the clock.

    Parameters
    ----------
    seconds : float
        Processor seconds.

    Examples
    --------
    >>> from skprivate.audit._observation.recorder import Deadline
    >>> Deadline(60).has_passed, Deadline(-1).has_passed
    (False, True)
    """

    def __init__(self, seconds: float) -> None:
        self._ends = time.thread_time() + seconds, time.perf_counter() + _CLOCK_PER_PROCESSOR * seconds

    @property
    def has_passed(self) -> bool:
        """Whether the time is over."""
        return time.thread_time() > self._ends[0] or time.perf_counter() > self._ends[1]


@dataclass(frozen=True, eq=False)
class Release:
    """One call of a mechanism: its exact integers and its output.

    Attributes
    ----------
    mechanism : DiscreteLaplaceMechanism, DiscreteGaussianMechanism, NoisyMax or LocalRandomizer
        The mechanism.
    exact : ndarray of int64
        Integers before noise; for a local randomizer, the clients' categories; for a choice, the scores.
    output : ndarray
        The released values.
    """

    mechanism: Any
    exact: NDArray[np.int64]
    output: NDArray[Any]

    @property
    def scale(self) -> Fraction | None:
        """Scale t or sigma of the noise; None for a local randomizer."""
        if isinstance(self.mechanism, LocalRandomizer):
            return None
        has_scale = isinstance(self.mechanism, DiscreteLaplaceMechanism | NoisyMax)
        return Fraction(self.mechanism.scale if has_scale else self.mechanism.sigma)

    @property
    def is_choice(self) -> bool:
        """Whether the release is the number of a candidate and not noisy integers."""
        return isinstance(self.mechanism, NoisyMax)

    @property
    def form(self) -> tuple[object, ...]:
        """Properties that must not depend on private rows: mechanism, noise, shape of the integers."""
        local = isinstance(self.mechanism, LocalRandomizer)
        noise = self.mechanism.specification if local else self.scale
        return type(self.mechanism).__name__, noise, self.exact.shape

    def loss(self, other: "Release") -> tuple[Fraction, Fraction]:
        """Return epsilon and rho of this pair, exactly; for reports, the sum over clients that differ."""
        if self.is_choice:
            moved = int(np.ptp(self.exact - other.exact, axis=1).sum())
            return moved / Fraction(self.mechanism.scale), Fraction(0)
        if self.scale is None:
            # A client may have several values, one per column, but only one report.
            clients = [exact.reshape(len(exact), -1) for exact in (self.exact, other.exact)]
            changed = np.flatnonzero((clients[0] != clients[1]).any(axis=1))
            losses = (self._loss_of_report(self.exact[p], other.exact[p]) for p in changed)
            return sum(losses, Fraction(0)), Fraction(0)
        mine, theirs = self.exact.ravel(), other.exact.ravel()
        places = np.flatnonzero(mine != theirs)
        # Most integers are equal: only the others are added up, without overflow.
        differences = [abs(int(mine[place]) - int(theirs[place])) for place in places]
        if isinstance(self.mechanism, DiscreteLaplaceMechanism):
            return sum(differences) / self.scale, Fraction(0)
        return Fraction(0), sum(d * d for d in differences) / (2 * self.scale**2)

    def _loss_of_report(self, one: Any, other: Any) -> Fraction:
        """Return the loss of one report about two categories: the randomizer's epsilon, or less."""
        if not isinstance(self.mechanism, _NoisyVectorRandomizer):
            return Fraction(self.mechanism.epsilon)
        vectors = np.zeros((2, *self.mechanism.report_shape), dtype=np.int64)
        self.mechanism._fill(vectors, np.array([one, other], dtype=np.int64))
        moved = int(np.abs(vectors[0] - vectors[1]).sum()) << self.mechanism.exponent
        return Fraction(moved, self.mechanism.noise_scale)

    def with_noise_times(self, factor: Fraction) -> Any:
        """Return the mechanism with its scale multiplied by a factor; a local one with epsilon divided."""
        if self.scale is None:
            content = {key: value for key, value in self.mechanism.to_dict().items() if key != "mechanism"}
            content["epsilon"] = Fraction(content["epsilon"]) / factor
            return type(self.mechanism)(**content)
        kind = type(self.mechanism)
        make = kind.from_scale if isinstance(self.mechanism, DiscreteLaplaceMechanism) else kind.from_sigma
        return make(self.scale * factor)


@dataclass(eq=False)
class Recording:
    """The releases of one fit, in order.

    Attributes
    ----------
    calls : list of Release
    given_outputs : sequence of ndarray or None
        Outputs that replace new ones.
    diverged : bool
        Whether the given outputs ran out, or do not fit.
    messages : list of str
        Warnings, logs and printed texts of the fit.
    drawn_in_other_threads : bool
        Whether noise was drawn in another thread, where it is not recorded.
    seeded : bool
        Whether noise came from a source other than the operating system.
    generator_digest : int
        Digest of the final states of the shared generators of Python and NumPy.
    """

    calls: list[Release] = field(default_factory=list)
    given_outputs: Sequence[NDArray[Any]] | None = None
    diverged: bool = False
    messages: list[str] = field(default_factory=list)
    drawn_in_other_threads: bool = False
    seeded: bool = False
    generator_digest: int = 0

    @property
    def releases(self) -> list[Release]:
        """The releases of noisy integers and of reports: all calls but choices."""
        return [call for call in self.calls if not call.is_choice]

    @property
    def forms(self) -> tuple[Any, ...]:
        """The forms of the fit's releases."""
        return tuple(release.form for release in self.releases)

    @property
    def outputs(self) -> list[NDArray[Any]]:
        """The outputs, call by call."""
        return [call.output for call in self.calls]

    def loss(self, other: "Recording") -> tuple[Fraction, Fraction]:
        """Return epsilon and rho of a pair of fits with the same outputs.

        Raises
        ------
        ValueError
            The fits released different things.
        """
        if [call.form for call in self.calls] != [call.form for call in other.calls]:
            raise ValueError("the fits of two neighbours released different things")
        losses = [a.loss(b) for a, b in zip(self.calls, other.calls, strict=True)]
        return sum((e for e, _ in losses), Fraction(0)), sum((r for _, r in losses), Fraction(0))

    def record_call(self, mechanism: Any, exact: Any, draw: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Record one call and return its output."""
        integers = np.array(exact, dtype=np.int64)
        output = None
        if self.given_outputs is not None:
            position = len(self.calls)
            output = self.given_outputs[position] if position < len(self.given_outputs) else None
            shape = integers.shape[:1] if isinstance(mechanism, NoisyMax) else integers.shape
            if output is not None and not isinstance(mechanism, LocalRandomizer) and output.shape != shape:
                # The fit releases other things, so it gets its own noise and not outputs for other calls.
                output = None
            self.diverged |= output is None
        if output is None:
            output = draw()
        self.calls.append(Release(mechanism, integers, np.array(output)))
        return np.array(output)


@contextlib.contextmanager
def record_releases(given_outputs: Sequence[NDArray[Any]] | None = None) -> Iterator[Recording]:
    """Record every call of skprivate's mechanisms and local randomizers made by this thread.

    Inside the ``with`` block, the methods that add noise are replaced by methods that also record their
    inputs. Outside the block they do not exist: a normal run has no place where an exact value could leave.

    Parameters
    ----------
    given_outputs : sequence of ndarray or None, default=None
        Outputs to return, call by call, in place of new draws.

    Yields
    ------
    recording : Recording

    Notes
    -----
    **Privacy**: a recording holds exact values. Use it only on data made for this purpose.

    Examples
    --------
    >>> from skprivate.audit import record_releases
    >>> from skprivate.noise import DiscreteLaplaceMechanism
    >>> with record_releases() as recording:
    ...     _ = DiscreteLaplaceMechanism(1.0, sensitivity=4).randomize([10, 20])
    >>> recording.releases[0].exact, recording.releases[0].scale
    (array([10, 20]), Fraction(4, 1))
    """
    recording = Recording(given_outputs=given_outputs)
    owner, run = threading.get_ident(), current_run.get()
    inside = [False]

    def wrap(method: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: Any, values: Any, random_state: Any = None) -> Any:
            if threading.get_ident() != owner:
                # A thread of another check is not one that this fit has started.
                recording.drawn_in_other_threads |= current_run.get() in (None, run)
            # A local randomizer may add its noise with a mechanism: that is one call.
            if threading.get_ident() != owner or inside[0]:
                return method(self, values, random_state)
            inside[0] = True
            recording.seeded |= not check_entropy(random_state).private
            try:
                return recording.record_call(self, values, lambda: method(self, values, random_state))
            finally:
                inside[0] = False

        return recorded

    with temporary_patches() as undo:
        for cls, name in _methods_that_add_noise():
            method = vars(cls)[name]
            undo.callback(setattr, cls, name, method)
            setattr(cls, name, wrap(method))
        yield recording


@contextlib.contextmanager
def captured_output() -> Iterator[Callable[[], str]]:
    """Collect printed and logged texts of all loggers; yields a function that returns them."""
    out = io.StringIO()
    root, handle = logging.getLogger(), logging.Logger.handle

    def overheard(self: logging.Logger, record: logging.LogRecord) -> None:
        out.write(f"{record.name}: {record.getMessage()}\n")
        handle(self, record)

    with temporary_patches() as undo:
        undo.callback(root.setLevel, root.level)
        root.setLevel(logging.DEBUG)
        undo.callback(setattr, logging.Logger, "handle", handle)
        logging.Logger.handle = overheard  # type: ignore[method-assign]
        undo.enter_context(contextlib.redirect_stdout(out))
        undo.enter_context(contextlib.redirect_stderr(out))
        yield out.getvalue


def _methods_that_add_noise() -> Iterator[tuple[type, str]]:
    """Yield classes and methods that add noise, including those of third parties."""
    roots = (_IntegerMechanism, NoisyMax, LocalRandomizer)
    for cls in (kind for root in roots for kind in (root, *_subclasses(root))):
        for name in ("randomize", "simulate") if issubclass(cls, LocalRandomizer) else ("randomize",):
            if name in vars(cls):
                yield cls, name


def _subclasses(cls: type) -> set[type]:
    children: set[type] = set(cls.__subclasses__())
    return children.union(*(_subclasses(child) for child in children))
