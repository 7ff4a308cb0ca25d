# SPDX-License-Identifier: BSD-3-Clause
"""Neighbouring tables, sensitivities with their proofs, and the integer scales of the noise.

A row enters as v = (v_0, ..., v_D-1), v_0 = 1, v_1 = a y', the rest m x' (see `MomentWeights`), and moves the
coefficients of (v . theta)^2 / 2: v_j^2 / 2 for theta_j^2 and v_j v_h for theta_j theta_h, each once. For two
rows the coefficients differ in L1 by (1/2) sum over all (j, h) of |v_j v_h - v'_j v'_h|, half the entrywise
norm of v v' - v' v''. On the grid every entry is a multiple of 2^-k inside the same bounds, and the integers
are 4^k times as large; so are the sensitivities.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt
from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray, IntArray
from ..accounting import ReleaseRecord
from ..noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism

# Weights that share out the noise between the constant, the target and the features.

# Order of the norm in which each mechanism measures the sensitivity.
_NORMS = {"laplace": 1, "gaussian": 2}


@dataclass(frozen=True)
class MomentWeights:
    """Public weights of the entries of z = (1, y', x'): a larger weight, a finer release.

    The row behind the proofs is v = (1, target * y', features * x'). Weights stay out of the integers: they
    divide the noise of each moment.

    Attributes
    ----------
    target : int
        Weight a of the target.
    features : int
        Weight m of a feature.
    n_features : int
        d.
    norm_order : {1, 2} or None
        The norm that bounds x' by 1; None: every |x'_j| <= 1.
    """

    target: int
    features: int
    n_features: int
    norm_order: int | None = None

    @property
    def features_l1(self) -> int:
        """Largest sum of |v_j| over the features."""
        return self.features * (1 if self.norm_order == 1 else self.n_features)

    @property
    def squared_l2(self) -> Fraction:
        """Largest squared Euclidean norm of v."""
        share = 1 if self.norm_order is not None else self.n_features
        return Fraction(1 + self.target**2 + share * self.features**2)


def order_of_norm(mechanism: str, x_norm: float | None) -> int | None:
    """Order of the norm that `x_norm` bounds; None without it."""
    return None if x_norm is None else _NORMS[mechanism]


def moment_weights(n_features: int, mechanism: str, norm_order: int | None) -> MomentWeights:
    """Choose the weights by public facts alone.

    Parameters
    ----------
    n_features : int
        d, at least 1.
    mechanism : {"laplace", "gaussian"}
        Distribution of the noise. It decides the norm, and through it the weights.
    norm_order : {1, 2} or None
        The norm that bounds a scaled row of features by 1; None: every feature is bounded by itself.

    Returns
    -------
    weights : MomentWeights
        Cube: target 2, features 1. L2 ball: 3 and 3. L1 ball: 3 and the smallest integer not below
        2 sqrt(d).

    Raises
    ------
    ValueError
        A norm that the mechanism does not go with.

    Notes
    -----
    Up to a common factor that the budget sets, a product of two features carries the noise S / m^2, one of
    target and feature S / (a m), and the mean of the target S / a, where S is the sensitivity, itself about
    quadratic in a and m. The slopes' error is made of the first two: the second counts more where the slopes
    are small, and where the features are many and each is small.

    *Cube.* S grows with (1 + a + d m)^2 or with 1 + a^2 + d m^2, so the target is one entry among many and
    doubling its weight costs almost nothing, while it halves the noise that reaches the scale.

    *L2 ball.* S grows with 1 + a^2 + m^2, whatever d is. Equal weights share it evenly; at 3 the constant's
    part of S is a nineteenth, and the intercept stays precise.

    *L1 ball.* Typical features are of size 1 / d there, and the slopes in scaled units grow with sqrt(d):
    products of features have to be released more finely than those with the target, the more the larger d.

    On average the squared error is within a tenth of that of the weights that are best in each of 144
    simulated settings: d = 3, 10, 30; 10,000 and 100,000 rows; epsilon 0.5 and 2; bounds that fit and bounds
    ten times too wide; independent, correlated and unequal features; strong and weak slopes.

    Examples
    --------
    >>> from skprivate.linear_model._noise_scales import moment_weights
    >>> weights = moment_weights(10, "laplace", 1)
    >>> weights.target, weights.features
    (3, 7)
    """
    if norm_order is None:
        return MomentWeights(2, 1, n_features)
    if norm_order != _NORMS[mechanism]:
        raise ValueError(f"mechanism={mechanism!r} goes with the L{_NORMS[mechanism]} norm.")
    features = 3 if norm_order == 2 else isqrt(4 * n_features - 1) + 1
    return MomentWeights(3, features, n_features, norm_order)


# Sensitivities of the moments, with their proofs.


def l1_moments(weights: MomentWeights, relation: str) -> Fraction:
    """L1 sensitivity of the moments' coefficients to one row.

    Parameters
    ----------
    weights : MomentWeights
    relation : {"replace-one", "add-remove"}
        With "replace-one" a row may also be absent on one side (v = 0), as where the number of rows is
        protected, and v_0^2 / 2, half of it, is among the coefficients.

    Returns
    -------
    sensitivity : Fraction
        Before the grid's factor 4^k.

    Notes
    -----
    *Rows in a cube.* Let s = v + v', t = v - v'. Then v_j v_h - v'_j v'_h = (s_j t_h + t_j s_h) / 2, so half
    the entrywise norm is at most |s|_1 |t|_1 / 2. As |s_j| + |t_j| = 2 max(|v_j|, |v'_j|) is at most twice
    the weight, |s|_1 + |t|_1 <= 2 B with B = 1 + a + d m, and the product is at most B^2: the sensitivity is
    B^2 / 2. An absent row is v = 0, inside the cube: the same bound. It is attained where s and t can share B
    equally, that is if a + d m >= 1.

    *One row added or removed.* Half the entrywise norm of v v' is |v|_1^2 / 2 <= B^2 / 2, with B = 1 + a + m
    for features in an L1 ball.

    *Features in an L1 ball, replaced.* Here x and x' may have disjoint supports and s and t cannot share.
    With |x|_1 <= m: half the products of features change by m^2 at most, their products with the constant by
    2 m, those with the target by a m (p + q), p = |y|, q = |y'|, the target's with the constant by a (p + q),
    and half its square by a^2 |p^2 - q^2| / 2. For p = 1 >= q the last three add up to
    a (1 + m) (1 + q) + a^2 (1 - q^2) / 2, which is largest at q = min(1, (1 + m) / a). Attained for d >= 2.
    At q = 0 the sum is m^2 + 2 m + a (1 + m) + a^2 / 2 = (B^2 + m^2 + 2 m - 1) / 2, at least B^2 / 2 as
    m >= 1: absent rows are covered.
    """
    total = Fraction(1 + weights.target + weights.features_l1)
    alone = total**2 / 2
    if relation == "add-remove" or weights.norm_order != 1:
        return alone
    a, m = Fraction(weights.target), Fraction(weights.features)
    q = min(Fraction(1), (1 + m) / a)
    return m**2 + 2 * m + a * (1 + m) * (1 + q) + a**2 * (1 - q**2) / 2


def squared_l2_moments(weights: MomentWeights, relation: str) -> Fraction:
    """Squared L2 sensitivity of the moments to one row, products of different entries counted twice.

    Parameters
    ----------
    weights : MomentWeights
    relation : {"replace-one", "add-remove"}

    Returns
    -------
    sensitivity : Fraction
        Bound on the squared Frobenius norm of v v' - v' v'', before the grid's factor 16^k.

    Notes
    -----
    |v v' - w w'|_F^2 = |v|^4 + |w|^4 - 2 (v . w)^2 <= 2 R^4 where R^2 = 1 + a^2 + max |m x'|^2 bounds |v|^2;
    R^4 if one row is absent. Attained where two longest rows can be orthogonal: in a ball of two dimensions
    or more if a^2 <= 1 + m^2, in the cube for suitable d, a, m (d even, a = m = 1, say).
    """
    fourth_power = weights.squared_l2**2
    return fourth_power if relation == "add-remove" else 2 * fourth_power


def square_weights(weights: MomentWeights) -> tuple[Fraction, Fraction]:
    """Weight of the square beside the sums of a look: for Laplace noise, and squared for Gaussian noise.

    It is as large as may be (nearly, for Gaussian noise) without a greater sensitivity to a replaced row.
    """
    return Fraction(1 + weights.features_l1, 2), Fraction(5, 2) * _squared_length(weights)


def l1_look(weights: MomentWeights, relation: str) -> Fraction:
    """L1 sensitivity to one row of the sums of r v and r^2, with |r| <= 1, v = (1, m x').

    Parameters
    ----------
    weights : MomentWeights
        The weight of the target does not count.
    relation : {"replace-one", "add-remove"}
        With "replace-one" a row may also be absent on one side.

    Notes
    -----
    Let B = 1 + max |m x'|_1 and let the square have the weight B / 2. For rows with p = |r| and q = |s|,
    p >= q, the difference is at most (p + q) B + (p^2 - q^2) B / 2 = (p + q) (1 + (p - q) / 2) B. Its
    derivative in q is (1 - q) B >= 0, so that it is at most 2 p B <= 2 B; attained by r = 1 and -1 at the
    same x'. One row alone: p B + p^2 B / 2 <= 3 B / 2.
    """
    length = Fraction(1 + weights.features_l1)
    return length * (Fraction(3, 2) if relation == "add-remove" else 2)


def squared_l2_look(weights: MomentWeights, relation: str) -> Fraction:
    """Squared L2 sensitivity to one row of the sums of r v and r^2, with |r| <= 1, v = (1, m x').

    Notes
    -----
    Let R^2 = 1 + max |m x'|^2 and let the square have the squared weight 5 R^2 / 2. For rows with p = |r| and
    q = t p, t <= 1, the square of the difference is at most (p + q)^2 R^2 + (p^2 - q^2)^2 5 R^2 / 2, and with
    p <= 1 at most (1 + t)^2 (1 + (1 - t)^2 5 / 2) R^2. That is at most 4 R^2: the difference
    4 - (1 + t)^2 is (1 - t) (3 + t), and (1 + t)^2 (1 - t) 5 / 2 <= 3 + t, as (1 + t)^2 (1 - t) is largest at
    t = 1/3, where it is 32/27 < 6/5. One row alone: at most R^2 + 5 R^2 / 2.
    """
    square = _squared_length(weights)
    return square * (Fraction(7, 2) if relation == "add-remove" else 4)


def _squared_length(weights: MomentWeights) -> Fraction:
    """Largest squared Euclidean norm of (1, m x')."""
    return weights.squared_l2 - weights.target**2


def sensitivity_of_unit(sensitivity: Fraction, rows_per_unit: int, *, squared: bool = False) -> Fraction:
    """Sensitivity to all rows of a unit: by the triangle inequality, so many rows move so many times as far.

    A unit with fewer rows than another has absent ones, so its number of rows is protected only where a row
    may be absent in the bound for one row.
    """
    return sensitivity * rows_per_unit ** (2 if squared else 1)


# The integer scales of the discrete noise of a fit.

# Sigmas of weight 1 are multiples of 1 / _ONE in statements: whole numbers would say up to 1 too much.
_ONE = 2**20


@dataclass(frozen=True, eq=False)
class NoiseScales:
    """Scales of the discrete noise of one release.

    Attributes
    ----------
    mechanism : {"laplace", "gaussian"}
        Discrete Laplace noise of scale ``scales``, or discrete Gaussian noise of sigma ``scales``.
    scales : ndarray of int64
        Of the shape of the integers to be released.
    sensitivity : Fraction
        L1, or squared L2, of the weighted integers.
    amount : Fraction
        Of epsilon, or rho.
    """

    mechanism: str
    scales: IntArray
    sensitivity: Fraction
    amount: Fraction

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the noise of every integer."""
        values, inverse = np.unique(self.scales, return_inverse=True)
        stds = np.array([sqrt(self._mechanism(int(value)).variance) for value in values])
        return stds[inverse].reshape(self.scales.shape)

    def describe(self, name: str) -> ReleaseRecord:
        """Return the record of the release; its scale is the least that entries of weight 1 have."""
        draws = len(np.unique(self.scales))
        if self.mechanism == "laplace":
            kind, scale, unit = "discrete Laplace", self.sensitivity / self.amount, "epsilon"
        else:
            kind, unit = "discrete Gaussian", "rho"
            scale = Fraction(root_above(self.sensitivity / (2 * self.amount) * _ONE**2), _ONE)
        shares: dict[str, Any] = {unit: self.amount}
        return ReleaseRecord(
            name=name,
            mechanism=kind,
            sensitivity=self.sensitivity,
            noise_scale=scale,
            draws=draws,
            **shares,
        )

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the integers with noise."""
        released = np.empty(self.scales.shape, dtype=np.int64)
        for scale in np.unique(self.scales):
            same = self.scales == scale
            released[same] = self._mechanism(int(scale)).randomize(values[same], entropy)
        return released

    def _mechanism(self, scale: int) -> DiscreteLaplaceMechanism | DiscreteGaussianMechanism:
        if self.mechanism == "laplace":
            return DiscreteLaplaceMechanism.from_scale(scale)
        return DiscreteGaussianMechanism.from_sigma(scale)


def laplace_scales(
    weights: list[Fraction], codes: IndexArray, sensitivity: Fraction, epsilon: Fraction
) -> NoiseScales:
    """Return the scales of discrete Laplace noise on integers of different weights.

    Parameters
    ----------
    weights : list of Fraction
        c > 0, of every class of integers.
    codes : ndarray of int
        Class of every integer f_i.
    sensitivity : Fraction
        Largest sum of c_i |f_i - f'_i| over neighbours.
    epsilon : Fraction

    Notes
    -----
    With scales t_i >= sensitivity / (c_i epsilon) the loss is at most
    sum |f_i - f'_i| / t_i <= epsilon sum c_i |f_i - f'_i| / sensitivity <= epsilon.
    """
    scales = [ceil(sensitivity / (weight * epsilon)) for weight in weights]
    return NoiseScales("laplace", np.array(scales, dtype=np.int64)[codes], sensitivity, epsilon)


def gaussian_scales(
    squared_weights: list[Fraction], codes: IndexArray, squared_sensitivity: Fraction, rho: Fraction
) -> NoiseScales:
    """Return the sigmas of discrete Gaussian noise on integers of different weights.

    Parameters
    ----------
    squared_weights : list of Fraction
        c^2 > 0, of every class of integers.
    codes : ndarray of int
        Class of every integer f_i.
    squared_sensitivity : Fraction
        Largest sum of c_i^2 (f_i - f'_i)^2 over neighbours.
    rho : Fraction

    Notes
    -----
    The divergence of order alpha is at most alpha sum (f_i - f'_i)^2 / (2 sigma_i^2); with
    sigma_i^2 >= squared_sensitivity / (2 rho c_i^2) that is at most alpha rho.
    """
    variance = squared_sensitivity / (2 * rho)
    sigmas = [root_above(variance / weight) for weight in squared_weights]
    return NoiseScales("gaussian", np.array(sigmas, dtype=np.int64)[codes], squared_sensitivity, rho)


def root_above(square: Fraction) -> int:
    """Return the least integer whose square is at least this number above 0."""
    return isqrt(ceil(square) - 1) + 1
