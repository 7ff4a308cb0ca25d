# SPDX-License-Identifier: BSD-3-Clause
"""Privacy amplification by shuffling, by the privacy blanket of a local randomizer."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, runtime_checkable

import numpy as np

from ..._typing import FloatArray, IntArray
from ...noise._mechanisms import warn_of_large_delta
from ...utils import check_epsilon, check_int, check_positive, check_probability
from ...utils._public_module import public_module
from .._privacy_amounts import show
from .._statements.fields import FrozenMapping

# The numbers that follow are set by hand: they cost tightness or time, never the bound.
# Lattice steps per standard deviation of one report's part. The lattice adds at most 1/4 of its inverse
# square to the variance: about a thousandth of epsilon.
_STEPS = 16
_LARGEST_LATTICE = 2**20  # points: a Fourier transform of 16 MB
# In units of 1 / theta and of standard deviations. Less than 1e-9 of the whole is beyond the upper end; a
# bound on it is added. Mass that wraps around from below the lower end can only increase the result.
_UP, _DOWN = 25.0, 6.0
_ROUNDING = 2.0**-48  # many times the relative error of the few float operations behind each number
_LARGEST_TILT = 200.0  # of theta times the largest value: its exponential is far below overflow
_TOLERANCE = 1e-4  # of epsilon
_LEAST = 1e-9  # smallest epsilon of the search


@public_module("skprivate.accounting")
@dataclass(frozen=True)
class Blanket:
    """A distribution that is part of every client's report, with its ratios to the reports of two values.

    The reports of the two values have densities a and b. The blanket q is a lower bound on the density of any
    client's report, whatever its data. Its mass is split by the ratios (a / q, b / q). These are proportional
    to (odds, 1), (1, odds), (odds, odds) or (1, 1).

    Parameters
    ----------
    odds : Fraction
        Above 1.
    apart : Fraction
        Mass of q where the ratios are (odds, 1), and as much where they are (1, odds); above 0.
    both : Fraction, default=0
        Mass where they are (odds, odds).
    neither : Fraction, default=0
        Mass where they are (1, 1).

    Attributes
    ----------
    mass : Fraction
        Mass of q: the probability that a report does not depend on its client's data.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of its range, or no densities a, b and q have these masses.

    See Also
    --------
    shuffle_amplification : Uses it.

    Notes
    -----
    **Privacy**: the masses must be those of the two values that are easiest to distinguish. They state a
    theorem about a randomizer. Nothing here can check that.

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
        vars(self).update(
            odds=check_positive(self.odds, "odds"),
            apart=check_positive(self.apart, "apart"),
            both=check_probability(self.both, "both"),
            neither=check_probability(self.neither, "neither"),
        )
        if self.odds <= 1:
            raise ValueError("odds must be greater than 1.")
        if self._least > 1:
            raise ValueError(
                "the masses are too large: apart * (odds + 1) + both * odds + neither must be at most 1. "
                "Otherwise the blanket is above the two values' own densities."
            )

    @classmethod
    def of_total_variation(cls, odds: Fraction, total_variation: Fraction | None = None) -> Self:
        """Return a blanket for any randomizer with at most these odds and this total variation.

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
        Let p be the odds, t the total variation of a and b, and q = max(a, b) / p. The density of every
        report is at least q. If a >= b, then (a, b) is (a - b) / (p - 1) times (p, 1) plus the rest times
        (1, 1). This moves (a - e^epsilon b) / q to the ends of an interval that holds it, at the same mass
        and mean. It increases the mean of every convex function, and therefore delta (see
        `shuffle_amplification`). The result has ``apart = t / (p - 1)`` and a total mass of (1 + t) / p. A
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
        """Integral of q times one value's multiples, odds or 1; it is 1 if the blanket is largest."""
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
            At most ``log(odds)``, rounded up, and above the solution of the bound by at most 1e-4 of it.
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
        """Log of the part of delta without another draw from the blanket, a thousandth below the ceiling."""
        values, masses = self._slots(ceiling * (1 - 1e-3))
        alone = math.log1p(-float(self.mass)) if self.mass < 1 else -math.inf
        return math.log(masses[0] * values[0]) + ((n - 1) * alone if n > 1 else 0.0)

    def _slots(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Values of (a - e^epsilon b) / q, and the masses of q that have them."""
        more, grown = float(self.odds - 1), math.expm1(epsilon)
        # Written without differences of nearly equal numbers: the error is small relative to the terms.
        made = np.array(
            [[more, -grown], [-more, -grown * (1 + more)], [-grown * (1 + more), 0.0], [-grown, 0.0]]
        )
        values = (made.sum(axis=1) + _ROUNDING * np.abs(made).sum(axis=1)) / float(self._least)
        masses = np.array([float(mass) for mass in (self.apart, self.apart, self.both, self.neither)])
        present = masses > 0
        return values[present], masses[present]


def log_delta(values: FloatArray, masses: FloatArray, n: int) -> float:
    """Return an upper bound on the log of E[max(0, Z_1 + ... + Z_n)] / n for independent Z of these masses.

    Each value is split between two points of a lattice with the same mean. This increases the mean of every
    convex function. The distribution is tilted by e^(theta z), so that the sum's mean is near 0 for any
    delta. A Fourier transform computes its n-th power. Two added terms cover all float errors: one in the log
    of the tilt's normaliser, one in the probability of every point.
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
    """Approach the root between two points from above, given the values of `excess` there."""
    (lower, above), (upper, below) = start, end
    side = 1.0
    while upper - lower > _TOLERANCE * upper:
        width = upper - lower
        share = above / (above - below) if math.isfinite(below) else 0.5
        # A little above and below the estimate in turn, so that both ends move.
        middle = lower + width * share + side * _TOLERANCE / 3 * upper
        middle = min(max(middle, lower + 0.05 * width), upper - 0.05 * width)
        value, side = excess(middle), -side
        if value <= 0:
            upper, below = middle, value
        else:
            lower, above = middle, value
    return upper


def _tilt(values: FloatArray, masses: FloatArray, n: int) -> float:
    """Return about the theta at which the tilted mean is 0. The bound holds for every positive theta."""
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
    """Return points as multiples of a step, their masses, the step, and the length of the transform."""
    weights = masses * np.exp(theta * (values - values.max()))
    rest = (1 - min(1.0, float(masses.sum()))) * math.exp(-theta * float(values.max()))
    spread = math.sqrt(float(weights @ values**2) / (float(weights.sum()) + rest))
    width = _UP / theta + _DOWN * spread * math.sqrt(n)
    step = max(spread / _STEPS, width / _LARGEST_LATTICE)
    size = 1 << math.ceil(math.log2(width / step + 2))
    below = np.floor(values / step)
    # Rounded up: a share that is too large moves mass up.
    share = np.minimum(values / step - below + _ROUNDING * (1 + np.abs(below)), 1.0)
    lattice = np.concatenate([below, below + 1]).astype(np.int64)
    return lattice, np.concatenate([masses * (1 - share), masses * share]), step, size


def _power(lattice: IntArray, masses: FloatArray, n: int, size: int) -> tuple[FloatArray, float]:
    """Return the probabilities of the sum of n, wrapped around, and a bound on the error of each."""
    frequencies = np.arange(size // 2 + 1)
    # The remaining mass is at 0, so this is the sum of m (e^(i w x) - 1). Angles are reduced as integers, so
    # that large ones lose no digits.
    change = np.zeros(len(frequencies), dtype=np.complex128)
    for point, mass in zip(lattice, masses, strict=True):
        angles = (2 * np.pi / size) * ((frequencies * point) % size)
        change += mass * (np.exp(-1j * angles) - 1)
    characteristic = 1 + change
    size_of = np.abs(characteristic)
    error = 2 * float(np.mean(size_of ** (n - 1))) * (n + 64) * _ROUNDING
    return np.fft.irfft(characteristic**n, size), error


# The (epsilon, delta) of shuffled local reports, by their blanket.

CONDITION = "if shuffled by a party that does not collude"

# More reports only help. Beyond this number the arithmetic gains nothing more. Set by hand.
_LARGEST_N = 10**9
# No number of reports up to _LARGEST_N amplifies a larger epsilon.
_LARGEST_EPSILON = 60
_EXPONENTIAL_ERROR = Fraction(1, 2**40)  # many times the relative error of an exponential in floats
_UNSHUFFLED = "none: the report's own epsilon"


@runtime_checkable
class ShuffledMechanism(Protocol):
    """Members of a local randomizer that `shuffle_amplification` uses."""

    epsilon: Fraction
    relation: str

    def blanket(self) -> Blanket | None:
        """Return the common part of all clients' reports, or None if it is not known."""


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class ShuffledPrivacy:
    """The claim of shuffled reports and its condition.

    Attributes
    ----------
    epsilon : float
        Epsilon of the set of all reports, at most that of one report.
    delta : Fraction
        As requested.
    epsilon0 : Fraction
        Epsilon of one report by itself; it holds whoever shuffles.
    n : int
        Number of reports.
    method : str
        Name of the bound with the least epsilon.
    condition : str
        'if shuffled by a party that does not collude'.
    bounds : mapping of str to float
        Every bound that was tried; infinite if its theorem does not apply.

    See Also
    --------
    shuffle_amplification : Returns it.

    Notes
    -----
    **Privacy**: a function of public numbers. It cannot know whether reports were shuffled.

    Examples
    --------
    >>> from skprivate.accounting import shuffle_amplification
    >>> print(shuffle_amplification(2.0, 10**4, 1e-6))
    Shuffled reports: epsilon = 0.115, delta = 1e-06, if shuffled by a party that does not collude
      one report by itself: epsilon = 2, whoever shuffles
      reports: 10000, one of each client, of which no other is known to the adversary
      method: blanket of any randomizer
    """

    epsilon: float
    delta: Fraction
    epsilon0: Fraction
    n: int
    method: str
    condition: str
    bounds: Mapping[str, float]

    def __str__(self) -> str:
        digits = 2 - math.floor(math.log10(self.epsilon))
        rounded = math.ceil(self.epsilon * 10**digits - 1e-9) / 10**digits
        epsilon = f"{rounded:.{max(digits, 0)}f}"  # three digits, rounded up
        lines = [
            f"Shuffled reports: epsilon = {epsilon}, delta = {show(self.delta)}, {self.condition}",
            f"one report by itself: epsilon = {show(self.epsilon0)}, whoever shuffles",
            f"reports: {self.n}, one of each client, of which no other is known to the adversary",
            f"method: {self.method}",
        ]
        return "\n  ".join(lines)


def shuffle_amplification(
    epsilon0: float | Fraction, n: int, delta: float | Fraction, mechanism: ShuffledMechanism | None = None
) -> ShuffledPrivacy:
    """Return the (epsilon, delta) of n local reports, if shuffled by a party that does not collude.

    Parameters
    ----------
    epsilon0 : float or Fraction
        Privacy loss of one report, finite and above 0.
    n : int
        Number of clients whose reports the adversary does not know, including the attacked client. Each sends
        one report of the same randomizer. Leave out clients who may collude with the adversary.
    delta : float or Fraction
        In (0, 1).
    mechanism : LocalRandomizer, default=None
        The randomizer, with this epsilon. None: a bound for every randomizer of pure epsilon.

    Returns
    -------
    shuffled : ShuffledPrivacy
        Its epsilon is the least proven bound, never above ``epsilon0``.

    Raises
    ------
    TypeError, ValueError
        A number is out of its range. The mechanism is not a local randomizer, has another epsilon, or
        protects only the label.

    Warns
    -----
    UserWarning
        Delta is not below 1 / n: a weak guarantee.

    See Also
    --------
    Blanket : A mechanism states it for a bound of its own.

    Notes
    -----
    **Privacy.** Relation: replace-one, for the data of one client. The adversary may know the two possible
    values of that client and the data of all other clients. n is public. The claim holds if a third party
    removes the senders from the reports, mixes the reports, and does not collude with their reader. A curator
    who collects reports from the clients directly has no such claim: there, ``epsilon0`` counts.

    Proof: :doc:`/proofs/shuffling`.

    *Bounds.* "closed form" is Theorem 3.1 of [1]. "clones" and the blankets are computed from one lemma [2]
    with three choices of q. Let a and b be the distributions of the attacked client's report under two
    values, and q <= R(x) for every x, with mass m. So another client's report is a draw from q / m with
    probability m, or from a rest that depends on its data. Reveal the rests to the adversary: without them it
    knows less. M shuffled reports remain, one from a (or b) and M - 1 from q / m, with M - 1
    binomial(n - 1, m). Their density relative to M draws of q / m is m times the mean of a(Y_i) / q(Y_i). For
    given M the hockey-stick divergence is therefore m / M times the expected positive part of the sum of
    Z_i = (a - e^epsilon b)(Y_i) / q(Y_i).
    As P(M) / M is P(binomial(n, m) = M) / (n m),

        delta(epsilon) <= E[max(0, Z_1 + ... + Z_n)] / n,

    with independent Z_i that are 0 with probability 1 - m. The bound grows if the distribution of Z is
    replaced by one under which every convex function has a larger mean.

    *Every randomizer*: let p = e^epsilon0 and q = max(a, b) / p. Z lies between 1 - p e^epsilon and
    p - e^epsilon, and so does the 0 of reports outside the blanket. Write (a, b) as u (p, 1) + v (1, p) with
    u + v = (a + b) / (p + 1) >= max(a, b) / p. This moves all mass to the two ends and keeps the mean: mass
    1 / (p + 1) each. The weaker "clones" uses q = (a + b) / (2 p) and writes (a, b) in the same way: mass
    1 / (2 p) each [1].

    *Mechanisms* state masses and ratios of their own q = inf R(x) (see ``blanket`` of each). In
    block-Hadamard response, a row has 2 B answers, and each of the two values has its own true answer. q
    gives every answer the probability of a false one.

    *Rounding.* The expectation is computed with a tilt and a Fourier transform on a lattice that keeps means.
    The lattice only increases it. Float errors are bounded and added (`Blanket`). epsilon is found from
    above. It exceeds the solution by at most a share of 1e-4 and the increase from the lattice. Beyond 1e9
    reports the bound is that of 1e9.

    References
    ----------
    .. [1] Feldman, McMillan, Talwar, Hiding among the clones: a simple and nearly optimal analysis of privacy
       amplification by shuffling, FOCS 2021, arXiv:2012.12803.
    .. [2] Balle, Bell, Gascon, Nissim, The privacy blanket of the shuffle model, CRYPTO 2019.

    Examples
    --------
    >>> from skprivate.accounting import shuffle_amplification
    >>> from skprivate.randomizers import HadamardRandomizer
    >>> shuffled = shuffle_amplification(4.0, 10**5, 1e-6, HadamardRandomizer(4.0, 256))
    >>> print(f"{shuffled.epsilon:.3f}", shuffled.condition)
    0.079 if shuffled by a party that does not collude
    >>> {name: round(bound, 3) for name, bound in shuffled.bounds.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'closed form': 0.535, 'clones': 0.17, 'blanket of any randomizer': 0.118,
     'blanket of block-Hadamard response (L=256, B=32)': 0.079}
    """
    own = check_epsilon(epsilon0)
    n = check_int(n, "n", least=1)
    exact_delta = check_probability(delta, "delta")
    if exact_delta == 0:
        raise ValueError("delta must be greater than 0: shuffling gives no pure epsilon.")
    warn_of_large_delta(exact_delta, n, "client")
    bounds = _generic_bounds(own, n, exact_delta)
    if mechanism is not None:
        bounds.update(_mechanism_bound(own, n, exact_delta, mechanism))
        own = min(own, mechanism.epsilon)
    method = min(bounds, key=lambda name: bounds[name])
    if bounds[method] >= own:
        method = _UNSHUFFLED
    return ShuffledPrivacy(
        epsilon=bounds.get(method, float(own)),
        delta=exact_delta,
        epsilon0=own,
        n=n,
        method=method,
        condition=CONDITION,
        bounds=FrozenMapping(bounds),
    )


def _generic_bounds(epsilon0: Fraction, n: int, delta: Fraction) -> dict[str, float]:
    names = "closed form", "clones", "blanket of any randomizer"
    if epsilon0 > _LARGEST_EPSILON:
        return dict.fromkeys(names, math.inf)
    # Above e^epsilon0: a randomizer with a smaller epsilon also has the larger one.
    odds = Fraction(math.exp(epsilon0)) * (1 + _EXPONENTIAL_ERROR)
    blankets = Blanket(odds, 1 / (2 * odds)), Blanket.of_total_variation(odds)
    solved = [_solve(blanket, n, delta) for blanket in blankets]
    return dict(zip(names, [_closed_form(float(epsilon0), n, float(delta)), *solved], strict=True))


def _closed_form(epsilon0: float, n: int, delta: float) -> float:
    if epsilon0 > math.log(n / (16 * math.log(2 / delta))):
        return math.inf
    odds = math.exp(epsilon0)
    root = 8 * math.sqrt(odds * math.log(4 / delta) / n)
    return math.log1p((odds - 1) / (odds + 1) * (root + 8 * odds / n)) * (1 + float(_EXPONENTIAL_ERROR))


def _mechanism_bound(
    epsilon0: Fraction, n: int, delta: Fraction, mechanism: ShuffledMechanism
) -> dict[str, float]:
    if not isinstance(mechanism, ShuffledMechanism):
        raise TypeError(f"mechanism must be a local randomizer, not {type(mechanism).__name__}.")
    if mechanism.relation != "local":
        raise ValueError(
            "mechanism protects only the label, so that only reports of the same cell hide each other. Pass "
            "KRRRandomizer(epsilon, 1, n_labels), and as n the number of clients in the smallest cell."
        )
    # A mechanism may cost a little less than requested.
    requested = getattr(mechanism, "epsilon_requested", mechanism.epsilon)
    if not mechanism.epsilon <= epsilon0 <= max(requested, mechanism.epsilon):
        raise ValueError(
            f"epsilon0 is {show(epsilon0)}, but a report of the mechanism costs {show(mechanism.epsilon)}: "
            "give the mechanism's epsilon."
        )
    blanket = mechanism.blanket()
    if blanket is None:
        return {}
    describe = getattr(mechanism, "describe", lambda: type(mechanism).__name__)
    return {f"blanket of {describe()}": _solve(blanket, n, delta)}


def _solve(blanket: Blanket, n: int, delta: Fraction) -> float:
    # Delta as a float that is not above it.
    return blanket.epsilon(min(n, _LARGEST_N), math.nextafter(float(delta), 0))
