# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms that release integers with discrete Laplace or Gaussian noise, and sums of Laplace noise."""

import functools
from abc import ABC, abstractmethod
from fractions import Fraction
from math import ceil, exp, isqrt, sinh
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from .._typing import IntArray
from ..utils import check_int, check_positive
from ..utils._public_module import public_module
from ._argument_checks import MAX_SCALE, check_integers, check_scale
from ._entropy import check_entropy
from ._geometric_bits import geometric_bit_probabilities
from ._sampling_kernels import fill_discrete_gaussian, fill_discrete_laplace, fill_laplace_sum
from ._stream_kernels import WordStream
from ._zcdp import zcdp_to_epsilon

MAX_SUM_SCALE = 2**54  # n times the scale: the sampled sum passes 2^62 with probability below 2^-300
MAX_TERMS = 2**40  # below it the stated distance of `laplace_sum` holds


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
            Of the shape of `values` (an int gives a 0-d array).

        Raises
        ------
        TypeError
            If the values are not integers.
        OverflowError
            If a value exceeds 2^62 in magnitude.
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
        Privacy asked for; finite and positive.
    sensitivity : int, default=1
        Positive L1 sensitivity on the integer grid: the largest ``sum(abs(f(D) - f(D')))`` over neighbours
        D, D' of the integer vector f to be released.

    Attributes
    ----------
    epsilon : Fraction
        Privacy spent, ``sensitivity / scale``: never above `epsilon_requested`.
    epsilon_requested : Fraction
        The parameter, exactly.
    scale : int or Fraction
        Scale t of the noise, P(x) proportional to exp(-abs(x) / t); ``ceil(sensitivity / epsilon)``.
    sensitivity : int
        The parameter.
    variance : float
        Variance of the noise of each entry.

    Raises
    ------
    ValueError
        If epsilon is not finite and positive, or so small that the scale passes 2^52.

    See Also
    --------
    DiscreteGaussianMechanism : Less noise on long vectors, for a weaker guarantee.
    laplace_sum : The sum of many noises in one draw.

    Notes
    -----
    **Privacy**: for neighbours with outputs f and f', every integer vector y has
    P(y | D) / P(y | D') = exp(sum(abs(y - f') - abs(y - f)) / t) <= exp(sum(abs(f - f')) / t)
    <= exp(sensitivity / t), and sensitivity / t <= epsilon since t is rounded up. The samples are exact
    integers: no low bit of a float tells f from f'. Released are the noisy integers and nothing else;
    whole vectors are always drawn. The sampler does not run in constant time: who can time a call learns
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
            raise ValueError("epsilon is too small for the sensitivity: the scale of the noise passes 2^52")
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
        Privacy asked for as zCDP. Give either `rho` or both `epsilon` and `delta`.
    epsilon : float, Fraction or None, default=None
        Privacy asked for as (epsilon, delta).
    delta : float, Fraction or None, default=None
        In (0, 1).
    squared_sensitivity : int, default=1
        Positive squared L2 sensitivity on the integer grid: the largest ``sum((f(D) - f(D'))**2)``.

    Attributes
    ----------
    sigma : int or Fraction
        P(x) is proportional to exp(-x^2 / (2 sigma^2)); the smallest integer that meets the request.
    rho : Fraction
        Privacy spent, ``squared_sensitivity / (2 sigma^2)``.
    epsilon, delta : Fraction or None
        The (epsilon, delta) spent, never above the request; None if `rho` was given.
    squared_sensitivity : int
        The parameter.
    variance : float
        Variance of the noise of each entry; at most sigma^2, and below it only for small sigma.

    Raises
    ------
    ValueError
        If the request is not positive, delta is outside (0, 1), or sigma would pass 2^52.

    See Also
    --------
    DiscreteLaplaceMechanism : Pure epsilon-differential privacy.
    zcdp_to_epsilon : The conversion.

    Notes
    -----
    **Privacy**: discrete Gaussians whose centres are integers at squared distance d have Renyi divergence at
    most alpha d / (2 sigma^2) of every order alpha, the value for the continuous ones (Canonne, Kamath and
    Steinke), and divergences of independent entries add: rho = squared_sensitivity /
    (2 sigma^2). Released are the noisy integers and nothing else; whole vectors are always drawn. The
    sampler is exact but does not run in constant time. Noise from a seed is no protection.

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
            raise ValueError("give either rho, or both epsilon and delta")
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
            raise ValueError("rho is too small for the sensitivity: sigma passes 2^52")
        return sigma

    def _expected_words(self, size: int) -> int:
        # About 1.3 proposals, and a few bits to accept each.
        return 3 * _laplace_words(self.sigma, size) // 2 + 1

    def _fill(self, noise: IntArray, stream: WordStream) -> None:
        fill_discrete_gaussian(noise, self.sigma.numerator, self.sigma.denominator, stream)


# A pure function of public numbers, which every fit of a grid search asks for: it takes 50 bisections.
@functools.lru_cache(maxsize=256)
def _sigma_for_epsilon(squared_sensitivity: int, epsilon: Fraction, delta: Fraction) -> int:
    def suffices(sigma: int) -> bool:
        return zcdp_to_epsilon(squared_sensitivity / (2 * Fraction(sigma) ** 2), delta) <= epsilon

    if not suffices(MAX_SCALE):
        raise ValueError("epsilon is too small for the sensitivity: sigma passes 2^52")
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
        Scale of each term, P(x) proportional to exp(-abs(x) / scale).
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
    A discrete Laplace number is the difference of two geometric ones with ratio r = exp(-1 / scale). The
    binary digits of a geometric number are independent, digit i is 1 with probability
    p_i = 1 / (1 + exp(2^i / scale)), so a sum of n geometrics is the sum of 2^i Binomial(n, p_i).

    The p_i are rounded to 256 binary digits, and digits with n p_i < 2^-204 are left out: since each digit of
    each term errs by at most 2^-255, and there are at most 62 of them, the distribution of a sum is within
    2 (2^40 * 62 * 2^-255 + 2 * 2^-204) < 2^-201 of the exact one in total variation.

    **Privacy**: n clients who each add their own noise trust nobody; whoever draws the sum sees the rows.
    The result is distributed as the clients' total, so it simulates local privacy and does not provide it.
    Not constant time.

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
    """About how many words `size` draws take: 25 bits each, and 1.6 times the bits of the scale."""
    return size * (125 + 8 * int(scale.numerator).bit_length()) // 320 + 1
