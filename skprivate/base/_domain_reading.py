# SPDX-License-Identifier: BSD-3-Clause
"""Mixin of estimators that may read their tables through a declared domain."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._config import StrictMixin
from .._typing import FloatArray
from ..domain import TableDomain
from ..utils._replacements import within_bounds
from ..utils._table_validation import check_array, read_numbers, validate_data
from ._planned_cost import PublicShape


class DomainMixin(StrictMixin):
    """Mixin of estimators with a parameter ``domain``; without one X is read as it always was.

    Features are then those of the raw table: ``n_features_in_`` and ``feature_names_in_`` name its columns,
    and ``domain_.encoded_names`` the columns that the rows become.
    """

    domain: TableDomain | None
    domain_: TableDomain
    bounds_: tuple[FloatArray, FloatArray]
    n_features_in_: int

    #: Whether X is a table of numbers where there is no domain.
    _reads_numbers = True
    #: The parameter that declares bounds of X where there is no domain.
    _bounds_parameter = "bounds"

    def check_domain(self) -> None:
        """Raise ValueError where bounds are declared beside a domain, which has its own."""
        if self.domain is not None and getattr(self, self._bounds_parameter) is not None:
            raise ValueError(f"domain declares the bounds of X: pass domain or {self._bounds_parameter}.")

    def encode_rows(self, X: Any) -> Any:
        """Return the rows of a fit as numbers where there is a domain, else as they are."""
        vars(self).pop("domain_", None)
        if self.domain is None:
            return X
        return self.domain.encode(X, strict=self.is_strict())

    def name_columns(self) -> None:
        """Set the number and the names of the raw columns, and keep the domain, where there is one."""
        if self.domain is not None:
            self.domain_ = self.domain
            self.n_features_in_ = len(self.domain.names)
            self.feature_names_in_ = np.array(self.domain.names, dtype=object)

    def names_of_features(self) -> tuple[str, ...] | None:
        """Return the names of the columns that the model is about; None where they have none."""
        if self.domain is not None:
            return self.domain.encoded_names
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def read_fitted(self, X: Any, **options: Any) -> FloatArray:
        """Validate rows for a fitted model; `options` are those of scikit-learn's ``check_array``.

        In strict mode no cell makes it fail: what is no finite number is put within the bounds, as in a fit.
        """
        domain = getattr(self, "domain_", None)
        if domain is not None:
            encoded: FloatArray = check_array(domain.encode(X, strict=self.is_strict()), **options)
            return encoded
        if self.is_strict():
            return within_bounds(read_numbers(self, X, reset=False), *self.bounds_)
        rows: FloatArray = validate_data(self, X, dtype=np.float64, reset=False, **options)
        return rows

    def encoded_shape(self, shape: PublicShape) -> PublicShape:
        """Return the shape of encoded rows, given that of the table; ValueError for another table's."""
        if self.domain is None or shape.n_features is None:
            return shape
        self.check_domain()
        names, found = self.domain.names, shape.feature_names
        if len(names) != shape.n_features or (found is not None and set(found) != set(names)):
            raise ValueError("the columns of X are not those of domain.")
        return replace(shape, n_features=len(self.domain.encoded_names), feature_names=None)
