# SPDX-License-Identifier: BSD-3-Clause
"""What one client reports about a label, and the unbiased target of a report."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..domain._labels import declared_classes, number_labels, refuse_label_types
from ..noise import DiscreteLaplaceMechanism, check_entropy
from ..noise._rounding import WORD, grid_exponent, quantise
from ..randomizers import LabelRandomizer
from ..rounds._rows import check_target_bounds, check_target_width, replace_target
from ..utils import as_labels, check_epsilon
from ..utils._public_module import public_module

# Share of a label's variance that features leave unexplained: 0.15 for two even classes, as in the prototype
# of these weights on census, diabetes, rice and two simulations.
UNEXPLAINED = 0.6
# Larger values are no reports: the noise would be this many scales.
_LARGEST_REPORT = 2**60


@public_module("skprivate.label_privacy")
class ClassReporter:
    """Randomised response on a class: what a client sends instead of its label.

    With K classes and e = exp(epsilon) a client sends the position of its own class with probability
    ``e / (e + K - 1)``, and otherwise another one, uniformly. The report reveals nothing else about the
    client.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    classes : array-like of labels
        Two labels or more from public knowledge, all text or all numbers; used in sorted order. White space
        around text does not count, and True equals 1. A label that is not in ``classes`` is counted as the
        first class.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report.
    classes : ndarray of shape (n_classes,)
        The labels as declared, sorted.
    randomizer : LabelRandomizer
        The mechanism, for one cell.
    noise_variance : float
        Variance that randomised response adds to a target, a mean over the classes.

    See Also
    --------
    LabelPrivateClassifier : Fits a model to such reports.

    Notes
    -----
    **Privacy.** Relation: label. The exact ratio of the probabilities of a report under two labels is at most
    exp(epsilon). This is certified in integers, see `skprivate.randomizers.LabelRandomizer`.

    Proof: :doc:`/proofs/randomised_response`.

    Examples
    --------
    >>> from skprivate.label_privacy import ClassReporter
    >>> reporter = ClassReporter(epsilon=1.0, classes=["no", "yes"])
    >>> report = reporter.randomize(["yes"])  # on one phone
    >>> report.dtype, report.shape
    (dtype('uint16'), (1,))
    """

    def __init__(self, epsilon: float | Fraction, classes: Any) -> None:
        self.classes = declared_classes(classes)
        self.randomizer = LabelRandomizer(epsilon, 1, len(self.classes))
        self.epsilon = self.randomizer.epsilon
        own = Fraction(self.randomizer.threshold, WORD)
        other = (1 - own) / (len(self.classes) - 1)
        # The exact probabilities of the thresholds, not those of epsilon.
        self._other, self._contrast = float(other), float(own - other)
        share, gap = 1 / len(self.classes), float(own - other)
        at_other = float(other * (1 - other)) / gap**2
        self.noise_variance = max(at_other + share * (float(1 - 2 * other) / gap - 1), 0.0)

    @property
    def n_targets(self) -> int:
        """Number of targets of a report: one per class; for two classes only that of the second."""
        return len(self.classes) if len(self.classes) > 2 else 1

    def describe(self) -> str:
        """Return the mechanism in a few words.

        Returns
        -------
        description : str
        """
        return f"{len(self.classes)}-ary randomised response on the label"

    def encode(self, y: Any) -> IntArray:
        """Return the positions of labels among the classes, 0 for any other.

        Parameters
        ----------
        y : array-like of shape (n,)

        Returns
        -------
        positions : ndarray of int64 of shape (n,)

        Raises
        ------
        TypeError
            The type of y is one of numbers and the classes are text, or the reverse.
        """
        refuse_label_types(y, self.classes)
        return number_labels(as_labels(y), self.classes).astype(np.int64)

    def randomize(self, y: Any, random_state: Any = None) -> NDArray[Any]:
        """Return one report per label.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of clients, usually of one.
        random_state : None, int, RandomState or Generator, default=None
            None: entropy of the operating system. Any other value is reproducible and not private.

        Returns
        -------
        reports : ndarray of uint16 of shape (n,)
            Positions of classes.
        """
        return self.randomize_encoded(self.encode(y), random_state)

    def randomize_encoded(self, positions: IntArray, random_state: Any = None) -> NDArray[Any]:
        """Return reports of encoded labels."""
        return self.randomizer.randomize(positions, check_entropy(random_state))

    def check_reports(self, reports: Any) -> NDArray[Any]:
        """Return reports as an array; TypeError or ValueError for anything else."""
        array = np.asarray(reports)
        self.randomizer.aggregate(array)
        return array

    def targets(self, reports: NDArray[Any]) -> FloatArray:
        """Return unbiased targets of reports.

        Let p and q be the probabilities that the true class and another one are sent. The target of class k
        is ``(1[report = k] - q) / (p - q)``. Its mean is 1 under class k and 0 under any other.

        Parameters
        ----------
        reports : ndarray of int of shape (n,)

        Returns
        -------
        targets : ndarray of shape (n, n_targets)
        """
        return (self.exact_targets(reports) - self._other) / self._contrast

    def exact_targets(self, positions: NDArray[Any]) -> FloatArray:
        """Return targets of known labels: 1 for the class, 0 for others."""
        ones = (positions[:, None] == np.arange(len(self.classes))).astype(np.float64)
        return ones if self.n_targets > 1 else ones[:, 1:]

    def likelihood(self, proba: FloatArray, reports: NDArray[Any]) -> FloatArray:
        """Return the probability of every report under class probabilities of its row.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
        reports : ndarray of int of shape (n,)

        Returns
        -------
        likelihood : ndarray of shape (n,)
        """
        return self._other + self._contrast * proba[np.arange(len(reports)), reports]


@public_module("skprivate.label_privacy")
class NumberReporter:
    """Discrete Laplace noise on a bounded number: what a client sends instead of its target.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    bounds_y : pair of floats
        ``(lower, upper)`` of the target, from public knowledge. Numbers outside are clipped.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report, at most the request.
    bounds : tuple of two floats
        The bounds.
    mechanism : DiscreteLaplaceMechanism
        The noise on the grid.
    noise_variance : float
        Variance that the noise adds to a target, in squared units of the target.

    See Also
    --------
    LabelPrivateRegressor : Fits a model to such reports.

    Notes
    -----
    **Privacy.** Relation: label. The number is clipped, and its position between the bounds is rounded to a
    grid of ``2^exponent`` steps. Any two numbers are at most ``2^exponent`` steps apart, which is the
    sensitivity of the exact discrete Laplace noise.

    Proof: :doc:`/proofs/randomised_response`.

    Examples
    --------
    >>> from skprivate.label_privacy import NumberReporter
    >>> reporter = NumberReporter(epsilon=1.0, bounds_y=(0, 100))
    >>> report = reporter.randomize([37.0])  # on one phone
    >>> report.dtype, report.shape
    (dtype('int64'), (1,))
    """

    n_targets = 1

    def __init__(self, epsilon: float | Fraction, bounds_y: Any) -> None:
        self.bounds = check_target_bounds(bounds_y, False)
        check_target_width(self.bounds)
        epsilon = check_epsilon(epsilon)
        self._exponent = grid_exponent(1, epsilon)
        self.mechanism = DiscreteLaplaceMechanism(epsilon, 2**self._exponent)
        self.epsilon = self.mechanism.epsilon
        self.noise_variance = float(self._unit) ** 2 * self.mechanism.variance

    @property
    def _unit(self) -> float:
        low, high = self.bounds
        return (high - low) * 2.0**-self._exponent

    def describe(self) -> str:
        """Return the mechanism in a few words.

        Returns
        -------
        description : str
        """
        return "discrete Laplace noise on the target"

    def encode(self, y: Any) -> IntArray:
        """Return numbers as steps of the grid above the lower bound.

        Parameters
        ----------
        y : array-like of shape (n,)
            Values that are no numbers are put within the bounds.

        Returns
        -------
        steps : ndarray of int64 of shape (n,)
        """
        low, high = self.bounds
        numbers = np.clip(replace_target(y, self.bounds, False).time_on_model_scale, low, high)
        return quantise((numbers - low) / (high - low), self._exponent, 0.0, 1.0)

    def randomize(self, y: Any, random_state: Any = None) -> IntArray:
        """Return one report per number.

        Parameters
        ----------
        y : array-like of shape (n,)
            Targets of clients, usually of one.
        random_state : None, int, RandomState or Generator, default=None
            None: entropy of the operating system. Any other value is reproducible and not private.

        Returns
        -------
        reports : ndarray of int64 of shape (n,)
            Steps of the grid above the lower bound.
        """
        return self.randomize_encoded(self.encode(y), random_state)

    def randomize_encoded(self, steps: IntArray, random_state: Any = None) -> IntArray:
        """Return reports of encoded numbers."""
        return self.mechanism.randomize(steps, check_entropy(random_state))

    def check_reports(self, reports: Any) -> IntArray:
        """Return reports as an array; TypeError or ValueError for anything else."""
        array = np.asarray(reports)
        if array.dtype != np.int64 or array.ndim != 1:
            raise TypeError("reports must be int64 of shape (n,), as randomize returns them.")
        if (np.abs(array.astype(np.float64)) > _LARGEST_REPORT).any():
            raise ValueError("a report lies beyond all noise: another specification?")
        return array

    def targets(self, reports: NDArray[Any]) -> FloatArray:
        """Return unbiased targets of reports, in the units of the target.

        Parameters
        ----------
        reports : ndarray of int of shape (n,)

        Returns
        -------
        targets : ndarray of shape (n, 1)
        """
        return (self.bounds[0] + self._unit * reports.astype(np.float64))[:, None]

    exact_targets = targets
