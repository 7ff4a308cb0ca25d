# SPDX-License-Identifier: BSD-3-Clause
"""Exact noise: random bytes, zCDP as epsilon, mechanisms that release integers, the budget of a fit."""

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, exp, expm1, isqrt, log, log1p, sinh
from numbers import Integral
from typing import Any, NoReturn, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import IntArray
from ..utils import check_epsilon, check_int, check_positive, check_probability
from ..utils._private_fit import warn_user
from ..utils._public_module import public_module
from ._sampling_kernels import fill_discrete_gaussian, fill_discrete_laplace, fill_laplace_sum
from ._stream_kernels import WordStream

# Sources of random bytes: the operating system, or a seeded generator for simulations.

ACCEPTED = "None, a non-negative int, a numpy.random.Generator or a numpy.random.RandomState"


@dataclass(frozen=True, slots=True, eq=False)
class Entropy:
    """A source of random bytes for the exact samplers, made by `check_entropy`.

    It is used for one fit. It cannot be pickled or copied, so that neither a seed nor a position in a stream
    stays on a fitted object.

    Attributes
    ----------
    source : {"os-entropy", "seeded"}
        Source of the bytes.
    random_bytes : callable
        ``random_bytes(n)`` returns `n` new bytes. The caller owns the only reference and may overwrite it.
    private : bool
        True for "os-entropy". Noise from a seeded generator does not protect against a person with the seed.
    """

    source: str
    random_bytes: Callable[[int], bytes] = field(repr=False)

    @property
    def private(self) -> bool:
        """Whether the bytes cannot be reproduced."""
        return self.source == "os-entropy"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Entropy cannot be pickled or copied: make a new one with check_entropy")


def check_entropy(random_state: Any = None) -> Entropy:
    """Turn `random_state` into a source of random bytes.

    Parameters
    ----------
    random_state : None, int, numpy Generator, numpy RandomState or Entropy, default=None
        None draws from the operating system at each request and stores nothing. So a forked process repeats
        nothing, and ``np.random.seed`` has no effect. A non-negative int starts a new generator, which
        continues over all calls with the returned object. A Generator or a RandomState is used directly: its
        state advances. An Entropy is returned unchanged.

    Returns
    -------
    entropy : Entropy
        The source, with ``private``, ``source`` and ``random_bytes``.

    Raises
    ------
    TypeError
        `random_state` has another type; a bool is refused too.
    ValueError
        The int is negative.

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


# Conversion of zero-concentrated differential privacy (rho) to (epsilon, delta), with a proven error.

# Digits for the error that `zcdp_to_epsilon` proves.
DECIMALS = Context(prec=120, Emin=-(10**9), Emax=10**9)
STEP = 2**64  # an epsilon is rounded up to a multiple of 1 / STEP
GOLDEN = 0.6180339887498949  # (sqrt(5) - 1) / 2, the ratio of a golden section


def zcdp_to_epsilon(rho: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho : float or Fraction
        Positive and finite.
    delta : float or Fraction
        In (0, 1).

    Returns
    -------
    epsilon : Fraction
        A proven upper bound, within about 1e-9 of the smallest epsilon that this formula gives.

    Raises
    ------
    ValueError
        rho is not positive and finite, or delta is outside (0, 1).

    Notes
    -----
    For every alpha > 1, rho-zCDP implies the epsilon
    alpha rho + log(1 - 1 / alpha) + (log(1 / delta) - log(alpha)) / (alpha - 1)
    (Canonne, Kamath and Steinke, 2020). Every alpha is valid, so that a rough numerical minimum costs only
    accuracy, never soundness. The chosen alpha - 1 is a decimal of 7 digits between 1e-27 and 1e27. There the
    formula is evaluated with 120 decimals. Its error is below 1e-60 of its largest term, which is at most
    epsilon + 62. 1e-40 (1 + epsilon) is added, and the sum is rounded up to a multiple of 2^-64.

    Proof: :doc:`/proofs/discrete_noise`.

    Examples
    --------
    >>> from skprivate.noise import zcdp_to_epsilon
    >>> round(float(zcdp_to_epsilon(0.5, 1e-6)), 2)
    5.22
    """
    rho, delta = check_positive(rho, "rho"), check_positive(delta, "delta")
    if delta >= 1:
        raise ValueError("delta must be between 0 and 1, both excluded")
    gap = Decimal(f"{_best_gap(rho, delta):.6e}")
    epsilon = max(Fraction(_epsilon_at(rho, delta, gap)), Fraction(0))
    return Fraction(ceil((epsilon + (1 + epsilon) / 10**40) * STEP), STEP)


def _epsilon_at(rho: Fraction, delta: Fraction, gap: Decimal) -> Decimal:
    """Return the formula of `zcdp_to_epsilon` at alpha = 1 + gap."""
    order = DECIMALS.add(1, gap)
    # Operators would round to the digits of the caller's own decimal context.
    log_ratio = DECIMALS.minus(DECIMALS.add(DECIMALS.ln(_decimal(delta)), DECIMALS.ln(order)))
    quotient = DECIMALS.divide(log_ratio, gap)
    shrink = DECIMALS.ln(DECIMALS.divide(gap, order))
    return DECIMALS.add(DECIMALS.add(DECIMALS.multiply(order, _decimal(rho)), shrink), quotient)


def _best_gap(rho: Fraction, delta: Fraction) -> float:
    """Return roughly the alpha - 1 of the smallest epsilon, by golden section in its logarithm."""
    # The cap keeps the floats in range; only the choice of alpha depends on it.
    log_rho, log_ratio = min(_log(rho), 600.0), -_log(delta)

    def epsilon_at(x: float) -> float:
        log_order = log1p(exp(x))
        return exp(log_order + log_rho) + x - log_order + (log_ratio - log_order) * exp(-x)

    # Without the small terms the minimum is at alpha - 1 = sqrt(log(1 / delta) / rho).
    centre = min(max((log(log_ratio + 1) - log_rho) / 2, -50.0), 50.0)
    low, high = centre - 12.0, centre + 12.0
    for _ in range(60):
        inner_low, inner_high = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if epsilon_at(inner_low) < epsilon_at(inner_high):
            high = inner_high
        else:
            low = inner_low
    return exp((low + high) / 2)


def _decimal(x: Fraction) -> Decimal:
    return DECIMALS.divide(Decimal(x.numerator), Decimal(x.denominator))


def _log(x: Fraction) -> float:
    # Numerator and denominator may exceed the range of floats.
    return log(x.numerator) - log(x.denominator)


# Checks of the integers to be released and of the scale of their noise.

MAX_VALUE = 2**62  # its sum with noise, which is below 2^62, fits int64
MAX_SCALE = 2**52  # largest numerator and denominator for the samplers


def check_integers(values: ArrayLike) -> IntArray:
    """Return the values as int64 or refuse them; no message shows a value."""
    array = np.asarray(values)
    too_large = "values must be at most 2^62 in magnitude"
    if array.dtype.kind == "O" and all(isinstance(value, int) for value in array.flat):
        raise OverflowError(too_large)
    if array.dtype.kind not in "iu":
        raise TypeError(
            "values must be integers: quantise each row onto the integer grid before summing; noise on "
            "floats is not private"
        )
    if array.size and (array.max() > MAX_VALUE or array.min() < -MAX_VALUE):
        raise OverflowError(too_large)
    return array.astype(np.int64, copy=False)


def check_scale(scale: int | Fraction, name: str) -> int | Fraction:
    """Return a scale that the samplers accept, as an int if it is a whole number."""
    if isinstance(scale, bool) or not isinstance(scale, Integral | Fraction):
        raise TypeError(f"{name} must be an int or a Fraction")
    # int(): a NumPy integer inside a Fraction would overflow.
    ratio = Fraction(int(scale.numerator), int(scale.denominator))
    if not (0 < ratio.numerator <= MAX_SCALE and ratio.denominator <= MAX_SCALE):
        raise ValueError(f"{name} must be positive, with numerator and denominator at most 2^52")
    return int(ratio.numerator) if ratio.denominator == 1 else ratio


# Mechanisms that release integers with discrete Laplace or Gaussian noise, and sums of Laplace noise.

MAX_SUM_SCALE = 2**54  # n times the scale: the sampled sum exceeds 2^62 with probability below 2^-300
MAX_TERMS = 2**40  # up to it the stated distance of `laplace_sum` holds


class _IntegerMechanism(ABC):
    """Base of the mechanisms: adds one noise vector to integers."""

    def randomize(self, values: ArrayLike, random_state: Any = None) -> IntArray:
        """Add noise to integers.

        Parameters
        ----------
        values : int or integer array-like of any shape
            At most 2^62 in magnitude.
        random_state : None, int, numpy Generator, numpy RandomState or Entropy, default=None
            None for a private release; see `check_entropy`.

        Returns
        -------
        released : int64 ndarray
            Noisy integers in the shape of `values` (an int gives a 0-d array).

        Raises
        ------
        TypeError
            The values are not integers.
        OverflowError
            A value exceeds 2^62 in magnitude.
        """
        integers = check_integers(values)
        noise = np.empty(integers.size, dtype=np.int64)
        with WordStream(check_entropy(random_state), self._expected_words(noise.size)) as stream:
            self._fill(noise, stream)
        noise += integers.ravel()
        return noise.reshape(integers.shape)

    @abstractmethod
    def _expected_words(self, size: int) -> int: ...

    @abstractmethod
    def _fill(self, noise: IntArray, stream: WordStream) -> None: ...


@public_module("skprivate.noise")
class DiscreteLaplaceMechanism(_IntegerMechanism):
    """Release integers with discrete Laplace noise: pure epsilon-differential privacy.

    Parameters
    ----------
    epsilon : float or Fraction
        Requested privacy loss; finite and positive.
    sensitivity : int, default=1
        Positive L1 sensitivity on the integer grid: the largest ``sum(abs(f(D) - f(D')))`` over neighbours
        D, D', where f is the integer vector to be released.

    Attributes
    ----------
    epsilon : Fraction
        Spent privacy loss, ``sensitivity / scale``: never above `epsilon_requested`.
    epsilon_requested : Fraction
        The parameter, exactly.
    scale : int or Fraction
        Scale t of the noise, with P(x) proportional to exp(-abs(x) / t); ``ceil(sensitivity / epsilon)``.
    sensitivity : int
        The parameter.
    variance : float
        Variance of the noise of each entry.

    Raises
    ------
    ValueError
        epsilon is not finite and positive, or is so small that the scale exceeds 2^52.

    See Also
    --------
    DiscreteGaussianMechanism : Less noise on long vectors, for a weaker guarantee.
    laplace_sum : Draws the sum of many noises at once.

    Notes
    -----
    **Privacy**: for neighbours with outputs f and f', every integer vector y has
    P(y | D) / P(y | D') = exp(sum(abs(y - f') - abs(y - f)) / t) <= exp(sum(abs(f - f')) / t)
    <= exp(sensitivity / t), and sensitivity / t <= epsilon since t is rounded up. The samples are exact
    integers: no low bits of floats distinguish f from f'. Only the noisy integers are released, and whole
    vectors are always drawn. The sampler does not run in constant time: a person who can time a call learns
    something about the noise. Noise from a seed is no protection.

    Proof: :doc:`/proofs/discrete_noise`.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.

    Examples
    --------
    >>> from skprivate.noise import DiscreteLaplaceMechanism
    >>> mechanism = DiscreteLaplaceMechanism(epsilon=0.75, sensitivity=2)
    >>> mechanism.scale, mechanism.epsilon
    (3, Fraction(2, 3))
    >>> mechanism.randomize([10, 20, 30]).shape
    (3,)
    """

    def __init__(self, epsilon: float | Fraction, sensitivity: int = 1) -> None:
        self.epsilon_requested = check_positive(epsilon, "epsilon")
        self.sensitivity = check_int(sensitivity, "sensitivity", least=1)
        self.scale: int | Fraction = ceil(self.sensitivity / self.epsilon_requested)
        if self.scale > MAX_SCALE:
            raise ValueError("epsilon is too small for the sensitivity: the noise scale exceeds 2^52")
        self.epsilon = Fraction(self.sensitivity) / self.scale

    @classmethod
    def from_scale(cls, scale: int | Fraction, sensitivity: int = 1) -> Self:
        """Make the mechanism with a given scale of the noise.

        Parameters
        ----------
        scale : int or Fraction
            Positive; numerator and denominator at most 2^52.
        sensitivity : int, default=1
            As for the class.

        Returns
        -------
        mechanism : DiscreteLaplaceMechanism
            With ``epsilon == epsilon_requested == sensitivity / scale``.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from skprivate.noise import DiscreteLaplaceMechanism
        >>> DiscreteLaplaceMechanism.from_scale(Fraction(5, 2)).epsilon
        Fraction(2, 5)
        """
        mechanism = cls.__new__(cls)
        mechanism.sensitivity = check_int(sensitivity, "sensitivity", least=1)
        mechanism.scale = check_scale(scale, "scale")
        mechanism.epsilon = mechanism.epsilon_requested = Fraction(mechanism.sensitivity) / mechanism.scale
        return mechanism

    @property
    def variance(self) -> float:
        """Variance of the noise: ``2 r / (1 - r)^2`` with ``r = exp(-1 / scale)``."""
        # The same as 1 / (2 sinh(1 / (2 scale))^2), without cancellation at large scales.
        half_rate = float(1 / (2 * Fraction(self.scale)))
        return 0.0 if half_rate > 350 else 0.5 / sinh(half_rate) ** 2

    def __repr__(self) -> str:
        return f"DiscreteLaplaceMechanism(epsilon={self.epsilon_requested!r}, sensitivity={self.sensitivity})"

    def _expected_words(self, size: int) -> int:
        return _laplace_words(self.scale, size)

    def _fill(self, noise: IntArray, stream: WordStream) -> None:
        fill_discrete_laplace(noise, self.scale.numerator, self.scale.denominator, stream)


@public_module("skprivate.noise")
class DiscreteGaussianMechanism(_IntegerMechanism):
    """Release integers with discrete Gaussian noise: zero-concentrated differential privacy.

    Parameters
    ----------
    rho : float, Fraction or None, default=None
        Requested zCDP parameter, positive. Pass either `rho` or both `epsilon` and `delta`.
    epsilon : float, Fraction or None, default=None
        Requested epsilon at `delta`, positive.
    delta : float, Fraction or None, default=None
        In (0, 1).
    squared_sensitivity : int, default=1
        Positive squared L2 sensitivity on the integer grid: the largest ``sum((f(D) - f(D'))**2)``.

    Attributes
    ----------
    sigma : int or Fraction
        P(x) is proportional to exp(-x^2 / (2 sigma^2)); the smallest integer that meets the request.
    rho : Fraction
        Spent zCDP parameter, ``squared_sensitivity / (2 sigma^2)``.
    epsilon, delta : Fraction or None
        Spent epsilon and delta, never above the request; None if `rho` was given.
    squared_sensitivity : int
        The parameter.
    variance : float
        Variance of the noise of each entry; at most sigma^2, and below it only for small sigma.

    Raises
    ------
    ValueError
        The request is not positive, delta is outside (0, 1), or sigma would exceed 2^52.

    See Also
    --------
    DiscreteLaplaceMechanism : Pure epsilon-differential privacy.
    zcdp_to_epsilon : The conversion.

    Notes
    -----
    **Privacy**: take discrete Gaussians whose centres are integers at squared distance d. Their Rényi
    divergence of every order alpha is at most alpha d / (2 sigma^2), the value for continuous Gaussians
    (Canonne, Kamath and Steinke). Divergences of independent entries add up: rho = squared_sensitivity /
    (2 sigma^2). Only the noisy integers are released, and whole vectors are always drawn. The sampler is
    exact but does not run in constant time. Noise from a seed is no protection.

    Proof: :doc:`/proofs/discrete_noise`.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.

    Examples
    --------
    >>> from skprivate.noise import DiscreteGaussianMechanism
    >>> mechanism = DiscreteGaussianMechanism(rho=0.125, squared_sensitivity=4)
    >>> mechanism.sigma, mechanism.rho
    (4, Fraction(1, 8))
    >>> mechanism.randomize([10, 20, 30]).shape
    (3,)
    """

    def __init__(
        self,
        rho: float | Fraction | None = None,
        *,
        epsilon: float | Fraction | None = None,
        delta: float | Fraction | None = None,
        squared_sensitivity: int = 1,
    ) -> None:
        self.squared_sensitivity = check_int(squared_sensitivity, "squared_sensitivity", least=1)
        self.epsilon: Fraction | None = None
        self.delta: Fraction | None = None
        if rho is not None and epsilon is None and delta is None:
            self.sigma: int | Fraction = self._sigma_for_rho(check_positive(rho, "rho"))
        elif rho is None and epsilon is not None and delta is not None:
            self.delta = check_positive(delta, "delta")
            self.sigma = _sigma_for_epsilon(
                self.squared_sensitivity, check_positive(epsilon, "epsilon"), self.delta
            )
            self.epsilon = zcdp_to_epsilon(self._rho_of(self.sigma), self.delta)
        else:
            raise ValueError("pass either rho, or both epsilon and delta")
        self.rho = self._rho_of(self.sigma)

    @classmethod
    def from_sigma(cls, sigma: int | Fraction, squared_sensitivity: int = 1) -> Self:
        """Make the mechanism with a given sigma.

        Parameters
        ----------
        sigma : int or Fraction
            Positive; numerator and denominator at most 2^52.
        squared_sensitivity : int, default=1
            As for the class.

        Returns
        -------
        mechanism : DiscreteGaussianMechanism
            With ``rho == squared_sensitivity / (2 * sigma**2)``.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from skprivate.noise import DiscreteGaussianMechanism
        >>> DiscreteGaussianMechanism.from_sigma(Fraction(5, 2)).rho
        Fraction(2, 25)
        """
        mechanism = cls.__new__(cls)
        mechanism.squared_sensitivity = check_int(squared_sensitivity, "squared_sensitivity", least=1)
        mechanism.epsilon = mechanism.delta = None
        mechanism.sigma = check_scale(sigma, "sigma")
        mechanism.rho = mechanism._rho_of(mechanism.sigma)
        return mechanism

    @property
    def variance(self) -> float:
        """Variance of the noise, at most sigma^2."""
        sigma = float(self.sigma)
        # Poisson summation: the relative gap is of the order of sigma^2 exp(-2 pi^2 sigma^2).
        if sigma > 3:
            return sigma * sigma
        weights = [exp(-0.5 * (x / sigma) ** 2) for x in range(1, 120)]
        second_moment = 2 * sum(x * x * weight for x, weight in enumerate(weights, start=1))
        return second_moment / (1 + 2 * sum(weights))

    def __repr__(self) -> str:
        return f"DiscreteGaussianMechanism(rho={self.rho!r}, squared_sensitivity={self.squared_sensitivity})"

    def _rho_of(self, sigma: int | Fraction) -> Fraction:
        return self.squared_sensitivity / (2 * Fraction(sigma) ** 2)

    def _sigma_for_rho(self, rho: Fraction) -> int:
        # An integer square is at least x iff it is at least ceil(x).
        least_square = ceil(self.squared_sensitivity / (2 * rho))
        sigma = isqrt(least_square - 1) + 1
        if sigma > MAX_SCALE:
            raise ValueError("rho is too small for the sensitivity: sigma exceeds 2^52")
        return sigma

    def _expected_words(self, size: int) -> int:
        # About 1.3 proposals, and a few bits to accept each.
        return 3 * _laplace_words(self.sigma, size) // 2 + 1

    def _fill(self, noise: IntArray, stream: WordStream) -> None:
        fill_discrete_gaussian(noise, self.sigma.numerator, self.sigma.denominator, stream)


# Cached: a function of public numbers that every fit of a grid search calls, with 50 bisections.
@functools.lru_cache(maxsize=256)
def _sigma_for_epsilon(squared_sensitivity: int, epsilon: Fraction, delta: Fraction) -> int:
    def suffices(sigma: int) -> bool:
        return zcdp_to_epsilon(squared_sensitivity / (2 * Fraction(sigma) ** 2), delta) <= epsilon

    if not suffices(MAX_SCALE):
        raise ValueError("epsilon is too small for the sensitivity: sigma exceeds 2^52")
    too_small, enough = 0, MAX_SCALE
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        too_small, enough = (too_small, middle) if suffices(middle) else (middle, enough)
    return enough


@overload
def laplace_sum(n: int, scale: int | Fraction, size: None = None, random_state: Any = None) -> int: ...


@overload
def laplace_sum(
    n: int, scale: int | Fraction, size: int | tuple[int, ...], random_state: Any = None
) -> IntArray: ...


@overload
def laplace_sum(
    n: int, scale: int | Fraction, size: int | tuple[int, ...] | None = None, random_state: Any = None
) -> IntArray | int: ...


def laplace_sum(
    n: int, scale: int | Fraction, size: int | tuple[int, ...] | None = None, random_state: Any = None
) -> IntArray | int:
    """Draw the sum of `n` independent discrete Laplace noises at once.

    Parameters
    ----------
    n : int
        Number of terms, from 0 to 2^40; ``n * scale`` at most 2^54.
    scale : int or Fraction
        Scale of each term, with P(x) proportional to exp(-abs(x) / scale).
    size : int, tuple of int or None, default=None
        Shape of the array of independent sums.
    random_state : None, int, numpy Generator, numpy RandomState or Entropy, default=None
        See `check_entropy`.

    Returns
    -------
    total : int64 ndarray of shape `size`, or int if `size` is None
        The sums.

    See Also
    --------
    DiscreteLaplaceMechanism : One noise per value.

    Notes
    -----
    A discrete Laplace number is the difference of two geometric numbers with ratio r = exp(-1 / scale). The
    binary digits of a geometric number are independent. Digit i is 1 with probability
    p_i = 1 / (1 + exp(2^i / scale)). So a sum of n geometric numbers is the sum of 2^i Binomial(n, p_i).

    The p_i are rounded to 256 binary digits, and digits with n p_i < 2^-204 are left out. Each digit of each
    term has an error of at most 2^-255, and there are at most 62 digits. So the distribution of a sum is
    within 2 (2^40 * 62 * 2^-255 + 2 * 2^-204) < 2^-201 of the exact one in total variation.

    **Privacy**: n clients who each add their own noise need not trust anybody, but the process that draws the
    sum sees the rows. The result has the distribution of the clients' total. So it simulates local privacy
    and does not provide it. The sampler does not run in constant time.

    Proof: :doc:`/proofs/discrete_noise`.

    Examples
    --------
    >>> from skprivate.noise import laplace_sum
    >>> laplace_sum(1000, 4, size=3, random_state=0).shape
    (3,)
    """
    n = check_int(n, "n", least=0)
    scale = check_scale(scale, "scale")
    if n > MAX_TERMS or n * scale > MAX_SUM_SCALE:
        raise ValueError("n must be between 0 and 2^40, and n * scale at most 2^54")
    probabilities = geometric_bit_probabilities(n, Fraction(scale))
    out = np.empty(1 if size is None else size, dtype=np.int64)
    # A binomial reads about 2 n bits.
    words = min(out.size * len(probabilities) * (n // 16 + 1), 2**40)
    with WordStream(check_entropy(random_state), words) as stream:
        fill_laplace_sum(out.reshape(-1), n, probabilities, stream)
    return int(out[0]) if size is None else out


def _laplace_words(scale: int | Fraction, size: int) -> int:
    """Return about how many words `size` draws take, from the probabilities of `draw_laplace`.

    A try takes 25 bits for the sign and the first digits of a trial and of J. It takes 16 bits for each
    further 64 of J, with probability exp(-4). It takes blocks with as many bits as the numerator t, until one
    block, w, is below t. It is kept with the mean probability of exp(-w / (16 t)), except for half of the
    zeros. If first digits tie, it takes less than a third of a bit more.
    """
    t, bits = scale.numerator, int(scale.numerator - 1).bit_length()
    of_a_try = 25 + 16 * exp(-4) / (1 - exp(-4)) + 1 / 3 + bits * 2**bits / t
    kept = expm1(-1 / 16) / (t * expm1(-1 / (16 * t))) * (1 + expm1(-scale.denominator / t) / 2)
    return int(size * of_a_try / kept) // 64 + 1


# Probabilities of the binary digits of a geometric number, for exact Laplace sums.

PROBABILITY_BITS = 256
# 120 digits are more than `PROBABILITY_BITS` binary ones.
NEGLIGIBLE = Fraction(1, 2**204)  # share of the 2^-201 that `laplace_sum` states


def geometric_bit_probabilities(n: int, scale: Fraction) -> NDArray[np.uint64]:
    """Return the digits' probabilities of a geometric number with ratio exp(-1 / scale).

    Parameters
    ----------
    n : int
        Number of terms of the sum; digits i with n p_i < 2^-204 are left out.
    scale : Fraction
        Positive, at most 2^52.

    Returns
    -------
    probabilities : uint64 ndarray of shape (n_digits, 4)
        Row i: p_i = 1 / (1 + exp(2^i / scale)) rounded down to 256 binary digits, highest word first.
    """
    rows = []
    for probability, row in _bits_of_scale(scale):
        if n * probability < NEGLIGIBLE:
            break
        rows.append(row)
    return np.array(rows, dtype=np.uint64).reshape(-1, PROBABILITY_BITS // 64)


# Cached: a function of a public scale, and not of n, so that the cache reveals no number of rows.
@functools.lru_cache(maxsize=64)
def _bits_of_scale(scale: Fraction) -> tuple[tuple[Fraction, tuple[int, ...]], ...]:
    """Return p_i, and its 256 binary digits in words, for every digit that counts with at most 2^40 terms."""
    bits: list[tuple[Fraction, tuple[int, ...]]] = []
    # n p_i < 2^40 exp(-200) < 2^-204, and no exponential of a huge number is computed.
    while (exponent := 2 ** len(bits) / scale) < 200:
        odds = DECIMALS.exp(_decimal(exponent))
        probability = Fraction(DECIMALS.divide(Decimal(1), DECIMALS.add(1, odds)))
        digits = int(probability * 2**PROBABILITY_BITS).to_bytes(PROBABILITY_BITS // 8, "big")
        bits.append((probability, tuple(np.frombuffer(digits, dtype=">u8").tolist())))
    return tuple(bits)


# Report-noisy-max with geometric noise: it releases only the number of the highest noisy score.


class NoisyMax:
    """Choices by noisy scores.

    Parameters
    ----------
    mechanism : DiscreteLaplaceMechanism
        Its noise is turned into geometric noise of the same scale.

    Notes
    -----
    **Privacy.** If the changes of all scores of a choice are within a range of r, the probability of any
    choice changes by at most the factor exp(r / scale).

    Proof: :doc:`/proofs/tree_release`.
    """

    def __init__(self, mechanism: DiscreteLaplaceMechanism) -> None:
        self._mechanism = mechanism
        self.scale = mechanism.scale

    def randomize(self, scores: NDArray[np.int64], entropy: Any) -> NDArray[np.int64]:
        """Return the number of the highest noisy score in every row, or the first of equal ones.

        Parameters
        ----------
        scores : ndarray of int64 of shape (n_choices, n_candidates)
        entropy : Entropy

        Returns
        -------
        chosen : ndarray of int64 of shape (n_choices,)
        """
        noise = self._mechanism.randomize(np.zeros(scores.shape, dtype=np.int64), entropy)
        # Folded: x >= 0 has the probabilities of x and of -1 - x, both proportional to exp(-x / scale).
        noisy = scores + np.where(noise < 0, ~noise, noise)
        return noisy.argmax(axis=1).astype(np.int64)


# The budget of a fit: the amount that adds up over its releases, and its guarantee.

# Squared sensitivity for an epsilon above the key. Rho depends only on the ratio of noise and sensitivity.
# With a large sensitivity the rounding of sigma is negligible. For a tiny epsilon, a smaller sensitivity
# keeps sigma in range.
_SENSITIVITIES = {Fraction(1, 2**4): 2**80, Fraction(0): 2**40}


@dataclass(frozen=True)
class FitBudget:
    """Budget of a fit: epsilon for Laplace noise, rho for Gaussian noise.

    Attributes
    ----------
    mechanism : {"laplace", "gaussian"}
        Kind of noise.
    amount : Fraction
        Epsilon, or rho of zero-concentrated differential privacy: both add up over releases.
    epsilon, delta : Fraction
        Guarantee of `amount`; epsilon is never above the request.
    """

    mechanism: str
    amount: Fraction
    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, epsilon: Any, delta: Any, mechanism: str) -> "FitBudget":
        """Turn a request into a budget.

        Raises
        ------
        ValueError
            epsilon is not positive; delta is outside [0, 1), or does not match the mechanism.
        """
        request, probability = check_epsilon(epsilon), check_probability(delta, "delta")
        if resolve_mechanism(mechanism, probability) == "laplace":
            return cls("laplace", request, request, Fraction(0))
        return cls("gaussian", *_rho_and_epsilon(request, probability), probability)

    @property
    def rho(self) -> Fraction | None:
        """Rho, with Gaussian noise."""
        return self.amount if self.mechanism == "gaussian" else None


def resolve_mechanism(mechanism: str, delta: Any) -> str:
    """Return the noise of a fit: for "auto", Gaussian noise if delta is above 0, otherwise Laplace noise.

    Raises
    ------
    ValueError
        Gaussian noise without a delta, or Laplace noise with one, which would have no effect.
    """
    if mechanism == "auto":
        return "gaussian" if delta > 0 else "laplace"
    if mechanism == "gaussian" and not delta:
        raise ValueError("mechanism='gaussian' needs a delta above 0, such as 1e-6.")
    if mechanism == "laplace" and delta:
        raise ValueError(
            "delta has no effect with mechanism='laplace': pass delta=0, or leave mechanism='auto', which "
            "uses Gaussian noise if delta is above 0."
        )
    return mechanism


def warn_of_large_delta(delta: Fraction, n_units: int, unit: str = "row") -> None:
    """Warn before a charge if delta is so large that publishing whole rows would satisfy it.

    Parameters
    ----------
    delta : Fraction
    n_units : int
        The number of units, if it is public.
    unit : {"row", "group", "client"}
    """
    if delta * n_units < 1:
        return
    # At most a hundredth of 1 / n. Then a release that publishes each unit with probability delta publishes
    # any unit at all with a probability of at most a hundredth.
    wanted = f"1e-{len(str(n_units)) + 2:02d}"
    warn_user(
        f"delta = {float(delta):.3g} is not below 1 / n, with n = {n_units} {unit}s. The guarantee is weak: "
        f"a release that publishes each {unit} with probability delta would satisfy it. Pass a delta far "
        f"below 1 / n, such as {wanted}.",
        UserWarning,
    )


# Cached: a function of public numbers that takes longer than the rest of the plan of a fit.
@functools.lru_cache(maxsize=256)
def _rho_and_epsilon(request: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the largest rho of a request after the rounding of sigma, and its epsilon."""
    fine = next(size for least, size in _SENSITIVITIES.items() if request > least)
    rho = DiscreteGaussianMechanism(epsilon=request, delta=delta, squared_sensitivity=fine).rho
    return rho, zcdp_to_epsilon(rho, delta)
