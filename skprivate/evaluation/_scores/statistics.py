# SPDX-License-Identifier: BSD-3-Clause
"""Nodes for rounded scores, and statistics of a group of rows from noisy counts at these nodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ...metrics._model_outputs import CLIP, inner_ends
from ...utils._public_module import public_module
from . import intervals as interval

# Public nodes. Scores are rounded to them at random, up or down, so that linear statistics keep their mean.


def probability_nodes(intervals: int | FloatArray) -> tuple[FloatArray, int]:
    """Return nodes of probabilities, two for each interval, and the number of those of at most 1/2.

    An interval has a node for each of its ends and shares none, so that the interval of a score stays known.

    By default the ends are those of `inner_ends`.
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

    The ends are width j^3 / B^3 for the half of B intervals. A useful model has errors far below the width of
    the bounds.
    """
    if isinstance(intervals, np.ndarray):
        inner = np.abs(intervals[np.abs(intervals) < width])
        half = np.unique(np.concatenate([[0.0], inner, [width]]))
    else:
        half = width * (np.arange(max(intervals // 2, 2) + 1) / max(intervals // 2, 2)) ** 3
    return np.concatenate([-half[:0:-1], half])


def round_at_random(values: FloatArray, nodes: FloatArray, random_bytes: Any) -> IndexArray:
    """Return the number of the node below or above each value, with its mean at the value.

    Notes
    -----
    **Privacy.** The node of a row depends on the row and on eight random bytes of its own.
    """
    inside = np.clip(values, nodes[0], nodes[-1])
    below = np.clip(np.searchsorted(nodes, inside, side="right") - 1, 0, len(nodes) - 2)
    share = (inside - nodes[below]) / (nodes[below + 1] - nodes[below])
    draws = np.frombuffer(random_bytes(8 * len(values)), dtype=np.uint64) / 2.0**64
    return below + (draws < share)


def round_probabilities(scores: FloatArray, nodes: FloatArray, n_low: int, random_bytes: Any) -> IndexArray:
    """Return the number of the node of each probability; no rounding crosses 1/2."""
    low = round_at_random(np.minimum(scores, 0.5), nodes[:n_low], random_bytes)
    high = round_at_random(np.maximum(scores, 0.5), nodes[n_low:], random_bytes)
    return np.where(scores > 0.5, high + n_low, low)


def gaps(nodes: FloatArray, losses: FloatArray, between: Any) -> tuple[FloatArray, FloatArray]:
    """Return the rise of the mean of a convex loss by the rounding, per node: at most, and typically.

    A row between nodes a and b of losses l(a) and l(b) counts on average with the chord at its score. The gap
    is the chord less the loss. The largest gap of the intervals beside either node is no smaller.
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


# Statistics from the counts at these nodes.

# Points of a calibration curve: each combines neighbouring nodes.
_POINTS = 10
_QUANTILES = (0.5, 0.9)


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class CalibrationPoint:
    """One point of a calibration curve.

    Attributes
    ----------
    predicted : float
        Mean score of the rows at some neighbouring nodes, from released counts.
    observed : Estimate
        Share of these rows that are of the second class (for several classes: that are classified correctly).

    See Also
    --------
    PrivateEvaluation : Has a curve of such points.

    Notes
    -----
    **Privacy.** It is computed from released counts, which spends no more budget.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skprivate import private_evaluate
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).logistic(size=3000) > 0
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> result = private_evaluate(model, X[500:], y[500:], epsilon=1.0)
    >>> all(0 <= point.predicted <= 1 for point in result.calibration)
    True
    """

    predicted: float
    observed: interval.Estimate


@public_module("skprivate.evaluation")
@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Noisy counts of labels by predicted labels, with intervals.

    Attributes
    ----------
    classes : tuple
        The classes of rows (true) and columns (predicted).
    counts : ndarray of shape (n_classes, n_classes)
        Released counts, in rows. They may be negative.
    lower, upper : ndarray of shape (n_classes, n_classes)
        Ends of the interval of the expected number, for every cell by itself.

    See Also
    --------
    PrivateEvaluation.confusion_matrix : Returns it.

    Notes
    -----
    **Privacy.** It is computed from released counts, which spends no more budget.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skprivate import private_evaluate
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).logistic(size=3000) > 0
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> result = private_evaluate(model, X[500:], y[500:], epsilon=1.0)
    >>> result.confusion_matrix(threshold=0.3).counts.shape
    (2, 2)
    """

    classes: tuple[object, ...]
    counts: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Noisy counts of the rows of one group, by label and node.

    Attributes
    ----------
    counts : ndarray of shape (n_classes, n_nodes), (n_classes, n_classes, n_nodes) or (n_nodes,)
        Two classes: by label and node. Several classes: by label, predicted label and node. Errors: by node.
    nodes : ndarray of shape (n_nodes,)
    n_low : int
        For two classes: the number of nodes for scores of at most 1/2.
    std : float
        Standard deviation of the noise of a count.
    total : int or None
        Public number of rows.
    z : float
        Reach of intervals, in standard deviations.
    declared : bool
        Whether the ends of the intervals of scores were declared.
    """

    counts: FloatArray
    nodes: FloatArray
    n_low: int
    std: float
    total: int | None
    z: float
    declared: bool

    @property
    def area(self) -> tuple[interval.Estimate, bool]:
        """The AUC of scores of two classes, and whether too many pairs have an unknown order."""
        return interval.area_under_curve(self.counts, self.nodes, self.std, self.z, declared=self.declared)

    @property
    def cells(self) -> interval.Cells:
        """All cells in a row."""
        return interval.Cells(self.counts.ravel(), self.std, self.total)

    def of_two_classes(self) -> dict[str, interval.Estimate]:
        """Return the statistics of scores of two classes."""
        high = np.arange(len(self.nodes)) >= self.n_low
        right = np.stack([~high, high])
        found = self._of_labels(right)
        found["auc"] = self.area[0]
        labels = np.array([[0.0], [1.0]])
        found["brier"] = self._mean_loss([lambda p: p**2, lambda p: (1 - p) ** 2], 1.0)
        most = -math.log(float(self.nodes[0]))
        found["log_loss"] = self._mean_loss([lambda p: -np.log1p(-p), lambda p: -np.log(p)], most)
        found["calibration_in_the_large"] = interval.mean_value(
            self.cells, (labels - self.nodes).ravel(), -1.0, 1.0, self.z
        )
        found["calibration_slope"] = interval.recalibration_slope(self.counts, self.nodes, self.std, self.z)
        return found

    def of_labels(self) -> dict[str, interval.Estimate]:
        """Return the statistics of predicted labels."""
        right = np.eye(len(self.counts), dtype=bool)[:, :, None]
        return self._of_labels(np.broadcast_to(right, self.counts.shape))

    def of_errors(self) -> dict[str, interval.Estimate]:
        """Return the statistics of errors of a regressor."""
        width = float(self.nodes[-1])
        found = {
            "mae": interval.mean_value(self.cells, np.abs(self.nodes), 0.0, width, self.z),
            "bias": interval.mean_value(self.cells, self.nodes, -width, width, self.z),
        }
        squared = interval.mean_value(
            self.cells, self.nodes**2, 0.0, width**2, self.z, gaps(self.nodes, self.nodes**2, np.square)
        )
        root = math.sqrt(squared.value) if squared.value >= 0 else math.nan
        slope = 2 * root if root > 0 else math.nan
        ends = math.sqrt(squared.lower), math.sqrt(squared.upper)
        deviations = squared.noise_std / slope, squared.sampling_std / slope
        found["rmse"] = interval.Estimate(root, *ends, *deviations, squared.says_nothing)
        for level in _QUANTILES:
            found[f"absolute_error_quantile_{level:g}"] = self._error_quantile(level)
        return found

    @property
    def commonest_class(self) -> interval.Estimate:
        """The share of the class with most released rows: the accuracy of a prediction that never changes."""
        whole, rows = np.ones(self.counts.size, dtype=bool), np.zeros(self.counts.shape, dtype=bool)
        rows[np.argmax(self.counts.reshape(len(self.counts), -1).sum(axis=1))] = True
        return interval.proportion(self.cells, rows.ravel(), whole, self.z)

    def _of_labels(self, right: BoolArray) -> dict[str, interval.Estimate]:
        whole = np.ones(self.counts.size, dtype=bool)
        found = {"accuracy": interval.proportion(self.cells, right.ravel(), whole, self.z)}
        found["balanced_accuracy"] = interval.mean_of(list(self.recalls(right)))
        return found

    def recalls(self, right: BoolArray) -> list[interval.Estimate]:
        """Return the share of every class that is classified correctly, without bias."""
        found = []
        for k in range(len(self.counts)):
            among = np.zeros(self.counts.shape, dtype=bool)
            among[k] = True
            found.append(interval.proportion(self.cells, right.ravel(), among.ravel(), self.z, -1.0, 2.0))
        return found

    def _mean_loss(self, losses: list, most: float) -> interval.Estimate:  # type: ignore[type-arg]
        values = [loss(self.nodes) for loss in losses]
        both = [gaps(self.nodes, value, loss) for value, loss in zip(values, losses, strict=True)]
        bound = tuple(np.concatenate(part) for part in zip(*both, strict=True))
        return interval.mean_value(self.cells, np.concatenate(values), 0.0, most, self.z, bound)

    def _error_quantile(self, level: float) -> interval.Estimate:
        """Return a quantile of the absolute error: the nodes between which the released counts reach it."""
        # The share of rounded errors up to a node is that of errors up to a number below the next node.
        ends = self.nodes[len(self.nodes) // 2 :]
        whole = np.ones(self.counts.size, dtype=bool)
        shares = [interval.proportion(self.cells, np.abs(self.nodes) <= end, whole, self.z) for end in ends]
        below = [k for k, found in enumerate(shares) if found.upper < level]
        above = [k for k, found in enumerate(shares) if found.lower > level]
        low = float(ends[below[-1]]) if below else 0.0
        high = float(ends[min(above[0] + 1, len(ends) - 1)]) if above else float(ends[-1])
        values = np.maximum.accumulate([found.value for found in shares])
        value = float(np.interp(level, values, np.append((ends[1:] + ends[:-1]) / 2, ends[-1])))
        nothing = low <= 0.0 and high >= float(ends[-1])
        return interval.Estimate(min(max(value, low), high), low, high, math.nan, math.nan, nothing)

    def calibration(self) -> list[CalibrationPoint]:
        """Return the points of the calibration curve that have rows."""
        if self.counts.ndim == 2:
            hits, misses = self.counts[1], self.counts[0]
            folded = 1
        else:
            right = np.eye(len(self.counts), dtype=bool)
            hits, misses = self.counts[right].sum(axis=0), self.counts[~right].sum(axis=0)
            folded = len(self.counts)
        points = []
        for nodes in np.array_split(np.arange(len(self.nodes)), min(_POINTS, len(self.nodes))):
            rows = np.maximum(hits[nodes] + misses[nodes], 0.0)
            if not rows.any():
                continue
            points.append(
                CalibrationPoint(
                    float(rows @ self.nodes[nodes] / rows.sum()), self._observed(hits, misses, nodes, folded)
                )
            )
        return points

    def _observed(
        self, hits: FloatArray, misses: FloatArray, nodes: IndexArray, folded: int
    ) -> interval.Estimate:
        """Return the share of hits at some nodes; the counts are sums over `folded` classes."""
        k = float(hits[nodes].sum())
        ones = len(nodes) * folded
        zeros = len(nodes) * (1 if folded == 1 else folded * (folded - 1))
        return interval.share(k, k + float(misses[nodes].sum()), (ones, zeros), self.std, self.z)

    def confusion(self, threshold: float, classes: tuple[object, ...]) -> ConfusionMatrix:
        """Return the confusion matrix. Of two classes, the second is predicted above a threshold.

        At another threshold than 1/2, the rows of the interval around it may be on either side. The ends of
        the intervals count them on both sides.
        """
        if self.counts.ndim == 3:
            table = certain = possible = self.counts.sum(axis=2)
            return self._matrix(classes, (table, certain, possible), self.counts.shape[2])
        if threshold == 0.5:
            above = surely = maybe = np.arange(len(self.nodes)) >= self.n_low
        else:
            k = int(np.searchsorted(self.nodes, threshold, side="right"))
            around = self.nodes[max(k - 1, 0)], self.nodes[min(k, len(self.nodes) - 1)]
            above = self.nodes > threshold
            surely, maybe = self.nodes > around[1], self.nodes >= around[0]
        tables = [
            np.stack([self.counts[:, ~chosen].sum(axis=1), self.counts[:, other].sum(axis=1)], axis=1)
            for chosen, other in ((above, above), (maybe, surely), (surely, maybe))
        ]
        return self._matrix(classes, tables, max(int(maybe.sum()), int((~surely).sum())))

    def _matrix(
        self, classes: tuple[object, ...], tables: Sequence[FloatArray], n_cells: int
    ) -> ConfusionMatrix:
        """Return the matrix from tables of rows: as counted, certain, and possible."""
        table, certain, possible = tables

        def reach(counts: FloatArray) -> FloatArray:
            z2 = self.z**2
            variance: FloatArray = self.std**2 * n_cells + np.maximum(counts, 0.0) + z2 / 4
            return self.z * np.sqrt(variance)

        lower = np.maximum(certain + self.z**2 / 2 - reach(certain), 0.0)
        upper = np.maximum(possible + self.z**2 / 2 + reach(possible), 0.0)
        return ConfusionMatrix(classes, table, lower, upper)

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Return false and true positive rates at all nodes. Negative counts are taken as 0."""
        rates = []
        for row in self.counts:
            counts = np.maximum(row, 0.0)
            above = np.cumsum(counts[::-1])
            rates.append(np.concatenate([[0.0], above / above[-1] if above[-1] > 0 else above]))
        return rates[0], rates[1]
