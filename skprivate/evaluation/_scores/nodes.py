# SPDX-License-Identifier: BSD-3-Clause
"""Public nodes that scores are rounded to, up or down at random, so that what is linear keeps its mean."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray

#: Probabilities are taken no nearer to 0 and 1, so that a logarithm of one is bounded.
CLIP = 1e-3
# Most intervals of a grid: more of them add noise, and their bins are narrower than any error that matters.
_MOST = 64
_FEWEST = 4
# Intervals where the number of rows is not public, of a study of some 5,000 rows at epsilon 1.
_WITHOUT_ROWS = 20


def choose_number(n_rows: int | None, std: float) -> int:
    """Return an even number of intervals, by the public number of rows and the noise of a count.

    Notes
    -----
    With B intervals on a grid over [0, 1], rounding at random errs in a squared score by w^2 / 4 = 1 / (4
    B^2) at the most for the widest of width w = 1 / B; the widest here is twice as wide, so by 1 / B^2.
    Accuracy is a signed sum over 4 B cells, two for each interval and label, and has a noise of std B^(1/2)
    / n. The two are equal at B^(5/2) = n / std.
    """
    if n_rows is None:
        return _WITHOUT_ROWS
    best = (n_rows / std) ** 0.4
    return 2 * round(min(max(best, _FEWEST), _MOST) / 2)


def probability_nodes(intervals: int | FloatArray) -> tuple[FloatArray, int]:
    """Return nodes of probabilities, two for each interval, and how many of them stand for at most 1/2.

    An interval has a node for each of its ends, and shares none: which interval a score is in stays known.

    Half of the intervals are below 1/2. Their ends are sigmoid(2 logit(j / B)): equal steps in rank of a
    logistic distribution of scale 2, so that both rare events and scores around 1/2 have intervals.
    """
    if isinstance(intervals, np.ndarray):
        inner = intervals[(intervals > CLIP) & (intervals < 1 - CLIP) & (intervals != 0.5)]
    else:
        half = max(intervals, 2) // 2
        odds = (np.arange(1, half) / (2 * half - np.arange(1, half))) ** 2
        low = odds / (1 + odds)
        low = low[low > 1.5 * CLIP]
        inner = np.concatenate([low, 1 - low[::-1]])
    lower = np.concatenate([[CLIP], inner[inner < 0.5], [0.5]])
    upper = np.concatenate([[0.5], inner[inner > 0.5], [1 - CLIP]])
    ends = [np.repeat(part, 2)[1:-1] for part in (lower, upper)]
    return np.concatenate(ends), len(ends[0])


def top_nodes(intervals: int | FloatArray, n_classes: int) -> FloatArray:
    """Return nodes of the largest of several probabilities."""
    if isinstance(intervals, np.ndarray):
        inner = intervals[(intervals > 1 / n_classes) & (intervals < 1)]
        return np.concatenate([[1 / n_classes], inner, [1.0]])
    return np.linspace(1 / n_classes, 1.0, max(intervals // 2, 2) + 1)


def residual_nodes(intervals: int | FloatArray, width: float) -> FloatArray:
    """Return nodes of errors, in the units of the target; 0 is one, and intervals around it are narrow.

    The ends are width j^3 / B^3 for the half of B intervals: a model that is worth evaluating has errors far
    below the width of the bounds.
    """
    if isinstance(intervals, np.ndarray):
        inner = np.abs(intervals[np.abs(intervals) < width])
        half = np.unique(np.concatenate([[0.0], inner, [width]]))
    else:
        half = width * (np.arange(max(intervals // 2, 2) + 1) / max(intervals // 2, 2)) ** 3
    return np.concatenate([-half[:0:-1], half])


def round_at_random(values: FloatArray, nodes: FloatArray, random_bytes: Any) -> NDArray[np.intp]:
    """Return the number of the node below or above each value, with its mean at the value.

    Notes
    -----
    **Privacy.** The node of a row depends on the row and on eight random bytes of its own.
    """
    inside = np.clip(values, nodes[0], nodes[-1])
    below = np.clip(np.searchsorted(nodes, inside, side="right") - 1, 0, len(nodes) - 2)
    share = (inside - nodes[below]) / (nodes[below + 1] - nodes[below])
    draws = np.frombuffer(random_bytes(8 * len(values)), dtype=np.uint64) / 2.0**64
    chosen: NDArray[np.intp] = below + (draws < share)
    return chosen


def round_probabilities(
    scores: FloatArray, nodes: FloatArray, n_low: int, random_bytes: Any
) -> NDArray[np.intp]:
    """Return the number of a node of each probability; none crosses 1/2."""
    low = round_at_random(np.minimum(scores, 0.5), nodes[:n_low], random_bytes)
    high = round_at_random(np.maximum(scores, 0.5), nodes[n_low:], random_bytes)
    return np.where(scores > 0.5, high + n_low, low)


def gaps(nodes: FloatArray, losses: FloatArray, between: Any) -> tuple[FloatArray, FloatArray]:
    """Return how far the mean of a convex loss rises by the rounding, per node: at most, and typically.

    A row between nodes a and b of losses l(a) and l(b) counts on average with the chord at its score, which
    is above the loss by its gap. Whichever node it goes to, the largest gap of the intervals beside that node
    is no smaller.
    """
    shares = np.linspace(0, 1, 101)
    width = np.diff(nodes)
    inside = nodes[:-1, None] + width[:, None] * shares
    chord = losses[:-1, None] * (1 - shares) + losses[1:, None] * shares
    gap = np.maximum(chord - between(inside), 0.0)
    most, mean = gap.max(axis=1), gap.mean(axis=1)
    beside = np.maximum(np.append(most, 0), np.append(0, most))
    typical = np.append(mean, 0) + np.append(0, mean)
    typical[1:-1] /= 2
    return beside, typical
