# SPDX-License-Identifier: BSD-3-Clause
"""Lines and curves of all columns, fitted together before steps on single columns correct the scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, ndtri

from .._typing import FloatArray, IntArray
from ..rounds._driver import Round, Rounds
from ..rounds._plans.boosting import UNIT, AdditiveModel, ClassLoss, CodedFeature, to_units
from ..rounds._plans.linear_residuals import MOST_BASIS, LinearResidualsPlan
from ..rounds._plans.probabilities import class_probabilities
from ..rounds._rates import NoiseShares, shift_to

# Fewest columns. Seven tables and simulations have 3 to 5 columns. At epsilon 0.5 and 1, five of them gain
# 0.002 to 0.04, and two with steps and waves lose up to 0.02. Fewer columns were not tried.
_FEWEST_COLUMNS = 3
# Curves: their amount against lines, and the part of the averaged rounds after which weak curves are
# dropped. Curves are weak if they have less than this part of signal. Last the weight of ranks against
# normal scores. On nine tables and 18 simulations: if classes differ in their radii, curves lower the log
# loss by 0.06 to 0.11. If there is no curve, they add up to 1 % at epsilon 0.5. An amount of 0.35 does less
# of both. A part of 0.5 drops many that matter. Ranks are better on two tables, normal scores on normal
# columns.
_CURVE, _LOOK, _LIKELY, _RANK = 0.5, 0.25, 0.2, 0.5
# Limits of what noise adds to the log loss of the base rate, as a part of it. Above the first one, with the
# whole budget, there is no linear part. The second one is for the share that is spent. Then the least and
# the largest share. All constants here are from 22 tables (`DPBoostingClassifier` with and without a linear
# part).
_HOPELESS, _WANTED, _LEAST_SHARE, _MOST_SHARE = 1.0, 0.01, 0.05, 0.5
# Rounds if noise does not matter, rounds if it adds a tenth or more, and that tenth. In between, rounds are
# in proportion.
_FEWEST_ROUNDS, _MOST_ROUNDS, _NOISY = 10, 32, 0.1
# These constants were chosen for logistic regression. First row: the power of the variance that directions
# are divided by, and the squared radius over the mean of squared norms. Then the part and the amount of
# rounds that only lead, and the momentum. Second row: the damping of correlated columns, noise of logits,
# the ridge against noise, the other ridge, and how far a ridge is taken back. Only the other ridge differs:
# in logistic regression it is a fifth. The larger one halves what noise adds if eight columns with
# correlations of 0.8 have no effect.
_POWER, _ROOM, _LEADING, _LEADING_AMOUNT, _MOMENTUM = 0.375, 1.5, 0.25, Fraction(3, 10), 0.5
_TOGETHER, _LOGIT_NOISE, _CURVATURE_ABOVE_NOISE, _RIDGE, _LONGEST = 0.5, 0.25, 3.0, 1.5, 4.0
# Largest weights of a column, in logits, as of two of its steps.
_MOST = 6.0
# Radius of rows in whole numbers, least variance of a direction, simulated rows.
_RADIUS, _LEAST_VARIANCE, _DRAWS = 2**10, 1e-6, 2000
# Possible signals of a column over the noise, as variances, on a grid with factors of 3. And the steps that
# find their weights. Ten times as many steps change what is kept of a column by at most 0.04 on four tables.
_SIGNALS = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0])
_MIXTURE_STEPS = 30


def n_directions(feature: CodedFeature) -> int:
    """Return the number of lines of a feature, one or one for each level, and one for missing values."""
    if feature.is_number:
        return 1 + feature.has_missing
    return feature.size if feature.size > 2 else 1


def _directions(
    feature: CodedFeature, parts: FloatArray, least: float
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return the numbers of cells with these shares; the directions' variances, and which are curves.

    They have the mean 0. A variance below `least`, the one of a share that may be noise, is not known.
    """
    n_bins, curved = feature.n_bins, feature.is_number and feature.n_bins > 2
    basis = np.eye(feature.size)[:, feature.size - n_directions(feature) - curved :]
    amounts = np.ones(basis.shape[1])
    if feature.is_number:
        # The mean of middle ranks and of normal scores; 0 if values are missing.
        here = parts[:n_bins] / parts[:n_bins].sum()
        ranks = np.cumsum(here) - here / 2
        line = _RANK * sqrt(12) * ranks + (1 - _RANK) * ndtri(ranks)
        line -= here @ line
        basis[:, : 1 + curved], square = 0.0, float(here @ line**2)
        basis[:n_bins, 0] = line
        if curved:
            # The square without the part that the line explains, with the variance of the line.
            curve = line**2 - square - here @ line**3 / square * line
            curve *= sqrt(square / max(float(here @ curve**2), _LEAST_VARIANCE))
            basis[:n_bins, 1], amounts[1] = curve, _CURVE
    basis -= parts @ basis
    variances = np.maximum(parts @ basis**2, max(least, _LEAST_VARIANCE))
    basis, variances = amounts * basis / variances**_POWER, amounts**2 * variances ** (1 - 2 * _POWER)
    return basis, variances, amounts < 1


@dataclass(frozen=True, eq=False)
class LinearDesign:
    """Directions of all columns as whole numbers, the constant first, with their variances.

    Attributes
    ----------
    noise : NoiseShares
    loss : ClassLoss
    rates : ndarray of shape (n_labels,)
    n_rows : int
    constant : int
        The number of the constant.
    basis : tuple of ndarray of int64 of shape (n_cells, n_directions)
    unit : float
        Of the whole numbers.
    drawn : ndarray of shape (n_drawn, n_columns)
        Simulated rows, as if columns were independent.
    variances : ndarray of shape (n_columns,)
    curves : ndarray of bool of shape (n_columns,)
        Which directions are curves.
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
    curves: NDArray[np.bool_]

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
        """Return the design, given the sizes of cells. Columns with one cell have no direction.

        Shares of the rows are not known below `least`.
        """
        parts = [one / one.sum() for one in sizes]
        found = [
            _directions(feature, part, least)
            if len(part) > 1
            else (np.zeros((len(part), 0)), np.zeros(0), np.zeros(0, dtype=bool))
            for feature, part in zip(features, parts, strict=True)
        ]
        variances = np.concatenate([np.ones(1), *[each for _, each, _ in found]])
        curves = np.concatenate([np.zeros(1, dtype=bool), *[each for *_, each in found]])
        unit, rng = sqrt(_ROOM * variances.sum()) / _RADIUS, np.random.default_rng(0)
        # Directions of rare levels may be longer, but the row's factor would cut them off in any case.
        basis = tuple(
            np.clip(np.rint(one / unit), -MOST_BASIS, MOST_BASIS).astype(np.int64) for one, *_ in found
        )
        rows = [
            one[rng.choice(len(part), size=_DRAWS, p=part)] * unit
            for one, part in zip(basis, parts, strict=True)
        ]
        drawn = np.column_stack([np.ones(_DRAWS), *rows])
        constant = max(round(1 / unit), 1)
        return cls(noise, loss, rates, n_rows, constant, basis, unit, drawn, variances, curves)

    def only(self, kept: NDArray[np.bool_]) -> "LinearDesign":
        """Return the design with some of its directions, and a unit for which the radius suits them."""
        unit = self.unit * sqrt(self.variances[kept].sum() / self.variances.sum())
        basis = tuple(
            np.clip(np.rint(one[:, kept[a:b]] * (self.unit / unit)), -MOST_BASIS, MOST_BASIS).astype(np.int64)
            for one, (a, b) in zip(self.basis, self.ends, strict=True)
        )
        return replace(
            self,
            constant=max(round(1 / unit), 1),
            basis=basis,
            unit=unit,
            drawn=self.drawn[:, kept],
            variances=self.variances[kept],
            curves=self.curves[kept],
        )

    @property
    def typical(self) -> float:
        """Curvature of a logit, for each unit of a direction's variance."""
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
    """Return the linear part's share of the budget and its number of rounds, both 0 if there is none."""
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
    """Yield rounds of gradients with momentum; return the linear part that they lead to.

    Curves that the first rounds do not show are dropped. Later rounds then have less noise.
    """
    noise, n_outputs = design.noise, design.loss.n_outputs
    n_leading = max(1, int(_LEADING * n_rounds))
    parts = [_LEADING_AMOUNT] * n_leading + [Fraction(1)] * (n_rounds - n_leading)
    amounts = [share * part / sum(parts) for part in parts]
    total, left = float(design.variances.sum()), n_rounds - n_leading
    # The mean is weighted by variances, so that directions that hardly vary hardly count.
    mean_variance = float((design.variances**2).sum()) / total
    columns, root, signal = total / mean_variance, sqrt(total), design.typical * mean_variance
    one = design.std(amounts[-1])
    std = one / sqrt(left)
    ridge = max(_CURVATURE_ABOVE_NOISE * root * std - signal, 0.0) + _RIDGE * sqrt(columns) * std
    damping = max(
        design.steepest * mean_variance * max(1.0, _TOGETHER * sqrt(columns)),
        (1 - _MOMENTUM) * root**2 * one**2 / (_LOGIT_NOISE * (signal + ridge)),
    )
    theta, velocity, pull, mean, slope = np.zeros((5, n_outputs, len(design.variances)))
    shown, variance = np.zeros(design.loss.n_labels), 0.0
    for number, amount in enumerate(amounts):
        bits = noise.linear_bits(amount, n_outputs, _RADIUS)
        model, basis = design.model(start, theta), tuple(each.ravel() for each in design.basis)
        plan = LinearResidualsPlan(model, design.loss, design.constant, basis, _RADIUS, bits)
        mechanism = noise.linear_residuals(amount, n_outputs, _RADIUS, bits)
        record = noise.describe("sums of residuals times directions", mechanism, amount)
        released = yield Round(plan, mechanism, release=record)
        gradient = -released.astype(np.float64).reshape(theta.shape) * (design.unit * 2.0**-bits)
        gradient /= design.n_rows
        before, pull = pull, gradient + ridge * theta
        length = float(np.linalg.norm(velocity))
        if length:
            # Correlated columns may be steeper than noise explains.
            bend = float((velocity * (pull - before)).sum()) / length**2
            damping = max(damping, bend - 2 * sqrt(2) * design.std(amount) / length - ridge)
        if number >= n_leading:
            mean, slope = mean + theta, slope + gradient
            shown += design.probabilities(start, theta).mean(axis=0)
            variance += design.std(amount) ** 2
        velocity = _MOMENTUM * velocity - pull / (damping + ridge)
        theta = theta + velocity
        taken = number + 1 - n_leading
        if taken == ceil(_LOOK * left):
            seen = _Seen(mean / taken, slope / taken, shown / taken, sqrt(variance) / taken, ridge)
            kept = ~design.curves | np.append(True, _shows(design, start, seen))
            design = design.only(kept)
            theta, velocity, pull, mean, slope = np.array([theta, velocity, pull, mean, slope])[:, :, kept]
    return _shrunk(
        design, start, _Seen(mean / left, slope / left, shown / left, sqrt(variance) / left, ridge)
    )


@dataclass(frozen=True, eq=False)
class _Seen:
    """Means of parameters, gradients and predictions over rounds; noise of the mean gradient; ridge."""

    theta: FloatArray
    gradient: FloatArray
    shares: FloatArray
    std: float
    ridge: float


def _pulls(
    design: LinearDesign, start: AdditiveModel, seen: _Seen
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the gradients from the start to the best slopes, their variances, and curvatures."""
    probabilities = design.probabilities(start, seen.theta)
    rare = (probabilities * (1 - probabilities)).mean(axis=0)
    curvatures = min(design.typical, float(rare.mean())) * design.variances[1:]
    pull = seen.theta[:, 1:] * curvatures - seen.gradient[:, 1:]
    return pull, seen.std**2 + curvatures * (design.noise.rows_per_unit / design.n_rows), curvatures


def _shows(design: LinearDesign, start: AdditiveModel, seen: _Seen) -> NDArray[np.bool_]:
    """Return which directions, among lines or among curves, keep enough of their length."""
    pull, variances, _ = _pulls(design, start, seen)
    squares = (pull**2).sum(axis=0)
    return np.sum([_kept(design, squares, variances, part)[0] for part in _kinds(design)], axis=0) > _LIKELY


def _kinds(design: LinearDesign) -> list[NDArray[np.bool_]]:
    """Return the masks of lines and of curves, without the constant."""
    return [part for part in (~design.curves[1:], design.curves[1:]) if part.any()]


def _shrunk(design: LinearDesign, start: AdditiveModel, seen: _Seen) -> LinearStart:
    """Return the linear part: every column is shrunk by its evidence, and all of them by Stein's estimate.

    Notes
    -----
    Let h be the curvature of a direction, from the probabilities of simulated rows. As if columns were
    independent, h slope - gradient is the gradient from the start to the best slopes, with noise of variance
    v. Its prior is a mixture of normals whose variances are multiples of v. All columns determine the
    weights of the mixture. As columns may be correlated, the length of all slopes together is the one that
    minimises the risk, by Stein's estimate. It is not above that of slopes that were not shrunk. Lines and
    curves have their own weights and lengths. Both are multiplied by the probability of an effect, which is
    one half before the rounds.
    """
    n_outputs, slopes = design.loss.n_outputs, seen.theta[:, 1:]
    pull, variances, curvatures = _pulls(design, start, seen)
    squares, factors = (pull**2).sum(axis=0), np.zeros(len(curvatures))

    def length(part: FloatArray) -> tuple[float, float]:
        """Return the best length of shrunk slopes, and their square in curvatures."""
        size = float((part**2 * slopes**2 * curvatures).sum())
        noise = part * variances / (curvatures + seen.ridge)
        gain = float((part * slopes * pull).sum() - n_outputs * noise.sum())
        std = sqrt(2 * n_outputs * float((noise**2).sum()))
        # The mean of the gain, given its noisy estimate and that it is not below 0.
        gain += std * exp(-((gain / std) ** 2) / 2 - log_ndtr(gain / std)) / sqrt(2 * pi) if std else 0.0
        return max(gain / size, 0.0) if size else 0.0, size

    for part in _kinds(design):
        kept, evidence = _kept(design, squares, variances, part)
        all_of_it, size = length(part.astype(np.float64))
        mean_kept = float((kept * slopes**2 * curvatures).sum()) / max(size, 1e-300)
        longest = min(all_of_it, _LONGEST)
        # If little is kept, it is not made longer than the slopes of all directions would be.
        most = min(length(kept)[0], longest / max(mean_kept, 1e-300))
        factors += expit(evidence) * np.minimum(kept * most, max(longest, 1.0))
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


def _kept(
    design: LinearDesign, squares: FloatArray, variances: FloatArray, part: NDArray[np.bool_]
) -> tuple[FloatArray, float]:
    """Return the part of lines or curves that the evidence of their columns keeps, and the evidence of all.

    The latter is the logarithm of the likelihood ratio against no effect of any column.
    """
    columns = np.repeat(np.arange(len(design.basis)), [one.shape[1] for one in design.basis])[part]
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    sizes = np.diff(starts, append=len(columns))
    # Of equal effects, that of a rarer level shows less. If a level has the variance u, its direction has
    # the variance u^(1 - 2 power), and its parameter is u^power times the effect.
    shown = design.variances[1:][part] ** (2 + 2 * _POWER / (1 - 2 * _POWER))
    shown /= np.repeat(np.maximum.reduceat(shown, starts), sizes)
    ratios = np.multiply.outer(_SIGNALS, shown)
    fit = -0.5 * (squares[part] / variances[part] / (1 + ratios) + design.loss.n_outputs * np.log1p(ratios))
    logs = np.add.reduceat(fit, starts, axis=1)
    likely = np.exp(logs - logs.max(axis=0))
    weights: FloatArray = np.full(len(_SIGNALS), 1 / len(_SIGNALS))
    for _ in range(_MIXTURE_STEPS):
        odds = likely * weights[:, np.newaxis]
        odds /= odds.sum(axis=0)
        # As if one more column had all signals in equal parts.
        weights = (odds.sum(axis=1) + 1 / len(_SIGNALS)) / (len(starts) + 1)
    found = np.zeros(len(squares))
    found[part] = (ratios / (1 + ratios) * np.repeat(odds, sizes, axis=1)).sum(axis=0)
    return found, float(np.sum(np.log(weights @ likely) + logs.max(axis=0) - logs[0]))
