# SPDX-License-Identifier: BSD-3-Clause
"""A round of a censored fit: what a row contributes, proofs of sensitivity, and released sums."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil, isqrt, log
from typing import Any

import numpy as np
from scipy import special
from scipy.optimize import brentq

from ..._typing import FloatArray, IntArray
from ...rounds._driver import Round
from ...rounds._plans.moments import GradientsPlan, MomentGrid, ResidualGrid, count_sums
from ...rounds._rows import KINDS
from ...utils._public_module import public_module
from .._distributions import LOGISTIC, SEV, ErrorDistribution
from .._moments import released_moments as moments

# Bounds that are not rational are rounded up to a multiple of 1 / this: 1e-6 of a bound near 1.
_BOUND_STEP = 2**20
# Bits of the grids. The gradient determines where rounds end, and the curvature only how fast, so its weights
# have fewer bits. Fewer than _FEWEST_BITS would round most rows to 0. Set by hand.
_EXPONENT = 14
_RESIDUAL_BITS = 20
_CURVATURE_BITS = 12
_FEWEST_BITS = 3
# Weight of the gradient beside the curvature, if both are released; the curvature has weights (1, 2, 2). Set
# by hand.
_GRADIENT_WEIGHT = 2

# The part of an event that is left, a residual, and the largest magnitude of the residual times the target.
_Corner = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True, eq=False)
class Residuals:
    """What one row can add to a round, by the distribution and the clip: public.

    Attributes
    ----------
    code : int
        Number of the distribution in the kernel.
    cuts : tuple of two floats
        Standardised errors. Below the first, the score of normal errors does not grow. A row that passes the
        second counts as censored there.
    corners : tuple of triples (event, residual, moment)
        Corners of a polytope that holds the triple (part of the event that is left, residual, largest
        magnitude of the residual times the target) of every row. The moment is the residual's magnitude,
        except for rows with an entry.
    curvature : Fraction
        Largest sum of both halves of the curvature; the least is 0.
    off : Fraction
        Largest part that is subtracted from an event.
    observations : tuple of str
        Kinds of observation that are declared.
    """

    code: int
    cuts: tuple[float, float]
    corners: tuple[_Corner, ...]
    curvature: Fraction
    off: Fraction = Fraction(0)
    observations: tuple[str, ...] = KINDS[:2]

    def spread(self, distribution: ErrorDistribution) -> float:
        """Return the variance of the error of uncensored rows, by both halves of the curvature."""
        u = distribution.quantile((np.arange(4000) + 0.5) / 4000)
        inside = u < self.cuts[1]
        u = np.clip(u, *self.cuts)
        if distribution is SEV:
            weights, steep = np.exp(u), np.ones_like(u)
        elif distribution is LOGISTIC:
            weights, steep = 2.0 * special.expit(u) * special.expit(-u), special.expit(-u)
        else:
            hazard = _normal_hazard(u)
            weights, steep = np.where(inside, 1.0, hazard * (hazard - u)), hazard - u
        both = np.concatenate([weights, inside * np.minimum(steep, 1.0) ** 2])
        errors = np.concatenate([u, u + 1.0 / np.maximum(steep, 1e-6)])
        mean = np.average(errors, weights=both)
        return float(np.average((errors - mean) ** 2, weights=both))

    @property
    def extent(self) -> tuple[Fraction, Fraction]:
        """Largest magnitude of a negative residual, and of a positive one."""
        residuals = [residual for _, residual, _ in self.corners]
        return -min(residuals), max(residuals)

    @property
    def reach(self) -> Fraction:
        """Largest magnitude of a residual times a target."""
        return max(moment for _, _, moment in self.corners)

    @property
    def is_plain(self) -> bool:
        """Whether every row is an event or censored, and watched from the start."""
        return set(self.observations) <= set(KINDS[:2])

    def limits(self, residual_unit: int, curvature_unit: int) -> FloatArray:
        """Return the largest integers: residuals below 0 and above, curvature, part taken off an event.

        With kinds beside events and censored rows there is one more: of a residual times a target of 1.
        """
        low, high = self.extent
        residuals = low * residual_unit, high * residual_unit
        greatest = [*residuals, self.curvature * curvature_unit, self.off * residual_unit]
        if not self.is_plain:
            greatest.append(self.reach * residual_unit)
        return np.array([float(value.numerator // value.denominator) for value in greatest])


def residuals_of(
    distribution: ErrorDistribution, hazard_clip: float, observations: tuple[str, ...] = KINDS[:2]
) -> Residuals:
    """Bound what a row adds to a round.

    Parameters
    ----------
    distribution : ErrorDistribution
    hazard_clip : float
        C > 0. A row counts as censored where its cumulative hazard reaches C, at survival exp(-C).
    observations : tuple of str, default=("exact", "right")
        Kinds of observation that are declared.

    Notes
    -----
    Let d be 1 for an event that is left, 0 otherwise, and u the standardised error.

    The curvature is the mean of two matrices of the same expectation under the model, so that it is that of
    the middle of the way from other parameters. One half is w z z', with -w the second derivative. The other
    is the information of an event, a^2 v v'. Here a <= 1 is the derivative of the log hazard at the event,
    and v is the row z whose target is moved by 1 / (a theta_1), within its bounds. All rows are in the cube,
    so the curvature is in the convex hull of 0 and all K v v', where K bounds (w + d a^2) / 2.

    *SEV.* The residual is d - w with w = exp(u) in [0, C] and a = 1, K = (C + 1) / 2: corners (0, 0),
    (0, -C), (1, 1), (1, 1 - C).

    *Logistic.* The residual is d - (1 + d) p with p in [0, 1], w is (1 + d) p (1 - p), a is 1 - p, and
    (w + d a^2) / 2 is (1 - p^2) / 2 for an event and p (1 - p) / 2 otherwise, K = 1/2. No row needs a cut:
    corners (0, 0), (0, -1), (1, 1), (1, -1).

    *Normal.* Rows end at the cut c where survival is exp(-C). Let h be the hazard. The score of a row that
    was seen up to u is the integral of a(s) dM(s) up to u. Here a = h - s is the derivative of log h, and M
    counts its event less the hazard so far: the score is -u for an event, -h(u) otherwise. It grows without
    bound for early events, so a stays at A = a(l) below l = -max(c, 2). The integral of any weight known
    beforehand has the mean 0, however the row was censored. With H the cumulative hazard and k = h(l) - A
    H(l) > 0, the residual is A (d - H(u)) below l, else k - u for an event and k - h(u) otherwise. It is
    between min(-c, 0) and A for an event, and between -h(c) and 0 otherwise. The score of theta_1 integrates
    1 / theta_1 + a(s) y'(s). So beside the residual times y' at u it has (d - g(u)) / theta_1. Here g(u) is
    H(u) - A times the integral of H below l, else g(l) + k (u - l): between 0 and g(c). The curvature w is A
    h(u) below l, else 1 for an event and h (h - u), at most 1, otherwise. Of events with a > 1 only a^2 = 1
    counts. The rest has the expectation of the integral of (a^2 - 1) dH where a > 1, which is added, at one
    more target: at most G, and K = 1 + G / 2.

    If earlier events or intervals are declared, the curvature is w z z' alone, within the same K.

    *Intervals.* A row whose event came between two times contributes the mean, under the parameters of the
    round, of the rows that it may have been. These are events in between, and rows censored where rows end.
    This is in the convex hull of their contributions, so the polytope and every norm over it stay the same.

    *Earlier events.* The mean over all rows is 0. So the mean over those with an event by u is minus the
    contribution of a row censored at u, times S / (1 - S), S the survival. This is (0, e^u S / (1 - S)), at
    most (0, 1), for SEV errors, and (0, 1 - p) for logistic ones. For normal ones it is a residual between 0
    and A with g S / (1 - S) <= H S / (1 - S) <= 1 of an event. It is one corner more, (0, 1) or (0, A).

    *Entries.* A row that was watched from v on contributes a difference: what a row watched from the start
    would, less what a row censored at v would. It contributes nothing if v is beyond the end of rows. As
    hazards are not negative, residuals keep their ranges: from -L to 0 without an event, up to the largest of
    an event with one. With r_y and r_v the residuals of both, the moment r_y y' - r_v v' is at most |r_y| +
    |r_v|. This is convex. The pair lies in a polygon, 0 >= r_v >= -L, r_y - r_v <= e, r_y in its range. Its
    corners give those here. Without an event they are (0, 0), (-L, 0), (-L, -L); with one and r_y in [e', e]
    they are (e, 0), (e', 0), (e', -L), (e - L, -L). (As v' <= y', opposite signs of two moments are rarer
    than this allows.)
    """
    clip = Fraction(hazard_clip)
    off = Fraction(0)
    if distribution is SEV:
        code, cuts, curvature = 0, (-np.inf, log(hazard_clip)), (clip + 1) / 2
        censored, event = clip, (1 - clip, Fraction(1))
    elif distribution is LOGISTIC:
        code, cuts, curvature = 1, (-np.inf, np.inf), Fraction(1, 2)
        censored, event = Fraction(1), (Fraction(-1), Fraction(1))
    else:
        cut = -float(special.ndtri_exp(-hazard_clip))
        low = -max(cut, 2.0)
        hazard = float(_normal_hazard(low))
        slope, cumulative = hazard - low, -float(special.log_ndtr(-low))
        # The integral of H is above 0 and is left out: this gives a bound.
        off = _rounded_up(cumulative + (hazard - slope * cumulative) * (cut - low))
        code, cuts, curvature = 2, (low, cut), 1 + _rounded_up(_early_information(low) / 2.0)
        censored = _rounded_up(float(_normal_hazard(cut)))
        event = -_rounded_up(max(cut, 0.0)), _rounded_up(slope)
    corners = _corners(censored, event, off, observations)
    return Residuals(code, cuts, corners, curvature, off, observations)


def _corners(
    censored: Fraction, event: tuple[Fraction, Fraction], off: Fraction, observations: tuple[str, ...]
) -> tuple[_Corner, ...]:
    """Return corners of boxes: residuals without and with an event, of which up to `off` is subtracted.

    Parameters
    ----------
    censored : Fraction
        Largest magnitude of the residual of a censored row.
    event : tuple of two Fraction
        Least and greatest residual of an event.
    off : Fraction
    observations : tuple of str
    """
    low, high = event
    pairs = [(0, -censored, censored), (0, Fraction(0), Fraction(0)), (1, low, abs(low)), (1, high, high)]
    if "entry" in observations:
        pairs.append((0, Fraction(0), 2 * censored))
        pairs += [(1, low + censored, abs(low) + censored), (1, high, abs(high - censored) + censored)]
    parts = (Fraction(0), off) if off else (Fraction(0),)
    corners = [(d - part, residual, moment) for d, residual, moment in pairs for part in parts]
    if "left" in observations:
        corners.append((Fraction(0), high, high))
    return tuple(corners)


def _normal_hazard(u: Any) -> Any:
    return np.exp(-0.5 * u * u - 0.5 * log(2 * np.pi) - special.log_ndtr(-u))


def _early_information(low: float) -> float:
    """Return the integral of (a^2 - 1) dH where a = h - u > 1, for normal errors; a is flat below `low`."""
    end = brentq(lambda u: float(_normal_hazard(u)) - u - 1.0, -1.0, 0.0)
    values = []
    for u in (low, end):
        h, cumulative = float(_normal_hazard(u)), -float(special.log_ndtr(-u))
        # An antiderivative of (h - u)^2 h, and H.
        values.append((h * (0.5 * h - u) + cumulative, cumulative))
    flat = (float(_normal_hazard(low)) - low) ** 2 - 1.0
    return flat * values[0][1] + values[1][0] - values[0][0] - (values[1][1] - values[0][1])


def _rounded_up(value: float) -> Fraction:
    return Fraction(int(value * _BOUND_STEP) + 1, _BOUND_STEP)


def l1_gradient(residuals: Residuals, weights: moments.MomentWeights, relation: str) -> Fraction:
    """Return the L1 sensitivity of (number of events left, sum of residual times v) to one row.

    Notes
    -----
    Let a row be (d, r, t, x'): the part of its event that is left, its residual, the residual times the
    target, and features of weighted norm M at most. Let a be the target's weight. Two rows differ by |d - d'|
    + |r - r'| + a |t - t'| + |r x' - r' x''|_1 <= |d - d'| + |r - r'| + a (|t| + |t'|) + (|r| + |r'|) M. This
    is convex in ((d, r, t), (d', r', t')), and so largest at corners of the polytope. For events and censored
    rows it is reached by opposite targets and features, or equal ones if r and r' differ in sign. One row
    alone: |d| + |r| (1 + M) + a |t|. An absent row is (0, 0, 0), a corner, so replacing covers absence. If
    the information less, in [0, 1], is released as well, it adds 1.

    Residuals and moments that are rounded toward 0 keep to the bound. If |r| shrinks, |r - r'| grows by at
    most as much, and M >= 1 times as much is removed.
    """
    target, features = Fraction(weights.target), Fraction(weights.features_l1)
    largest = max(
        abs(event - other) + abs(r - s) + (abs(r) + abs(s)) * features + (moment + second) * target
        for (event, r, moment), (other, s, second) in _neighbouring_corners(residuals, relation)
    )
    return count_sums(residuals.observations) - 1 + largest


def squared_l2_gradient(residuals: Residuals, weights: moments.MomentWeights, relation: str) -> Fraction:
    """Return the squared L2 sensitivity of (number of events left, sum of residual times v) to one row.

    Notes
    -----
    As in `l1_gradient`, with features of squared norm M^2 at most. The square of the difference is at most
    (d - d')^2 + (r - r')^2 + a^2 (|t| + |t'|)^2 + (|r| + |r'|)^2 M^2. This is convex again, and it does not
    grow if |r| shrinks: 2 |r - r'| <= 2 (|r| + |r'|) M^2. The information less adds 1.
    """
    target = Fraction(weights.target) ** 2
    features = weights.squared_l2 - 1 - target
    largest = max(
        (event - other) ** 2
        + (r - s) ** 2
        + (abs(r) + abs(s)) ** 2 * features
        + (moment + second) ** 2 * target
        for (event, r, moment), (other, s, second) in _neighbouring_corners(residuals, relation)
    )
    return count_sums(residuals.observations) - 1 + largest


def _neighbouring_corners(residuals: Residuals, relation: str) -> Iterator[tuple[_Corner, _Corner]]:
    """Yield the corners of one row and of its neighbour, which is absent if rows are added or removed."""
    absent = (Fraction(0), Fraction(0), Fraction(0))
    return product(residuals.corners, [absent] if relation == "add-remove" else residuals.corners)


def l1_curvature(residuals: Residuals, weights: moments.MomentWeights, relation: str) -> Fraction:
    """Return the L1 sensitivity to one row of theta' M theta / 2, M the sum of curvatures.

    Notes
    -----
    A row's curvature is in the convex hull of 0 and all K v v', K the largest (see `residuals_of`). The norm
    of the difference of two is convex in both, so it is largest at corners: K v v' and K v' v'', or one of
    them 0, which is the bound for an absent row.
    """
    return residuals.curvature * moments.l1_moments(weights, relation)


def squared_l2_curvature(residuals: Residuals, weights: moments.MomentWeights, relation: str) -> Fraction:
    """Return the squared L2 sensitivity of the sum of curvatures, mixed products counted twice."""
    return residuals.curvature**2 * moments.squared_l2_moments(weights, relation)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class GradientRound:
    """One released round, in scaled units.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        Place of the round: the standardised error is theta . z.
    events : float
        Noisy number of events that are left within the cuts, less what `residuals_of` subtracts.
    events_std : float
        Standard deviation of its noise.
    gradient, gradient_std : ndarray of shape (D,)
        Noisy sum of residual times z.
    curvature, curvature_std : ndarray of shape (D, D), or None
        Noisy sum of curvature times z z', if the round released it.
    less : float
        How much less than events the rows of intervals, and rows with an entry, reveal about the scale;
        noisy, and 0 if there are none.
    """

    theta: FloatArray
    events: float
    events_std: float
    gradient: FloatArray
    gradient_std: FloatArray
    curvature: FloatArray | None = None
    curvature_std: FloatArray | None = None
    less: float = 0.0

    @property
    def score(self) -> FloatArray:
        """Noisy derivative of the log likelihood by theta."""
        score = self.gradient.copy()
        score[1] += max(self.events, 1.0) / self.theta[1]
        return score

    @property
    def score_variance(self) -> FloatArray:
        """Variances of its noise."""
        variance = self.gradient_std**2
        variance[1] += (self.events_std / self.theta[1]) ** 2
        return variance

    @property
    def scale_information(self) -> float:
        """Information about the logarithm of the scale in addition to that of the curvature, at least 1."""
        return max(self.events - self.less, 1.0)


@dataclass(frozen=True, eq=False)
class RoundPlan:
    """Grids and sensitivities of the rounds of one fit: public.

    Attributes
    ----------
    neighbours : Neighbours
    residuals : Residuals
    mechanism : {"laplace", "gaussian"}
    exponent : int
        Exponent of the rows in the gradient.
    coarse : int
        Exponent of the rows in the curvature.
    residual_bits, curvature_bits : int
        The residuals and the curvatures are multiples of 2^-bits.
    """

    neighbours: moments.Neighbours
    residuals: Residuals
    mechanism: str
    exponent: int
    coarse: int
    residual_bits: int
    curvature_bits: int

    @property
    def n_counts(self) -> int:
        """Number of integers before the gradient: events and, with other kinds, the information less."""
        return count_sums(self.residuals.observations)

    @property
    def curvature_weights(self) -> moments.MomentWeights:
        """Weights of the entries of z in the curvature, in which the constant matters less."""
        weights = self.neighbours.weights
        return moments.MomentWeights(2, 2 * weights.features, weights.n_features, weights.norm_order)

    def sensitivity(self, with_curvature: bool) -> Fraction:
        """Return the sensitivity of one round, L1 or squared L2, to one unit.

        It is that of the gradient and the number of events, times the weight of both, plus that of the
        curvature. Distances of parts of a vector add up, and so do their squares.
        """
        squared = self.mechanism == "gaussian"
        total = self._gradient_sensitivity
        if with_curvature:
            curvature = squared_l2_curvature if squared else l1_curvature
            total *= _GRADIENT_WEIGHT ** (2 if squared else 1)
            total += curvature(self.residuals, self.curvature_weights, self.neighbours.relation)
        return moments.sensitivity_of_unit(total, self.neighbours.rows_per_unit, squared=squared)

    @functools.cached_property
    def _gradient_sensitivity(self) -> Fraction:
        # The maximum over all pairs of corners takes long, and every round needs it.
        gradient = squared_l2_gradient if self.mechanism == "gaussian" else l1_gradient
        return gradient(self.residuals, self.neighbours.weights, self.neighbours.relation)

    def noise(self, size: int, amount: Fraction, with_curvature: bool) -> moments.NoiseScales:
        """Plan the noise of one round: the number of events, the gradient, then the curvature's triangle."""
        kinds, weights = np.minimum(np.arange(size), 2), self.neighbours.weights
        fine, unit = 2**self.residual_bits, 2 ** (self.exponent + self.residual_bits)
        of_gradient = [Fraction(weight, unit) for weight in (1, weights.target, weights.features)]
        codes = np.concatenate([[0] * self.n_counts, 1 + kinds])
        power = 2 if self.mechanism == "gaussian" else 1
        classes = [weight**power for weight in (Fraction(1, fine), *of_gradient)]
        if with_curvature:
            classes = [weight * _GRADIENT_WEIGHT**power for weight in classes]
            unit = 2 ** (2 * self.coarse + self.curvature_bits)
            classes += moments.pair_weights(self.curvature_weights, self.mechanism, unit)
            codes = np.concatenate([codes, 4 + moments.pair_codes(*np.triu_indices(size))])
        return moments.noise_scales(self.mechanism, classes, codes, self.sensitivity(with_curvature), amount)

    def sums(self, grid: MomentGrid, theta: FloatArray, with_curvature: bool) -> GradientsPlan:
        """Return the sums over rows of a round around theta."""
        fine, short = 2**self.residual_bits, 2**self.curvature_bits
        limits = self.residuals.limits(fine, short)
        largest = np.finfo(np.float64).max
        # JSON has no infinity, and no error exceeds the largest number.
        low, high = (float(np.clip(cut, -largest, largest)) for cut in self.residuals.cuts)
        residuals = ResidualGrid(
            self.residuals.code,
            (low, high),
            self.residual_bits,
            self.curvature_bits,
            tuple(float(limit) for limit in limits),
            self.residuals.observations,
        )
        rows = replace(grid, exponent=self.exponent)
        return GradientsPlan(rows, residuals, theta, self.coarse if with_curvature else None)

    def round_at(self, grid: MomentGrid, theta: FloatArray, amount: Fraction, with_curvature: bool) -> Round:
        """Return a round around theta for `amount` of epsilon, or rho.

        Notes
        -----
        **Privacy**: the sums are integers with the sensitivity that `sensitivity` proves, whatever theta is.
        Discrete noise makes the release private with `amount`. Rounds around parameters that earlier releases
        chose compose: their amounts add up.
        """
        sums = self.sums(grid, theta, with_curvature)
        noise = self.noise(grid.size, amount, with_curvature)
        parts = "number of events, gradients and curvature"
        name = parts if with_curvature else "number of events and gradients"
        return Round(sums, _RoundNoise(sums, noise), release=noise.describe(name))

    def read(self, step: Round, released: IntArray) -> GradientRound:
        """Return what a round of `round_at` released, in scaled units."""
        sums, std = step.plan, step.noise.scales.std  # type: ignore[attr-defined]
        theta: FloatArray = sums.theta  # type: ignore[attr-defined]
        noisy, size, first = released.astype(np.float64), len(theta), self.n_counts
        fine, vector = 2.0**self.residual_bits, slice(first, len(theta) + first)
        unit = 2.0**self.exponent * fine
        less = noisy[1] / fine if first > 1 else 0.0
        of_gradient = noisy[vector] / unit, std[vector] / unit
        of_curvature: tuple[FloatArray | None, FloatArray | None] = None, None
        if len(noisy) > size + first:
            unit = 2.0 ** (2 * self.coarse + self.curvature_bits)
            rest = [part[size + first :] / unit for part in (noisy, std)]
            of_curvature = moments.mirrored(rest[0], size), moments.mirrored(rest[1], size)
        return GradientRound(theta, noisy[0] / fine, std[0] / fine, *of_gradient, *of_curvature, less)


def plan_rounds(
    neighbours: moments.Neighbours, residuals: Residuals, mechanism: str, n_rows: int, least_amount: Fraction
) -> RoundPlan:
    """Choose the grids of the rounds by public numbers alone.

    Parameters
    ----------
    neighbours : Neighbours
    residuals : Residuals
    mechanism : {"laplace", "gaussian"}
    n_rows : int
        Largest number of rows.
    least_amount : Fraction
        Least epsilon, or rho, of a round.

    Raises
    ------
    ValueError
        There are too many rows, or epsilon is too small, for 64-bit integers.
    """
    draft = RoundPlan(neighbours, residuals, mechanism, 0, 0, 0, 0)
    # Noise scale of an integer of weight 1/2, before the grid: the largest there is.
    scale = 2 * draft.sensitivity(True) / least_amount
    if mechanism == "gaussian":
        scale = Fraction(isqrt(ceil(draft.sensitivity(True) / (2 * least_amount))) + 1)
    largest = max(residuals.curvature, residuals.reach, *residuals.extent)
    room = moments.room_for(ceil(scale), n_rows, ceil(largest - 1).bit_length())
    bits = min(_RESIDUAL_BITS, room // 2)
    curvature_bits = min(_CURVATURE_BITS, room // 2)
    exponent, coarse = min(_EXPONENT, room - bits), min(_EXPONENT, (room - curvature_bits) // 2)
    if min(exponent, coarse, bits) < _FEWEST_BITS:
        raise ValueError("too many rows, or epsilon too small, for censored targets in 64-bit integers.")
    return replace(draft, exponent=exponent, coarse=coarse, residual_bits=bits, curvature_bits=curvature_bits)


@dataclass(frozen=True, eq=False)
class _RoundNoise:
    """Noise on the number of events, the gradient and one triangle of the curvature."""

    sums: GradientsPlan
    scales: moments.NoiseScales

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the noisy integers."""
        _, gradient, matrix = self.sums.split(values)
        parts = [values[: self.sums.residuals.n_counts], gradient]
        if matrix is not None:
            parts.append(matrix[np.triu_indices(len(matrix))])
        return self.scales.randomize(np.concatenate(parts), entropy)
