# SPDX-License-Identifier: BSD-3-Clause
"""Scaling by declared bounds instead of by statistics of private rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags

from .._config import StrictMixin
from ..base import PublicShape, StatelessMixin, redact_errors
from ..utils import check_bounds
from ..utils._public_module import public_module
from ..utils._replacements import within_bounds
from ..utils._table_validation import check_array, read_numbers


@public_module("skprivate.preprocessing")
class BoundsScaler(StrictMixin, StatelessMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map declared bounds to [0, 1], column by column, without looking at the data.

    A ``StandardScaler`` or ``MinMaxScaler`` in front of a private estimator reads private rows and pays
    nothing, so the pipeline is not private. This one is stateless: what it does depends on ``bounds`` alone.

    Parameters
    ----------
    bounds : pair or dict, default=(0.0, 1.0)
        ``(lower, upper)``, each a scalar or an array of shape (n_features,), or a dict
        ``{column: (lower, upper)}`` over all columns, by name or position; in the units of X, from public
        knowledge.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.

    See Also
    --------
    skprivate.privacy_report : Names every step of a pipeline that read private rows without paying.

    Notes
    -----
    **Privacy.** Nothing is learnt and nothing is released by ``fit``, so nothing is spent. Values outside the
    bounds are clipped silently: a count or a message would leak. No cell makes the step fail, since a step
    does not know the ledger that counts failures. In strict mode an infinity goes to its bound, and what is
    missing or no number to the middle of the bounds. Otherwise all of these are NaN, which the private
    estimator behind the step refuses and counts.

    Examples
    --------
    >>> from skprivate.preprocessing import BoundsScaler
    >>> BoundsScaler(bounds=([0, 18], [200, 98])).fit_transform([[50.0, 58.0], [300.0, 18.0]])
    array([[0.25, 0.5 ],
           [1.  , 0.  ]])
    """

    # It takes no sparse matrix, and returns none.
    _refuses_sparse = True
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    _reads_numbers = True

    def __init__(self, bounds: Any = (0.0, 1.0)) -> None:
        self.bounds = bounds

    @redact_errors
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check X and the bounds; learns nothing else.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self : BoundsScaler

        Raises
        ------
        TypeError, ValueError
            X is no table, or one of dates, masks or complex numbers, or the bounds do not fit it.
        """
        X = read_numbers(self, X)
        check_bounds(self.bounds, X.shape[1], getattr(self, "feature_names_in_", None))
        return self

    def check_public(self, shape: PublicShape) -> None:
        """Raise what a fit to rows of such a shape would raise whatever they hold."""
        shape.check_bounds(self.bounds, "bounds")

    @redact_errors
    def transform(self, X: Any) -> NDArray[np.float64]:
        """Map X to [0, 1], clipping what lies outside the bounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
        """
        # Stateless: transform works without fit, and then remembers nothing of X.
        X = read_numbers(self, X, reset=False)
        lower, upper = check_bounds(self.bounds, X.shape[1], getattr(self, "feature_names_in_", None))
        X = within_bounds(X, lower, upper) if self.is_strict() else np.where(np.isinf(X), np.nan, X)
        # Halves where the width overflows, near the largest float; elsewhere not: the least float has none.
        unit = np.where(np.isfinite(upper - lower), 1.0, 0.5)
        scaled = (np.clip(X, lower, upper) * unit - lower * unit) / (upper * unit - lower * unit)
        return np.clip(scaled, 0.0, 1.0)

    @redact_errors
    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """Map [0, 1] back to the bounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled values.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        X = check_array(X, dtype=np.float64)
        lower, upper = check_bounds(
            self.bounds, getattr(self, "n_features_in_", X.shape[1]), getattr(self, "feature_names_in_", None)
        )
        if X.shape[1] != len(lower):
            raise ValueError(f"X has {X.shape[1]} columns, fit saw {len(lower)}.")
        return lower * (1.0 - X) + upper * X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags
