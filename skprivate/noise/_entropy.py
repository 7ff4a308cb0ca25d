# SPDX-License-Identifier: BSD-3-Clause
"""Sources of random bytes: the operating system, or a seeded generator for simulations."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

ACCEPTED = "None, a non-negative int, a numpy.random.Generator or a numpy.random.RandomState"


@dataclass(frozen=True, slots=True, eq=False)
class Entropy:
    """A source of random bytes for the exact samplers, made by `check_entropy`.

    It lives for one fit: it refuses to be pickled or copied, so that it cannot stay on a fitted object and
    neither a seed nor a position in a stream can leave with it.

    Attributes
    ----------
    source : {"os-entropy", "seeded"}
        Where the bytes come from.
    random_bytes : callable
        ``random_bytes(n)`` returns `n` fresh bytes. The caller owns the only reference and may overwrite it.
    private : bool
        True for "os-entropy". Noise from a seeded generator hides nothing from those who know the seed.
    """

    source: str
    random_bytes: Callable[[int], bytes] = field(repr=False)

    @property
    def private(self) -> bool:
        """Whether nobody can reproduce the bytes."""
        return self.source == "os-entropy"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Entropy cannot be pickled or copied: make a new one with check_entropy")


def check_entropy(random_state: Any = None) -> Entropy:
    """Turn `random_state` into a source of random bytes.

    Parameters
    ----------
    random_state : None, int, numpy Generator, numpy RandomState or Entropy, default=None
        None draws from the operating system at each request and keeps nothing, so that a forked process
        repeats nothing and ``np.random.seed`` has no effect. A non-negative int starts a new generator,
        which goes on between the calls that share the returned object. A Generator or a RandomState is used
        as it is: its state advances. An Entropy is returned unchanged.

    Returns
    -------
    entropy : Entropy
        With ``private``, ``source`` and ``random_bytes``.

    Raises
    ------
    TypeError
        If `random_state` is of another type; a bool is refused too.
    ValueError
        If an int is negative.

    Notes
    -----
    **Privacy**: anything but None makes a reproducible simulation, never a private release.

    Examples
    --------
    >>> from skprivate.noise import check_entropy
    >>> check_entropy(None).private
    True
    >>> seeded = check_entropy(0)
    >>> seeded.source, len(seeded.random_bytes(16))
    ('seeded', 16)
    """
    if isinstance(random_state, Entropy):
        return random_state
    if random_state is None:
        return Entropy("os-entropy", os.urandom)
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return Entropy("seeded", random_state.bytes)
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be {ACCEPTED}; got a negative int")
        return Entropy("seeded", np.random.default_rng(int(random_state)).bytes)
    raise TypeError(f"random_state must be {ACCEPTED}; got {type(random_state).__name__}")
