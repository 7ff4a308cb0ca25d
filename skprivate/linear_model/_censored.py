# SPDX-License-Identifier: BSD-3-Clause
"""Private estimation from censored times: a histogram, then Newton rounds around its fit."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..noise import check_entropy
from ._families import SEV, Family
from ._grid import MANY_ROWS, MomentGrid
from ._histogram import HistogramRelease, count_bins, fit_histogram, tilt_of
from ._newton import Design, secant, steady
from ._newton_sensitivity import histogram as histogram_sensitivity
from ._newton_sensitivity import Residuals, residuals_of
from ._noise_plan import Budget, plan_gaussian, plan_laplace
from ._release import Neighbours
from ._rounds import Round, RoundPlan, Rows, plan_rounds, release_round
from ._sensitivity import of_units
from ._solve import ScaledFit

FloatArray = NDArray[np.float64]

# Shares of the budget: the histogram, and of what is left, the first round and the last.
HISTOGRAM_SHARE = Fraction(1, 5)
_FIRST_SHARE = Fraction(3, 8)
_LAST_SHARE = Fraction(3, 8)
# Rounds when their number is chosen by released values; a middle one takes so much of what is left.
_MOST_ROUNDS = 8
_MIDDLE_SHARE = Fraction(2, 5)
# A step so short, in standard deviations of the error over the rows at risk, that one more round ends it.
_SHORT_STEP = 0.2
_NOISY = 4.0
_CLEAR = 0.1
_LOOSE = 2.0
_ROUGH = 0.05
# Limits of a step: the factor of the scale, in the first round and later; the change of the error.
_FACTORS = (3.0, 1.7)
_LONGEST_STEP = 3.0


@dataclass(frozen=True, eq=False)
class Belief:
    """What the rounds up to some round tell about the rows at risk; before it is made steady.

    Attributes
    ----------
    total : float
        Sum of the curvatures.
    mean : ndarray of shape (D - 1,)
    covariance : ndarray of shape (D - 1, D - 1)
        Noisy.
    noise : float
        Standard deviation of the noise of a product of two features in it.
    direction : ndarray of shape (D - 2,)
        Direction of the targets' covariances with features whose law is elliptical.
    with_slopes : bool
        Whether the weights knew of slopes; without any, they narrow the targets down.
    """

    total: float
    mean: FloatArray
    covariance: FloatArray
    noise: float
    direction: FloatArray
    with_slopes: bool


@dataclass(frozen=True, eq=False)
class CensoredRelease:
    """Everything that a censored fit released; noisy.

    Attributes
    ----------
    histogram : HistogramRelease
        Counts by time and event.
    rounds : tuple of Round
    belief : Belief
        Of the last round; made of the others.
    theta : ndarray of shape (D,)
        The parameters: 1 / scale at index 1, -intercept / scale at 0, -coef / scale behind.
    family : Family
    regularization : str
    limits : tuple of two floats
        Least and greatest theta_1.
    """

    histogram: HistogramRelease
    rounds: tuple[Round, ...]
    belief: Belief
    theta: FloatArray
    family: Family
    regularization: str
    limits: tuple[float, float]

    @property
    def fit(self) -> ScaledFit:
        """The model in scaled units."""
        return to_fit(self.theta)


@dataclass(frozen=True, eq=False)
class CensoredPlan:
    """Everything public about a censored fit, settled before a row is looked at.

    Attributes
    ----------
    grid : MomentGrid
    family : Family
    budget : Budget
    neighbours : Neighbours
    rounds : RoundPlan
    n_newton : int or None
        None: by released values.
    regularization : str
    limits : tuple of two floats
        Least and greatest theta_1.
    """

    grid: MomentGrid
    family: Family
    budget: Budget
    neighbours: Neighbours
    rounds: RoundPlan
    n_newton: int | None
    regularization: str
    limits: tuple[float, float]


def plan_censored(
    grid: MomentGrid,
    family: Family,
    budget: Budget,
    neighbours: Neighbours,
    *,
    n_newton: Any = "auto",
    weight_clip: float = 1.0,
    regularization: str = "floor",
    scale_bounds: tuple[float, float] = (1e-3, 10.0),
    n_rows: int = MANY_ROWS,
) -> CensoredPlan:
    """Settle everything public about a censored fit; its whole cost is `budget`.

    Raises
    ------
    ValueError
        `n_newton` or `weight_clip` is out of range; too many rows, or epsilon too small.
    """
    count = None if n_newton == "auto" else int(n_newton)
    if count is not None and count < 1:
        raise ValueError("n_newton must be 'auto' or an int of at least 1.")
    if not 0.1 <= weight_clip <= 100:
        raise ValueError("weight_clip must be between 0.1 and 100.")
    residuals = residuals_of(family, weight_clip)
    least = min(_shares(count or _MOST_ROUNDS)) * (1 - HISTOGRAM_SHARE) * budget.amount
    if count is None:
        least = min(least, _least_middle() * (1 - HISTOGRAM_SHARE) * budget.amount)
    rounds = plan_rounds(neighbours, residuals, budget.mechanism, n_rows, least)
    low, high = scale_bounds
    return CensoredPlan(
        grid, family, budget, neighbours, rounds, count, regularization, (1.0 / high, 1.0 / low)
    )


def _least_middle() -> Fraction:
    left = 1 - _FIRST_SHARE
    for _ in range(_MOST_ROUNDS - 2):
        left -= left * _MIDDLE_SHARE
    return left * _MIDDLE_SHARE


def _shares(count: int) -> list[Fraction]:
    """Shares of the rounds' budget for a fixed number of rounds."""
    if count == 1:
        return [Fraction(1)]
    if count == 2:
        return [Fraction(1, 2)] * 2
    middle = (1 - _FIRST_SHARE - _LAST_SHARE) / (count - 2)
    return [_FIRST_SHARE, *[middle] * (count - 2), _LAST_SHARE]


def fit_censored(
    plan: CensoredPlan, X: ArrayLike, time: ArrayLike, event: ArrayLike, entropy: Any = None
) -> CensoredRelease:
    """Release a histogram and the Newton rounds around its fit.

    Parameters
    ----------
    plan : CensoredPlan
    X : array-like of shape (n, n_features)
        In the units of the bounds.
    time : array-like of shape (n,)
        On the scale of the model: log times.
    event : array-like of bool of shape (n,)
        False where the time is censored.
    entropy : None, int, Generator or Entropy, default=None
        See `check_entropy`.

    Returns
    -------
    release : CensoredRelease

    Raises
    ------
    ValueError
        A value is NaN or infinite (the message does not say which).

    Notes
    -----
    **Privacy**: a fifth of the budget goes to the histogram; its fit, the number of rounds, their shares and where
    each is taken depend on released values only. The amounts are positive and add up to the budget whatever
    they are, so the whole is private with the budget (for pure differential privacy and for zCDP this holds with
    amounts that earlier outputs choose, as long as the total is fixed).
    """
    source = check_entropy(entropy)
    rows = Rows(
        plan.grid,
        np.asarray(X),
        np.ascontiguousarray(time, dtype=np.float64),
        np.ascontiguousarray(event, dtype=np.bool_).view(np.uint8),
    )
    histogram = release_histogram(plan, rows, source)
    state = _Rounds(plan, rows, histogram)
    state.run(source)
    assert state.belief is not None  # there is at least one round
    return CensoredRelease(
        histogram, tuple(state.rounds), state.belief, state.theta, plan.family, plan.regularization, plan.limits
    )


def release_histogram(plan: CensoredPlan, rows: Rows, entropy: Any) -> HistogramRelease:
    """Release the counts by time and event for a fifth of the budget.

    Notes
    -----
    **Privacy**: the sensitivity is that of `histogram_sensitivity` times the rows of a unit (its square, for
    Gaussian noise); the noise is discrete.
    """
    amount = HISTOGRAM_SHARE * plan.budget.amount
    counts = count_bins(rows.grid, rows.time, rows.event)
    squared = plan.budget.mechanism == "gaussian"
    one = Fraction(histogram_sensitivity(plan.neighbours.relation))
    sensitivity = of_units(one, plan.neighbours.rows_per_unit, squared=squared)
    planner = plan_gaussian if squared else plan_laplace
    noise = planner([Fraction(1)], np.zeros(counts.shape, dtype=np.intp), sensitivity, amount)
    noisy = noise.randomize(counts, entropy).astype(np.float64)
    return HistogramRelease(noisy, float(noise.std[0, 0]), rows.grid.target)


class _Rounds:
    """The state between rounds; everything in it but the rows is released or public."""

    def __init__(self, plan: CensoredPlan, rows: Rows, histogram: HistogramRelease) -> None:
        self.plan, self._rows = plan, rows
        location, scale = fit_histogram(histogram, plan.family)
        slope = float(np.clip(1.0 / scale, *plan.limits))
        self.tilt = tilt_of(histogram, plan.family, location, scale)
        self.theta = np.zeros(plan.grid.size)
        self.theta[:2] = -location * slope, slope
        self.rounds: list[Round] = []
        self.belief: Belief | None = None
        self._left = (1 - HISTOGRAM_SHARE) * plan.budget.amount
        self._step = np.inf

    def run(self, entropy: Any) -> None:
        """Release rounds until nothing of the budget is left."""
        shares = None if self.plan.n_newton is None else _shares(self.plan.n_newton)
        whole = self._left
        while self._left > 0:
            amount = shares[len(self.rounds)] * whole if shares else self._next_amount(whole)
            self._left -= amount
            curvature = not self.rounds or (self._left > 0 and self._curvature_pays(amount))
            self._take(release_round(self._rows, self.plan.rounds, self.theta, amount, curvature, entropy))

    def _next_amount(self, whole: Fraction) -> Fraction:
        """Everything that is left once steps have become short; before, a share."""
        done = len(self.rounds)
        if done == 0:
            return _FIRST_SHARE * whole
        if done == _MOST_ROUNDS - 1 or (done >= 2 and self._step < max(_SHORT_STEP, _NOISY * self._noise_step())):
            return self._left
        return _MIDDLE_SHARE * self._left

    def _noise_step(self) -> float:
        """Length of the step that the noise alone would make in a round with everything that is left."""
        assert self.belief is not None
        belief = self.belief
        noise = self.plan.rounds.noise(len(self.theta), self._left, False).std[2:]
        unit = 2.0 ** (self.plan.rounds.exponent + self.plan.rounds.residual_bits)
        design = self._design()
        information = np.array(design.covariance)
        information[0, 0] += 1.0 / self.theta[1] ** 2
        inverse = np.linalg.inv(information)
        square = np.sum(np.diagonal(inverse) * (noise / unit / belief.total) ** 2)
        return float(np.sqrt(square))

    def _curvature_pays(self, amount: Fraction) -> bool:
        """Whether a round in between can tell the curvature anew, almost free of noise."""
        assert self.belief is not None
        rounds = self.plan.rounds
        noise = rounds.noise(len(self.theta), amount, True).std[-2:].min()
        noise /= 2.0 ** (2 * rounds.coarse + rounds.curvature_bits)
        variance = np.diagonal(self.belief.covariance)[1:].mean()
        return bool(noise / self.belief.total < _CLEAR * variance)

    def _design(self) -> Design:
        assert self.belief is not None
        slopes = float(self.rounds[0].theta[1]), float(self.theta[1])
        plan = self.plan
        return design_of(
            self.belief, slopes, plan.family, plan.rounds.residuals, self.tilt, plan.regularization
        )

    def _take(self, new: Round) -> None:
        """Move the parameters by a released round."""
        factor = _FACTORS[min(len(self.rounds), 1)]
        previous = self.rounds[-1] if self.rounds else None
        self.belief = believe(self.belief, previous, new, self.tilt, self.plan.family is SEV)
        self.rounds.append(new)
        limits = step_limits(self.theta, factor, self.plan.limits)
        design = self._design()
        moved = take_step(design, new.theta, new.gradient, np.array(max(new.events, 1.0)), limits)
        self._step = float(_length(design, moved - self.theta))
        self.theta = moved


def believe(belief: Belief | None, previous: Round | None, new: Round, tilt: float, exact_total: bool) -> Belief:
    """Update what is believed about the rows at risk by a new round.

    With `exact_total` the weights are the events minus the residuals (SEV), whose noise is small.
    """
    total = max(max(new.events, 1.0) - float(new.gradient[0]), 1.0) if exact_total else None
    if belief is None or previous is None:
        return _fresh_belief(new, new.gradient[2:], total)
    if new.curvature is not None:
        fresh = _fresh_belief(new, new.theta[2:], total)
        return replace(fresh, direction=fresh.covariance[1:, 1:] @ new.theta[2:])
    return _next_belief(belief, previous, new, tilt, total)


def _fresh_belief(new: Round, direction: FloatArray, total: float | None) -> Belief:
    """Read mean and covariance off a released curvature."""
    assert new.curvature is not None
    assert new.curvature_std is not None
    total = max(float(new.curvature[0, 0]), 1.0) if total is None else total
    mean = np.clip(new.curvature[0, 1:] / total, -1.0, 1.0)
    covariance = new.curvature[1:, 1:] / total - np.outer(mean, mean)
    noise = _feature_noise(new.curvature_std) / total
    return Belief(total, mean, covariance, noise, direction, bool(new.theta[2:].any()))


def _feature_noise(std: FloatArray) -> float:
    """Noise of a product of two features; that of a square is twice (Gaussian: sqrt 2 times) as large."""
    return float(std[2, 3]) if len(std) > 3 else float(std[1, 2])


def _next_belief(belief: Belief, previous: Round, new: Round, tilt: float, total: float | None) -> Belief:
    """Predict the weights by the last step, and correct the covariance by how the gradient has changed."""
    step = new.theta - previous.theta
    rest, moved = step[1:], tilt * (belief.covariance @ step[1:])
    if total is None:
        growth = tilt * (step[0] + (belief.mean + 0.5 * moved) @ rest)
        total = max(belief.total * float(np.exp(np.clip(growth, -1.0, 1.0))), 1.0)
    mean = np.clip(belief.mean + moved, -1.0, 1.0)
    # The part of the gradient that is no weight goes with the number of events that are left.
    share = max(new.events, 1.0) / max(previous.events, 1.0)
    events = (tilt * previous.gradient[1:] + belief.total * belief.mean) * share
    seen = np.clip((events - tilt * new.gradient[1:]) / total, -1.0, 1.0)
    noise = tilt * (new.gradient_std[-1] / total + previous.gradient_std[-1] / belief.total)
    noise += _ROUGH * abs(share - 1.0) + 1.0 / np.sqrt(total)
    trust = _trust(tilt * belief.noise, rest, noise)
    covariance = secant(belief.covariance, rest, (seen - mean) / tilt, trust)
    return replace(belief, total=total, mean=mean + trust * (seen - mean), covariance=covariance)


def _trust(noise: float, step: FloatArray, miss_noise: float) -> float:
    """Share of a secant's miss that is not noise."""
    mine = noise**2 * float(step @ step)
    return mine / (mine + miss_noise**2 + 1e-300)


def design_of(
    belief: Belief, slopes: tuple[float, float], family: Family, residuals: Residuals, tilt: float, rule: str
) -> Design:
    """Return a usable design.

    Without features the error spreads as the law does; so 1 / theta_1^2 of the first fit bounds the variance of the
    targets as the law's own spread does, and that of the present fit bounds it given the features.
    """
    spread = residuals.spread(family)
    whole = family.variance if belief.with_slopes else _LOOSE * spread
    bounds = whole / slopes[0] ** 2, _LOOSE * spread / slopes[1] ** 2
    noise = belief.noise if rule != "none" else 0.0
    covariance = steady(belief.covariance, noise, belief.direction, bounds)
    return Design(np.array(belief.total), belief.mean, covariance, tilt)


def step_limits(theta: FloatArray, factor: float, limits: tuple[float, float]) -> FloatArray:
    """Least and greatest theta_1 of a step from theta."""
    return np.clip([theta[1] / factor, theta[1] * factor], *limits)


def take_step(
    design: Design, theta: FloatArray, gradient: FloatArray, events: FloatArray, limits: FloatArray
) -> FloatArray:
    """Take the step of a design, shortened where it would change the errors too much."""
    step = design.step(theta, gradient, events, limits) - theta
    length = _length(design, step)
    return theta + step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, 1e-300))[..., None]


def _length(design: Design, step: FloatArray) -> FloatArray:
    """Standard deviation of the change of the error over the rows at risk."""
    rest = step[..., 1:]
    square = np.einsum("...i,...ij,...j->...", rest, design.covariance, rest)
    return np.sqrt(np.maximum(square, 0.0))


def to_fit(theta: FloatArray) -> ScaledFit:
    """Return location and scale of standardised parameters, one vector or a stack."""
    scale = 1.0 / theta[..., 1]
    return ScaledFit(-theta[..., 0] * scale, -theta[..., 2:] * scale[..., None], scale)
