# SPDX-License-Identifier: BSD-3-Clause
"""Sensitivities of what a censored fit releases: a histogram, and rounds of residuals, with their proofs."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ._families import LOGISTIC, SEV, Family
from ._sensitivity import l1_moments, squared_l2_moments
from ._weights import MomentWeights

# Bounds that are not rational are rounded up to a multiple of this.
_STEP = 2**20


@dataclass(frozen=True, eq=False)
class Residuals:
    """What one row can put into a round, by the family and the clip: public.

    Attributes
    ----------
    code : int
        Of the family in the kernel.
    cuts : tuple of two floats
        Lowest and highest standardised error that is looked at; beyond them a row counts as censored there.
    corners : tuple of pairs (event, residual)
        Corners of a polygon that holds the pair (still an event, residual) of every row.
    curvature : Fraction
        Largest curvature; the least is 0.
    """

    code: int
    cuts: tuple[float, float]
    corners: tuple[tuple[int, Fraction], ...]
    curvature: Fraction

    def spread(self, family: Family) -> float:
        """Variance of the error of uncensored rows, up to the cuts and weighted by the curvature."""
        u = family.quantile((np.arange(4000) + 0.5) / 4000)
        inside = (u > self.cuts[0]) & (u < self.cuts[1])
        u = np.clip(u, *self.cuts)
        if family is SEV:
            weights = np.exp(u)
        elif family is LOGISTIC:
            weights = special.expit(u) * special.expit(-u)
        else:
            hazard = _normal_hazard(np.abs(u))
            weights = np.where(inside, 1.0, hazard * (hazard - np.abs(u)))
        mean = np.average(u, weights=weights)
        return float(np.average((u - mean) ** 2, weights=weights))

    @property
    def extent(self) -> tuple[Fraction, Fraction]:
        """Largest magnitude of a negative residual, and of a positive one."""
        residuals = [residual for _, residual in self.corners]
        return -min(residuals), max(residuals)

    def limits(self, residual_unit: int, curvature_unit: int) -> NDArray[np.float64]:
        """Greatest integers: of a negative residual's magnitude, of a positive residual, of a curvature."""
        low, high = self.extent
        greatest = (low * residual_unit, high * residual_unit, self.curvature * curvature_unit)
        return np.array([float(value.numerator // value.denominator) for value in greatest])


def residuals_of(family: Family, weight_clip: float) -> Residuals:
    """Bound what a row puts into a round.

    Parameters
    ----------
    family : Family
    weight_clip : float
        C > 0: a row counts as censored where its cumulative hazard reaches C, at survival exp(-C).

    Notes
    -----
    With d = 1 for an event that is left, 0 otherwise, and u the standardised error:

    *SEV.* The residual is d - w with w = exp(u) in [0, C], the curvature is w: corners (0, 0), (0, -C), (1,
    1), (1, 1 - C).

    *Logistic.* The residual is d - (1 + d) p with p in [0, 1], the curvature is (1 + d) p (1 - p) <= 1/2, and
    no row needs a cut: corners (0, 0), (0, -1), (1, 1), (1, -1).

    *Normal.* The residual of an event is -u, that of a censored row is -h(u), h the hazard; h increases. Rows
    end at the cut c where survival is exp(-C), and events below -c', c' = max(c, 2), count as known only to
    be below it, with residual h(c'). Corners (0, -h(c)), (0, h(c')), (1, -c), (1, c'). The curvature is 1 for
    events and h (h - u), at most 1, otherwise.
    """
    clip = Fraction(weight_clip)
    if family is SEV:
        corners = ((0, Fraction(0)), (0, -clip), (1, Fraction(1)), (1, 1 - clip))
        return Residuals(0, (-np.inf, log(weight_clip)), corners, clip)
    if family is LOGISTIC:
        corners = ((0, Fraction(0)), (0, Fraction(-1)), (1, Fraction(1)), (1, Fraction(-1)))
        return Residuals(1, (-np.inf, np.inf), corners, Fraction(1, 2))
    cut = -float(special.ndtri_exp(-weight_clip))
    early = max(cut, 2.0)
    corners = (
        (0, -_rounded_up(float(_normal_hazard(cut)))),
        (0, _rounded_up(float(_normal_hazard(early)))),
        (1, -_rounded_up(max(cut, 0.0))),
        (1, _rounded_up(early)),
    )
    return Residuals(2, (-early, cut), corners, Fraction(1))


def _normal_hazard(u: Any) -> Any:
    return np.exp(-0.5 * u * u - 0.5 * log(2 * np.pi) - special.log_ndtr(-u))


def _rounded_up(value: float) -> Fraction:
    return Fraction(int(value * _STEP) + 1, _STEP)


def histogram_sensitivity(relation: str) -> Fraction:
    """L1 sensitivity of the histogram to one row, and its squared L2 sensitivity: they are equal.

    A row is in one cell. Replaced, it leaves one and enters another: 2. Added or removed: 1.
    """
    return Fraction(1 if relation == "add-remove" else 2)


def l1_gradient(residuals: Residuals, weights: MomentWeights, relation: str) -> Fraction:
    """L1 sensitivity of (number of events left, sum of residual times v) to one row.

    Notes
    -----
    Let a row be (d, r, v), v = (1, v~), |v~|_1 <= B - 1. For two rows the difference is
    |d - d'| + |r - r'| + |r v~ - r' v~'|_1 <= |d - d'| + |r - r'| + (|r| + |r'|) (B - 1), which is convex in
    ((d, r), (d', r')) and so largest at corners of the polygon; reached by v~' = -v~, or v~' = v~ where r and
    r' differ in sign, at a corner of the cube or the ball. One row alone: d + |r| B. An absent row is (0, 0,
    .): where 0 is not a corner, it still lies in the polygon, so replacing covers absence.
    """
    rest = Fraction(weights.target + weights.features_l1)
    if relation == "add-remove":
        return max(event + abs(r) * (1 + rest) for event, r in residuals.corners)
    return max(
        abs(event - other) + abs(r - s) + (abs(r) + abs(s)) * rest
        for (event, r), (other, s) in product(residuals.corners, repeat=2)
    )


def squared_l2_gradient(residuals: Residuals, weights: MomentWeights, relation: str) -> Fraction:
    """Squared L2 sensitivity of (number of events left, sum of residual times v) to one row.

    Notes
    -----
    As in `l1_gradient`, with |v~|_2^2 <= R^2 - 1: the square of the difference is at most
    (d - d')^2 + (r - r')^2 + (|r| + |r'|)^2 (R^2 - 1), convex again.
    """
    rest = weights.squared_l2 - 1
    if relation == "add-remove":
        return max(event + r**2 * (1 + rest) for event, r in residuals.corners)
    return max(
        (event - other) ** 2 + (r - s) ** 2 + (abs(r) + abs(s)) ** 2 * rest
        for (event, r), (other, s) in product(residuals.corners, repeat=2)
    )


def l1_curvature(residuals: Residuals, weights: MomentWeights, relation: str) -> Fraction:
    """L1 sensitivity of the coefficients of sum w (v . theta)^2 / 2 to one row, w the curvature.

    Notes
    -----
    The difference of w v v' and w' v' v'' is convex in (w, w'), so largest where both are 0 or the largest
    curvature; with one of them 0 that is the bound for an absent row.
    """
    return residuals.curvature * l1_moments(weights, relation, False)


def squared_l2_curvature(residuals: Residuals, weights: MomentWeights, relation: str) -> Fraction:
    """Squared L2 sensitivity of sum w v v', products of different entries counted twice."""
    return residuals.curvature**2 * squared_l2_moments(weights, relation)
