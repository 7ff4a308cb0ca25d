# SPDX-License-Identifier: BSD-3-Clause
"""Weights of a step from noisy sums of residuals: posterior means, and the evidence for an effect."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..rounds._plans.boosting import UNIT, CellGrid, NumberLoss

# Weights of a step: posterior means, given noisy sums of residuals, their noise, and sizes of cells.

# Standard deviations of the mean residual of a cell under the prior, in units of 4 p (1 - p), or of the clip
# of numbers. All have equal parts of one half of the prior. The other half is for no effect.
_SPREADS = np.array([0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
_SPREADS_OF_NUMBERS = np.append(_SPREADS, 0.64)
# Number of steps that the prior weights of the spreads count as, beside those that a fit has taken. 1, 2 and
# 4 differ little on nine tables.
_PRIOR_STEPS = 4.0
# Lengths, in shares of the rows, over which neighbouring bins are alike, and the part of the variance that
# they share.
_LENGTHS, _SMOOTH = (0.1, 0.4), 0.9
# Most cells with smooth priors: the time grows with the cube of their number.
_MOST_SMOOTH_CELLS = 64
# Variance of a residual of numbers, in squared clips.
_VARIANCE_OF_NUMBERS = 0.25
# Largest weights, in logits, of single features and of random cells. For numbers, the largest weight is a
# clip.
_MOST, _MOST_RANDOM = 3.0, 1.5
# In one step, a probability moves toward 0 or 1 by at most a factor of 50.
_LEAST_SHARE = 0.02
# Least count of a bin of the target, in standard deviations of the noise. Largest residual, in standard
# deviations of the target.
_LEAST_TARGET_COUNT, _REACH = 3.0, 2.5

#: A kernel of a smooth prior, and eigenvalues and eigenvectors of the signal over the noise.
Spectrum = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class CellPrior:
    """Sizes and positions of the cells of a step.

    Attributes
    ----------
    sizes : ndarray of shape (n_cells,)
        Estimated numbers of rows.
    positions : ndarray of shape (n_cells,), or None
        Middle ranks of ordered cells, from 0 to 1; NaN for a cell without a place. None: cells have no
        order.
    random : bool
        Whether the cells are random.
    solved : dict
        Results of `spectra`.
    """

    sizes: FloatArray
    positions: FloatArray | None = None
    random: bool = False
    solved: dict[float, list[Spectrum]] = field(default_factory=dict)

    def spectra(self, variance: float, design: FloatArray) -> "list[Spectrum]":
        """Return the eigenvectors of smooth priors, which the steps of several passes share.

        Parameters
        ----------
        variance : float
            Of a residual. `design` depends on it, on the prior, and on the noise of all steps.
        design : ndarray of shape (n_cells,)
            Sizes over the standard deviations of sums.
        """
        if variance not in self.solved:
            self.solved[variance] = [
                (kernel, *np.linalg.eigh(design[:, np.newaxis] * kernel * design))
                for kernel in _smooth_kernels(self)
            ]
        return self.solved[variance]


class LearntSpreads:
    """Weights of no effect and of the spreads of effects on labels, learned from the steps of a fit."""

    def __init__(self) -> None:
        self._counts = _PRIOR_STEPS * np.append(0.5, np.full(len(_SPREADS), 0.5 / len(_SPREADS)))

    @property
    def odds(self) -> FloatArray:
        """Odds of no effect against every spread."""
        return self._counts[0] / self._counts[1:]

    def add(self, shown: FloatArray) -> None:
        """Add the posterior weights of one step."""
        self._counts = self._counts + shown


def step_weights(
    sums: FloatArray,
    std: float,
    prior: CellPrior,
    base: FloatArray,
    clip: float | None,
    information: FloatArray | None = None,
    left: FloatArray | None = None,
    learnt: LearntSpreads | None = None,
    number: int = 1,
) -> tuple[FloatArray, FloatArray, float, float]:
    """Return weights of cells, the noise in them, evidence of an effect, and the gain of one more step.

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_outputs)
        Noisy sums of residuals.
    std : float
        Standard deviation of the noise of a sum.
    prior : CellPrior
    base : ndarray of shape (n_outputs,)
        Noisy shares of the labels that have scores.
    clip : float or None
        Largest residual of numbers. None: residuals of labels.
    information : ndarray of shape (n_cells, n_outputs), default=None
        Variances of residuals of labels. None: those of the shares.
    left : ndarray of shape (n_outputs,), default=None
        Part of the variance of residuals of labels that the model leaves. None: all.
    learnt : LearntSpreads, default=None
        Weights from the steps before, to which this step is added. None: no effect has the prior weight one
        half, and all spreads of an effect have equal weights.
    number : int, default=1
        Number of steps on these cells, including this one.

    Returns
    -------
    weights, stds : ndarray of shape (n_cells, n_outputs)
        Weights, and the standard deviations of their noise.
    evidence : float
        Logarithm of the likelihood of the sums under the priors of an effect, over that without one. For
        several outputs, it is the logarithm of the mean ratio.
    gain : float
        Twice the expected decrease of the loss over all rows by one more step with the same noise.

    Notes
    -----
    The prior of a cell's mean residual is a mixture: 0, or normal with one of several spreads. The normal
    parts are independent over the cells or, if cells have an order, smooth over it. Given the weights of the
    mixture, the posterior mean is linear in the sums. The stated noise is that of the sums after this linear
    map.
    """
    weights, stds, evidence = np.empty_like(sums), np.empty_like(sums), np.empty(sums.shape[1])
    odds, shown, gain = None if learnt is None else learnt.odds, [], 0.0
    for k in range(sums.shape[1]):
        if clip is not None:
            spreads, variance = _SPREADS_OF_NUMBERS * clip, _VARIANCE_OF_NUMBERS * clip**2
        else:
            part = 1.0 if left is None else float(left[k])
            variance = float(base[k] * (1 - base[k])) * part
            if information is not None:
                variance = float(prior.sizes @ information[:, k] / prior.sizes.sum())
            spreads = _SPREADS * 4 * variance
        means, gains, found = _posterior_means(sums[:, k], std, prior, variance, spreads, odds)
        evidence[k] = found.evidence
        shown.append(found.shown)
        gain += _further_gain(found.shown[1:], spreads, prior.sizes, std, variance, number)
        if clip is not None:
            weights[:, k], stds[:, k] = np.clip(means, -clip, clip), gains * std
            continue
        if information is None:
            steps = _logit_steps(means / part, float(base[k]))
        else:
            # With three classes or more, two compete if the model is good. Then both scores move.
            low = 0.5 - np.sqrt(0.25 - np.minimum(information[:, k], 0.25))
            steps = np.sign(means) * _logit_steps(np.abs(means), low) / min(sums.shape[1], 2)
        slope = np.where(np.abs(means) > 0, steps / np.where(means == 0, 1.0, means), 1 / variance)
        most = _MOST_RANDOM if prior.random else _MOST
        weights[:, k], stds[:, k] = np.clip(steps, -most, most), gains * std * slope
    if learnt is not None:
        learnt.add(np.mean(shown, axis=0))
    if sums.shape[1] > 1:
        # A number that is added to all scores of a cell changes no probability.
        weights -= weights.mean(axis=1, keepdims=True)
    return weights, stds, float(np.logaddexp.reduce(evidence)) - log(len(evidence)), gain


def _further_gain(
    shown: FloatArray, spreads: FloatArray, sizes: FloatArray, std: float, variance: float, before: int
) -> float:
    """Return the gain of one more step, given the weights of the spreads and the number of steps before.

    The gain is how much more of the mean residuals is explained, if cells are independent.
    """
    rows = np.maximum(sizes, 1e-9)
    squares, noise = spreads[:, np.newaxis] ** 2, (std / rows) ** 2
    whole = squares + variance / rows
    more = 1 / (whole + noise / (before + 1)) - 1 / (whole + noise / before)
    return float(shown @ (squares**2 * more @ rows) / variance)


def residual_variances(base: FloatArray, clip: float | None) -> tuple[FloatArray, FloatArray]:
    """Return the variances of residuals by output, and scores' factors to residuals over these."""
    if clip is None:
        return base * (1 - base), np.ones(len(base))
    return np.array([_VARIANCE_OF_NUMBERS * clip**2]), np.array([1 / (_VARIANCE_OF_NUMBERS * clip**2)])


def _posterior_means(
    sums: FloatArray,
    std: float,
    prior: CellPrior,
    variance: float,
    spreads: FloatArray,
    odds: FloatArray | None,
) -> tuple[FloatArray, FloatArray, "_Mixture"]:
    """Return posterior means of the mean residuals, norms of the rows of the linear map, and the mixture."""
    sizes = np.maximum(prior.sizes, 1e-9)
    # The variance of a cell's sum is that of the noise plus that of its rows.
    scale = np.sqrt(std**2 + variance * sizes)
    scaled, design = sums / scale, sizes / scale
    squares = spreads[:, np.newaxis] ** 2
    # Independent cells need no matrix.
    shrunk = 1 / (1 + squares * design**2)
    evidence = [-0.5 * np.sum(scaled**2 * shrunk - np.log(shrunk), axis=1)]
    solved = []
    for kernel, values, vectors in prior.spectra(variance, design):
        parts = 1 / (1 + squares * np.maximum(values, 0.0))
        evidence.append(-0.5 * np.sum((vectors.T @ scaled) ** 2 * parts - np.log(parts), axis=1))
        solved.append((kernel, vectors, parts))
    found = _mixture(-0.5 * float(np.sum(scaled**2)), evidence, odds)
    weights = found.weights
    diagonal = (weights[0] @ (squares * shrunk)) * design
    if not solved:
        return diagonal * scaled, diagonal / scale, found
    linear = np.diag(diagonal)
    for (kernel, vectors, parts), weight in zip(solved, weights[1:], strict=True):
        linear += (kernel * design) @ (vectors * (weight @ (squares * parts))) @ vectors.T
    return linear @ scaled, np.sqrt(np.sum((linear / scale) ** 2, axis=1)), found


@dataclass(frozen=True, eq=False)
class _Mixture:
    """Posterior weights of the parts of a mixture by kernel, and those of no effect and of every spread.

    `evidence` is the logarithm of the odds of an effect if no effect has the prior weight one half.
    """

    weights: list[FloatArray]
    shown: FloatArray
    evidence: float


def _mixture(nothing: float, evidence: Sequence[FloatArray], odds: FloatArray | None) -> _Mixture:
    """Return the mixture, given odds of no effect against every spread. None: the same odds against all."""
    n_parts = sum(map(len, evidence))
    top = max(nothing, *(float(part.max()) for part in evidence))
    likely = [np.exp(part - top) for part in evidence]
    none = float(np.exp(nothing - top))
    effect = sum(float((part / n_parts).sum()) for part in likely)
    against: Any = n_parts if odds is None else odds * len(evidence)
    parts = [part / against for part in likely]
    total = none + sum(float(part.sum()) for part in parts)
    weights = [part / total for part in parts]
    shown = np.append(none / total, np.sum(weights, axis=0))
    return _Mixture(weights, shown, log(max(effect, 1e-300)) + top - nothing)


def _smooth_kernels(prior: CellPrior) -> list[FloatArray]:
    if prior.positions is None or len(prior.positions) > _MOST_SMOOTH_CELLS:
        return []
    placed = np.isfinite(prior.positions)
    apart = np.abs(prior.positions[:, np.newaxis] - prior.positions)
    alike = placed[:, np.newaxis] & placed
    independent = np.eye(len(placed))
    return [
        np.where(
            alike,
            _SMOOTH * np.exp(-np.where(alike, apart, 0.0) / length) + (1 - _SMOOTH) * independent,
            independent,
        )
        for length in _LENGTHS
    ]


def _logit_steps(means: FloatArray, base: FloatArray | float) -> FloatArray:
    """Return steps in logits: from the base rate to the base rate plus the mean residual, or by the slope."""
    moved = np.clip(base + means, base * _LEAST_SHARE, 1 - (1 - base) * _LEAST_SHARE)
    exact = np.log(moved / (1 - moved)) - np.log(base / (1 - base))
    linear = means / (base * (1 - base))
    # The smaller step, as the other residuals of a cell are not known.
    return np.where(np.abs(exact) < np.abs(linear), exact, linear)


def base_of_target(counts: IntArray, variance: float, loss: NumberLoss) -> tuple[FloatArray, NumberLoss]:
    """Return the score to start from, and the loss with residuals clipped to the range of the target.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Noisy numbers of rows by equal bins of the target.
    variance : float
        Of the noise of a count.
    loss : NumberLoss
        With the widest clip.
    """
    # Counts that do not exceed the noise become 0. Else empty bins far from the others would move the mean.
    least = _LEAST_TARGET_COUNT * np.sqrt(variance)
    # The sum of a bin and its neighbours must exceed the noise, too. A bin that is alone and far off is more
    # often noise.
    three = np.convolve(counts, np.ones(3), mode="same")
    held = np.where((counts >= least) & (three >= np.sqrt(3) * least), counts, 0.0).astype(np.float64)
    square = float(np.sum((counts - counts.mean()) ** 2))
    kept = max(0.0, 1.0 - (len(counts) - 1) * variance / max(square, 1e-300)) if held.sum() > 0 else 0.0
    # As far as all counts may be noise, bins are equally likely. The doubt is squared, as most bins are far
    # from the mean.
    doubt = (1 - kept) ** 2
    shares = (1 - doubt) * held / max(held.sum(), 1e-300) + doubt / len(counts)
    place = (np.arange(len(counts)) + 0.5) * (2.0 / len(counts)) - 1.0
    mean = float(shares @ place)
    spread = np.sqrt(float(shares @ (place - mean) ** 2) + (2.0 / len(counts)) ** 2 / 12)
    return np.array([mean]), replace(loss, clip=float(min(loss.clip, _REACH * spread)))


# Evidence in the released sums of steps: do the columns have an effect, and is the model right?

# Ratio from which steps show an effect: chosen on nine simulations, tested on five others (`shows_effect`).
_LEAST = 3.0


@dataclass(frozen=True)
class StepEvidence:
    """Evidence of one step, as logarithms of likelihood ratios against no effect of any column.

    Attributes
    ----------
    effect : float
        For some effect of its cells, by the prior of the weights.
    model : float
        For the model as it was before the step.
    noise, sampling : float
        Mean variances of a sum, from the noise and from the rows.
    """

    effect: float
    model: float
    noise: float
    sampling: float


def evidence_of_model(sums: FloatArray, std: float, sampling: FloatArray, scores: FloatArray) -> float:
    """Return the logarithm of the likelihood of sums under the model so far, over that without effects.

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_outputs)
        Noisy sums of residuals.
    std : float
    sampling : ndarray of shape (n_cells, n_outputs)
        Variances of the sums from the rows: the variance of a residual times the rows of the cell.
    scores : ndarray of shape (n_cells, n_outputs)
        Scores of the cells by the model, without the constant.

    Notes
    -----
    If the model is right, sums are 0 except for noise. Without effects, they take its scores back.
    """
    moved = sampling * scores
    ratio = float(np.sum(moved * (sums + moved / 2) / (std**2 + sampling)))
    # The outputs of several classes add up to 0.
    n_outputs = sums.shape[1]
    return ratio * (n_outputs - 1) / n_outputs if n_outputs > 1 else ratio


def scores_of_cells(grid: CellGrid, tables: Sequence[IntArray], sizes: Sequence[FloatArray]) -> FloatArray:
    """Return the scores of a grid's cells by the tables of its features, as if these were independent."""
    found = np.zeros((1, tables[0].shape[1]))
    for number, groups in zip(grid.features, grid.groups, strict=True):
        rows, values = np.maximum(sizes[number], 1e-9), tables[number] * UNIT
        values = (values - rows @ values / rows.sum()).T * rows
        means = np.array([np.bincount(groups, column) for column in values]).T
        means /= np.bincount(groups, rows)[:, np.newaxis]
        found = (found[:, np.newaxis] + means).reshape(-1, found.shape[1])
    return found


def shows_effect(steps: Sequence[StepEvidence]) -> bool:
    """Return whether the sums of all steps show an effect of the columns.

    Notes
    -----
    Without effects, the mean of a step's ratio is 1 whatever came before it. Products of such ratios, and
    means of products, therefore reach 3 in at most one of three fits (Ville), and in far fewer as measured.
    A part w of the steps may have an effect. The factors are 1 - w + w ratio, with w for all steps, for a
    few, and for one. The rows are the same in all steps. Ratios are therefore raised to a power. It is the
    part of their precision that is left if the sampling deviations repeat in every step.

    There were six fits of each of 108 settings. They are nine simulations with 3,000 and 20,000 rows,
    epsilon 0.5, 1 and 4, and both kinds of noise. In these, 1 to 50 % of the labels are events. Of 216 fits
    to labels without a signal, 209 show no effect. Of the others, by the part of the deviance of new rows
    that they explain, these show none: over 20 %: 0 of 163; 10 to 20 %: 9 of 73; 3 to 10 %: 43 of 76; 0 to 3
    %: 55 of 64; less: 53 of 56. Five other simulations (steps, products, other shapes; 2,000 and 8,000
    rows): 91 of 96 without a signal; 10 to 20 %: 2 of 36; 3 to 10 %: 8 of 27; 0 to 3 %: 42 of 48.

    Those fits had no linear part before the steps. With one, the evidence of the model is too large if
    columns are correlated, as it takes them as independent. Noise in the difference of two columns cancels
    in the sums of either, and so seems right. Eight columns without a signal were fitted with 3,000 and
    20,000 rows and the same epsilons, eight times each. Of 48 fits, 45 show no effect at a correlation of 0,
    36 at 0.5 and 18 at 0.8. Without a linear part, these are 45, 42 and 45. Their mean log loss is at most
    0.008 above the base rate's.
    """
    if not steps:
        return False
    n_steps = len(steps)
    powers = np.array([(s.noise + s.sampling) / (s.noise + n_steps * s.sampling) for s in steps])
    effects = powers * [step.effect for step in steps]
    models = float(powers @ [step.model for step in steps])
    found = [models]
    for share in (1.0, n_steps**-0.5, 1 / n_steps):
        rest = np.log1p(-share) if share < 1 else -np.inf
        found.append(float(np.logaddexp(rest, np.log(share) + effects).sum()))
    weights = np.log([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    return bool(np.logaddexp.reduce(weights + found) >= np.log(_LEAST))
