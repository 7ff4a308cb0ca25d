# SPDX-License-Identifier: BSD-3-Clause
"""Weights of a step from noisy sums of residuals, by their noise and the sizes of the cells."""

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray
from ...rounds._plans._additive.plans import NumberLoss

# Curvature of the logistic loss at probabilities of 0.28 or 0.72: at 0.5 it is 0.25, and less elsewhere.
_CURVATURE = 0.2
# Standard deviations of the noise that a denominator has at least.
_LEAST_DENOMINATOR = 2.0
# Part of a step that is taken: in the first pass, later, and on random cells.
_FIRST, _LATER, _RANDOM = 0.8, 1.0, 0.7
# Largest weights: of labels in logits, for features and for random cells.
_MOST, _MOST_RANDOM = 2.0, 1.0
# Standard deviations of the noise that a bin of the target stands out by; and standard deviations of the target
# that a residual reaches at most.
_LEAST_TARGET_COUNT, _SPREADS = 3.0, 2.5


@dataclass(frozen=True)
class StepKind:
    """What is public about a step, beside its noise.

    Attributes
    ----------
    first : bool
        Whether it is of the first pass.
    random : bool
        Whether its cells are random ones.
    numbers : bool
        Whether residuals are those of numbers.
    """

    first: bool = False
    random: bool = False
    numbers: bool = False


def step_weights(
    sums: FloatArray, variance: float, sizes: FloatArray, kind: StepKind
) -> tuple[FloatArray, FloatArray]:
    """Return weights of cells, and their standard deviations by noise.

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_outputs)
        Noisy sums of residuals.
    variance : float
        Of the noise of a sum.
    sizes : ndarray of shape (n_cells,)
        Noisy numbers of rows; those below 0 count as 0.
    kind : StepKind

    Returns
    -------
    weights, stds : ndarray of shape (n_cells, n_outputs)

    Notes
    -----
    All sums are shrunk by one factor, max(0, 1 - (m + sqrt(2 m)) v / sum of squares), where m is their number:
    James and Stein's estimator with a threshold, as the sum of squares of m noises of variance v passes
    (m + sqrt(2 m)) v for about one step in seven. What is left is a step of Newton's method on cells whose
    sizes are not known exactly.
    """
    m = sums.size
    square = float(np.sum(sums**2))
    least = (m + np.sqrt(2.0 * m)) * variance
    shrunk = max(0.0, 1.0 - least / square) if square > 0 else 0.0
    part = _RANDOM if kind.random else (_FIRST if kind.first else _LATER)
    curvature = 1.0 if kind.numbers else _CURVATURE
    std = np.sqrt(variance)
    denominator = curvature * np.maximum(sizes, 0.0) + _LEAST_DENOMINATOR * std
    scale = (shrunk * part / np.maximum(denominator, 1e-300))[:, np.newaxis]
    most = _MOST_RANDOM if kind.random else _MOST
    weights = np.clip(scale * sums, -most, most)
    return weights, np.broadcast_to(scale * std, weights.shape)


def base_of_labels(counts: FloatArray, variance: float) -> FloatArray:
    """Return the scores to start from: logits, or logarithms of shares, of noisy counts of labels.

    Parameters
    ----------
    counts : ndarray of shape (n_labels,)
    variance : float
        Of the noise of a count.
    """
    # Half a row, and one standard deviation of the noise, of each label: no share is 0.
    held = np.maximum(counts, 0.0) + 0.5 + np.sqrt(variance)
    logs = np.log(held)
    return logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()


def base_of_target(counts: FloatArray, variance: float, loss: NumberLoss) -> tuple[FloatArray, NumberLoss]:
    """Return the score to start from, and the loss with residuals clipped to what the target reaches.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Noisy numbers of rows by equal bins of the target.
    variance : float
        Of the noise of a count.
    loss : NumberLoss
        With the widest clip.
    """
    # Counts that do not stand out of the noise are 0: empty bins far from the others would move the mean.
    held = np.where(counts >= _LEAST_TARGET_COUNT * np.sqrt(variance), counts, 0.0).astype(np.float64)
    if held.sum() <= 0:
        return np.zeros(1), loss
    place = (np.arange(len(counts)) + 0.5) * (2.0 / len(counts)) - 1.0
    mean = float(np.average(place, weights=held))
    # A bin's own spread, and that of bins.
    spread = np.sqrt(float(np.average((place - mean) ** 2, weights=held)) + (2.0 / len(counts)) ** 2 / 12)
    return np.array([mean]), replace(loss, clip=float(min(loss.clip, _SPREADS * spread)))
