# SPDX-License-Identifier: BSD-3-Clause
"""Log loss, balanced accuracy and AUC of a candidate, from one noisy sum or table; exact on public rows."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from .._config import get_config
from .._typing import FloatArray
from ..domain._labels import codes_of
from ..metrics._model_outputs import predictions, probabilities
from ..metrics._probability_intervals import choose_number, inner_ends
from ..utils._compat import num_samples
from ._scores import ClassScorer, ScoringRows


class LogLoss(ClassScorer):
    """The log loss with its sign changed, in nats, as scikit-learn's "neg_log_loss".

    A private row's loss is cut off at `log_loss_bound`. The released mean is that of 1 - loss / bound.
    """

    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return scikit-learn's value, of probabilities in double precision."""
        table = np.clip(_probabilities(estimator, X), 0.0, 1.0)
        return -float(log_loss(_codes(estimator, y), table, labels=np.arange(table.shape[1])))

    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return it from the noisy mean of bounded losses."""
        bound = log_loss_bound(rows.n_units, epsilon, len(estimator.classes_))
        return (rows.noisy_mean(_BoundedLoss(bound), estimator, entropy) - 1) * Fraction(bound)


@dataclass(frozen=True)
class _BoundedLoss:
    """Score of every row: 1 - loss / bound, and 0 where the loss is above the bound."""

    bound: float

    def __call__(self, estimator: Any, X: Any, y: Any) -> FloatArray:
        codes = _codes(estimator, y)
        table = probabilities(estimator, X, len(estimator.classes_), strict=False)
        least = np.exp(-self.bound)
        own = np.clip(table[np.arange(len(codes)), codes], least, 1.0)
        score: FloatArray = 1.0 + np.log(own) / self.bound
        return score


def log_loss_bound(n_units: int, epsilon: Fraction, n_classes: int) -> float:
    """Return the largest loss that counts, L, in nats: a function of public numbers.

    Notes
    -----
    Losses above L are losses of probabilities below exp(-L). Where such probabilities p are right, cutting
    off takes p (log(1 / p) - L) from a class's part of the mean loss, exp(-L) / e at most, and nothing from
    at least one of the K classes. The noise has a standard deviation of 2^(1/2) L / (epsilon n). The two are
    equal at L exp(L) = (K - 1) epsilon n / (e 2^(1/2)), which Lambert's W solves. The loss of a model that
    knows nothing, log(K), stays well within: L is at least log(2 K).
    """
    odds = (n_classes - 1) * float(epsilon) * n_units / (np.e * np.sqrt(2))
    return float(max(lambertw(odds).real, np.log(2 * n_classes)))


class BalancedAccuracy(ClassScorer):
    """The mean of the classes' recalls; of private rows from a noisy table of classes by right and wrong."""

    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return scikit-learn's value: a class without rows does not count."""
        return float(balanced_accuracy_score(_codes(estimator, y), _predicted_codes(estimator, X)))

    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return it from noisy counts."""
        codes = _codes(estimator, rows.y)
        cells = 2 * codes + (codes == _predicted_codes(estimator, rows.X))
        counts, std = rows.noisy_counts(cells, 2 * len(estimator.classes_), entropy)
        return Fraction(balanced_accuracy(counts.reshape(-1, 2), std))


def balanced_accuracy(counts: FloatArray, std: float) -> float:
    """Return the mean recall from noisy counts of shape (n_classes, 2): rows that are wrong, and right.

    Notes
    -----
    With r a class's recall, N its rows and s the standard deviation of the noise of a count, the ratio of
    noisy counts has a variance of s^2 (r^2 + (1 - r)^2) / N^2 about, and the mean of K of them that of their
    sum over K^2. Where N is no larger than the noise, such a ratio would be anything. So the recall is drawn
    towards the accuracy of all rows, a: the numerator right - a N has the mean (r - a) N and the variance v =
    s^2 (a^2 + (1 - a)^2), and recalls are taken to spread around a as uniform ones do (variance 1/12). Bias:
    (a - r) v / (v + N^2 / 12).
    """
    right, sizes = counts[:, 1], counts.sum(axis=1)
    whole = float(np.clip(right.sum() / sizes.sum(), 0.0, 1.0))
    variance = std**2 * (whole**2 + (1 - whole) ** 2)
    recalls = whole + _drawn_to_zero(right - whole * sizes, sizes, variance, 1 / 12)
    return float(recalls.mean())


class AreaUnderCurve(ClassScorer):
    """The AUC of two classes; of private rows from a noisy table of classes by intervals of the probability.

    The intervals are those of `private_evaluate`: as many as the public number of units and the noise tell.
    """

    def exact(self, estimator: Any, X: Any, y: Any) -> float:
        """Return scikit-learn's value."""
        return float(roc_auc_score(_codes(estimator, y), _of_second_class(estimator, X)))

    def private(self, rows: ScoringRows, epsilon: Fraction, estimator: Any, entropy: Any) -> Fraction:
        """Return it from noisy counts."""
        n_bins = choose_number(rows.n_units, float(np.sqrt(8)) / float(epsilon))
        ends = np.sort(np.append(inner_ends(n_bins), 0.5))
        place = np.searchsorted(ends, _of_second_class(estimator, rows.X))
        cells = _codes(estimator, rows.y) * (len(ends) + 1) + place
        counts, std = rows.noisy_counts(cells, 2 * (len(ends) + 1), entropy)
        negatives, positives = counts.reshape(2, -1)
        return Fraction(area_under_curve(negatives, positives, std))


def area_under_curve(negatives: FloatArray, positives: FloatArray, std: float) -> float:
    """Return the AUC from noisy counts by interval.

    Notes
    -----
    With p and q the counts of positives and negatives and A = 1 above, -1 below and 0 on the diagonal, the
    AUC of scores put into the intervals, ties counted by half, is 1/2 + p'A q / (2 P Q), P and Q being the
    sums. Noises of p and q have a constant covariance, since counts are moved to a known sum, and the entries
    of A sum to 0: so the numerator is unbiased. Its variance is s^2 (|A q|^2 + |A'p|^2) + s^4 |A|^2, of which
    noisy counts show too much by 2 s^4 |A|^2. As 2 AUC - 1 lies between -1 and 1, and is taken as uniform
    there (variance 1/3), the ratio is drawn towards 0 where the numerator's noise v is no smaller than P Q.
    Bias: of 2 AUC - 1, the share v / (v + (P Q)^2 / 3); pairs of rows in one interval count as ties, and so
    draw towards 1/2, too.
    """
    order = np.sign(np.subtract.outer(np.arange(len(positives)), np.arange(len(negatives))))
    above, below = order @ negatives, order.T @ positives
    least = std**4 * float((order**2).sum())
    variance = max(std**2 * float(above @ above + below @ below) - least, least)
    pairs = max(positives.sum(), 0.0) * max(negatives.sum(), 0.0)
    return float(0.5 + _drawn_to_zero(positives @ above, pairs, variance, 1 / 3) / 2)


def _drawn_to_zero(numerator: Any, denominator: Any, variance: float, spread: float) -> Any:
    """Return the ratio, drawn towards 0 as the best linear estimate of a quantity of variance `spread` is."""
    size = np.maximum(denominator, 0.0)
    return numerator * size / (size**2 + variance / spread)


def _codes(estimator: Any, y: Any) -> NDArray[np.intp]:
    """Return the number of every row's class; a label that is none counts as the first, as in fits."""
    return codes_of(y, _classes(estimator), 0, num_samples(y), "y")


def _classes(estimator: Any) -> list[Any]:
    classes: list[Any] = np.asarray(estimator.classes_).tolist()
    return classes


def _predicted_codes(estimator: Any, X: Any) -> NDArray[np.intp]:
    """Return the numbers of predicted labels; one that is no class, or that fails, is never right."""

    def check(found: Any, n_rows: int) -> NDArray[np.intp]:
        return codes_of(found, _classes(estimator), -1, n_rows, "what predict returns")

    return predictions(estimator, "predict", X, get_config()["strict"], check, -1)


def _probabilities(estimator: Any, X: Any) -> FloatArray:
    """Return the classes' probabilities, equal ones where a row fails in strict mode."""
    return probabilities(estimator, X, len(estimator.classes_), get_config()["strict"])


def _of_second_class(estimator: Any, X: Any) -> FloatArray:
    table = _probabilities(estimator, X)
    if table.shape[1] != 2:
        raise ValueError("the AUC is of two classes")
    second: FloatArray = table[:, 1]
    return second
