# SPDX-License-Identifier: BSD-3-Clause
"""A linear part of the scores, which all columns get together before steps on single columns correct it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
from scipy.special import ndtri

from .._typing import FloatArray, IntArray
from ..rounds._driver import Round, Rounds
from ..rounds._plans.boosting import UNIT, AdditiveModel, ClassLoss, CodedFeature, to_units
from ..rounds._plans.linear_residuals import MOST_BASIS, LinearResidualsPlan
from ..rounds._plans.probabilities import class_probabilities
from ..rounds._rates import NoiseShares, shift_to

# Fewest columns: fewer are soon passed one by one. Of tables with 1, 3, 5 and 5 columns the linear part gains
# on two and loses on one, of those with 8 columns and more it gains.
_FEWEST_COLUMNS = 6
# What noise at the whole budget may add to the log loss of the base rate, as a part of it, beyond which there
# is no linear part; what it may add at the share that is spent; and the least and the largest share. Of 22
# tables (`DPBoostingClassifier` with and without a linear part), which are those of all constants here.
_HOPELESS, _WANTED, _LEAST_SHARE, _MOST_SHARE = 1.0, 0.01, 0.05, 0.5
# Rounds where noise does not matter, from a noise that adds a tenth on, and in between in proportion.
_FEWEST_ROUNDS, _MOST_ROUNDS, _NOISY = 10, 32, 0.1
# As in logistic regression, where they were chosen: the power of the variance that directions are divided by,
# the squared radius over the mean of squared norms, rounds that only lead and their amount, the momentum, the
# damping of columns that move together, noise of logits, the ridge against noise, and how far it is taken
# back. Not so the other ridge: there it is a fifth; the larger one halves what noise adds where eight columns
# with correlations of 0.8 have no effect.
_POWER, _ROOM, _LEADING, _LEADING_AMOUNT, _MOMENTUM = 0.375, 1.5, 0.25, Fraction(3, 10), 0.5
_TOGETHER, _LOGIT_NOISE, _CURVATURE_ABOVE_NOISE, _RIDGE, _LONGEST = 0.5, 0.25, 3.0, 1.5, 4.0
# Largest weights of a column, in logits: those of two of its steps.
_MOST = 6.0
# Radius of rows in whole numbers, least variance of a direction, simulated rows.
_RADIUS, _LEAST_VARIANCE, _DRAWS = 2**10, 1e-6, 2000
# Signals of a column over the noise, as variances, of which its own is a mixture: a grid by factors of 3.
# Steps to find it: ten times as many move what is kept of a column by at most 0.04, on four tables.
_SIGNALS = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0])
_MIXTURE_STEPS = 30


def n_directions(feature: CodedFeature) -> int:
    """Return the number of directions of a feature: a line, or one a level; one of missing values."""
    if feature.is_number:
        return 1 + feature.has_missing
    return feature.size if feature.size > 2 else 1


def _directions(feature: CodedFeature, parts: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Return the numbers that stand for the cells, given their shares of the rows, and their variances.

    They have the mean 0. A variance below `least`, that of a share that may be noise, is not known.
    """
    basis = np.eye(feature.size)[:, feature.size - n_directions(feature) :]
    if feature.is_number:
        # Normal scores of middle ranks; 0 where values are missing.
        here = parts[: feature.n_bins] / parts[: feature.n_bins].sum()
        basis[:, 0] = 0.0
        basis[: feature.n_bins, 0] = ndtri(np.cumsum(here) - here / 2)
        basis[: feature.n_bins, 0] -= here @ basis[: feature.n_bins, 0]
    basis -= parts @ basis
    variances = np.maximum(parts @ basis**2, max(least, _LEAST_VARIANCE))
    return basis / variances**_POWER, variances ** (1 - 2 * _POWER)


@dataclass(frozen=True, eq=False)
class LinearDesign:
    """Directions of all columns as whole numbers, the constant first, and what is known of them.

    Attributes
    ----------
    noise : NoiseShares
    loss : ClassLoss
    rates : ndarray of shape (n_labels,)
    n_rows : int
    constant : int
        The basis of the constant.
    basis : tuple of ndarray of int64 of shape (n_cells, n_directions)
    unit : float
        Of the whole numbers.
    drawn : ndarray of shape (n_drawn, n_columns)
        Simulated rows, as if columns were independent.
    """

    noise: NoiseShares
    loss: ClassLoss
    rates: FloatArray
    n_rows: int
    constant: int
    basis: tuple[IntArray, ...]
    unit: float
    drawn: FloatArray
    variances: FloatArray

    @classmethod
    def of_cells(
        cls,
        noise: NoiseShares,
        loss: ClassLoss,
        rates: FloatArray,
        n_rows: int,
        features: Sequence[CodedFeature],
        sizes: Sequence[FloatArray],
        least: float,
    ) -> "LinearDesign":
        """Return the design of columns whose cells have so many rows; those of one cell have no direction.

        Shares of the rows are not known below `least`.
        """
        parts = [one / one.sum() for one in sizes]
        found = [
            _directions(feature, part, least) if len(part) > 1 else (np.zeros((len(part), 0)), np.zeros(0))
            for feature, part in zip(features, parts, strict=True)
        ]
        variances = np.concatenate([np.ones(1), *[each for _, each in found]])
        unit, rng = sqrt(_ROOM * variances.sum()) / _RADIUS, np.random.default_rng(0)
        # Of rare levels directions may be longer: the row's factor would cut them off in any case.
        basis = tuple(
            np.clip(np.rint(one / unit), -MOST_BASIS, MOST_BASIS).astype(np.int64) for one, _ in found
        )
        rows = [
            one[rng.choice(len(part), size=_DRAWS, p=part)] * unit
            for one, part in zip(basis, parts, strict=True)
        ]
        drawn = np.column_stack([np.ones(_DRAWS), *rows])
        return cls(noise, loss, rates, n_rows, max(round(1 / unit), 1), basis, unit, drawn, variances)

    @property
    def typical(self) -> float:
        """Curvature of a logit, per unit of a direction's variance."""
        each = self.rates * (1 - self.rates)
        return min(0.25, 2 * float(each[0])) if len(each) == 2 else float(each.mean())

    @property
    def steepest(self) -> float:
        """Upper bound of the mean curvature."""
        each = self.rates * (1 - self.rates)
        return self.typical if len(each) == 2 else min(0.5, 2 * float(each.max()))

    @property
    def ends(self) -> list[tuple[int, int]]:
        """First and last column of every feature, the constant being 0."""
        return list(pairwise(np.cumsum([1, *[one.shape[1] for one in self.basis]]).tolist()))

    def std(self, share: Fraction) -> float:
        """Return the standard deviation of the noise of an entry of the mean gradient."""
        return self.noise.step_std(float(share), self.loss.n_outputs) * self.unit * _RADIUS / self.n_rows

    def model(self, start: AdditiveModel, theta: FloatArray) -> AdditiveModel:
        """Return a model with the linear part of these parameters."""
        tables = tuple(
            to_units(np.clip(one @ theta[:, a:b].T * self.unit, -_MOST, _MOST))
            for one, (a, b) in zip(self.basis, self.ends, strict=True)
        )
        return replace(start, base=start.base + to_units(theta[:, 0]), tables=tables)

    def probabilities(self, start: AdditiveModel, theta: FloatArray) -> FloatArray:
        """Return the probabilities of simulated rows."""
        return class_probabilities(start.base * UNIT + self.drawn @ theta.T)


def linear_share(
    noise: NoiseShares, loss: ClassLoss, rates: FloatArray, n_rows: int, features: Sequence[CodedFeature]
) -> tuple[Fraction, int]:
    """Return the share of the budget for the linear part, 0 if there is none, and its number of rounds."""
    if noise.budget.mechanism != "gaussian" or len(features) < _FEWEST_COLUMNS:
        return Fraction(0), 0
    columns, each = 1 + sum(map(n_directions, features)), rates * (1 - rates)
    typical = min(0.25, 2 * float(each[0])) if len(each) == 2 else float(each.mean())
    std = noise.step_std(1.0, loss.n_outputs) * sqrt(_ROOM * columns) / n_rows
    added = 0.5 * columns * loss.n_outputs * std**2 / typical / -float(rates @ np.log(rates))
    if added > _HOPELESS:
        return Fraction(0), 0
    share = min(max(added / _WANTED, _LEAST_SHARE), _MOST_SHARE)
    more = (_MOST_ROUNDS - _FEWEST_ROUNDS) * min(added / _NOISY, 1.0)
    return Fraction(round(1000 * share), 1000), _FEWEST_ROUNDS + int(more)


@dataclass(frozen=True, eq=False)
class LinearStart:
    """A linear part that was released.

    Attributes
    ----------
    model : AdditiveModel
    variances : list of ndarray of shape (n_cells, n_outputs)
        Of the noise in the tables of every feature.
    """

    model: AdditiveModel
    variances: list[FloatArray]


def linear_rounds(
    design: LinearDesign, start: AdditiveModel, share: Fraction, n_rounds: int
) -> Rounds[LinearStart]:
    """Yield rounds of gradients with momentum; return the start with the linear part that they lead to."""
    noise, n_outputs = design.noise, design.loss.n_outputs
    n_leading = max(1, int(_LEADING * n_rounds))
    parts = [_LEADING_AMOUNT] * n_leading + [Fraction(1)] * (n_rounds - n_leading)
    amounts = [share * part / sum(parts) for part in parts]
    columns, mean_variance = len(design.variances), float(design.variances.mean())
    signal, root = design.typical * mean_variance, sqrt(columns * mean_variance)
    one, left = design.std(amounts[-1]), n_rounds - n_leading
    std = one / sqrt(left)
    ridge = max(_CURVATURE_ABOVE_NOISE * root * std - signal, 0.0) + _RIDGE * sqrt(columns) * std
    damping = max(
        design.steepest * mean_variance * max(1.0, _TOGETHER * sqrt(columns)),
        (1 - _MOMENTUM) * root**2 * one**2 / (_LOGIT_NOISE * (signal + ridge)),
    )
    basis = tuple(directions.ravel() for directions in design.basis)
    theta, velocity, pull, mean, slope = np.zeros((5, n_outputs, columns))
    shown = np.zeros(design.loss.n_labels)
    for number, amount in enumerate(amounts):
        bits = noise.linear_bits(amount, n_outputs, _RADIUS)
        model = design.model(start, theta)
        plan = LinearResidualsPlan(model, design.loss, design.constant, basis, _RADIUS, bits)
        mechanism = noise.linear_residuals(amount, n_outputs, _RADIUS, bits)
        record = noise.describe("sums of residuals times directions", mechanism, amount)
        released = yield Round(plan, mechanism, release=record)
        gradient = -released.astype(np.float64).reshape(theta.shape) * (design.unit * 2.0**-bits)
        gradient /= design.n_rows
        before, pull = pull, gradient + ridge * theta
        length = float(np.linalg.norm(velocity))
        if length:
            # Columns that move together may be steeper, beyond what noise explains.
            bend = float((velocity * (pull - before)).sum()) / length**2
            damping = max(damping, bend - 2 * sqrt(2) * design.std(amount) / length - ridge)
        if number >= n_leading:
            mean, slope = mean + theta / left, slope + gradient / left
            shown += design.probabilities(start, theta).mean(axis=0) / left
        velocity = _MOMENTUM * velocity - pull / (damping + ridge)
        theta = theta + velocity
    return _shrunk(design, start, _Seen(mean, slope, shown, std, ridge))


@dataclass(frozen=True, eq=False)
class _Seen:
    """Means of where gradients were taken, of these, and of predictions; noise of the gradient, and ridge."""

    theta: FloatArray
    gradient: FloatArray
    shares: FloatArray
    std: float
    ridge: float


def _shrunk(design: LinearDesign, start: AdditiveModel, seen: _Seen) -> LinearStart:
    """Return the linear part, every column's shrunk by what its directions show, and all by Stein's estimate.

    Notes
    -----
    With h the curvature of a direction, taken from the probabilities of simulated rows, h slope - gradient is
    the gradient that leads from the start to the best slopes, with noise of variance v, as if columns were
    independent. That of a column has as its prior a mixture of normals whose variances are multiples of v,
    with weights that all columns determine. As columns may be correlated, the length of all slopes together
    is the one that minimises the risk, by Stein's estimate; it is not above that of slopes that were not
    shrunk.
    """
    n_outputs, probabilities = design.loss.n_outputs, design.probabilities(start, seen.theta)
    rare = (probabilities * (1 - probabilities)).mean(axis=0)
    curvatures = min(design.typical, float(rare.mean())) * design.variances[1:]
    slopes = seen.theta[:, 1:]
    pull = slopes * curvatures - seen.gradient[:, 1:]
    variances = seen.std**2 + curvatures * (design.noise.rows_per_unit / design.n_rows)
    kept = _kept(design, (pull**2).sum(axis=0), variances)

    def length(part: FloatArray) -> tuple[float, float]:
        """Return the best length of shrunk slopes, and their square in curvatures."""
        size = float((part**2 * slopes**2 * curvatures).sum())
        by_noise = n_outputs * float(np.sum(part * variances / (curvatures + seen.ridge)))
        gain = float((part * slopes * pull).sum()) - by_noise
        return max(gain / size, 0.0) if size else 0.0, size

    all_of_it, size = length(np.ones(len(kept)))
    mean_kept = float((kept * slopes**2 * curvatures).sum()) / max(size, 1e-300)
    longest = min(all_of_it, _LONGEST)
    # Where little is kept, what is kept is not made longer than the slopes of all would be.
    factors = np.minimum(kept * min(length(kept)[0], longest / max(mean_kept, 1e-300)), max(longest, 1.0))
    theta = np.zeros_like(seen.theta)
    if factors.any():
        theta[:, 0], theta[:, 1:] = seen.theta[:, 0], factors * slopes
        theta[:, 0] += shift_to(start.base * UNIT + design.drawn @ theta.T, seen.shares)
    if n_outputs > 1:
        theta -= theta.mean(axis=0)
    noise = np.append(0.0, (factors * seen.std / (curvatures + seen.ridge)) ** 2)
    found = [
        np.repeat(((one * design.unit) ** 2 @ noise[a:b])[:, np.newaxis], n_outputs, axis=1)
        for one, (a, b) in zip(design.basis, design.ends, strict=True)
    ]
    return LinearStart(design.model(start, theta), found)


def _kept(design: LinearDesign, squares: FloatArray, variances: FloatArray) -> FloatArray:
    """Return what is kept of every direction, by the evidence of its column."""
    groups = [(a - 1, b - 1) for a, b in design.ends if b > a]
    # Effects of levels that are as large show the less, the rarer the levels are: with the variance u of a
    # level, its direction has the variance u^(1 - 2 power), and its parameter is u^power times the effect.
    shown = design.variances[1:] ** (2 + 2 * _POWER / (1 - 2 * _POWER))
    shown /= np.repeat([shown[a:b].max() for a, b in groups], [b - a for a, b in groups])
    ratios = np.multiply.outer(_SIGNALS, shown)
    fit = -0.5 * (squares / variances / (1 + ratios) + design.loss.n_outputs * np.log1p(ratios))
    logs = np.array([fit[:, a:b].sum(axis=1) for a, b in groups]).T
    likely = np.exp(logs - logs.max(axis=0))
    weights: FloatArray = np.full(len(_SIGNALS), 1 / len(_SIGNALS))
    for _ in range(_MIXTURE_STEPS):
        odds = likely * weights[:, np.newaxis]
        odds /= odds.sum(axis=0)
        # As if one more column had all of them in equal parts.
        weights = (odds.sum(axis=1) + 1 / len(_SIGNALS)) / (len(groups) + 1)
    each = np.repeat(odds, [b - a for a, b in groups], axis=1)
    found: FloatArray = (ratios / (1 + ratios) * each).sum(axis=0)
    return found
