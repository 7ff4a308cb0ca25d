# SPDX-License-Identifier: BSD-3-Clause
"""Sensitivities of the histogram and the rounds of a censored fit, with their proofs."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .._distributions import LOGISTIC, SEV, ErrorDistribution
from .._moments.sensitivity import l1_moments, squared_l2_moments
from .._moments.weights import MomentWeights

# Bounds that are not rational are rounded up to a multiple of 1 / this: 1e-6 of a bound near 1.
_STEP = 2**20


@dataclass(frozen=True, eq=False)
class Residuals:
    """What one row can put into a round, by the distribution and the clip: public.

    Attributes
    ----------
    code : int
        Number of the distribution in the kernel.
    cuts : tuple of two floats
        Standardised errors: below the first, the score of normal errors does not grow; a row that passes the
        second counts as censored there.
    corners : tuple of pairs (event, residual)
        Corners of a polygon that holds the pair (what is left of the event, residual) of every row.
    off : Fraction
        Most that is taken off an event.
    curvature : Fraction
        Largest curvature; the least is 0.
    """

    code: int
    cuts: tuple[float, float]
    corners: tuple[tuple[Fraction, Fraction], ...]
    curvature: Fraction
    off: Fraction = Fraction(0)

    def spread(self, distribution: ErrorDistribution) -> float:
        """Variance of the error of uncensored rows, up to the cuts and weighted by the curvature."""
        u = distribution.quantile((np.arange(4000) + 0.5) / 4000)
        inside = (u > self.cuts[0]) & (u < self.cuts[1])
        u = np.clip(u, *self.cuts)
        if distribution is SEV:
            weights = np.exp(u)
        elif distribution is LOGISTIC:
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
        """Greatest integers: of a residual below 0, of one above, of a curvature, of what is off an event."""
        low, high = self.extent
        residuals = low * residual_unit, high * residual_unit
        greatest = (*residuals, self.curvature * curvature_unit, self.off * residual_unit)
        return np.array([float(value.numerator // value.denominator) for value in greatest])


def residuals_of(distribution: ErrorDistribution, hazard_clip: float) -> Residuals:
    """Bound what a row puts into a round.

    Parameters
    ----------
    distribution : ErrorDistribution
    hazard_clip : float
        C > 0: a row counts as censored where its cumulative hazard reaches C, at survival exp(-C).

    Notes
    -----
    With d = 1 for an event that is left, 0 otherwise, and u the standardised error:

    *SEV.* The residual is d - w with w = exp(u) in [0, C], the curvature is w: corners (0, 0), (0, -C), (1,
    1), (1, 1 - C).

    *Logistic.* The residual is d - (1 + d) p with p in [0, 1], the curvature is (1 + d) p (1 - p) <= 1/2, and
    no row needs a cut: corners (0, 0), (0, -1), (1, 1), (1, -1).

    *Normal.* Rows end at the cut c where survival is exp(-C). With h the hazard, the score of a row that was
    seen up to u is the integral of a(s) dM(s) up to u, where a = h - s is the derivative of log h and M
    counts its event less the hazard so far: -u for an event, -h(u) otherwise. It grows without bound for
    early events, so a stays at A = a(l) below l = -max(c, 2). The integral of any weight known beforehand has
    the mean 0, whatever censored the row. With H the cumulative hazard and k = h(l) - A H(l) > 0, the
    residual is A (d - H(u)) below l, else k - u for an event and k - h(u) otherwise: between min(-c, 0) and A
    for an event, between -h(c) and 0 otherwise. The score of theta_1 integrates 1 / theta_1 + a(s) y'(s), so
    that beside the residual times y' at u stands (d - g(u)) / theta_1, with g(u) = H(u) - A times the
    integral of H below l, else g(l) + k (u - l): between 0 and g(c). The curvature is A h(u) below l, else 1
    for an event and h (h - u), at most 1, otherwise.
    """
    clip = Fraction(hazard_clip)
    if distribution is SEV:
        return Residuals(0, (-np.inf, log(hazard_clip)), _corners((-clip, 0), (1 - clip, 1)), clip)
    if distribution is LOGISTIC:
        return Residuals(1, (-np.inf, np.inf), _corners((-1, 0), (-1, 1)), Fraction(1, 2))
    cut = -float(special.ndtri_exp(-hazard_clip))
    low = -max(cut, 2.0)
    hazard = float(_normal_hazard(low))
    slope, cumulative = hazard - low, -float(special.log_ndtr(-low))
    # The integral of H is above 0 and is left out: a bound.
    off = _rounded_up(cumulative + (hazard - slope * cumulative) * (cut - low))
    censored = -_rounded_up(float(_normal_hazard(cut))), 0
    corners = _corners(censored, (-_rounded_up(max(cut, 0.0)), _rounded_up(slope)), off)
    return Residuals(2, (low, cut), corners, Fraction(1), off)


def _corners(
    censored: tuple[Any, Any], event: tuple[Any, Any], off: Fraction = Fraction(0)
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Corners of two boxes: residuals without and with an event, of which up to `off` is taken."""
    both = ((Fraction(0), censored), (Fraction(1), event))
    parts = (0, off) if off else (0,)
    return tuple((d - part, Fraction(r)) for d, ends in both for part in parts for r in ends)


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
    r' differ in sign, at a corner of the cube or the ball. One row alone: |d| + |r| B. An absent row is
    (0, 0, .), a corner, so replacing covers absence. (For normal errors d is what is left of the event.)
    """
    rest = Fraction(weights.target + weights.features_l1)
    if relation == "add-remove":
        return max(abs(event) + abs(r) * (1 + rest) for event, r in residuals.corners)
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
        return max(event**2 + r**2 * (1 + rest) for event, r in residuals.corners)
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
    return residuals.curvature * l1_moments(weights, relation)


def squared_l2_curvature(residuals: Residuals, weights: MomentWeights, relation: str) -> Fraction:
    """Squared L2 sensitivity of sum w v v', products of different entries counted twice."""
    return residuals.curvature**2 * squared_l2_moments(weights, relation)
