# SPDX-License-Identifier: BSD-3-Clause
"""Schedule of the rounds: their number and shares, the step, and the ridge, from sizes and noise alone."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from ..._typing import FloatArray
from ...noise._fit_budget import FitBudget
from ...utils._public_module import public_module
from .sensitivity import LogisticNeighbours
from .standards import Standards

# All constants here were chosen by log losses on Adult, census columns, cancer, diabetes, digits, three and
# six classes, rare classes, and collinear, constant and irrelevant columns. Only skewed and binary columns
# had no part in the choice and checked it; not every constant was varied by itself.
#: Share of the budget for the standards, and for the curvature where it is released.
MOMENTS_SHARE = {"gaussian": Fraction(1, 10), "laplace": Fraction(1, 10)}
CURVATURE_SHARE = Fraction(1, 10)
# Rounds: this many for a signal as strong as the noise, growing with the root of their ratio; bounds. Laplace
# noise does not average out over rounds, Gaussian noise does.
_ROUNDS = {"gaussian": (12.0, 32, 64), "laplace": (2.0, 4, 24)}
# Share of the rounds that only lead near the estimate, and what they get of the budget of another one.
_LEADING = 0.25
_LEADING_AMOUNT = {"gaussian": Fraction(3, 10), "laplace": Fraction(1)}
# Noise of the curvature, against the mean of its diagonal, beyond which it is not worth its share.
_CURVATURE_NOISE = 0.25
#: Momentum of the steps.
MOMENTUM = 0.5
# The step is 1 / max(1, this times the root of the number of columns) of that of a single column: columns
# that move together add up their curvatures.
_TOGETHER = {"gaussian": 0.5, "laplace": 0.25}
# Mean square of what noise alone may make of logits during the rounds: beyond it probabilities saturate.
_LOGIT_NOISE = 0.25
# The ridge brings curvatures to this many times the root of the number of columns times the noise of their
# gradient, where they are below: with 4 / _LOGIT_NOISE under the root, it would be 4, so that rounds forget
# where they began by exp(-4); 3 was as good. And a ridge of this many times that noise in any case.
_CURVATURE_ABOVE_NOISE = 3.0
_RIDGE = 0.2


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Schedule:
    """Rounds, steps and ridge, in units of a mean over rows.

    Attributes
    ----------
    amounts : tuple of Fraction
        Of epsilon, or rho, for every round.
    n_leading : int
        Rounds that are not averaged.
    curvature_amount : Fraction
        For the curvature; 0: it is not released.
    weights : ndarray
        Of the rounds that are averaged; they add up to 1.
    noise : float
        Standard deviation of an entry of their averaged gradient.
    curvature : float
        Curvature of a logit per unit of a column's variance.
    ridge, damping : float
        A step is the gradient over their sum.
    """

    amounts: tuple[Fraction, ...]
    n_leading: int
    curvature_amount: Fraction
    weights: FloatArray
    noise: float
    curvature: float
    ridge: float
    damping: float


def make_schedule(standards: Standards, neighbours: LogisticNeighbours, budget: FitBudget) -> Schedule:
    """Return the schedule of a fit; its amounts and that of the standards add up to the budget."""
    mechanism, n_labels = budget.mechanism, neighbours.n_labels
    left = (1 - MOMENTS_SHARE[mechanism]) * budget.amount
    columns = len(standards.variances)
    mean_variance = float(standards.variances.mean())
    each = standards.rates * (1 - standards.rates)
    if n_labels == 2:
        # The curvature at the base rate is an upper bound of the mean, not of that of every direction.
        steepest = typical = min(0.25, 2 * float(each[0]))
    else:
        steepest, typical = min(0.5, 2 * float(each.max())), float(each.mean())
    signal = typical * mean_variance
    root = sqrt(columns * mean_variance)
    whole = _noise_of(standards, neighbours, left)
    curvature_amount = _curvature_amount(standards, neighbours, budget, typical)
    left -= curvature_amount
    factor, fewest, most = _ROUNDS[mechanism]
    n_rounds = int(np.clip(round(factor * sqrt(signal / (root * whole))), fewest, most))
    n_leading = max(1, int(_LEADING * n_rounds))
    shares = [_LEADING_AMOUNT[mechanism]] * n_leading + [Fraction(1)] * (n_rounds - n_leading)
    amounts = tuple(left * share / sum(shares) for share in shares)
    weights = np.full(n_rounds - n_leading, 1.0 / (n_rounds - n_leading))
    one = _noise_of(standards, neighbours, amounts[-1])
    noise = one / sqrt(n_rounds - n_leading)
    ridge = max(_CURVATURE_ABOVE_NOISE * root * noise - signal, 0.0) + _RIDGE * sqrt(columns) * noise
    damping = max(
        steepest * mean_variance * max(1.0, _TOGETHER[mechanism] * sqrt(columns)),
        (1 - MOMENTUM) * root**2 * one**2 / (_LOGIT_NOISE * (signal + ridge)),
    )
    return Schedule(amounts, n_leading, curvature_amount, weights, noise, typical, ridge, damping)


def _noise_of(standards: Standards, neighbours: LogisticNeighbours, amount: Fraction) -> float:
    """Return the standard deviation of an entry of a mean gradient for an amount."""
    return neighbours.gradient_std(amount) * standards.radius / standards.n_rows


def _curvature_amount(
    standards: Standards, neighbours: LogisticNeighbours, budget: FitBudget, typical: float
) -> Fraction:
    """Return the amount for the curvature: 0 where its noise would hide it, or with several classes."""
    amount = CURVATURE_SHARE * budget.amount
    if neighbours.n_labels > 2:
        return Fraction(0)
    std = neighbours.curvature_std(amount) * standards.radius**2 / standards.n_rows
    # Noise of a symmetric matrix is about twice the root of its size in the direction where it is largest.
    largest = 2 * sqrt(len(standards.variances)) * std
    return amount if largest < _CURVATURE_NOISE * typical * float(standards.variances.mean()) else Fraction(0)
