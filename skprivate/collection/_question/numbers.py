# SPDX-License-Identifier: BSD-3-Clause
"""Numbers between public bounds as the target of a specification; a client rounds its own at random."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...tree._tree_rows import round_at_random, shares_of
from ...utils import as_column
from ...utils._json_documents import Fields
from ...utils._refused_values import is_temporal
from ...utils._replacements import numbers_of, within_bounds

# The variance of the rounding is then below 1e-6 of that of a target that varies as much as it can.
_MOST_LEVELS = 2**10


@dataclass(frozen=True)
class NumberTarget:
    """A number, as a share of the width between two bounds; a report is about the level it is rounded to.

    Attributes
    ----------
    lower, upper : float
        Numbers beyond them are clipped.
    levels : int
        Levels 0 to levels - 1 lie evenly between the bounds, which are the first and the last of them.

    Notes
    -----
    **Privacy.** A share is rounded to the level below or above it, with probabilities whose mean is the
    share. A report is drawn of the level by fresh words of entropy. Its distribution is a mixture over the
    levels of distributions that are within a factor e^epsilon of each other, and so are two such mixtures,
    however the share is rounded.
    """

    classes = None

    lower: float
    upper: float
    levels: int

    def __post_init__(self) -> None:
        half = self.upper / 2 - self.lower / 2
        # False for NaN too.
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and half > 0):
            raise ValueError("the bounds of the target must be finite, the lower one below the upper one")
        if not 2 <= self.levels <= _MOST_LEVELS:
            raise ValueError(f"the levels of the target must be from 2 to {_MOST_LEVELS}")

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore a target from its JSON; ValueError for anything else."""
        fields = Fields(state, ("lower", "upper", "levels"), what="the target")
        return cls(fields.number("lower"), fields.number("upper"), fields.integer("levels", 2, _MOST_LEVELS))

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound."""
        return self.lower, self.upper

    @property
    def n_labels(self) -> int:
        """Number of levels that a report is about."""
        return self.levels

    @property
    def document(self) -> dict[str, Any]:
        """What the JSON of a specification says of the target."""
        return {"lower": self.lower, "upper": self.upper, "levels": self.levels}

    def describe(self) -> str:
        """Return the target in a few words."""
        return f"numbers from {self.lower:g} to {self.upper:g} on {self.levels} levels"

    def read(self, value: Any, name: str) -> float:
        """Return the share of one person's number, or refuse what is none without showing it."""
        return float(self.shares(np.array([read_number(value, f"column {name!r}")]))[0])

    def read_many(self, target: Any) -> FloatArray:
        """Return the share of every number, a half of what is none; no value makes it fail."""
        values = numbers_of(as_column(target), "y")
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            raise ValueError("y must be one-dimensional.")
        return self.shares(within_bounds(values, self.lower, self.upper))

    def shares(self, values: FloatArray) -> FloatArray:
        """Return finite numbers, clipped to the bounds, as shares of the width between these."""
        bounds: NDArray[Any] = np.array([self.lower, self.upper])
        # Clipped first: a number far beyond the bounds, divided by their width, would overflow.
        return shares_of(np.clip(values, *bounds), bounds)

    def draw(self, shares: FloatArray, random_bytes: Callable[[int], bytes]) -> IntArray:
        """Return what the reports are about: the shares, rounded at random."""
        return round_at_random(shares, self.levels, random_bytes)


def read_number(value: Any, name: str) -> float:
    """Return a finite number, or refuse what is none without showing it."""
    if isinstance(value, Real | np.bool_) and not is_temporal(value):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"{name} must hold a finite number.")
