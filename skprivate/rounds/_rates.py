# SPDX-License-Identifier: BSD-3-Clause
"""Base rates of the classes and mean predictions: their noise, their rounds, and scores that match them."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._typing import CentralRelation, FloatArray, IntArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..metrics._probabilities import estimate_base_rate
from ..noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism
from ..noise._mechanisms import FitBudget
from ..utils._public_module import public_module
from ._driver import Round, Rounds
from ._plans.boosting import AdditiveModel
from ._plans.cells import CellsPlan, LabelAxis
from ._plans.moments import FINEST, SCALE_BITS
from ._plans.probabilities import LinearModel, ProbabilitiesPlan, capped, class_probabilities

# Discrete noise for a share of the budget, and the sensitivity of the protected sums.

IntegerNoise = DiscreteGaussianMechanism | DiscreteLaplaceMechanism

# Noise scales are multiples of this step, which costs less than 0.1 % of the budget for scales of 1 or more.
_STEP = Fraction(1, 2**10)
# Larger scales are integers.
_COARSE = 2**20


@dataclass(frozen=True)
class Sensitivity:
    """Largest change of the integers when one row is replaced, or added or removed."""

    l1: int
    squared_l2: int

    @classmethod
    def of_counts(cls, n_tables: int, relation: CentralRelation) -> "Sensitivity":
        """Return the sensitivity of counts in tables; each row is counted once in each of them."""
        moved = 2 * n_tables if relation == "replace-one" else n_tables
        return cls(moved, moved)

    @classmethod
    def of_residuals(cls, n_outputs: int, relation: CentralRelation) -> "Sensitivity":
        """Return the sensitivity of sums of residuals by cell, in units of the grid's ``one``."""
        norm = 1 if n_outputs == 1 else 2
        return cls(2 * norm, 4 * norm) if relation == "replace-one" else cls(norm, norm)

    @classmethod
    def of_shares(cls, n_labels: int, relation: CentralRelation) -> "Sensitivity":
        """Return the sensitivity of shares of all classes but one, which are >= 0 and add up to at most 1."""
        moved = 2 if relation == "replace-one" and n_labels > 2 else 1
        return cls(moved, moved)


@dataclass(frozen=True)
class NoiseShares:
    """The budget of a fit, divided among its releases.

    Attributes
    ----------
    budget : FitBudget
    relation : {"replace-one", "add-remove"}
    rows_per_unit : int
        Rows of a person that count, m. All of them may change at once: these are m changes of one row, whose
        L1 norms add up, and so do their L2 norms.
    """

    budget: FitBudget
    relation: CentralRelation
    rows_per_unit: int = 1

    def counts(self, share: Fraction, n_tables: int = 1) -> IntegerNoise:
        """Return the noise of counts in `n_tables` tables."""
        return self._noise(share, Sensitivity.of_counts(n_tables, self.relation), 1)

    def describe(self, name: str, noise: IntegerNoise, share: Fraction) -> ReleaseRecord:
        """Return the record of a release that gets a share of the budget."""
        return ReleaseRecord.of(name, noise, share * self.budget.amount)

    def shares(self, share: Fraction, n_labels: int, bits: int) -> IntegerNoise:
        """Return the noise of sums of probabilities of all classes but one; with 0 bits, of counts."""
        return self._noise(share, Sensitivity.of_shares(n_labels, self.relation), 2**bits)

    def residuals(self, share: Fraction, n_outputs: int, bits: int) -> IntegerNoise:
        """Return the noise of sums of residuals that are multiples of 2^-bits."""
        return self._noise(share, Sensitivity.of_residuals(n_outputs, self.relation), 2**bits)

    def linear_residuals(self, share: Fraction, n_outputs: int, radius: int, bits: int) -> IntegerNoise:
        """Return the noise of sums of residuals times rows whose norm is at most a radius."""
        return self._noise(share, Sensitivity.of_residuals(n_outputs, self.relation), radius * 2**bits)

    def linear_bits(self, share: Fraction, n_outputs: int, radius: int) -> int:
        """Return the finest grid of residuals for which the noise of `linear_residuals` fits the sampler."""
        one = Sensitivity.of_residuals(n_outputs, self.relation)
        return self.bits(share, Sensitivity(one.l1 * radius, one.squared_l2 * radius**2))

    def residual_bits(self, share: Fraction, n_outputs: int) -> int:
        """Return the finest grid of residuals for which the noise fits the sampler."""
        return self.bits(share, Sensitivity.of_residuals(n_outputs, self.relation))

    def bits(self, share: Fraction, moved: Sensitivity) -> int:
        """Return the finest grid for which the noise fits the sampler; `moved` is the sensitivity at 0 bits.

        Raises
        ------
        ValueError
            Epsilon is too small for any grid.
        """
        scale = self._scale(share, moved, 1)
        bits = SCALE_BITS - (ceil(scale) - 1).bit_length()
        if bits < 0:
            raise ValueError("epsilon is too small: the noise does not fit 64-bit integers.")
        return min(FINEST, bits)

    @property
    def unit_std(self) -> float:
        """Standard deviation of the noise if the whole budget is spent on a sensitivity of 1."""
        if self.budget.mechanism == "gaussian":
            return sqrt(1 / (2 * self.budget.amount))
        return float(sqrt(2) / self.budget.amount)

    def step_std(self, share: float, n_outputs: int) -> float:
        """Return the standard deviation of the noise of one step with this share of the budget."""
        moved = Sensitivity.of_residuals(n_outputs, self.relation)
        if self.budget.mechanism == "gaussian":
            return self.unit_std * self.rows_per_unit * sqrt(moved.squared_l2 / share)
        return self.unit_std * self.rows_per_unit * moved.l1 / share

    def _noise(self, share: Fraction, moved: Sensitivity, one: int) -> IntegerNoise:
        scale = self._scale(share, moved, one)
        if self.budget.mechanism == "gaussian":
            squared = moved.squared_l2 * self.rows_per_unit**2 * one**2
            return DiscreteGaussianMechanism.from_sigma(scale, squared)
        return DiscreteLaplaceMechanism.from_scale(scale, moved.l1 * self.rows_per_unit * one)

    def _scale(self, share: Fraction, moved: Sensitivity, one: int) -> Fraction:
        """Return the least scale that a share of the budget allows, rounded up."""
        amount = self.budget.amount * share
        if self.budget.mechanism == "gaussian":
            square = moved.squared_l2 * self.rows_per_unit**2 * one**2 / (2 * amount * _STEP**2)
            scale = (isqrt(ceil(square) - 1) + 1) * _STEP
        else:
            scale = ceil(moved.l1 * self.rows_per_unit * one / (amount * _STEP)) * _STEP
        # The sampler needs numerators below 2^52.
        return scale if scale < _COARSE else Fraction(ceil(scale))


# Base rates, in one or two releases, and the mean prediction.

#: Share of the budget for the counts of the classes, which are released again if one class is rare; and for
#: the mean prediction, whose noise is small if probabilities are small.
RATES_SHARE, MEAN_SHARE = Fraction(2, 100), Fraction(2, 100)
# Largest share for the counts; and the standard deviation, relative to the rarest class's count, above which
# they get a larger share: such an error of a rate adds less than 0.05 % to the log loss of the base rate.
_MOST_RATES, _PRECISION = Fraction(10, 100), 0.05
# Candidate limits of a row's probabilities; and the factor by which they may cut off more than simulated rows
# show: 2 for 20 columns with correlations of 0.5. A factor of 0.5 left the mean of boosting 6 % too high
# there.
_LIMITS = 0.8 ** np.arange(60)
_CUT = 2.0
# Standard deviations beyond which the error of a mean prediction counts as larger than assumed.
_SURPRISE = 2.0
# Largest factor between a mean prediction and the rate.
_FARTHEST = 8.0
# Most steps of the search for the shift, its tolerance, and the part of the distance that a slow step leaves.
# Scores of standard deviation 5 or less, with 2, 3 and 5 classes and rates from 1e-11 to 1/2, took at most 11
# steps; scores of standard deviation 30 took 24.
_MOST_STEPS, _NEAR, _SLOW = 40, 1e-9, 0.1
# Keeps sums of steps finite.
_LONGEST = 1e12
# Less than one row of any table.
_RAREST = 1e-12


@dataclass(frozen=True, eq=False)
class _SecondCount:
    """Noise on the count of the second of two classes; the public number of rows gives the other count."""

    noise: IntegerNoise

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the noisy count of the second class."""
        return self.noise.randomize(values[1:], entropy)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class ClassRates:
    """Noisy numbers of rows by class.

    Attributes
    ----------
    counts : ndarray of shape (n_labels,)
    std : float
        Standard deviation of the noise of each, given the number of rows.
    n_rows : float
        Number of rows, public or noisy.
    share : Fraction
        Share of the budget.
    """

    counts: FloatArray
    std: float
    n_rows: float
    share: Fraction

    @property
    def rates(self) -> FloatArray:
        """Shares of the classes, above 0, with the sum 1."""
        n_labels = len(self.counts)
        noise = self.std**2 * n_labels / (n_labels - 1)
        return estimate_base_rate(self.counts, max(round(self.n_rows), 1), noise).shares

    def intervals(self, confidence: float, rows_per_unit: int) -> FloatArray:
        """Return intervals of the shares in the population, for noise and for sampling of persons."""
        rates = self.rates
        sampling = rows_per_unit * rates * (1 - rates) / self.n_rows
        half = float(ndtri(0.5 + confidence / 2)) * np.sqrt((self.std / self.n_rows) ** 2 + sampling)
        return np.clip(np.column_stack([rates - half, rates + half]), 0.0, 1.0)


def class_rate_rounds(
    noise: NoiseShares, n_labels: int, n_rows: int | None, spent: PrivacySpent | None
) -> Rounds[ClassRates]:
    """Yield the counts of the classes, and again if one class is rare; return the estimates of both together.

    Notes
    -----
    **Privacy.** With two classes and a public number of rows, one count is released: it changes by at most 1
    when a row is replaced. Otherwise all counts are released.
    """
    first = yield from _count_classes(noise, RATES_SHARE, n_labels, n_rows, spent)
    excess = first.std / (_PRECISION * max(float(first.counts.min()), 1.0))
    needed = RATES_SHARE * Fraction(min(excess**2 if noise.budget.mechanism == "gaussian" else excess, 1e6))
    more = min(Fraction(ceil(needed * 1000), 1000), _MOST_RATES) - RATES_SHARE
    if more <= 0:
        return first
    second = yield from _count_classes(noise, more, n_labels, n_rows, None)
    total = first.std**2 + second.std**2
    mine, other = second.std**2 / total, first.std**2 / total
    return ClassRates(
        mine * first.counts + other * second.counts,
        first.std * second.std / sqrt(total),
        mine * first.n_rows + other * second.n_rows,
        RATES_SHARE + more,
    )


def _count_classes(
    noise: NoiseShares, share: Fraction, n_labels: int, n_rows: int | None, spent: PrivacySpent | None
) -> Rounds[ClassRates]:
    plan, single = CellsPlan(((LabelAxis(n_labels),),)), n_labels == 2 and n_rows is not None
    mechanism = noise.shares(share, n_labels, 0) if single else noise.counts(share)
    record = noise.describe("counts of the classes", mechanism, share)
    released = yield Round(plan, _SecondCount(mechanism) if single else mechanism, spent, record)
    counts, std = released.astype(np.float64), sqrt(mechanism.variance)
    if single:
        assert n_rows is not None
        return ClassRates(np.append(n_rows - counts, counts), std, n_rows, share)
    if n_rows is None:
        total = max(float(counts.sum()), std, 1.0)
    else:
        total = float(n_rows)
        counts += (total - counts.sum()) / n_labels
    return ClassRates(counts, std * sqrt(1 - 1 / n_labels), total, share)


def shift_rounds(
    noise: NoiseShares,
    model: LinearModel | AdditiveModel,
    drawn: FloatArray,
    known: ClassRates,
    spread: FloatArray,
) -> Rounds[FloatArray]:
    """Yield the mean prediction; return the shift of scores that makes it equal the rates.

    Parameters
    ----------
    noise : NoiseShares
    model : LinearModel or AdditiveModel
    drawn : ndarray of shape (n_drawn, n_outputs)
        Scores of simulated rows. They show how mean predictions follow a shift; the release shows their
        level.
    known : ClassRates
    spread : ndarray of shape (n_labels,)
        Prior standard deviation of mean predictions around the rates, relative to the rates. It separates
        noise from errors that the shift should correct.

    Returns
    -------
    shift : ndarray of shape (n_outputs,)
    """
    shown = class_probabilities(drawn)
    means, rates = np.maximum(shown.mean(axis=0), _RAREST), known.rates
    but, n_labels = int(rates.argmax()), len(rates)
    bits = noise.bits(MEAN_SHARE, Sensitivity.of_shares(n_labels, noise.relation))
    mechanism = noise.shares(MEAN_SHARE, n_labels, bits)
    std = sqrt(mechanism.variance) * 2.0**-bits / known.n_rows
    left = np.array([capped(shown, but, limit).mean(axis=0) for limit in _LIMITS])
    # The limit with the least sum of the errors of noise and of cutting off.
    chosen = int(np.argmin(np.hypot(std * _LIMITS, _CUT * (1 - means[but] - left.sum(axis=1)))))
    most = float(_LIMITS[chosen])
    record = noise.describe("sums of probabilities", mechanism, MEAN_SHARE)
    released = yield Round(ProbabilitiesPlan(model, but, most, bits), mechanism, None, record)
    rare, unit = np.arange(n_labels) != but, most * 2.0**-bits / known.n_rows
    # The part that was cut off is added in proportion.
    unit = unit * means[rare] / np.maximum(left[chosen], _RAREST)
    off = released * unit - rates[rare]
    variance = mechanism.variance * unit**2 + (known.std / known.n_rows) ** 2
    signal = (spread * rates)[rare] ** 2
    # An error larger than both can explain is corrected.
    signal = np.where(off**2 > _SURPRISE**2 * (signal + variance), off**2 - variance, signal)
    found = rates.copy()
    found[rare] += off * signal / (signal + variance)
    found = np.clip(found, rates / _FARTHEST, rates * _FARTHEST)
    found[but] = max(1 - found[rare].sum(), found[but] / _FARTHEST)
    return shift_to(drawn, means * rates / found)


def shift_to(scores: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the shift of scores that makes mean probabilities proportional to targets.

    Each step adds the difference of the logarithms, which always brings the means nearer. If that is slow,
    because effects are steep, it is followed by a step of Newton's method for the log odds, or by a longer
    step in the same direction, if that brings the means nearer.
    """
    # For any scores, no probability is 0 and every step is bounded.
    targets = np.maximum(targets / targets.sum(), _RAREST)
    logits = scores if scores.shape[1] > 1 else np.column_stack([np.zeros(len(scores)), scores])

    def evaluate(total: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray]:
        shown = class_probabilities(logits + total)
        means = np.maximum(shown.mean(axis=0), _RAREST)
        step = np.log(targets / means)
        return float(np.ptp(step)), total, step, means, shown

    (left, total, step, means, shown), pace = evaluate(np.zeros(len(targets))), 1.0
    for _ in range(_MOST_STEPS):
        before, (left, total, step, means, shown) = left, evaluate(total + step)
        if left < _NEAR:
            break
        if left < _SLOW * before:
            continue
        slopes = np.eye(len(means)) - np.einsum("ij,ik->jk", shown, shown / len(shown)) / means[:, np.newaxis]
        newton = np.linalg.lstsq(slopes - slopes[:1], step - step[0], rcond=None)[0]
        pace *= 2.0
        for move in (np.clip(newton, -_LONGEST, _LONGEST), pace * step):
            seen = evaluate(total + move)
            if seen[0] <= left and seen[3].min() > _RAREST:
                left, total, step, means, shown = seen
                break
        else:
            pace = max(1.0, pace / 8.0)
    return total[1:] - total[:1] if scores.shape[1] == 1 else total - total.mean()
