# SPDX-License-Identifier: BSD-3-Clause
"""Public nodes that scores are rounded to, up or down at random, so that what is linear keeps its mean."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...metrics._probability_intervals import CLIP, inner_ends


def probability_nodes(intervals: int | FloatArray) -> tuple[FloatArray, int]:
    """Return nodes of probabilities, two for each interval, and how many of them stand for at most 1/2.

    An interval has a node for each of its ends, and shares none: which interval a score is in stays known.

    The ends that are not declared are those of `inner_ends`.
    """
    if isinstance(intervals, np.ndarray):
        inner = intervals[(intervals > CLIP) & (intervals < 1 - CLIP) & (intervals != 0.5)]
    else:
        inner = inner_ends(intervals)
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
