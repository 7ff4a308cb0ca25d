# SPDX-License-Identifier: BSD-3-Clause
"""How much of the budget each round of a censored fit takes, by released values."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from .curvature import CHANGE
from .step_errors import left_by_curvatures

# Amounts are multiples of the rounds' budget over _PARTS; the grids of a fit have room for the noise of
# _LEAST of them, so that a round takes as much at least.
_PARTS = 1024
_LEAST = 16
# The first round, and of a given number of rounds the first and the last.
_FIRST = (0.25, 0.5)
# Norm of the noise on the covariance of the features at which the first round takes more. Twelve designs with
# 2 to 20 columns, three distributions: a half was best where a quarter leaves .17, a quarter where it leaves
# .04 at most.
_CLEAR = 0.08
_GIVEN = Fraction(3, 8)
# What a round may take of what is left, but for all of it, and how many rounds are thought ahead. Without the
# sixteenth, and with three eighths, errors on eight designs were a quarter larger.
_TRIED = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
_DEPTH = 3
_MOST_ROUNDS = 10
# What a step leaves at most in plans, but for errors of the curvature: it goes half of the way.
_SLOWEST = 0.5
# A curvature with a greater relative error than this does not halve the way that is left in a step, and is
# not worth the noise that it adds to its round's gradient, where the number of rounds is given.
_USABLE = 0.5


@dataclass(frozen=True)
class Ahead:
    """What the next round is expected to find, in lengths of steps, by released values.

    Attributes
    ----------
    length : float
        Of the last step.
    change : float
        By how much it changed the logarithm of the hazard of some rows.
    one_sided : bool
        As in `left_by_curvatures`.
    noise : float
        Of the step that its noise made.
    contraction : float
        Part of the step before that was left, as the last one showed.
    error : float
        Error of a step that the present curvature makes, as a part of the step.
    fresh : float
        The same of a curvature that is released with all that is left.
    noises : tuple of two floats
        Lengths of the steps that the noise of a round makes that takes all that is left, without the
        curvature and with it.
    """

    length: float
    change: float
    one_sided: bool
    noise: float
    contraction: float
    error: float
    fresh: float
    noises: tuple[float, float]

    def left_of(self, length: float, error: float) -> float:
        """Return what a step of such a length is expected to leave."""
        # What is left shrinks with the step at least as fast as it did.
        seen = self.contraction * min(1.0, length / max(self.length, 1e-300))
        known = left_by_curvatures(self.change * length / max(self.length, 1e-300), self.one_sided)
        slow = min(float(np.hypot(known, seen)), _SLOWEST)
        part = float(np.hypot(slow, error))
        return length * part / float(np.hypot(1.0, part))

    @property
    def way(self) -> float:
        """Length of the next step: what the last one left, and its noise."""
        return float(np.hypot(self.left_of(self.length, self.error), self.noise))


@dataclass(frozen=True)
class Pace:
    """Shares of the rounds' budget.

    Attributes
    ----------
    n_rounds : int or None
        None: by released values.
    mechanism : {"laplace", "gaussian"}
    """

    n_rounds: int | None
    mechanism: str

    def first(self, level: float) -> Fraction:
        """Return the share of the first round, by the norm of the noise on its covariance with all."""
        if self.n_rounds is not None:
            return _given(self.n_rounds)[0]
        wanted = (level / _CLEAR) ** (2 if self.mechanism == "gaussian" else 1)
        return Fraction(int(_PARTS * float(np.clip(wanted, *_FIRST))), _PARTS)

    def next_round(self, done: int, ahead: Ahead, left: Fraction) -> tuple[Fraction, bool]:
        """Return the share of the next round, of `left` at most, and whether it releases the curvature.

        What is tried are rounds that take some of what is left, with the curvature and without, and a last
        one that takes all: the first of those that are expected to lead nearest.
        """
        if self.n_rounds is not None:
            share = _given(self.n_rounds)[done]
            return share, share < left and ahead.fresh * float(left / share) < min(ahead.error, _USABLE)
        depth = min(_DEPTH, _MOST_ROUNDS - 1 - done) if left * _PARTS >= 2 * _LEAST else 0
        _, part, curvature = self._best(ahead, ahead.way, ahead.error, 1.0, depth)
        if part == 1.0:
            return left, False
        return Fraction(max(_LEAST, int(part * float(left) * _PARTS)), _PARTS), curvature

    def _best(
        self, ahead: Ahead, way: float, error: float, left: float, depth: int
    ) -> tuple[float, float, bool]:
        """Return the least expected error after all rounds, and how to begin."""
        last = float(np.hypot(self._grown(ahead.noises[0], left), ahead.left_of(way, error)))
        found = [(last, 1.0, False)]
        for part, curvature in product(_TRIED, (False, True)) if depth else ():
            noise = self._grown(ahead.noises[curvature], part * left)
            known = both(error, self._grown(ahead.fresh, part * left)) if curvature else error
            next_way = float(np.hypot(noise, ahead.left_of(way, known)))
            changed = float(np.hypot(known, CHANGE * way))
            best = self._best(ahead, next_way, changed, left * (1 - part), depth - 1)[0]
            found.append((best, part, curvature))
        return min(found)

    def _grown(self, error: float, part: float) -> float:
        return error / (part**0.5 if self.mechanism == "gaussian" else part)


def both(one: float, other: float) -> float:
    """Return the error of two estimates that are weighted by their variances."""
    return one * other / max(float(np.hypot(one, other)), 1e-300)


def least_share(n_rounds: int | None) -> Fraction:
    """Return the least share of a round."""
    return Fraction(_LEAST, _PARTS) if n_rounds is None else min(_given(n_rounds))


def _given(count: int) -> list[Fraction]:
    """Shares for a given number of rounds."""
    if count <= 2:
        return [Fraction(1, count)] * count
    middle = (1 - 2 * _GIVEN) / (count - 2)
    return [_GIVEN, *[middle] * (count - 2), _GIVEN]
