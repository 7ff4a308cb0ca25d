# SPDX-License-Identifier: BSD-3-Clause
"""The result of `private_evaluate`: released counts, and the statistics that are computed from them."""

import html
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..._typing import FloatArray
from ...accounting import PrivacySpent
from ...accounting._statements.fields import escape_controls
from ...accounting._statements.html import Figures, html_table
from ...base._likely_mistakes import empty_groups, errors_near_zero, hardly_any_rows
from ...utils._public_module import public_module
from .intervals import Estimate, quantile
from .statistics import CalibrationPoint, ConfusionMatrix, GroupCounts

Kind = Literal["two-classes", "classes", "errors"]

# By what the caller declares about the rows.
_DECLARATIONS = {
    True: "These rows were used to fit the model: the scores are better than on other rows.",
    False: "The caller declares that no fit of the model has used these rows.",
    None: "The caller did not declare whether a fit of the model has used these rows.",
}

#: How results name all rows together.
ALL = "all rows"
#: The group of rows whose value is none of the declared levels.
OTHER = "(other)"


@public_module("skprivate.evaluation")
@dataclass(frozen=True, eq=False)
class PrivateEvaluation:
    """Statistics of a model on private rows, all of them computed from one release of noisy counts.

    It holds no rows, and may be published.

    Attributes
    ----------
    kind : {"two-classes", "classes", "errors"}
        Scores of two classes, predicted labels (with the largest probability, where the model has any), or
        errors of a regressor.
    classes : tuple
        Labels; empty for a regressor.
    levels : tuple
        Declared groups of interest, followed by "(other)"; empty if none were declared.
    nodes : ndarray of shape (n_nodes,)
        Public scores, or errors, at which rows were counted.
    n_low : int
        For two classes: the number of nodes for scores of at most 1/2.
    counts : ndarray
        Noisy counts by group, label (predicted label) and node.
    count_std : float
        Standard deviation of their noise.
    n_rows : int or None
        Number of rows; None if it is not public.
    confidence : float
        Confidence of every interval by itself, in (0, 1).
    on_training_rows : bool or None
        Whether the caller declared that the model was fitted on these rows; None: nothing was declared.
    ends_declared : bool
        Whether the ends of the intervals of scores were passed as ``n_bins``.
    privacy_spent : PrivacySpent
        The budget that was spent, and the claim.

    See Also
    --------
    private_evaluate : Returns it.

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
    >>> sorted(result.metrics)[:3]
    ['accuracy', 'auc', 'balanced_accuracy']
    >>> result.privacy_spent.private
    True
    >>> print(result.on_training_rows)  # nothing was declared
    None
    """

    kind: Kind
    classes: tuple[Any, ...]
    levels: tuple[Any, ...]
    nodes: FloatArray = field(repr=False)
    n_low: int = field(repr=False)
    counts: FloatArray = field(repr=False)
    count_std: float
    n_rows: int | None
    confidence: float
    on_training_rows: bool | None
    ends_declared: bool
    privacy_spent: PrivacySpent = field(repr=False)

    def group_counts(self, group: Any = None) -> GroupCounts:
        """Return the noisy counts of one group of interest, in units of ``max_rows_per_unit`` rows."""
        z = quantile(self.confidence)
        counts, total = self.counts.sum(axis=0), self.n_rows
        std = self.count_std * float(np.sqrt(len(self.counts)))
        if group is not None:
            if group not in self.levels:
                raise ValueError(f"group must be one of the declared levels: {list(self.levels)}.")
            counts, std, total = self.counts[self.levels.index(group)], self.count_std, None
        # Rows of one person may be copies of each other. Then k rows carry as much information as one. In
        # units of k rows, the variance of sampling is k times as large, and that of the noise is the same.
        k = self.privacy_spent.max_rows_per_unit
        return GroupCounts(counts / k, self.nodes, self.n_low, std / k, total, z, self.ends_declared)

    def _statistics(self, group: Any) -> dict[str, Estimate]:
        counts = self.group_counts(group)
        if self.kind == "two-classes":
            return counts.of_two_classes()
        return counts.of_labels() if self.kind == "classes" else counts.of_errors()

    @cached_property
    def metrics(self) -> dict[str, Estimate]:
        """Every statistic of all rows, by name."""
        return self._statistics(None)

    @cached_property
    def by_group(self) -> dict[Any, dict[str, Estimate]]:
        """Every statistic of the rows of each declared group, and of the others."""
        return {level: self._statistics(level) for level in self.levels}

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on likely mistakes and on statistics that carry no information, by released counts."""
        found = [*self._likely_mistakes(), self._unordered_scores(), self._whole_ranges()]
        return tuple(sentence[0].upper() + sentence[1:] for sentence in found if sentence)

    def _likely_mistakes(self) -> list[str | None]:
        # By group, label and the rest.
        cells = self.counts.reshape(len(self.counts), max(len(self.classes), 1), -1)
        n_groups, n_classes, n_others = cells.shape
        if self.classes:
            std = self.count_std * float(np.sqrt(n_groups * n_others))
            found = [hardly_any_rows(self.classes, cells.sum(axis=(0, 2)), std, self.n_rows)]
        else:
            std = self.count_std * float(np.sqrt(n_groups))
            found = [errors_near_zero(self.nodes, cells.sum(axis=(0, 1)), std)]
        if self.levels:
            std = self.count_std * float(np.sqrt(n_classes * n_others))
            found.append(empty_groups(self.levels, cells.sum(axis=(1, 2)), std))
        return found

    def _unordered_scores(self) -> str | None:
        if self.kind != "two-classes" or not self.group_counts().area[1]:
            return None
        return (
            "At least a quarter of the pairs of rows have both scores in one public interval. The interval "
            "of the AUC holds every order of them that the calibration slope leaves possible. Pass public "
            "ends of intervals between the scores as n_bins, such as those between the leaves of a tree."
        )

    def _whole_ranges(self) -> str | None:
        names = {level: self._that_say_nothing(self.by_group[level]) for level in self.levels[:-1]}
        parts = [self._that_say_nothing(self.metrics)]
        parts += [f"{level}: {found}" for level, found in names.items() if found]
        if not any(parts):
            return None
        hint = (
            "spelling or coding of the labels than in `classes`"
            if self.classes
            else "unit of y than of bounds_y"
        )
        return (
            f"The interval of these statistics is their whole range: {'; '.join(filter(None, parts))}. Look "
            f"for another {hint}. Otherwise use more rows, a larger epsilon or fewer groups."
        )

    @staticmethod
    def _that_say_nothing(metrics: dict[str, Estimate]) -> str:
        return ", ".join(name for name, found in metrics.items() if found.says_nothing)

    def __getattr__(self, name: str) -> Any:
        if name in _NAMES:
            if name in self.metrics:
                return self.metrics[name]
            raise AttributeError(f"{name} is no statistic of this evaluation. It has {list(self.metrics)}.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def privacy_spent_(self) -> PrivacySpent:
        """The same as ``privacy_spent``."""
        return self.privacy_spent

    @property
    def calibration(self) -> list[CalibrationPoint]:
        """The calibration curve of all rows: up to ten points."""
        return self.calibration_curve()

    def calibration_curve(self, group: Any = None) -> list[CalibrationPoint]:
        """Return the calibration curve of a group; for several classes, that of the largest probability."""
        if self.kind == "errors" or len(self.nodes) == 1:
            raise AttributeError("predictions without probabilities have no calibration curve.")
        return self.group_counts(group).calibration()

    def confusion_matrix(self, threshold: float = 0.5, group: Any = None) -> ConfusionMatrix:
        """Return the confusion matrix at a threshold. Only two classes have other thresholds than 1/2."""
        if self.kind == "errors":
            raise AttributeError("a regressor has no confusion matrix.")
        if not 0 < threshold < 1:
            raise ValueError("threshold must be between 0 and 1.")
        if self.kind == "classes" and threshold != 0.5:
            raise ValueError("predicted labels have no threshold.")
        found = self.group_counts(group).confusion(float(threshold), self.classes)
        k = self.privacy_spent.max_rows_per_unit
        return replace(found, counts=k * found.counts, lower=k * found.lower, upper=k * found.upper)

    def roc_curve(self, group: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return false and true positive rates at the nodes, from released counts."""
        if self.kind != "two-classes":
            raise AttributeError("only scores of two classes have a ROC curve.")
        return self.group_counts(group).curve()

    def _rows(self) -> list[tuple[str, str, Estimate]]:
        parts = [(ALL, self.metrics), *((str(level), found) for level, found in self.by_group.items())]
        return [(part, name, estimate) for part, found in parts for name, estimate in found.items()]

    def _study_figures(self) -> Figures:
        order = list(_ASKED_FOR)
        rows = [(part, order.index(name), found) for part, name, found in self._rows() if name in _ASKED_FOR]
        if self.classes:
            rows.append((ALL, order.index(_CONSTANT), self.group_counts().commonest_class))
        rows.sort(key=lambda row: (row[0] != ALL, row[1]))
        shown = [
            (
                _ASKED_FOR[order[place]] + f", {part}" * (part != ALL),
                f"{found.value:.3g}",
                "says nothing" if found.says_nothing else f"{found.lower:.3g} to {found.upper:.3g}",
            )
            for part, place, found in rows
        ]
        return Figures(shown, f"Intervals of {self.confidence:.0%}. {_DECLARATIONS[self.on_training_rows]}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: statistics, the declaration about the rows, and the statement of privacy."""
        rows = [
            {"group": part, "metric": name, **{key: getattr(found, key) for key in _COLUMNS}}
            for part, name, found in self._rows()
        ]
        return {
            "metrics": rows,
            "n_rows": self.n_rows,
            "confidence": self.confidence,
            "on_training_rows": self.on_training_rows,
            "remarks": list(self.remarks),
            "privacy_spent": self.privacy_spent.to_dict(),
        }

    def to_frame(self) -> Any:
        """Return a pandas frame: one row per group and statistic.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        return pd.DataFrame(self.to_dict()["metrics"], columns=["group", "metric", *_COLUMNS])

    def __str__(self) -> str:
        declaration = _DECLARATIONS[self.on_training_rows]
        lines = [f"Private evaluation, intervals of {self.confidence:.0%}. {declaration}"]
        lines += [f"  {part:<16} {name:<28} {estimate}" for part, name, estimate in self._rows()]
        lines += self.remarks
        return "\n".join([*map(escape_controls, lines), str(self.privacy_spent)])

    def to_html(self) -> str:
        """Return a table of the statistics, the declaration about the rows, and the statement of privacy."""
        rows = (
            (
                *(escape_controls(part), name, f"{found.value:.4g}"),
                *(f"{found.lower:.4g} to {found.upper:.4g}", "says nothing" if found.says_nothing else ""),
            )
            for part, name, found in self._rows()
        )
        table = html_table(("group", "statistic", "estimate", "interval", ""), rows)
        remarks = "".join(f"<p>{html.escape(escape_controls(remark))}</p>" for remark in self.remarks)
        declaration = _DECLARATIONS[self.on_training_rows]
        return (
            f"<div><p><b>Private evaluation</b>, intervals of {self.confidence:.0%}. {declaration}</p>"
            f"{table}{remarks}"
            f"<pre>{html.escape(str(self.privacy_spent))}</pre></div>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()


_COLUMNS = ("value", "lower", "upper", "noise_std", "sampling_std", "says_nothing")
# On a page for a committee, in this order.
_CONSTANT = "constant"
_ASKED_FOR = {
    "auc": "AUC",
    "accuracy": "accuracy",
    _CONSTANT: "accuracy of a constant",
    "log_loss": "log loss",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "bias": "mean error",
    "brier": "Brier score",
    "calibration_slope": "calibration slope",
}
_NAMES = (
    *("accuracy", "auc", "balanced_accuracy", "bias", "brier", "calibration_in_the_large"),
    *("calibration_slope", "log_loss", "mae", "rmse"),
)
