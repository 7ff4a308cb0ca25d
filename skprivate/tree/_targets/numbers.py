# SPDX-License-Identifier: BSD-3-Clause
"""Trees of numbers: targets between public bounds, means of the leaves, and their intervals."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import BoolArray, FloatArray, SplitCriterion
from ...base import PublicShape, assign_roles, redact_errors
from ...base._public_model import of_encoded_rows
from ...rounds._reading.fit_rows import read_numbered_rows
from ...rounds._reading.targets import check_target_bounds, check_target_width
from ...utils._compat import HasMethods
from .._estimation.leaf_estimates import LeafEstimates
from .._estimation.leaf_intervals import share_intervals
from .._noisy_leaf_counts import USUAL_VARIANCE
from .._public_model import PublicModel
from .._tree_design import TreeDesign
from .._tree_rows import PublicVotes, TreeRows

NUMBER_CONSTRAINTS: dict[str, list[Any]] = {
    "bounds_X": ["array-like", Mapping, None],
    "bounds_y": ["array-like", None],
    "public_model": [HasMethods(["fit", "predict"]), None],
}
NUMBER_ROLES = assign_roles(release="bounds_X bounds_y")


class NumberTargetMixin(RegressorMixin):
    """What is particular to a private tree whose target is a number between public bounds.

    A number is a share t of the width between its bounds, from 0 to 1, and a leaf has the two shares 1 - t
    and t, as if they were those of two labels.
    """

    bounds_y: Any
    bounds_y_: tuple[float, float]
    range_y_: tuple[float, float]
    leaf_values_: FloatArray

    # Means of shares have one impurity, and no leading class to prune by.
    criterion: SplitCriterion = "gini"
    prune: Any = False

    _bounds_parameter = "bounds_X"
    _target_parameter = "bounds_y"
    _target_leak = "the bounds of y were read from private rows"
    _targets = "targets"
    leak_remedy = (
        "Declare them from public knowledge (bounds_X=..., bounds_y=...), or pay for them: estimate_bounds."
    )

    _read_rows = read_numbered_rows

    def _resolve_target(self, y: NDArray[Any], public: BoolArray) -> dict[str, Any]:
        if self.bounds_y is not None:
            low, high = check_target_bounds(self.bounds_y, False)
        else:
            told = y[public] if public.any() else y
            low, high = float(told.min()), float(told.max())
            high = high if high > low else low + max(1.0, abs(low))
        check_target_width((low, high))
        return {"classes": np.array([low, high]), "y": y}

    def _check_target(self, shape: PublicShape) -> int:
        if shape.structured:
            raise ValueError("y must be numbers, and no times with events.")
        if self.bounds_y is not None:
            check_target_width(check_target_bounds(self.bounds_y, False))
        return 2

    def _fit_to_public_rows(self, votes: PublicVotes, classes: NDArray[Any]) -> PublicModel | None:
        groups = None if self.domain is None else self.domain.groups
        model = of_encoded_rows(self.public_model, self.domain)
        return PublicModel.fit_numbers(model, votes, classes, self.partition_seed, groups)

    def _usual_variance(self, votes: PublicVotes | None) -> float:
        told = None if votes is None else votes.total_variance
        return USUAL_VARIANCE if told is None else told

    def _no_targets(self) -> NDArray[Any]:
        return np.empty(0)

    def _schema_of_target(self, rows: TreeRows) -> dict[str, Any]:
        return {"bounds_y": (float(rows.classes[0]), float(rows.classes[1]))}

    def _name_target(self, design: TreeDesign) -> None:
        known = design.classes if design.declared is None else design.declared
        self.bounds_y_ = float(known[0]), float(known[1])
        self.range_y_ = float(design.classes[0]), float(design.classes[1])

    def _known_target(self) -> NDArray[Any]:
        return np.array(self.range_y_)

    @property
    def _leaf_shares(self) -> FloatArray:
        return self._shares

    @property
    def _share_errors(self) -> FloatArray:
        return self._errors

    def _describe_estimate(self, leaf: int, decimals: int) -> str:
        value, error = float(self.leaf_values_[leaf]), float(self.leaf_errors_[leaf])
        return f"value: {value:.{decimals}f} +- {error:.{decimals}f}"

    def _set_estimates(self, estimates: LeafEstimates) -> None:
        self._shares, self._errors = estimates.shares.probabilities, estimates.shares.errors
        self.leaf_values_ = self._in_units(self._shares[:, 1])
        # Halves first: a width may be more than the largest float.
        self.leaf_errors_ = 2 * self._errors * (self.range_y_[1] / 2 - self.range_y_[0] / 2)
        base = estimates.shares.base
        self.base_value_ = float(self._in_units(base.shares[1]))
        # In widths of the bounds.
        self._base_error = float(np.sqrt(base.variances[1]))

    def _in_units(self, shares: Any) -> Any:
        """Return shares of the width as numbers in the unit of y."""
        low, high = self.range_y_
        # A rounding may pass a bound.
        return np.clip((1 - shares) * low + shares * high, low, high)

    def reweighted(self, *, public_weight: float | Literal["auto"]) -> Self:
        """Return a copy with another weight of public rows: no data are needed, nothing is spent.

        Parameters
        ----------
        public_weight : float or "auto"
            As in the class.

        Returns
        -------
        tree : estimator
            Fitted, with the same ``privacy_spent_`` and ``report_counts_``.

        Raises
        ------
        ValueError
            The weight is out of range.
        """
        return self._estimated_anew({"public_weight": public_weight})

    @redact_errors
    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the mean of every row's leaf, or with ``public_model`` its own prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the unit of y, within ``range_y_``.
        """
        check_is_fitted(self)
        rows = self.read_fitted(X, order="C")
        leaves = self.partition_.apply(rows)
        if self._offsets is None:
            return self.leaf_values_[leaves]
        found: FloatArray = self._in_units(self._offsets.predict(rows, leaves)[:, 1])
        return found

    def leaf_intervals(self, confidence: float = 0.9) -> FloatArray:
        """Return confidence intervals of the means of the leaves.

        Parameters
        ----------
        confidence : float, default=0.9
            Of each interval, above 0 and below 1.

        Returns
        -------
        intervals : ndarray of shape (n_leaves, 2)
            Of the mean, among all rows like the private ones, of y clipped to ``range_y_``, leaf by leaf.
            They rest on the release alone: the prediction, which public rows and the other leaves helped, may
            lie outside. ``range_y_`` where noise does not let the leaf be seen. For rows:
            ``tree.leaf_intervals()[tree.apply(X)]``.

        Raises
        ------
        ValueError
            The confidence is out of range.

        Notes
        -----
        **Privacy.** A function of what was released and of what is public: it costs nothing.

        The interval holds every mean that the released sums do not contradict (Fieller): so the noise of the
        number of rows in the leaf is in it, and there is one however small the leaf. The noise's variance is
        known; that of y within the leaf is estimated from released sums of squares. Quantiles are normal ones
        with a correction for the tails of Laplace noise (Cornish and Fisher). Where private rows chose the
        splits, these draw the means of the leaves apart on the same rows: an allowance for that is added, as
        if no split but the choice made the leaves differ, and intervals are wider than need be where splits
        are clear.
        """
        check_is_fitted(self)
        if not isinstance(confidence, Real) or not 0 < confidence < 1:
            raise ValueError("confidence must be a number between 0 and 1.")
        design = self._design_of_release()
        found = share_intervals(design, self.report_counts_, self.n_reports_, self._shares[:, 1], confidence)
        intervals: FloatArray = self._in_units(found)
        return intervals
