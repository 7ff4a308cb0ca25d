# SPDX-License-Identifier: BSD-3-Clause
"""The rounds of a fit to complete targets: moments, then looks at residuals, or moments again."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..._typing import FloatArray, IndexArray, IntArray
from ...accounting import PrivacySpent
from ...noise._mechanisms import FitBudget
from ...rounds._driver import Round, Rounds
from ...rounds._plans.cells import CellsPlan, ResidualAxis
from ...rounds._plans.moments import (
    FINEST,
    NARROWEST,
    STEEPEST,
    LooksPlan,
    MomentGrid,
    MomentsPlan,
    choose_exponent,
)
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution, clipped_errors
from .released_moments import (
    FitTask,
    MomentRelease,
    MomentWeights,
    Neighbours,
    NoiseScales,
    ScaledFit,
    l1_look,
    largest_scale,
    noise_level,
    noise_scales,
    plan_moments,
    room_for,
    sensitivity_of_unit,
    solve_moments,
    square_weights,
    squared_l2_look,
)

# Shares of the budget: the moments, and the counts of residuals. Simulations had 10 and 30 normal columns,
# 10,000 to 1,000,000 rows and both mechanisms. A quarter to a half for the moments made little difference if
# there are many looks.
MOMENTS_SHARE = Fraction(3, 10)
COUNTS_SHARE = Fraction(1, 20)
_REST = 1 - MOMENTS_SHARE - COUNTS_SHARE
#: Numbers of looks that are compared. If noise hides the moments, every look goes a small part of the way.
NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Weight of the part of the first error that looks leave: it is a guess, and the error of their noise is
# known. There were seven designs: four with Gaussian noise and bounds that fit or are ten times too wide,
# three with Laplace noise. 1 lost up to 2.3 times the error of 4, and 16 won with Gaussian noise what it lost
# with Laplace noise.
_CAUTION = 4.0
# Share of the budget of a check of the predictions. It is made if, by the first moments, the expected error
# exceeds this part of the target's variance. If it is so many variances, the check gets all of the rest. It
# was tried on four tables and simulations of three distributions (3 to 30 columns, 500 to 50,000 rows,
# epsilon 0.5 to 4). Nearly all fits far below a constant were beyond 0.2. Fits of which looks had found most
# of the slopes were below it.
CHECK_SHARE = Fraction(1, 5)
_DANGER, _HOPELESS = 0.2, 2.0
# For fits without looks: the public norm of the noise of moments, per row. Beyond it, the moments get that
# share alone, and a check the rest. It is one and a half times the variance of uniform columns.
_DROWNED = 0.5
# Range of predictions in a check, in their standard deviations: an outlier in 400 of a normal one is clipped.
_REACH = 3.0
# Weights of target and predictions in a check: at 2 the sensitivity is shared about evenly.
_OF_CHECK = 2
# Variance of a variable that is uniform between its bounds.
_UNIFORM = 1 / 3
# Standard deviation of the factor of the slopes about its expected value without a check: it may be anything
# from 0 to 1.
_SPREAD = 0.5
# Quantiles of the distribution beyond which the counts have one cell on each side.
_TAIL = 0.0002
# Bits of rows and of residuals below which there are no looks: rounding toward zero would matter.
_FEWEST_BITS = 7
#: Cells of the counts: between quantiles of the distribution, and two beyond. Set by hand.
N_CELLS = 50


def part_of(budget: FitBudget, share: Fraction) -> FitBudget:
    """Return a part of a budget."""
    return replace(budget, amount=share * budget.amount)


def moments_budget(budget: FitBudget, most_looks: int | None) -> FitBudget:
    """Return the budget of the first moments."""
    return budget if most_looks == 0 else part_of(budget, MOMENTS_SHARE)


# One look: its plan, what it releases, and the fit that it leads to.


@dataclass(frozen=True, eq=False)
class LookPlan:
    """What is public about the looks of a fit.

    Attributes
    ----------
    neighbours : Neighbours
    mechanism : {"laplace", "gaussian"}
    bits : int
        Of rows and of residuals.
    """

    neighbours: Neighbours
    mechanism: str
    bits: int

    def look(self, grid: MomentGrid, line: FloatArray, clip: float, amount: Fraction) -> Round:
        """Return a look about a line for `amount` of epsilon, or rho.

        Notes
        -----
        **Privacy**: residuals and rows are integers within their bounds, whatever the line and the clip are.
        So the sums have the sensitivity of `l1_look` or `squared_l2_look`, times the rows of a unit.
        """
        sums = LooksPlan(replace(grid, exponent=self.bits), line, clip, self.bits)
        noise = self.noise(grid.n_features, amount)
        return Round(sums, noise, release=noise.describe("sums of clipped residuals"))

    def noise(self, n_features: int, amount: Fraction) -> NoiseScales:
        """Return the scales of the noise of a look."""
        weights, relation = self.neighbours.weights, self.neighbours.relation
        codes = np.array([0, *[1] * n_features, 2])
        unit = Fraction(4**self.bits)
        square, squared = square_weights(weights)
        if self.mechanism == "laplace":
            classes = [Fraction(1) / unit, weights.features / unit, square / unit]
            return self._scales(classes, codes, l1_look(weights, relation), amount)
        classes = [1 / unit**2, weights.features**2 / unit**2, squared / unit**2]
        return self._scales(classes, codes, squared_l2_look(weights, relation), amount)

    def std_of_look(self, amount: Fraction) -> float:
        """Return the standard deviation of the noise of a sum of residuals times a feature, in clips."""
        return float(self.noise(1, amount).std[1] / 4.0**self.bits)

    def noise_of_counts(self, n_cells: int, amount: Fraction) -> NoiseScales:
        """Return the scales of the noise of counts of residuals."""
        one = Fraction(1 if self.neighbours.relation == "add-remove" else 2)
        return self._scales([Fraction(1)], np.zeros(n_cells, dtype=np.intp), one, amount)

    def _scales(
        self, weights: list[Fraction], codes: IndexArray, sensitivity: Fraction, amount: Fraction
    ) -> NoiseScales:
        squared = self.mechanism == "gaussian"
        whole = sensitivity_of_unit(sensitivity, self.neighbours.rows_per_unit, squared=squared)
        return noise_scales(self.mechanism, weights, codes, whole, amount)

    def hides_quartiles(self, n: float, amount: Fraction) -> bool:
        """Return whether the noise of counts of n residuals hides the quartiles, from which looks start.

        A quartile is found where half of the cells, or fewer, add up to a quarter of the rows. It is hidden
        if the standard deviation of the noise of that sum is a quarter of the rows.
        """
        std = float(self.noise_of_counts(N_CELLS, amount).std[0])
        return std * float(np.sqrt(N_CELLS / 2)) > n / 4

    def residual_counts(
        self, grid: MomentGrid, line: FloatArray, edges: FloatArray, amount: Fraction
    ) -> Round:
        """Return the round of counts of residuals between edges.

        Notes
        -----
        **Privacy**: a row is in one cell. Replacing it moves the counts by 2 in L1 and in squared L2, adding
        or removing it by 1.
        """
        cells = CellsPlan(((ResidualAxis(replace(grid, exponent=self.bits), line, edges),),))
        noise = self.noise_of_counts(cells.n_sums, amount)
        return Round(cells, noise, release=noise.describe("counts of residuals"))

    def read(self, step: Round, released: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of r, r x' and r^2, r in clips, and the standard deviations of their noise."""
        unit = 4.0**self.bits
        return released / unit, step.noise.std / unit  # type: ignore[attr-defined]


def plan_looks(neighbours: Neighbours, budget: FitBudget, n_rows: int, least: Fraction) -> LookPlan | None:
    """Choose the grid of looks by public numbers alone; None if no grid is fine enough for so many rows.

    Parameters
    ----------
    neighbours : Neighbours
    budget : FitBudget
    n_rows : int
        Largest number of rows.
    least : Fraction
        Least epsilon, or rho, of a look.
    """
    draft = LookPlan(neighbours, budget.mechanism, 0)
    scale = int(draft.noise(1, least).scales.max())
    bits = min(room_for(scale, n_rows) // 2, FINEST)
    return None if bits < _FEWEST_BITS else replace(draft, bits=bits)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class ResidualRelease:
    """Noisy counts of standardised residuals.

    Attributes
    ----------
    edges : ndarray of shape (n_cells - 1,)
        Ends between cells; the first and the last cell have no end.
    counts : ndarray of shape (2, n_cells)
        Row 0: censored rows, of which there are none; row 1: complete rows. Counts may be negative.
    noise_std : float
        Standard deviation of the noise of every count.
    """

    edges: FloatArray
    counts: FloatArray
    noise_std: float


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Look:
    """One look: what it released, and about which fit.

    Attributes
    ----------
    fit : ScaledFit
        The fit that residuals were taken about.
    clip : float
        Of residuals, in scaled units.
    sums : ndarray of shape (n_features + 2,)
        Sums of the clipped residuals, of their products with the features, and of their squares, in clips.
    noise_std : ndarray of shape (n_features + 2,)
        Standard deviations of their noise.
    """

    fit: ScaledFit
    clip: float
    sums: FloatArray
    noise_std: FloatArray


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class LookRelease:
    """Everything that a fit with looks released, and the fit.

    Attributes
    ----------
    moments : MomentRelease
    residuals : ResidualRelease
        About the fit to the moments, in units of its scale.
    looks : tuple of Look
    n_averaged : int
        The fit is the mean of the fits that so many last looks led to.
    fit : ScaledFit
    ends : HistogramRelease or None
        Counts of times within and beyond the bounds of the target, if they were released first.
    """

    moments: MomentRelease
    residuals: ResidualRelease
    looks: tuple[Look, ...]
    n_averaged: int
    fit: ScaledFit
    ends: Any = None
    check: "PredictionCheck | None" = None

    @property
    def mechanism(self) -> str:
        """Distribution of the noise."""
        return self.moments.mechanism


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class PredictionCheck:
    """Release of a check of predictions.

    Attributes
    ----------
    release : MomentRelease
        Moments of (1, y', p'). Here p' is the prediction less its mean, in units of `reach`, clipped to
        [-1, 1].
    reach : float
        In half-widths of the target.
    mean : ndarray of shape (n_features,)
        Means of the features by the first moments: predictions are 0 there.
    """

    release: MomentRelease
    reach: float
    mean: FloatArray

    @property
    def slope(self) -> tuple[float, float]:
        """The factor of the slopes that predicts best, and its standard error by the noise."""
        matrix, std = self.release.matrix, self.release.noise_std
        n = max(float(matrix[0, 0]), 1.0)
        centred = matrix - np.outer(matrix[0], matrix[0]) / n
        square = max(centred[2, 2], std[2, 2], 1e-9 * n) * self.reach
        slope = centred[1, 2] / square
        return float(slope), float(np.hypot(std[1, 2], slope * self.reach * std[2, 2]) / square)

    @property
    def shows_effect(self) -> bool:
        """Whether the predictions are clearly better than a constant."""
        slope, error = self.slope
        return slope > error

    def factor(self, expected: float) -> float:
        """Return the factor for the slopes, from 0 to 1, given the one that is expected without a check."""
        slope, error = self.slope
        return float(np.clip((slope * _SPREAD**2 + expected * error**2) / (_SPREAD**2 + error**2), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Metric:
    """Released moments of the features about their means, as looks use them.

    Attributes
    ----------
    n : float
        Number of rows, at least 1.
    mean : ndarray of shape (n_features,)
    values, raised : ndarray of shape (n_features,)
        Eigenvalues, and at least the level of the noise.
    vectors : ndarray of shape (n_features, n_features)
    level : float
        Typical norm of the noise.
    entry : float
        Typical standard deviation of an entry of the centred moments.
    """

    n: float
    mean: FloatArray
    values: FloatArray
    raised: FloatArray
    vectors: FloatArray
    level: float
    entry: float

    @classmethod
    def of(cls, release: MomentRelease) -> "Metric":
        """Compute them from a release."""
        n = max(float(release.matrix[0, 0]), 1.0)
        mean = np.clip(release.matrix[0, 2:] / n, -1.0, 1.0)
        values, vectors = np.linalg.eigh(release.matrix[2:, 2:] - n * np.outer(mean, mean))
        # Rows are in [-1, 1]. The least value keeps the inverse finite without noise.
        level = noise_level(release)
        raised = np.maximum(values, max(level, 1e-9 * n))
        # Centred moments are off by E - m e' - e m', with e the noise of the features' sums.
        variances, squares = release.noise_std**2, mean**2
        entry = np.sqrt(np.mean(variances[2:, 2:]) + 2.0 * np.mean(squares) * np.mean(variances[0, 2:]))
        return cls(n, mean, values, raised, vectors, level, float(entry))

    @property
    def plausible(self) -> FloatArray:
        """Eigenvalues; those that the noise hides count as the mean of all, which it hides far less.

        The mean is at least the noise of one entry over the root of their number, which is its own error.
        """
        least = max(self.entry, 1e-9 * self.n) / np.sqrt(len(self.values))
        return np.maximum(self.values, np.clip(self.values.mean(), least, max(0.25 * self.level, least)))


def noise_of_equations(release: MomentRelease, metric: Metric, coef: FloatArray) -> FloatArray:
    """Return the variances of the noise of the equations of slopes at a fit, per feature.

    The sum of centred features times residuals of a line with the constant a has the error
    e_y - E b - a e_x - m (e_0y - e_x . b). The e are the noises of sums and products.
    """
    variances, squares = release.noise_std**2, coef**2
    constant = np.clip(release.matrix[0, 1] / metric.n, -1.0, 1.0) - metric.mean @ coef
    own = variances[1, 2:] + variances[2:, 2:] @ squares + constant**2 * variances[0, 2:]
    return own + metric.mean**2 * (variances[0, 1] + variances[0, 2:] @ squares)


def n_averaged(number: int) -> int:
    """Return the number of last looks of which the fit is the mean: half of them."""
    return max(1, number // 2)


def line_of(fit: ScaledFit, center: float) -> FloatArray:
    """Return the line that goes through so many scales above the location, as plans take it."""
    line = np.r_[fit.intercept + center * fit.scale, fit.coef]
    return np.clip(line, -STEEPEST, STEEPEST)


def next_fit(metric: Metric, look: Look, distribution: ErrorDistribution) -> ScaledFit:
    """Return the fit that a look leads to."""
    clipped, fit, clip = clipped_errors(distribution), look.fit, look.clip
    share = max(clipped.share(fit.scale, clip), 1e-3)
    sums = look.sums * clip
    equations = (sums[1:-1] - metric.mean * sums[0]) @ metric.vectors / metric.raised
    slopes = equations @ metric.vectors.T / share
    means = np.clip([look.sums[0] / metric.n, look.sums[-1] / metric.n], [-1, 0], 1) * [clip, clip**2]
    shift, scale = clipped.locate(means[0], means[1], clip, fit.scale)
    return ScaledFit(fit.intercept + shift - slopes @ metric.mean, fit.coef + slopes, scale)


def _placed(fit: ScaledFit, residuals: ResidualRelease, distribution: ErrorDistribution) -> ScaledFit:
    """Return the fit with location and scale from the quartiles of the noisy counts."""
    counts = residuals.counts[1]
    shares = np.maximum.accumulate(np.cumsum(counts))[:-1] / max(counts.sum(), 1.0)
    wanted = np.array([0.25, 0.5, 0.75])
    low, middle, high = np.interp(wanted, shares, residuals.edges)
    standard = distribution.quantile(wanted)
    factor = max((high - low) / (standard[2] - standard[0]), 1.0 / len(counts))
    shift = middle - factor * standard[1]
    return ScaledFit(fit.intercept + shift * fit.scale, fit.coef, fit.scale * factor)


def _within(fit: ScaledFit, scale_limits: tuple[float, float]) -> ScaledFit:
    """Return the fit with its scale between the limits, and finite."""
    scale = float(np.clip(fit.scale, *scale_limits))
    coef = np.clip(fit.coef, -STEEPEST, STEEPEST)
    return ScaledFit(float(np.clip(fit.intercept, -STEEPEST, STEEPEST)), coef, scale)


def fit_of_moments(
    release: MomentRelease, distribution: ErrorDistribution, scale_limits: tuple[float, float]
) -> ScaledFit:
    """Return the fit to moments about which residuals are counted.

    Noise may reduce the mean squared residual to nothing. With so small a scale, the cells of the counts
    would contain no information. So the scale is at least that of the noise's own standard deviation, within
    the target's bounds.
    """
    fit = solve_moments(release, distribution, "floor", scale_limits)
    w = np.r_[-fit.intercept, 1.0, -fit.coef] ** 2
    products = release.noise_std**2 * np.outer(w, w)
    # Entries beside the diagonal carry the same noise twice.
    noise = np.sqrt(2.0 * products.sum() - np.trace(products)) / max(float(release.matrix[0, 0]), 1.0)
    least = np.sqrt(min(noise, 1.0) / distribution.variance)
    return _within(replace(fit, scale=max(float(fit.scale), float(least))), scale_limits)


# The whole fit: moments, then looks, or moments again.


@dataclass(frozen=True, eq=False)
class MomentFit:
    """Everything public about a fit to complete targets.

    Attributes
    ----------
    task : FitTask
    grid : MomentGrid
    looks : LookPlan or None
        None: one release of moments.
    number : int or None
        Of looks; None: by released values.
    check : int or None
        Exponent of the grid of a check of the predictions; None: there is none.
    first : Fraction
        Share of the budget of the first moments.
    """

    task: FitTask
    grid: MomentGrid
    looks: LookPlan | None
    number: int | None
    check: int | None = None
    first: Fraction = Fraction(1)

    @classmethod
    def of(cls, task: FitTask, most_looks: int | None) -> "MomentFit":
        """Plan the fit of a task."""
        amount, looks = task.budget.amount, None
        if most_looks != 0:
            least = _REST * amount / (most_looks or NUMBERS[-1])
            looks = plan_looks(task.neighbours, task.budget, task.n_rows, least)
        if looks is not None and most_looks is None:
            # With so few rows the counts would show nothing: one release of moments is better than two parts.
            looks = None if looks.hides_quartiles(task.n_rows, COUNTS_SHARE * amount) else looks
        share = 0 if looks is None else most_looks
        plan = cls(task, task.grid(moments_budget(task.budget, share)), looks, most_looks)
        check = plan._plan_check() if most_looks is None else None
        first = MOMENTS_SHARE if looks is not None else Fraction(1)
        if looks is None and check is not None:
            first = CHECK_SHARE if plan._drowned() > _DROWNED else first
        return replace(plan, grid=task.grid(part_of(task.budget, first)), check=check, first=first)

    def _plan_check(self) -> int | None:
        """Return the exponent of the grid of a check; None if there is none for such an epsilon."""
        part = part_of(self.task.budget, CHECK_SHARE)
        try:
            return choose_exponent(self.task.n_rows, largest_scale(self._of_check, part))
        except ValueError:
            return None

    @property
    def _of_check(self) -> Neighbours:
        """Neighbours of rows of one feature, the prediction."""
        return replace(self.task.neighbours, weights=MomentWeights(_OF_CHECK, _OF_CHECK, 1))

    def _drowned(self) -> float:
        """Return the norm of the noise of one release of moments, per row, by public numbers alone."""
        plan = plan_moments(self.grid, self.task.neighbours, self.task.budget)
        release = plan.read(np.zeros(len(plan.rows) + 1, dtype=np.int64))
        return noise_level(release) / self.task.n_rows

    @property
    def scale_limits(self) -> tuple[float, float]:
        """Bounds of the scale, in scaled units."""
        return self.task.scale_limits(self.grid)

    @property
    def releases(self) -> str:
        """What is released, in words."""
        return (
            f"moments ({float(MOMENTS_SHARE):.0%} of the budget), and counts of residuals "
            f"({float(COUNTS_SHARE):.0%}) and sums of clipped residuals, or moments again (the rest; if "
            "noise hides the slopes, a part of it on moments of target and prediction)"
        )

    def rounds(
        self, spent: PrivacySpent | None, on_progress: Callable[[], object] = bool
    ) -> Rounds[MomentRelease | LookRelease]:
        """Yield the rounds of the fit.

        Notes
        -----
        **Privacy**: the amounts add up to the budget whatever was released. The first release determines
        which rounds follow. Each is private with its amount whatever was released before. So the whole is
        private with the budget, for pure differential privacy and for zCDP.
        """
        budget, looks = self.task.budget, self.looks
        first = yield from self._moments(part_of(budget, self.first), spent, on_progress)
        if looks is None:
            return (
                first if self.first == 1 else (yield from self._checked(first, 1 - self.first, on_progress))
            )
        number, danger = (self.number, 0.0) if self.number is not None else self._choose_number(looks, first)
        checked = Fraction(0)
        if self.check is not None and danger > _DANGER:
            checked = CHECK_SHARE if danger < _HOPELESS else 1 - MOMENTS_SHARE
        release: Any = first
        if number and checked < _REST:
            release = yield from self._looks(looks, first, number, _REST - checked, on_progress)
        elif checked < 1 - MOMENTS_SHARE:
            again = part_of(budget, 1 - MOMENTS_SHARE - checked)
            release = _combined(first, (yield from self._moments(again, None, on_progress)))
        return (yield from self._checked(release, checked, on_progress)) if checked else release

    def _checked(self, release: Any, share: Fraction, on_progress: Callable[[], object]) -> Rounds[Any]:
        """Yield the moments of target and prediction; return the release with the check.

        Notes
        -----
        **Privacy**: the line is a function of released values, and (1, y', p') is a row of one feature in the
        cube, whatever the line is. So the sums have the sensitivity of `l1_moments` or `squared_l2_moments`
        with one feature.
        """
        distribution, exponent = self.task.distribution, self.check or 0
        moments = release if isinstance(release, MomentRelease) else release.moments
        fit = fit_of_moments(moments, distribution, self.scale_limits) if moments is release else release.fit
        metric = Metric.of(moments)
        along = (metric.vectors.T @ fit.coef) ** 2
        widest = float(np.abs(fit.coef).sum())
        reach = max(min(widest, _REACH * float(np.sqrt(along @ metric.raised / metric.n))), 1e-6)
        line = np.clip(np.r_[-metric.mean @ fit.coef, fit.coef] / reach, -STEEPEST, STEEPEST)
        grid = replace(self.grid, exponent=exponent)
        one = MomentGrid(lower=-np.ones(1), upper=np.ones(1), target=grid.target, exponent=exponent)
        plan = plan_moments(one, self._of_check, part_of(self.task.budget, share))
        record = plan.noise.describe("moments of target and prediction")
        released = yield Round(MomentsPlan(grid, line=line), plan, release=record)
        on_progress()
        return replace(release, check=PredictionCheck(plan.read(released), reach, metric.mean))

    def _moments(
        self, budget: FitBudget, spent: PrivacySpent | None, on_progress: Callable[[], object]
    ) -> Rounds[MomentRelease]:
        plan = plan_moments(self.grid, self.task.neighbours, budget)
        released = yield Round(MomentsPlan(self.grid), plan, spent, plan.noise.describe("moments"))
        on_progress()
        return plan.read(released)

    def _choose_number(self, plan: LookPlan, release: MomentRelease) -> tuple[int, float]:
        """Return the number of looks that should give the best slopes (0: moments again), and their error.

        The error is that expected for new rows, in variances of the target.

        Notes
        -----
        Looks use the released C + E in place of the features' moments C. They answer sums C (b - b_0) by
        (C + E)^-1 C (b - b_0). So a look leaves (C + E)^-1 E of the error. This has the size of an entry of E
        times the square root of the number of features over the eigenvalue. A look adds its own noise, that
        of a share of the budget. Along directions whose moments are raised to the level, it goes the part of
        the way that their own moments are of it. The rows' own spread counts too: without noise, least
        squares are best for normal errors. The expected mean squared errors of new rows are compared.

        **Privacy**: a function of released values and public amounts.
        """
        distribution, amount = self.task.distribution, self.task.budget.amount
        left, again = _REST * amount, (1 - MOMENTS_SHARE) * amount
        fit = fit_of_moments(release, distribution, self.scale_limits)
        metric = Metric.of(release)
        known, plausible = metric.raised, metric.plausible
        slopes = (metric.vectors.T @ fit.coef) ** 2
        unknown = np.maximum(slopes, slopes.mean())
        equations = float(np.mean(noise_of_equations(release, metric, fit.coef)))

        def of_moments(variance: float, level: float) -> FloatArray:
            raised = np.maximum(metric.values, level)
            own = variance + distribution.variance * fit.scale**2 * plausible
            return own / raised**2 + np.maximum(1 - plausible / raised, 0) ** 2 * unknown

        power = 2 if plan.mechanism == "laplace" else 1
        # Two releases of moments are weighted by the inverse of their variances.
        lower = 1.0 / (1.0 + float(again / (MOMENTS_SHARE * amount)) ** power)
        best = 0, float(plausible @ of_moments(lower * equations, np.sqrt(lower) * metric.level))
        numbers = () if plan.hides_quartiles(metric.n, again - left) else NUMBERS
        start = of_moments(equations, metric.level)
        kept = np.maximum(metric.entry * np.sqrt(len(known)) / known, 1 - plausible / known)
        clipped = clipped_errors(distribution)
        for number in numbers:
            noise = plan.std_of_look(left / number) ** 2
            averaged = n_averaged(number)
            clip = clipped.choose_clip(fit.scale, float(plausible.mean()), noise / averaged)
            share = clipped.share(fit.scale, clip)
            own = clipped.spread(fit.scale, clip)[0, 0] * plausible
            # Row k: the part of the noise of look k that is in the mean of the last fits.
            passed = np.array([kept**power for power in range(number + 1)])
            parts = [
                passed[max(number - averaged - k, 0) : number - k].sum(axis=0) / averaged
                for k in range(number)
            ]
            wrong = (passed[-averaged:].mean(axis=0)) ** 2 * start
            whole = np.sum(parts, axis=0) ** 2 * own + np.sum(np.square(parts), axis=0) * noise * clip**2
            error = float(plausible @ (_CAUTION * wrong + whole / (share * known) ** 2))
            best = min(best, (number, error), key=lambda pair: pair[1])
        n, noise = metric.n, release.noise_std[1, 1] / metric.n
        square = max(release.matrix[1, 1] / n - (release.matrix[0, 1] / n) ** 2, noise)
        # With moments alone the location has the error of the noise of the target's mean as well.
        place = 0.0 if best[0] else lower * (release.noise_std[0, 1] / n) ** 2
        return best[0], float(best[1] / n + place) / min(square, _UNIFORM)

    def _looks(
        self,
        plan: LookPlan,
        release: MomentRelease,
        number: int,
        share: Fraction,
        on_progress: Callable[[], object],
    ) -> Rounds[LookRelease]:
        """Yield counts of residuals and looks; return what they released, and the fit.

        Every look releases the sum of clipped residuals times rows about a fit. This is 0 on average at the
        true slopes, for every clip and every distribution of errors that does not depend on the features. The
        released moments over the share of unclipped rows turn it into a step. A smaller clip has less noise.

        Notes
        -----
        **Privacy**: lines and clips are functions of what was released before; amounts are fixed before.
        """
        grid, distribution, limits = self.grid, self.task.distribution, self.scale_limits
        amount = self.task.budget.amount
        metric = Metric.of(release)
        clipped = clipped_errors(distribution)
        fit = fit_of_moments(release, distribution, limits)
        edges = distribution.quantile(np.linspace(_TAIL, 1 - _TAIL, N_CELLS - 1))
        counting = plan.residual_counts(grid, line_of(fit, 0.0), edges * fit.scale, COUNTS_SHARE * amount)
        counts = np.zeros((2, N_CELLS))
        counts[1] = yield counting
        on_progress()
        residuals = ResidualRelease(edges, counts, float(counting.noise.std[0]))  # type: ignore[attr-defined]
        fit = _within(_placed(fit, residuals, distribution), limits)
        looks: list[Look] = []
        path: list[ScaledFit] = []
        part = share * amount / number
        for _ in range(number):
            noise = plan.std_of_look(part) ** 2 / n_averaged(number)
            clip = max(clipped.choose_clip(fit.scale, float(metric.plausible.mean()), noise), NARROWEST)
            step = plan.look(grid, line_of(fit, clipped.center(clip / fit.scale)), clip, part)
            looks.append(Look(fit, clip, *plan.read(step, (yield step))))
            on_progress()
            fit = _within(next_fit(metric, looks[-1], distribution), limits)
            path.append(fit)
        averaged = path[-n_averaged(number) :]
        mean = ScaledFit(
            np.mean([one.intercept for one in averaged]),
            np.mean([one.coef for one in averaged], axis=0),
            np.exp(np.mean([np.log(one.scale) for one in averaged])),
        )
        return LookRelease(release, residuals, tuple(looks), len(averaged), mean)


def _combined(first: MomentRelease, second: MomentRelease) -> MomentRelease:
    """Return the mean of two releases of the same moments, weighted by the inverse of their variances."""
    variances = first.noise_std**2, second.noise_std**2
    total = variances[0] + variances[1]
    weight = np.where(total > 0.0, variances[1] / np.where(total > 0.0, total, 1.0), 0.5)
    matrix = weight * first.matrix + (1.0 - weight) * second.matrix
    std = np.hypot(weight * first.noise_std, (1.0 - weight) * second.noise_std)
    return MomentRelease(matrix, std, first.mechanism)
