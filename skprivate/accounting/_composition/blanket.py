# SPDX-License-Identifier: BSD-3-Clause
"""Privacy blanket of a local randomizer, and the (epsilon, delta) of shuffled reports that it gives."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from ..._typing import FloatArray, IntArray
from ...utils import check_positive, check_probability
from ...utils._public_module import public_module

# Lattice steps per standard deviation of one report's part: the lattice adds at most 1/4 of its inverse
# square to the variance, so this costs a thousandth of epsilon.
_STEPS = 16
_LARGEST_LATTICE = 2**20  # points: a Fourier transform of 16 MB
# In units of 1 / theta and of standard deviations. Beyond the upper end, less than 1e-9 of the whole is added
# as a bound; what wraps around from below the lower end can only add.
_UP, _DOWN = 25.0, 6.0
_ROUNDING = 2.0**-48  # many times the relative error of the few float operations behind each number
_LARGEST_TILT = 200.0  # of theta times the largest value: its exponential is far below overflow
_TOLERANCE = 1e-4  # of epsilon
_LEAST = 1e-9  # smallest epsilon that is searched for


@public_module("skprivate.accounting")
@dataclass(frozen=True)
class Blanket:
    """A distribution that is part of every client's report, with its ratios to the reports of two values.

    The two values' reports have densities a and b, and every other client's report a density of at least q,
    whatever that client holds: the blanket. Its mass is split by the ratios (a / q, b / q), which are
    proportional to (odds, 1), (1, odds), (odds, odds) or (1, 1).

    Parameters
    ----------
    odds : Fraction
        Above 1.
    apart : Fraction
        Mass of q where the ratios are (odds, 1), and mass where they are (1, odds); above 0.
    both : Fraction, default=0
        Mass where they are (odds, odds).
    neither : Fraction, default=0
        Mass where they are (1, 1).

    Attributes
    ----------
    mass : Fraction
        Mass of q: the probability that a report says nothing about its client.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of its range, or the masses belong to no densities a, b and q.

    See Also
    --------
    shuffle_amplification : What it is for.

    Notes
    -----
    **Privacy**: the masses are those of the two values that are easiest to tell apart. Whoever states them
    for a randomizer states a theorem about it; nothing here can check that.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.accounting import Blanket
    >>> coin = Blanket(Fraction(3), apart=Fraction(1, 4))  # binary randomised response with odds 3
    >>> coin.mass
    Fraction(1, 2)
    """

    odds: Fraction
    apart: Fraction
    both: Fraction = Fraction(0)
    neither: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        resolved = {
            "odds": check_positive(self.odds, "odds"),
            "apart": check_positive(self.apart, "apart"),
            "both": check_probability(self.both, "both"),
            "neither": check_probability(self.neither, "neither"),
        }
        for name, value in resolved.items():
            object.__setattr__(self, name, value)
        if self.odds <= 1:
            raise ValueError("odds must be greater than 1.")
        if self._least > 1:
            raise ValueError(
                "the masses are too large: apart * (odds + 1) + both * odds + neither must be at most 1, or "
                "the blanket would be above the two values' own densities."
            )

    @classmethod
    def of_total_variation(cls, odds: Fraction, total_variation: Fraction | None = None) -> Self:
        """Return a blanket for any randomizer with these odds whose two values are no further apart.

        Parameters
        ----------
        odds : Fraction
            Largest ratio of the probabilities of one report under two values.
        total_variation : Fraction, default=None
            Upper bound on the total variation distance of the reports of any two values, in (0, 1). None: the
            largest that odds allow, ``(odds - 1) / (odds + 1)``.

        Returns
        -------
        blanket : Blanket

        Raises
        ------
        TypeError, ValueError
            odds is not above 1, or the total variation is out of its range.

        Notes
        -----
        Write p for the odds, t for the total variation of a and b, and take q = max(a, b) / p, which no
        report's density is below. Where a >= b, (a, b) is (a - b) / (p - 1) times (p, 1) plus the rest times
        (1, 1): that spreads (a - e^epsilon b) / q, at the same mass and mean, to the ends of an interval that
        holds it, and increases the mean of every convex function of it, so delta (see
        `shuffle_amplification`). What results has ``apart = t / (p - 1)`` and mass (1 + t) / p in all. A
        larger t does the same once more, with (1, 1) as 1 / (p + 1) times (p, 1) plus (1, p).
        """
        odds = check_positive(odds, "odds")
        if odds <= 1:
            raise ValueError("odds must be greater than 1.")
        largest = (odds - 1) / (odds + 1)
        if total_variation is not None:
            largest = min(largest, check_positive(total_variation, "total_variation"))
        apart = largest / (odds - 1)
        return cls(odds, apart, (1 + largest) / odds - 2 * apart)

    @property
    def mass(self) -> Fraction:
        """Mass of the blanket."""
        return 2 * self.apart + self.both + self.neither

    @property
    def _least(self) -> Fraction:
        """Integral of the smaller of the two ratios' multiples: 1 if the blanket is as large as it can be."""
        return self.apart * (self.odds + 1) + self.both * self.odds + self.neither

    def delta(self, epsilon: float, n: int) -> float:
        """Return an upper bound on delta at this epsilon, for the shuffled reports of n clients.

        Parameters
        ----------
        epsilon : float
            Above 0.
        n : int
            Number of clients, at least 1.

        Returns
        -------
        delta : float
            At most 1.
        """
        return min(1.0, math.exp(min(0.0, log_delta(*self._slots(epsilon), n))))

    def epsilon(self, n: int, delta: float) -> float:
        """Return an epsilon that holds with this delta, for the shuffled reports of n clients.

        Parameters
        ----------
        n : int
            Number of clients, at least 1.
        delta : float
            In (0, 1).

        Returns
        -------
        epsilon : float
            At most ``log(odds)``, rounded up, and at most 1e-4 of it above what the bound gives.
        """
        ceiling = math.log(self.odds) * (1 + _ROUNDING) + _ROUNDING
        target = math.log(delta)

        def excess(trial: float) -> float:
            return log_delta(*self._slots(trial), n) - target

        if self._without_company(ceiling, n) > target:
            return ceiling
        slots, masses = self._slots(_LEAST)
        spread = math.sqrt(float(masses @ slots**2) / n)
        return least_epsilon(excess, spread * math.sqrt(2 * max(-target, 0.1)), ceiling)

    def _without_company(self, ceiling: float, n: int) -> float:
        """Log of what delta has without another draw from the blanket, a thousandth below the ceiling."""
        values, masses = self._slots(ceiling * (1 - 1e-3))
        alone = math.log1p(-float(self.mass)) if self.mass < 1 else -math.inf
        return math.log(masses[0] * values[0]) + ((n - 1) * alone if n > 1 else 0.0)

    def _slots(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Values of (a - e^epsilon b) / q, and the masses of q that have them."""
        more, grown = float(self.odds - 1), math.expm1(epsilon)
        # Written without the differences of near equals; each then errs by a little of what it is made of.
        made = np.array(
            [
                [more, -grown],
                [-more, -grown * (1 + more)],
                [-grown * (1 + more), 0.0],
                [-grown, 0.0],
            ]
        )
        values = (made.sum(axis=1) + _ROUNDING * np.abs(made).sum(axis=1)) / float(self._least)
        masses = np.array([float(mass) for mass in (self.apart, self.apart, self.both, self.neither)])
        present = masses > 0
        return values[present], masses[present]


def log_delta(values: FloatArray, masses: FloatArray, n: int) -> float:
    """Upper bound on the log of E[max(0, Z_1 + ... + Z_n)] / n for independent Z of these values and masses.

    Each value is split between two points of a lattice so that its mean stays, which increases the mean of
    every convex function. The distribution is tilted by e^(theta z), which makes the sum's mean near 0
    whatever the size of delta, and its n-th power comes from a Fourier transform. All float errors are paid
    for by terms added: to the log of the tilt's normaliser, and to the probability of every point.
    """
    if values.max() <= 0:
        return -math.inf
    theta = _tilt(values, masses, n)
    lattice, split, step, size = _lattice(values, masses, theta, n)
    growth = np.expm1(theta * step * lattice)
    mean, gross = float(split @ growth), float(split @ np.abs(growth))
    log_normaliser = n * (math.log1p(mean) + _ROUNDING * gross / (1 + mean))
    tilted = split * (1 + growth) / (1 + mean)
    probabilities, error = _power(lattice, tilted, n, size)
    last = min(int(_UP / (theta * step)), size - 1)
    points = step * np.arange(1, last + 1)
    weights = points * np.exp(-theta * points)
    beyond = points[-1] * math.exp(-theta * points[-1])  # bounds x e^(-theta x) from there on: theta x > 1
    total = float((np.maximum(probabilities[1 : last + 1], 0.0) + error) @ weights) + beyond
    return log_normaliser + math.log(total) + _ROUNDING - math.log(n)


def least_epsilon(excess: Callable[[float], float], guess: float, ceiling: float) -> float:
    """Return an epsilon of at most `ceiling` at which the falling function `excess` is at most 0."""
    upper = lower = min(max(guess, 10 * _LEAST), ceiling)
    below = above = excess(upper) if upper < ceiling else -math.inf
    while below > 0:
        lower, above, upper = upper, below, min(1.5 * upper, ceiling)
        below = excess(upper) if upper < ceiling else -math.inf
    while above <= 0:
        upper, below, lower = lower, above, lower / 1.5
        if lower < _LEAST:
            return upper
        above = excess(lower)
    return _narrow(excess, (lower, above), (upper, below))


def _narrow(excess: Callable[[float], float], start: tuple[float, float], end: tuple[float, float]) -> float:
    """Close in on the root between two points with the values of `excess` there, from above."""
    (lower, above), (upper, below) = start, end
    side = 1.0
    while upper - lower > _TOLERANCE * upper:
        width = upper - lower
        share = above / (above - below) if math.isfinite(below) else 0.5
        # A little to either side of the estimate, in turn, so that both ends move.
        middle = lower + width * share + side * _TOLERANCE / 3 * upper
        middle = min(max(middle, lower + 0.05 * width), upper - 0.05 * width)
        value, side = excess(middle), -side
        if value <= 0:
            upper, below = middle, value
        else:
            lower, above = middle, value
    return upper


def _tilt(values: FloatArray, masses: FloatArray, n: int) -> float:
    """About the theta at which the tilted mean is 0; the bound holds for every positive one."""
    largest = float(values.max())
    spread = math.sqrt(n * float(masses @ values**2))
    lower, upper = min(0.1 / spread, _LARGEST_TILT / largest), _LARGEST_TILT / largest
    for _ in range(60):
        middle = math.sqrt(lower * upper)
        if float((masses * values) @ np.exp(middle * (values - largest))) < 0:
            lower = middle
        else:
            upper = middle
    return lower


def _lattice(
    values: FloatArray, masses: FloatArray, theta: float, n: int
) -> tuple[IntArray, FloatArray, float, int]:
    """Points as multiples of a step, their masses, the step, and the length of the transform."""
    weights = masses * np.exp(theta * (values - values.max()))
    rest = (1 - min(1.0, float(masses.sum()))) * math.exp(-theta * float(values.max()))
    spread = math.sqrt(float(weights @ values**2) / (float(weights.sum()) + rest))
    width = _UP / theta + _DOWN * spread * math.sqrt(n)
    step = max(spread / _STEPS, width / _LARGEST_LATTICE)
    size = 1 << math.ceil(math.log2(width / step + 2))
    below = np.floor(values / step)
    # Upwards: a share that is too large moves mass up.
    share = np.minimum(values / step - below + _ROUNDING * (1 + np.abs(below)), 1.0)
    lattice = np.concatenate([below, below + 1]).astype(np.int64)
    return lattice, np.concatenate([masses * (1 - share), masses * share]), step, size


def _power(lattice: IntArray, masses: FloatArray, n: int, size: int) -> tuple[FloatArray, float]:
    """Probabilities of the sum of n, wrapped around, and a bound on the error of each."""
    frequencies = np.arange(size // 2 + 1)
    # The rest is at 0; sum of m (e^(i w x) - 1). Angles are reduced as integers: large ones lose no digits.
    change = np.zeros(len(frequencies), dtype=np.complex128)
    for point, mass in zip(lattice, masses, strict=True):
        angles = (2 * np.pi / size) * ((frequencies * point) % size)
        change += mass * (np.exp(-1j * angles) - 1)
    characteristic = 1 + change
    size_of = np.abs(characteristic)
    error = 2 * float(np.mean(size_of ** (n - 1))) * (n + 64) * _ROUNDING
    return np.fft.irfft(characteristic**n, size), error
