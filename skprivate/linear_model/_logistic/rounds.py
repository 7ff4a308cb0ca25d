# SPDX-License-Identifier: BSD-3-Clause
"""What a logistic fit releases, its estimates and intervals; its plan and its rounds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

from ..._typing import FloatArray
from ...accounting import PrivacySpent
from ...noise._mechanisms import FitBudget
from ...rounds._driver import Round, Rounds
from ...rounds._plans.logits import ColumnMomentsPlan, LogitsPlan, StandardRows
from ...rounds._plans.moments import FINEST, MANY_ROWS, MomentGrid, choose_exponent
from ...rounds._plans.probabilities import LinearModel, class_probabilities
from ...rounds._rates import ClassRates, NoiseShares, class_rate_rounds, shift_rounds, shift_to
from ...utils._public_module import public_module
from .._moments.released_moments import mirrored, room_for
from . import schedule as schedules

# Largest factor of the slopes against the ridge. Set by hand.
_LONGEST = 4.0
# A direction whose curvature is less than this many times the largest noise in it is not known. Set by hand.
_KNOWN = 3.0
# Share of unknown directions in a slope from which its interval is infinite. Noise turns directions, and so
# gives every slope some share. Below the limit, the interval is wider by so many standardised units times the
# share.
_TRACE, _FARTHEST = 0.02, 10.0

# Simulated rows: they show how mean predictions follow a shift of the intercept, and only that. Set by hand.
_DRAWS = 2000


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticRelease:
    """What a logistic fit released, in standardised columns, the constant first.

    Attributes
    ----------
    standards : Standards
        Noisy centres and variances of the columns, and base rates.
    schedule : Schedule
        Rounds and their noise.
    mechanism : {"laplace", "gaussian"}
    known : ClassRates
        Noisy counts of the classes.
    start, theta : ndarray of shape (n_logits, n_features + 1)
        Start of the rounds, and the mean of the points at which gradients were taken.
    shares : ndarray of shape (n_classes,)
        Mean probabilities of simulated rows, averaged over these points.
    gradient : ndarray of shape (n_logits, n_features + 1)
        The mean of these noisy gradients.
    curvature : ndarray of shape (n_features + 1, n_features + 1), or None
        Noisy curvature of the mean loss at `theta`.
    curvature_std : float
        Standard deviation of the noise of an entry beside its diagonal.
    rows_per_unit : int
        Rows of one person that count.
    shift : ndarray of shape (n_logits,), or None
        Shift of the intercepts by which the mean prediction equals the base rates; None: not released yet.
    """

    standards: schedules.Standards
    schedule: schedules.Schedule
    mechanism: str
    known: ClassRates
    start: FloatArray
    theta: FloatArray
    shares: FloatArray
    gradient: FloatArray
    curvature: FloatArray | None
    curvature_std: float = 0.0
    rows_per_unit: int = 1
    shift: FloatArray | None = None

    def estimate(self) -> FloatArray:
        """Return the parameters: those of the rounds, with slopes scaled as the noise requires.

        Notes
        -----
        Let H be the curvature, and s = H theta* the gradient that leads from the start to the best slopes.
        Its noisy value in the rounds is s + e. Their slopes are about b = (H + ridge)^-1 (s + e). A factor g
        minimises the quadratic loss of g b, g^2 b'Hb / 2 - g b's. The unknown b's is replaced by b'(s + e)
        less the mean of b'e (Stein's unbiased estimate of risk). At 0 noise explains everything, and the base
        rates stay.

        On average over the points of the rounds, the mean prediction is the base rate. At the mean of these
        points it is less, if events are rare: the mean of exp(x) is above exp of the mean of x. Other slopes
        change it as well. The intercepts are moved until simulated rows have the mean prediction again, and
        then by `shift`.
        """
        slopes, seen, by_noise, size = self._slopes()
        factor = min(max((seen - by_noise) / size, 0.0), _LONGEST) if size else 0.0
        estimate = self.theta.copy() if factor else self.start.copy()
        estimate[:, 1:] = factor * slopes
        if factor:
            estimate[:, 0] += shift_to(self.simulated_logits(estimate), self.shares)
        if len(estimate) > 1:
            estimate -= estimate.mean(axis=0)
        if self.shift is not None:
            estimate[:, 0] += self.shift
        return estimate

    def simulated_logits(self, theta: FloatArray) -> FloatArray:
        """Return logits of simulated rows, of shape (n_drawn, n_logits)."""
        return theta[:, 0] + simulated_rows(self.standards) @ theta[:, 1:].T

    @property
    def may_be_noise(self) -> bool:
        """Whether noise and chance alone make as much of the rounds' slopes once in twenty times or more.

        The test is about a sum of squares of as many normal variables as there are slopes.
        """
        slopes, seen, by_noise, _ = self._slopes()
        return seen < by_noise * float(chi2.ppf(0.95, slopes.size)) / slopes.size

    def _slopes(self) -> tuple[FloatArray, float, float, float]:
        """Return slopes b, b'(s + e), the mean of b'e by noise and sampling, and b'Hb."""
        moved = (self.theta - self.start)[:, 1:]
        h, ridge, slopes = self._model(moved)
        pull = moved @ h - self.gradient[:, 1:]
        variance = self.schedule.noise**2 * np.eye(len(h)) + h * (self.rows_per_unit / self.standards.n_rows)
        by_noise = len(moved) * float(np.trace(np.linalg.solve(h + ridge, variance)))
        return slopes, float((slopes * pull).sum()), by_noise, float(np.einsum("ij,ij->", slopes @ h, slopes))

    def _largest(self, curvature: FloatArray) -> float:
        """Return a bound on the noise of a direction: about twice the root of the size of the matrix."""
        return 2 * sqrt(len(curvature)) * self.curvature_std

    def _model(self, moved: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the curvature of slopes, the ridge, and slopes moved as far as the curvature shows."""
        schedule, n_slopes = self.schedule, moved.shape[1]
        if self.curvature is None:
            h = schedule.curvature * self.standards.variances[1:]
            return np.diag(h), schedule.ridge * np.eye(n_slopes), moved
        # The rounds make the constant's part of a step: it has no ridge.
        values, vectors = np.linalg.eigh(self.curvature[1:, 1:])
        h = (vectors * np.maximum(values, 0.0)) @ vectors.T
        ridge = max(schedule.ridge, self._largest(self.curvature)) * np.eye(n_slopes)
        left = self.gradient[:, 1:] + schedule.ridge * moved
        return h, ridge, moved - left @ np.linalg.inv(h + ridge)

    def intervals(self, contrasts: FloatArray, confidence: float) -> FloatArray:
        """Return intervals of sums of the parameters of two classes, shape (n, 2); infinite if not known.

        Parameters
        ----------
        contrasts : ndarray of shape (n, n_features + 1)
            Weights of the constant and of the slopes of standardised columns.
        confidence : float

        Notes
        -----
        From the mean of the rounds one Newton step without a ridge leads to an estimate. Its error is
        H^-1 (noise + sampling), of variance H^-1 (s^2 + J / n) H^-1. With weights of rows at most 1 the
        variance J of a row's gradient is at most H under the model. Rows of one person may be alike, so J
        counts as many times. H is known up to noise of norm v, twice the root of its size times the noise of
        an entry. So its eigenvalues are reduced by v, and its noise times the length of the step is added. A
        direction is not known if this leaves less than two thirds of its eigenvalue.
        """
        if self.curvature is None:
            return np.tile([-np.inf, np.inf], (len(contrasts), 1))
        values, vectors = np.linalg.eigh(self.curvature)
        largest = self._largest(self.curvature)
        known = values > _KNOWN * largest
        inverse = np.where(known, 1 / np.where(known, values, 1.0), 0.0)
        lower = np.where(known, values - largest, 1.0)
        step = -(vectors * inverse) @ (vectors.T @ self.gradient[0])
        variance = self.schedule.noise**2 + self.curvature_std**2 * float(step @ step)
        each = known * (variance / lower**2 + self.rows_per_unit / self.standards.n_rows / lower)
        parts = contrasts @ vectors
        std = np.sqrt(parts**2 @ each)
        traces = np.abs(parts[:, ~known]).sum(axis=1)
        half = float(ndtri(0.5 + confidence / 2)) * std + _FARTHEST * traces
        half = np.where(traces > _TRACE, np.inf, half)
        middle = contrasts @ (self.theta[0] + step)
        return np.column_stack([middle - half, middle + half])


def simulated_rows(standards: schedules.Standards) -> FloatArray:
    """Return standardised rows as if columns were normal, and independent."""
    deviations = np.sqrt(standards.variances[1:])
    return np.random.default_rng(0).normal(size=(_DRAWS, len(deviations))) * deviations


def in_units_of_rows(
    theta: FloatArray, standards: schedules.Standards, grid: MomentGrid
) -> tuple[FloatArray, FloatArray]:
    """Return slopes of shape (n_logits, n_features) and intercepts in the units of X."""
    slopes = theta[:, 1:] / standards.scale
    coef = slopes / grid.half
    return coef, theta[:, 0] - slopes @ standards.center - coef @ grid.center


# Least part of the whole budget that a round gets: with the most rounds, and the smallest share of a leading
# one.
_LEAST_AMOUNT = Fraction(1, 512)
# Bits of rows and of residuals below which a fit is refused: rounding toward zero would matter.
_FEWEST_BITS = 7
# Narrower half-widths are refused: a slope of 10^8 standardised units divided by them would be no float.
_NARROWEST = 1e-300
# Most bits of the rows in the curvature, whose products are added up. Set by hand.
_COARSE = 14


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticPlan:
    """Everything public about a fit.

    Attributes
    ----------
    grid : MomentGrid
        Grid on which columns are packed. It is fine, as only standardised rows are added up.
    moments_exponent : int
        The grid's exponent for the moments by label.
    exponent, residual_bits : int
        Of the standardised rows, and of residuals.
    coarse : tuple of two ints
        Of the rows in the curvature, and of the curvature.
    neighbours : LogisticNeighbours
    budget : FitBudget
    n_rows : int or None
        None: protected.
    """

    grid: MomentGrid
    moments_exponent: int
    exponent: int
    residual_bits: int
    coarse: tuple[int, int]
    neighbours: schedules.LogisticNeighbours
    budget: FitBudget
    n_rows: int | None


def plan_logistic(
    lower: FloatArray,
    upper: FloatArray,
    x_norm: float | None,
    *,
    neighbours: schedules.LogisticNeighbours,
    budget: FitBudget,
    n_rows: int | None,
) -> LogisticPlan:
    """Choose the grids by public numbers alone.

    Raises
    ------
    ValueError
        There are too many rows, or epsilon is too small, for 64-bit integers; or bounds are too narrow.
    """
    most_rows = MANY_ROWS if n_rows is None else n_rows
    share = schedules.MOMENTS_SHARE * budget.amount
    scales = neighbours.moments_noise(2 * neighbours.n_features, 0, share).scales
    moments_exponent = choose_exponent(most_rows, Fraction(int(scales.max())))
    room = room_for(neighbours.largest_scale(_LEAST_AMOUNT * budget.amount), most_rows)
    bits = room // 2
    if bits < _FEWEST_BITS:
        raise ValueError("too many rows, or epsilon too small, for gradients in 64-bit integers.")
    coarse = min(_COARSE, room // 3)
    grid = MomentGrid(
        lower=lower,
        upper=upper,
        target=(-1.0, 1.0),
        exponent=FINEST,
        x_norm=x_norm,
        norm_order=None if x_norm is None else 2 if budget.mechanism == "gaussian" else 1,
    )
    if grid.half.min() < _NARROWEST:
        raise ValueError("bounds, or x_norm, are so narrow that slopes overflow: use other units of X.")
    return LogisticPlan(
        grid=grid,
        moments_exponent=min(moments_exponent, FINEST),
        exponent=min(bits, FINEST),
        residual_bits=min(bits, FINEST),
        coarse=(coarse, min(room - 2 * coarse, FINEST)),
        neighbours=neighbours,
        budget=budget,
        n_rows=n_rows,
    )


def logistic_rounds(
    plan: LogisticPlan, spent: PrivacySpent | None = None, on_progress: Callable[[], object] = bool
) -> Rounds[LogisticRelease]:
    """Yield counts of classes, moments, gradients and the mean prediction; return what they released.

    Notes
    -----
    **Privacy**: standards, schedule and parameters are functions of what was released before. Amounts are
    positive and add up to the budget whatever they are. So the whole is private with the budget, for pure
    differential privacy and for zCDP, although earlier releases choose their number.
    """
    neighbours, amount = plan.neighbours, schedules.MOMENTS_SHARE * plan.budget.amount
    shares = NoiseShares(plan.budget, neighbours.relation, neighbours.rows_per_unit)
    known = yield from class_rate_rounds(shares, neighbours.n_labels, plan.n_rows, spent)
    moments = ColumnMomentsPlan(replace(plan.grid, exponent=plan.moments_exponent))
    noise = neighbours.moments_noise(moments.n_sums, plan.moments_exponent, amount)
    released = yield Round(moments, noise, release=noise.describe("moments of the columns"))
    on_progress()
    standards = schedules.read_standards(moments, noise, released, known, plan.budget.mechanism)
    schedule = schedules.make_schedule(standards, neighbours, plan.budget, known.share)
    norm_order = 2 if plan.budget.mechanism == "gaussian" else 1
    rows = StandardRows(standards.center, standards.scale, standards.radius, norm_order, plan.exponent)
    logs = np.log(standards.rates)
    constant = logs[1:] - logs[0] if len(logs) == 2 else logs - logs.mean()
    start = np.zeros((len(constant), len(standards.variances)))
    start[:, 0] = constant
    theta, gradient, shown = yield from _descend(plan, standards, schedule, rows, start, on_progress)
    curvature: tuple[FloatArray | None, float] = None, 0.0
    if schedule.curvature_amount:
        curvature = yield from _release_curvature(plan, standards, schedule.curvature_amount, rows, theta)
        on_progress()
    release = LogisticRelease(
        standards=standards,
        schedule=schedule,
        mechanism=plan.budget.mechanism,
        known=known,
        start=start,
        theta=theta,
        shares=shown,
        gradient=gradient,
        curvature=curvature[0],
        curvature_std=curvature[1],
        rows_per_unit=neighbours.rows_per_unit,
    )
    estimate = release.estimate()
    coef, intercept = in_units_of_rows(estimate, standards, plan.grid)
    inside = () if plan.grid.x_norm is not None else (plan.grid.lower, plan.grid.upper)
    lower, upper = inside or (np.empty(0), np.empty(0))
    model = LinearModel(lower, upper, intercept, coef.ravel())
    # Prior knowledge of the mean prediction: the noise of the gradient of the constant, and half of the
    # change that the noise of the rounds made in it.
    before = class_probabilities(release.simulated_logits(theta)).mean(axis=0)
    moved = np.log(np.maximum(shown, 1e-12) / np.maximum(before, 1e-12))
    spread = np.hypot(schedule.noise / standards.rates, 0.5 * moved)
    drawn = release.simulated_logits(estimate)
    return replace(release, shift=(yield from shift_rounds(shares, model, drawn, known, spread)))


def _descend(
    plan: LogisticPlan,
    standards: schedules.Standards,
    schedule: schedules.Schedule,
    rows: StandardRows,
    start: FloatArray,
    on_progress: Callable[[], object],
) -> Rounds[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield rounds of gradients with momentum; return the means of points, gradients and predictions."""
    unit = 2.0 ** (plan.exponent + plan.residual_bits)
    theta, velocity, pull = start.copy(), np.zeros_like(start), np.zeros_like(start)
    damping = schedule.damping
    mean, slope, shown = np.zeros_like(theta), np.zeros_like(theta), np.zeros(plan.neighbours.n_labels)
    drawn = simulated_rows(standards)
    for number, amount in enumerate(schedule.amounts):
        sums = LogitsPlan(plan.grid, rows, theta, plan.residual_bits)
        if not number or amount != schedule.amounts[number - 1]:
            noise = plan.neighbours.gradient_noise(sums, amount)
            record, std = noise.describe("gradients"), schedules.noise_of(standards, plan.neighbours, amount)
        released = yield Round(sums, noise, release=record)
        on_progress()
        # It is the gradient of the mean loss.
        gradient = -released.astype(np.float64).reshape(start.shape)
        gradient *= standards.radius / unit / standards.n_rows
        before, pull = pull, gradient + schedule.ridge * (theta - start)
        length = float(np.linalg.norm(velocity))
        if length:
            # Columns that move together may be steeper than the step allows for, by more than noise explains.
            bend = float((velocity * (pull - before)).sum()) / length**2
            sure = bend - 2 * sqrt(2) * std / length
            damping = max(damping, sure - schedule.ridge)
        if number >= schedule.n_leading:
            weight = schedule.weights[number - schedule.n_leading]
            mean, slope = mean + weight * theta, slope + weight * gradient
            shown += weight * class_probabilities(theta[:, 0] + drawn @ theta[:, 1:].T).mean(axis=0)
        velocity = schedules.MOMENTUM * velocity - pull / (damping + schedule.ridge)
        theta = theta + velocity
    return mean, slope, shown


def _release_curvature(
    plan: LogisticPlan,
    standards: schedules.Standards,
    amount: Fraction,
    rows: StandardRows,
    theta: FloatArray,
) -> Rounds[tuple[FloatArray, float]]:
    """Yield the round of the curvature around theta; return it as a mean over rows, and its noise."""
    coarse, bits = plan.coarse
    sums = LogitsPlan(plan.grid, rows, theta, plan.residual_bits, (coarse, bits))
    noise = plan.neighbours.curvature_noise(sums, amount)
    released = yield Round(sums, noise, release=noise.scales.describe("curvature"))
    unit = standards.radius**2 / 2.0 ** (2 * coarse + bits) / standards.n_rows
    # Entry 1 is the first beside the diagonal.
    return mirrored(released * unit, len(standards.variances)), float(noise.scales.std[1]) * unit
