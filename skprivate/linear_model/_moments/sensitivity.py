# SPDX-License-Identifier: BSD-3-Clause
"""Sensitivities of the moments, with their proofs.

A row enters as v = (v_0, ..., v_D-1), v_0 = 1, v_1 = a y', the rest m x' (see `MomentWeights`), and moves the
coefficients of (v . theta)^2 / 2: v_j^2 / 2 for theta_j^2 and v_j v_h for theta_j theta_h, each once. For two
rows the coefficients differ in L1 by (1/2) sum over all (j, h) of |v_j v_h - v'_j v'_h|, half the entrywise
norm of v v' - v' v''. On the grid every entry is a multiple of 2^-k inside the same bounds, and the integers
are 4^k times as large; so are the sensitivities.
"""

from fractions import Fraction

from .weights import MomentWeights


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
