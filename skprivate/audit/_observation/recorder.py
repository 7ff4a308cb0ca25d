# SPDX-License-Identifier: BSD-3-Clause
"""Records the calls of mechanisms during a fit, and hands out given outputs in place of new ones."""

import contextlib
import io
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...noise import DiscreteLaplaceMechanism, check_entropy
from ...noise._mechanisms import NoisyMax, _IntegerMechanism
from ...randomizers._interface import LocalRandomizer
from ...randomizers._laplace import _NoisyVectorRandomizer
from .controlled_runs import current_run, temporary_patches


@dataclass(frozen=True, eq=False)
class Release:
    """One call of a mechanism: the exact integers that went in, and what came out.

    Attributes
    ----------
    mechanism : DiscreteLaplaceMechanism, DiscreteGaussianMechanism, NoisyMax or LocalRandomizer
        What was run.
    exact : ndarray of int64
        Integers before noise; of a local randomizer, the clients' categories; of a choice, the scores.
    output : ndarray
        What was released.
    """

    mechanism: Any
    exact: NDArray[np.int64]
    output: NDArray[Any]

    @property
    def scale(self) -> Fraction | None:
        """Scale t or sigma of the noise; None of a local randomizer."""
        if isinstance(self.mechanism, LocalRandomizer):
            return None
        has_scale = isinstance(self.mechanism, DiscreteLaplaceMechanism | NoisyMax)
        return Fraction(self.mechanism.scale if has_scale else self.mechanism.sigma)

    @property
    def is_choice(self) -> bool:
        """Whether the number of a candidate was released, and no noisy integers."""
        return isinstance(self.mechanism, NoisyMax)

    @property
    def form(self) -> tuple[object, ...]:
        """What must not depend on private rows: the mechanism, its noise, how many integers it got."""
        local = isinstance(self.mechanism, LocalRandomizer)
        noise = self.mechanism.specification if local else self.scale
        return type(self.mechanism).__name__, noise, self.exact.shape

    def loss(self, other: "Release") -> tuple[Fraction, Fraction]:
        """Return epsilon and rho of this pair, exactly; of reports, that of every client who differs."""
        if self.is_choice:
            moved = int(np.ptp(self.exact - other.exact, axis=1).sum())
            return moved / Fraction(self.mechanism.scale), Fraction(0)
        if self.scale is None:
            # A client's values may be several, one a column, and its report is one.
            clients = [exact.reshape(len(exact), -1) for exact in (self.exact, other.exact)]
            changed = np.flatnonzero((clients[0] != clients[1]).any(axis=1))
            losses = (self._loss_of_report(self.exact[p], other.exact[p]) for p in changed)
            return sum(losses, Fraction(0)), Fraction(0)
        mine, theirs = self.exact.ravel(), other.exact.ravel()
        places = np.flatnonzero(mine != theirs)
        # Most integers are the same: only the others are counted, without overflow.
        differences = [abs(int(mine[place]) - int(theirs[place])) for place in places]
        if isinstance(self.mechanism, DiscreteLaplaceMechanism):
            return sum(differences) / self.scale, Fraction(0)
        return Fraction(0), sum(d * d for d in differences) / (2 * self.scale**2)

    def _loss_of_report(self, one: Any, other: Any) -> Fraction:
        """Return the loss of one report about two categories: what the randomizer states, or less."""
        if not isinstance(self.mechanism, _NoisyVectorRandomizer):
            return Fraction(self.mechanism.epsilon)
        vectors = np.zeros((2, *self.mechanism.report_shape), dtype=np.int64)
        self.mechanism._fill(vectors, np.array([one, other], dtype=np.int64))
        moved = int(np.abs(vectors[0] - vectors[1]).sum()) << self.mechanism.exponent
        return Fraction(moved, self.mechanism.noise_scale)

    def with_noise_times(self, factor: Fraction) -> Any:
        """Return the mechanism with noise of another scale; a local one with epsilon divided by it."""
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
        Outputs that are handed out instead of new ones.
    diverged : bool
        The given outputs ran out, or do not fit.
    messages : list of str
        What the fit warned of, logged and printed.
    drawn_in_other_threads : bool
        Noise was drawn in another thread meanwhile, which is not recorded.
    seeded : bool
        Noise came from something else than the operating system.
    generator_digest : int
        Digest of where the shared generators of Python and NumPy stood at the end.
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
        """What kinds of releases the fit made."""
        return tuple(release.form for release in self.releases)

    @property
    def outputs(self) -> list[NDArray[Any]]:
        """What was released, call by call."""
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
        """Note one call and return its output."""
        integers = np.array(exact, dtype=np.int64)
        output = None
        if self.given_outputs is not None:
            position = len(self.calls)
            output = self.given_outputs[position] if position < len(self.given_outputs) else None
            shape = integers.shape[:1] if isinstance(mechanism, NoisyMax) else integers.shape
            if output is not None and not isinstance(mechanism, LocalRandomizer) and output.shape != shape:
                # A fit that releases other things: its own noise must go on, not what belongs elsewhere.
                output = None
            self.diverged |= output is None
        if output is None:
            output = draw()
        self.calls.append(Release(mechanism, integers, np.array(output)))
        return np.array(output)


@contextlib.contextmanager
def record_releases(given_outputs: Sequence[NDArray[Any]] | None = None) -> Iterator[Recording]:
    """Record every call of skprivate's mechanisms and local randomizers made by this thread.

    Inside the ``with`` block the methods that add noise are replaced by ones that note what they are given.
    Outside of it nothing of the kind exists: no normal run has a place where an exact value could leave.

    Parameters
    ----------
    given_outputs : sequence of ndarray or None, default=None
        Outputs to hand out, call by call, instead of drawing new ones.

    Yields
    ------
    recording : Recording

    Notes
    -----
    **Privacy**: a recording holds exact values. Use it on data made for the purpose.

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
    """Collect what is printed and logged, by any logger; yields a function that returns it."""
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
    """Classes and methods that add noise, those of third parties too."""
    roots = (_IntegerMechanism, NoisyMax, LocalRandomizer)
    for cls in (kind for root in roots for kind in (root, *_subclasses(root))):
        for name in ("randomize", "simulate") if issubclass(cls, LocalRandomizer) else ("randomize",):
            if name in vars(cls):
                yield cls, name


def _subclasses(cls: type) -> set[type]:
    children: set[type] = set(cls.__subclasses__())
    return children.union(*(_subclasses(child) for child in children))
