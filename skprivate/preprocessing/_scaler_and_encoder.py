# SPDX-License-Identifier: BSD-3-Clause
"""Scaling by declared bounds and encoding by declared columns, without learning from rows."""

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._config import StrictMixin
from .._typing import FloatArray, MissingRule
from ..base import PublicShape, StatelessMixin, redact_errors
from ..domain import CategoricalColumn, TableDomain
from ..utils import check_bounds
from ..utils._compat import StrOptions, validate_parameter_constraints
from ..utils._public_module import public_module
from ..utils._tables import check_array, read_numbers, within_bounds

# Scaling by declared bounds instead of by statistics of private rows.


@public_module("skprivate.preprocessing")
class BoundsScaler(StrictMixin, StatelessMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map declared bounds to [0, 1], column by column, without learning from rows.

    A ``StandardScaler`` or ``MinMaxScaler`` in front of a private estimator reads private rows without
    spending budget, so the pipeline is not private. This scaler is stateless: it depends on ``bounds`` alone.

    Parameters
    ----------
    bounds : pair or dict, default=(0.0, 1.0)
        ``(lower, upper)``, each a scalar or an array of shape (n_features,), or a dict
        ``{column: (lower, upper)}`` over all columns, by name or position. They are in the units of X, from
        public knowledge.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X has string names.

    See Also
    --------
    skprivate.privacy_report : Names the steps of a pipeline that read private rows without spending budget.

    Notes
    -----
    **Privacy.** ``fit`` learns and releases nothing, so no budget is spent. Values outside the bounds are
    clipped without a warning: a count or a message would be a leak. No cell makes the step fail, since a step
    does not know the ledger that counts failures. In strict mode an infinity becomes its bound, and a cell
    that is missing or no number becomes the middle of the bounds. Otherwise all of these become NaN. The
    private estimator behind the step refuses NaN and counts the failure.

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
        """Check X and the bounds; learn nothing else.

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
            X is no table, or a table of dates, masks or complex numbers, or the bounds do not fit it.
        """
        X = read_numbers(self, X)
        check_bounds(self.bounds, X.shape[1], getattr(self, "feature_names_in_", None))
        return self

    def check_public(self, shape: PublicShape) -> None:
        """Raise the errors of a fit that any rows of such a shape would cause."""
        shape.check_bounds(self.bounds, "bounds")

    @redact_errors
    def transform(self, X: Any) -> NDArray[np.float64]:
        """Map X to [0, 1], and clip values outside the bounds.

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
        # Halve values if the width overflows, near the largest float. The least float cannot be halved.
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


# Tables as numbers by declared columns instead of by values in private rows.


@public_module("skprivate.preprocessing")
class DomainEncoder(StrictMixin, StatelessMixin, TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers by their declaration, without learning from rows.

    A ``OneHotEncoder`` or an ``OrdinalEncoder`` in front of a private estimator learns its categories from
    private rows without spending budget, so the pipeline is not private. This encoder is stateless: it
    depends on ``domain`` alone. The trees and regressors of this package take a domain themselves. The
    encoder is for pipelines with other steps.

    Parameters
    ----------
    domain : TableDomain, default=None
        The public declaration of the columns. None: X holds numbers, which are not changed.
    levels : {"one-hot", "codes"}, default="one-hot"
        Encoding of levels without an order: as one column per level, or as one column with the position of
        the level. Levels with an order are always one column.
    missing : {"error", "fill", "indicator"}, default=None
        Treatment of missing cells in every column, see `NumberColumn`. None: as ``domain`` declares it.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns: those of the domain, or without a domain those of X, if X has string names.

    See Also
    --------
    TableDomain : Declares the columns.
    BoundsScaler : Scales numbers by declared bounds.

    Notes
    -----
    **Privacy.** ``fit`` learns and releases nothing, so no budget is spent. No cell makes the step fail,
    since a step does not know the ledger that counts failures. In strict mode a cell that is no value of its
    column counts as missing. Otherwise it becomes NaN in all encoded columns of its column. So does a missing
    cell with ``missing="error"``, and any such cell without a domain. The private estimator behind the step
    refuses NaN and counts the failure, or in strict mode replaces it.

    Examples
    --------
    >>> from skprivate import DomainEncoder, TableDomain
    >>> domain = TableDomain({"age": (17, 90), "job": ["clerk", "smith"]}, missing_values=["?"])
    >>> encoder = DomainEncoder(domain)
    >>> encoder.fit_transform([[39, "smith"], [50, "?"]])
    array([[39.,  0.,  1.,  0.],
           [50.,  0.,  0.,  1.]])
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'job=clerk', 'job=smith', 'job:missing']
    """

    # It takes no sparse matrix, and returns none.
    _refuses_sparse = True
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    _parameter_constraints: dict[str, list[Any]] = {
        "domain": [TableDomain, None],
        "levels": [StrOptions({"one-hot", "codes"})],
        "missing": [StrOptions({"error", "fill", "indicator"}), None],
    }

    def __init__(
        self,
        domain: TableDomain | None = None,
        *,
        levels: Literal["one-hot", "codes"] = "one-hot",
        missing: MissingRule | None = None,
    ) -> None:
        self.domain = domain
        self.levels = levels
        self.missing = missing

    @redact_errors
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check X and the parameters; learn nothing else.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As `TableDomain.encode` takes it.
        y : ignored

        Returns
        -------
        self : DomainEncoder

        Raises
        ------
        TypeError, ValueError
            X is no table of the domain's columns.
        """
        self._check_parameters()
        self._read(X, reset=True)
        return self

    def check_public(self, shape: PublicShape) -> None:
        """Raise the errors of a fit that any rows of such a shape would cause."""
        self._check_parameters()
        names = None if self.domain is None else self.domain.names
        if names is None or shape.n_features is None:
            return
        known = shape.names_known and shape.feature_names is not None
        if len(names) != shape.n_features or (known and set(shape.feature_names or ()) != set(names)):
            raise ValueError("the columns of X are not those of domain.")

    @redact_errors
    def transform(self, X: Any) -> FloatArray:
        """Encode the rows of a table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        X_encoded : ndarray of float64 of shape (n_samples, n_encoded)
        """
        # Stateless: transform works without fit, and then remembers nothing of X.
        self._check_parameters()
        return self._read(X, reset=False)

    @redact_errors
    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the values of the columns of encoded rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_encoded)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Objects, as in `TableDomain.decode`. Nothing is lost if missing cells have an indicator. Numbers
            without a domain.
        """
        encoded: FloatArray = check_array(X, dtype=np.float64)
        domain = self._domain()
        if domain is None:
            return encoded
        columns = domain.decode(encoded)
        table = np.empty((len(encoded), len(columns)), dtype=object)
        for place, values in enumerate(columns.values()):
            table[:, place] = values
        return table

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X. None: those of the fit; without a domain and without names, x0, x1, and
            so on. With a domain they must be its names.

        Returns
        -------
        names : ndarray of str of shape (n_encoded,)

        Raises
        ------
        ValueError
            The names are not those of the columns.
        """
        domain = self._domain()
        if domain is None:
            check_is_fitted(self, "n_features_in_")
            known: Any = getattr(self, "feature_names_in_", None)
        else:
            known = np.array(domain.names, dtype=object)
        given: Any = known if input_features is None else np.asarray(input_features, dtype=object)
        if domain is not None:
            # Columns are found by name: their order does not matter.
            given, known = sorted(map(str, given)), sorted(map(str, known))
        if known is not None and not np.array_equal(given, known):
            raise ValueError("input_features is not equal to feature_names_in_")
        if domain is not None:
            return np.array(domain.encoded_names, dtype=object)
        if given is None:
            return np.array([f"x{place}" for place in range(self.n_features_in_)], dtype=object)
        if len(given) != self.n_features_in_:
            raise ValueError("input_features should have length equal to number of features")
        return given

    def _check_parameters(self) -> None:
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )

    def _domain(self) -> TableDomain | None:
        """Return the domain, changed by the other parameters."""
        if self.domain is None or (self.levels == "one-hot" and self.missing is None):
            return self.domain
        changed = {}
        for name, column in self.domain.columns.items():
            if self.missing is not None:
                column = replace(column, missing=self.missing)
            if isinstance(column, CategoricalColumn) and self.levels == "codes" and len(column.levels) > 1:
                column = replace(column, ordered=True)
            changed[name] = column
        return TableDomain(changed)

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        domain = self._domain()
        if domain is None:
            return read_numbers(self, X, reset=reset)
        encoded = domain.encode(X, strict=True) if self.is_strict() else domain.encode_with_nan(X)
        if reset:
            self.n_features_in_ = len(domain.names)
            self.feature_names_in_ = np.array(domain.names, dtype=object)
        return check_array(encoded, ensure_all_finite=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.categorical = self.domain is not None
        return tags
