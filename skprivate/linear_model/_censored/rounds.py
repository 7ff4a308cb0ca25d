# SPDX-License-Identifier: BSD-3-Clause
"""Private fit to censored times: its plan, its rounds, and the share of the budget of each round."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from ...accounting import PrivacySpent
from ...noise._mechanisms import FitBudget
from ...rounds._driver import Round, Rounds
from ...rounds._plans.cells import CellsPlan, ErrorAxis
from ...rounds._plans.moments import FINEST, MANY_ROWS, MomentGrid
from ...rounds._rows import KINDS
from .._distributions import ErrorDistribution
from .._moments.released_moments import Neighbours, mirrored, noise_scales, sensitivity_of_unit
from . import histograms, newton
from .gradient_round import GradientRound, RoundPlan, plan_rounds, residuals_of
from .release import CensoredRelease, errors_of

# Shares of the budget: the histogram, and the residuals before and after the last round. Chosen by
# `python -m benchmarks censored`: three distributions, normal columns, 30 to 99 % censored.
HISTOGRAM_SHARE = Fraction(1, 10)
RESIDUAL_SHARE = Fraction(1, 10)
EARLY_SHARE = Fraction(1, 20)
_ROUNDS_SHARE = 1 - HISTOGRAM_SHARE - RESIDUAL_SHARE - EARLY_SHARE
# Cumulative hazards at which a row counts as censored: the range that is allowed, and the values that are
# chosen by the noisy share of events. If there are few events, most of them come early, and a smaller clip
# means less noise: with a share s of events most cumulative hazards are below -log(1 - s). No clip biases
# estimates. The last clip keeps all information but exp(-8) of it. It is for noise that does not matter: of a
# variance below a tenth of that of the rows, even if bounds are thirty standard deviations of a feature from
# the middle.
_CLIP_RANGE = (0.1, 100.0)
_CLIPS: tuple[float, ...] = (0.5, 1.0, 8.0)
_FEW_EVENTS = 0.1
_NO_NOISE = 0.1 / 30**2


@dataclass(frozen=True, eq=False)
class CensoredPlan:
    """Everything public about a censored fit; it does not depend on the rows.

    Attributes
    ----------
    grid : MomentGrid
    distribution : ErrorDistribution
    budget : FitBudget
    neighbours : Neighbours
    rounds : tuple of RoundPlan
        One for each clip that released values may choose.
    max_iter : int or None
        None: by released values.
    regularization : str
        "none": the noise in the curvature is not shrunk.
    scale_bounds : tuple of two floats
        In scaled units.
    """

    grid: MomentGrid
    distribution: ErrorDistribution
    budget: FitBudget
    neighbours: Neighbours
    rounds: tuple[RoundPlan, ...]
    max_iter: int | None
    regularization: str
    scale_bounds: tuple[float, float]

    @property
    def limits(self) -> tuple[float, float]:
        """Limits of theta_1, which is one over the scale."""
        low, high = self.scale_bounds
        return 1.0 / high, 1.0 / low

    @property
    def is_plain(self) -> bool:
        """Whether every row is an event or censored, and watched from the start."""
        return self.rounds[0].residuals.is_plain

    @property
    def n_tables(self) -> int:
        """Number of tables of the histogram: one for each kind of row."""
        return 2 if self.is_plain else 4


def plan_censored(
    grid: MomentGrid,
    distribution: ErrorDistribution,
    budget: FitBudget,
    neighbours: Neighbours,
    *,
    max_iter: Any = "auto",
    hazard_clip: Any = "auto",
    regularization: str = "floor",
    scale_bounds: tuple[float, float] = (1e-3, 10.0),
    n_rows: int = MANY_ROWS,
    observations: tuple[str, ...] = KINDS[:2],
) -> CensoredPlan:
    """Return everything public about a censored fit; its whole cost is `budget`.

    Parameters
    ----------
    grid : MomentGrid
        Bounds. The exponent is not used.
    distribution : ErrorDistribution
    budget : FitBudget
    neighbours : Neighbours
    max_iter : "auto" or int, default="auto"
        Number of rounds; "auto": by released values.
    hazard_clip : "auto" or float, default="auto"
        Cumulative hazard at which a row counts as censored, from 0.1 to 100. "auto": 0.5 if the noisy share
        of events is below 0.1, else 1, and 8 if the noise does not matter. (Logistic errors need no bound,
        and it has no effect on them.)
    regularization : str, default="floor"
        "none": the noise in the curvature is not shrunk.
    scale_bounds : tuple of two floats, default=(1e-3, 10.0)
        In scaled units.
    n_rows : int, default=2**32
        Largest number of rows.
    observations : tuple of str, default=("exact", "right")
        Kinds of observation, as `check_observations` returns them.

    Raises
    ------
    ValueError
        `max_iter` or `hazard_clip` is out of range; too many rows, or epsilon too small.
    """
    count, clips = None, _CLIPS
    if not (isinstance(max_iter, str) and max_iter == "auto"):
        if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
            raise ValueError("max_iter must be 'auto' or an int of at least 1.")
        count = int(max_iter)
    if not (isinstance(hazard_clip, str) and hazard_clip == "auto"):
        if not isinstance(hazard_clip, Real) or not _CLIP_RANGE[0] <= float(hazard_clip) <= _CLIP_RANGE[1]:
            raise ValueError("hazard_clip must be 'auto' or a number between 0.1 and 100.")
        clips = (float(hazard_clip),)
    least = least_share(count) * _ROUNDS_SHARE * budget.amount
    bounds = [residuals_of(distribution, clip, observations) for clip in clips]
    rounds = tuple(plan_rounds(neighbours, one, budget.mechanism, n_rows, least) for one in bounds)
    return CensoredPlan(grid, distribution, budget, neighbours, rounds, count, regularization, scale_bounds)


def censored_rounds(
    plan: CensoredPlan, spent: PrivacySpent | None = None, on_progress: Callable[[], object] = bool
) -> Rounds[CensoredRelease]:
    """Yield the histogram, the Newton rounds around its fit, and the histogram of residuals.

    The log likelihood of a row with standardised error u = theta . z has the derivative r z + d e_1 /
    theta_1, with r its residual and d its event. A round releases the sum of r z, the number of events, and
    at times the curvature, around parameters that earlier rounds chose. A row whose cumulative hazard exceeds
    the clip counts as censored there. Unlike clipped weights, this keeps the residual's mean at 0 under the
    model for every clip, so that rounds lead to consistent estimates. For the same reason a row whose event
    comes after the upper bound of the target counts as censored at the bound.

    Parameters
    ----------
    plan : CensoredPlan
    spent : PrivacySpent, default=None
        The cost of the whole fit, charged with the histogram.
    on_progress : callable, optional
        Called after the release of the histogram, and after every round.

    Notes
    -----
    **Privacy**: a tenth of the budget goes to the histogram, and a tenth to that of the residuals. If
    released values show that the latter would show nothing, the last round gets this tenth. The fit of the
    histogram, the number of rounds, their shares and their places depend on released values only. The amounts
    are positive and add up to the budget whatever they are, so the whole is private with the budget. With a
    fixed total this holds, for pure differential privacy and for zCDP, although earlier outputs choose the
    amounts.
    """
    first = histogram_round(plan, spent)
    released = yield first
    on_progress()
    std = float(first.noise.std[0])  # type: ignore[attr-defined]
    histogram = histograms.HistogramRelease.of(released, std, plan.grid.target, plan.n_tables)
    return (yield from _CensoredFit(plan, histogram).rounds_of_newton(on_progress))


def histogram_round(plan: CensoredPlan, spent: PrivacySpent | None = None) -> Round:
    """Return the round of the counts by time and event, for a tenth of the budget."""
    cells, amount = histograms.histogram_cells(plan.grid, plan.n_tables), HISTOGRAM_SHARE * plan.budget.amount
    return counts_round(plan, cells, amount, "counts by time and event", spent)


def ends_round(plan: CensoredPlan, amount: Fraction, spent: PrivacySpent | None) -> Round:
    """Return the round of the counts of events above the upper bound, within the bounds, and below them."""
    cells = histograms.histogram_cells(plan.grid, 2, 1)
    return counts_round(plan, cells, amount, "counts beyond the bounds of y", spent)


def counts_round(
    plan: Any, cells: CellsPlan, amount: Fraction, name: str, spent: PrivacySpent | None = None
) -> Round:
    """Return the round of a table of counts, for a plan with a budget and neighbours.

    Notes
    -----
    **Privacy**: the sensitivity is that of `histogram_sensitivity` times the rows of a unit (their square,
    for Gaussian noise), whatever the cells are. The noise is discrete, on counts in parts of a row. These
    change `PARTS` times as much, and each part weighs 1 / `PARTS`.
    """
    squared = plan.budget.mechanism == "gaussian"
    one = histograms.histogram_sensitivity(plan.neighbours.relation)
    sensitivity = sensitivity_of_unit(one, plan.neighbours.rows_per_unit, squared=squared)
    weight = Fraction(1, histograms.PARTS) ** (2 if squared else 1)
    codes = np.zeros(cells.n_sums, dtype=np.intp)
    scales = noise_scales(plan.budget.mechanism, [weight], codes, sensitivity, amount)
    return Round(cells, histograms.CountNoise(scales), spent, scales.describe(name))


def _choose_clip(plan: CensoredPlan, histogram: histograms.HistogramRelease) -> RoundPlan:
    """Return the plan of the rounds with the clip that the released counts and the public noise suggest."""
    *usual, late = plan.rounds
    if not usual:
        return late
    std = late.noise(plan.grid.size, _ROUNDS_SHARE * plan.budget.amount / 2, False).std[-1]
    if (std / 2.0 ** (late.exponent + late.residual_bits)) ** 2 < _NO_NOISE * histogram.n_events:
        return late
    return usual[0 if histogram.event_share < _FEW_EVENTS else 1]


class _CensoredFit:
    """State between the rounds of a censored fit. Everything in it is released or public."""

    def __init__(self, plan: CensoredPlan, histogram: histograms.HistogramRelease) -> None:
        self.plan, self._histogram = plan, histogram
        self._plan = _choose_clip(plan, histogram)
        location, scale = histograms.fit_histogram(histogram, plan.distribution)
        slope = float(np.clip(1.0 / scale, *plan.limits))
        self.rule = newton.StepRule.of(
            plan.distribution, self._plan.residuals, plan.regularization != "none", plan.limits
        )
        self.theta = np.zeros(plan.grid.size)
        self.theta[:2] = -location * slope, slope
        self.rounds: list[GradientRound] = []
        self._whole = self._left = _ROUNDS_SHARE * plan.budget.amount
        self._early, self._late = EARLY_SHARE * plan.budget.amount, RESIDUAL_SHARE * plan.budget.amount
        self._seen: float | None = None
        self._pace = Pace(plan.max_iter, plan.budget.mechanism)

    def rounds_of_newton(self, on_progress: Callable[[], object]) -> Rounds[CensoredRelease]:
        """Yield rounds until the budget is spent."""
        estimate = None
        while estimate is None or self._left > 0:
            amount, curvature = self._next_round(estimate)
            self._left -= amount
            if self._left == 0:
                # Budget that is not spent on residuals goes to the last round.
                if not self._counts_residuals(estimate, self._early):
                    amount, self._early = amount + self._early, Fraction(0)
                if not self._counts_residuals(estimate, self._late):
                    amount, self._late = amount + self._late, Fraction(0)
                if estimate is not None and self._early:
                    yield from self._recentre(estimate)
            step = self._plan.round_at(self.plan.grid, self.theta, amount, curvature)
            new = self._plan.read(step, (yield step))
            estimate = self.rule.update(estimate, new)
            self.rounds.append(new)
            model = self.rule.newton_model(estimate, float(new.theta[1]), self.rounds)
            self.theta = self.rule.move(model, new)
            on_progress()
        release = CensoredRelease(
            self._histogram,
            tuple(self.rounds),
            estimate,
            self.rule,
            self.theta,
            self.plan.budget.mechanism,
            contraction=self._seen,
        )
        if not self._late:
            return release
        residuals, correction = yield from self._count_residuals(errors_of(release), self._late)
        on_progress()
        location, log_scale = correction.by
        return replace(
            release,
            theta=correction.apply(self.plan.limits),
            residuals=residuals.moved(location, np.exp(log_scale)),
            correction=correction,
        )

    def _residual_round(self, amount: Fraction) -> Round:
        """Return the round of the residuals about the present parameters."""
        inner = histograms.residual_edges(self.plan.distribution)[1:-1]
        axis = ErrorAxis(replace(self.plan.grid, exponent=FINEST), self.theta, inner)
        return counts_round(self.plan, CellsPlan(((axis,),)), amount, "counts of residuals")

    def _counts_residuals(self, estimate: newton.CurvatureEstimate | None, amount: Fraction) -> bool:
        """Return whether residuals are to be counted, decided before the last round."""
        # Rows of other kinds than events and censored ones have no single residual.
        if estimate is None or not self.plan.is_plain or not self._histogram.shows_events:
            return False
        errors = newton.StepErrors.of(self.rule, estimate, self.rounds, self.theta)
        noise = self._residual_round(amount).noise.std[0]  # type: ignore[attr-defined]
        return histograms.residuals_show_scale(errors, self.plan.distribution, float(noise))

    def _recentre(self, estimate: newton.CurvatureEstimate) -> Rounds[None]:
        """Correct location and scale before the last round, whose slopes suffer most from their errors."""
        errors = newton.StepErrors.of(self.rule, estimate, self.rounds, self.theta)
        # The last round does not begin at the end of the one before.
        self._seen = errors.contraction
        _, correction = yield from self._count_residuals(errors, self._early)
        self.theta = correction.apply(self.plan.limits)

    def _count_residuals(
        self, errors: newton.StepErrors, amount: Fraction
    ) -> Rounds[tuple[histograms.ResidualHistogram, histograms.Correction]]:
        """Yield the round of the residuals, and weigh its result against the rounds before."""
        step = self._residual_round(amount)
        counts = (yield step).reshape(2, -1) / histograms.PARTS
        noise_std = float(step.noise.std[0])  # type: ignore[attr-defined]
        residuals = histograms.ResidualHistogram(
            histograms.residual_edges(self.plan.distribution), counts, noise_std
        )
        return residuals, histograms.correct(residuals, self.plan.distribution, errors, self.rounds[-1])

    def _next_round(self, estimate: newton.CurvatureEstimate | None) -> tuple[Fraction, bool]:
        """Return the budget of the next round, and whether it releases the curvature."""
        plan, size = self._plan, len(self.theta)
        unit = 2.0 ** (plan.exponent + plan.residual_bits)
        unit_of_curvature = 2.0 ** (2 * plan.coarse + plan.curvature_bits)
        if estimate is None:
            # The last entry but one is a product of two features, or of the target and the feature.
            std = plan.noise(size, self._whole, True).std[-2] / unit_of_curvature
            level = float(np.sqrt(2.0 * (size - 2)) * std / self._histogram.n_events)
            return self._pace.first(level) * self._whole, True
        errors = newton.StepErrors.of(self.rule, estimate, self.rounds, self.theta)
        model = errors.model
        stds = [plan.noise(size, self._left, curvature).std[plan.n_counts :] for curvature in (False, True)]
        fresh = mirrored(stds[1][size:] / unit_of_curvature, size)
        fresh = newton.left_noise(replace(estimate, std=fresh / estimate.total), model)
        noises = [model.length_of_noise((std[:size] / unit) ** 2) for std in stds]
        ahead = Ahead(
            length=model.length(errors.step),
            change=errors.change,
            one_sided=self.rule.is_one_sided,
            noise=model.length_of_noise(self.rounds[-1].score_variance),
            contraction=errors.contraction,
            error=errors.error,
            fresh=newton.relative_error(model, fresh, errors.step),
            noises=(noises[0], noises[1]),
        )
        share, curvature = self._pace.next_round(len(self.rounds), ahead, self._left / self._whole)
        return share * self._whole, curvature


# The share of the budget that each round takes, by released values.

# Amounts are multiples of the rounds' budget over _PARTS. The grids of a fit have room for the noise of
# _LEAST of them, so a round takes at least as much. Set by hand.
_PARTS = 1024
_LEAST = 16
# Range of the share of the first round, if released values choose it.
_FIRST = (0.25, 0.5)
# Norm of the noise on the covariance of the features at which the first round takes more. Twelve designs with
# 2 to 20 columns, three distributions: a half was best if a quarter leaves 0.17, a quarter if it leaves 0.04
# at most.
_CLEAR = 0.08
# Share of the first round, and of the last, of a given number of rounds. Set by hand.
_GIVEN = Fraction(3, 8)
# Parts of the remaining budget that a round may take, except for all of it, and how many rounds are planned
# ahead. Without the sixteenth, and with three eighths, errors on eight designs were a quarter larger.
_TRIED = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
_DEPTH = 3
_MOST_ROUNDS = 10
# Largest part of the way that a step leaves in plans, errors of the curvature apart: it goes half of the way.
_SLOWEST = 0.5
# A curvature with a larger relative error than this does not halve the remaining way in a step. It is then
# not released if the number of rounds is given, as it adds noise to the gradient of its round.
_USABLE = 0.5


@dataclass(frozen=True)
class Ahead:
    """What the next round is expected to find, in lengths of steps, by released values.

    Attributes
    ----------
    length : float
        Of the last step.
    change : float
        Change of the logarithm of the hazard of some rows by it.
    one_sided : bool
        As in `left_by_curvatures`.
    noise : float
        Length of the step that its noise made.
    contraction : float
        Part of the step before that was left, as the last one showed.
    error : float
        Error of a step that the present curvature makes, as a part of the step.
    fresh : float
        The same of a curvature that is released with all of the remaining budget.
    noises : tuple of two floats
        Lengths of the steps that the noise of a round makes that takes all of the remaining budget, without
        the curvature and with it.
    """

    length: float
    change: float
    one_sided: bool
    noise: float
    contraction: float
    error: float
    fresh: float
    noises: tuple[float, float]

    def left_of(self, length: float, error: float) -> float:
        """Return the expected remainder of a step of such a length."""
        # The remainder shrinks with the step at least as fast as it did.
        seen = self.contraction * min(1.0, length / max(self.length, 1e-300))
        known = newton.left_by_curvatures(self.change * length / max(self.length, 1e-300), self.one_sided)
        slow = min(float(np.hypot(known, seen)), _SLOWEST)
        part = float(np.hypot(slow, error))
        return length * part / float(np.hypot(1.0, part))

    @property
    def way(self) -> float:
        """Length of the next step: the remainder of the last one, and its noise."""
        return float(np.hypot(self.left_of(self.length, self.error), self.noise))


@dataclass(frozen=True)
class Pace:
    """Shares of the rounds' budget.

    Attributes
    ----------
    n_rounds : int or None
        None: by released values.
    mechanism : {"laplace", "gaussian"}
    """

    n_rounds: int | None
    mechanism: str

    def first(self, level: float) -> Fraction:
        """Return the share of the first round, by the norm of the noise on its covariance."""
        if self.n_rounds is not None:
            return _given(self.n_rounds)[0]
        wanted = (level / _CLEAR) ** (2 if self.mechanism == "gaussian" else 1)
        return Fraction(int(_PARTS * float(np.clip(wanted, *_FIRST))), _PARTS)

    def next_round(self, done: int, ahead: Ahead, left: Fraction) -> tuple[Fraction, bool]:
        """Return the share of the next round, at most `left`, and whether it releases the curvature.

        It compares rounds that take some of the remaining budget, with the curvature and without, and a last
        round that takes all of it. The first of those with the least expected error is chosen.
        """
        if self.n_rounds is not None:
            share = _given(self.n_rounds)[done]
            return share, share < left and ahead.fresh * float(left / share) < min(ahead.error, _USABLE)
        depth = min(_DEPTH, _MOST_ROUNDS - 1 - done) if left * _PARTS >= 2 * _LEAST else 0
        _, part, curvature = self._best(ahead, ahead.way, ahead.error, 1.0, depth)
        if part == 1.0:
            return left, False
        return Fraction(max(_LEAST, int(part * float(left) * _PARTS)), _PARTS), curvature

    def _best(
        self, ahead: Ahead, way: float, error: float, left: float, depth: int
    ) -> tuple[float, float, bool]:
        """Return the least expected error after all rounds, and how to begin."""
        last = float(np.hypot(self._grown(ahead.noises[0], left), ahead.left_of(way, error)))
        found = [(last, 1.0, False)]
        for part, curvature in product(_TRIED, (False, True)) if depth else ():
            noise = self._grown(ahead.noises[curvature], part * left)
            known = both(error, self._grown(ahead.fresh, part * left)) if curvature else error
            next_way = float(np.hypot(noise, ahead.left_of(way, known)))
            changed = float(np.hypot(known, newton.CHANGE * way))
            best = self._best(ahead, next_way, changed, left * (1 - part), depth - 1)[0]
            found.append((best, part, curvature))
        return min(found)

    def _grown(self, error: float, part: float) -> float:
        return error / (part**0.5 if self.mechanism == "gaussian" else part)


def both(one: float, other: float) -> float:
    """Return the error of two estimates that are weighted by their variances."""
    return one * other / max(float(np.hypot(one, other)), 1e-300)


def least_share(n_rounds: int | None) -> Fraction:
    """Return the least share of a round."""
    return Fraction(_LEAST, _PARTS) if n_rounds is None else min(_given(n_rounds))


def _given(count: int) -> list[Fraction]:
    """Return the shares for a given number of rounds."""
    if count <= 2:
        return [Fraction(1, count)] * count
    middle = (1 - 2 * _GIVEN) / (count - 2)
    return [_GIVEN, *[middle] * (count - 2), _GIVEN]
