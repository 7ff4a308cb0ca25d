# SPDX-License-Identifier: BSD-3-Clause
"""Validation of the rows of a private search: public rows, groups, and errors of every candidate."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length

from .._typing import BoolArray, IndexArray
from ..base import PrivateEstimatorMixin, StatelessMixin
from ..base._stateless_steps import SilentUfunc
from ..utils import as_cells, as_column, as_labels, check_row_mask, is_structured, number_groups
from ..utils._compat import num_samples
from ..utils._tables import check_array, numbers_of, refuse_kinds, refuse_text, validate_data


class Masks(NamedTuple):
    """Public facts about the rows: which are public, and the groups of the others."""

    public: BoolArray
    validation: BoolArray
    codes: IndexArray | None  # of the private rows

    @property
    def private(self) -> BoolArray:
        """The rows to be protected."""
        return ~self.public & ~self.validation

    @property
    def n_units(self) -> int:
        """Private rows, or groups of them."""
        return int(self.private.sum()) if self.codes is None else int(self.codes.max()) + 1


def check_rows(search: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Refuse, before the charge, rows that every candidate would refuse."""
    tags = get_tags(search.estimator)
    y, structured = as_labels(y), is_structured(y)
    finite = "allow-nan" if _takes_nan(search.estimator) else True
    _refuse_tables(search.estimator, y)
    _refuse_text(search.estimator, X, objects=False)
    if hasattr(X, "columns") or not tags.input_tags.two_d_array or _declares_columns(search.estimator):
        validate_data(search, X, y, skip_check_array=True, kinds=not _declares_columns(search.estimator))
    else:
        dtype = "numeric" if _takes_numbers(search.estimator) else None
        options = {
            "dtype": dtype,
            "ensure_all_finite": finite,
            "accept_sparse": tags.input_tags.sparse,
            "ensure_min_samples": 2,
        }
        if structured or y is None:
            X = validate_data(search, X, **options) if structured else validate_data(search, X, y, **options)
        else:
            numeric = not is_classifier(search.estimator)
            X, y = validate_data(search, X, y, y_numeric=numeric, **options)
    check_consistent_length(X, y)
    if y is None:
        raise ValueError("a private search requires y to be passed: candidates are scored on it.")
    if not structured:
        check_array(y, ensure_2d=False, dtype=None, input_name="y")
    if hasattr(X, "columns") and tags.input_tags.two_d_array and _takes_numbers(search.estimator):
        check_array(X, ensure_all_finite=finite)
    return X, y


def check_rows_strictly(search: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Refuse wrong containers in strict mode. Candidates replace wrong values."""
    if y is None:
        raise ValueError("a private search requires y to be passed: candidates are scored on it.")
    if isinstance(X, list | tuple) and get_tags(search.estimator).input_tags.two_d_array:
        # A list has no type: estimators of numbers get numbers, so that it does not become objects.
        X = numbers_of(X) if _takes_numbers(search.estimator) else as_cells(X)
    validate_data(
        search, X, skip_check_array=True, cells=False, kinds=not _declares_columns(search.estimator)
    )
    refuse_kinds(y, "y")
    if _takes_numbers(search.estimator):
        _refuse_text(search.estimator, X, objects=True)
        check_array(numbers_of(X), dtype=np.float64, ensure_all_finite=False)
    y = as_column(y)
    _refuse_tables(search.estimator, y)
    if num_samples(X) != num_samples(y) or num_samples(X) < 2:
        raise ValueError("X and y must have as many rows, and at least two.")
    return X, y


def _refuse_tables(estimator: Any, y: Any) -> None:
    """Refuse targets of several columns. Targets with fields are for regressors of censored times."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) > 1 and shape[1] > 1 and not is_structured(y):
        raise ValueError(f"y should be a 1d array, got an array of shape {shape} instead.")
    if is_structured(y) and is_classifier(estimator):
        raise ValueError("y should be a 1d array of labels, without fields and of one column.")


def _refuse_text(estimator: Any, X: Any, *, objects: bool) -> None:
    if _takes_numbers(estimator):
        refuse_text(X, objects=objects, takes_domain=hasattr(estimator, "domain"))


def _takes_numbers(estimator: Any) -> bool:
    """Whether an estimator is known to take numbers only, as those of this package do."""
    if isinstance(estimator, Pipeline):
        return _takes_numbers(estimator.steps[0][1])
    if isinstance(getattr(estimator, "func", None), SilentUfunc):
        return True
    return isinstance(estimator, PrivateEstimatorMixin | StatelessMixin) and not _declares_columns(estimator)


def _takes_nan(estimator: Any) -> bool:
    """Whether NaN may be in X: a stateless step of this package passes it on to the next step."""
    if isinstance(estimator, Pipeline) and isinstance(estimator.steps[0][1], StatelessMixin):
        return len(estimator.steps) > 1 and _takes_nan(estimator[1:])
    return bool(get_tags(estimator).input_tags.allow_nan)


def _declares_columns(estimator: Any) -> bool:
    """Whether an estimator reads tables through a domain, which may declare more than numbers."""
    if isinstance(estimator, Pipeline):
        return _declares_columns(estimator.steps[0][1])
    return getattr(estimator, "domain", None) is not None


def check_masks(n_rows: int, is_public: Any, groups: Any, is_validation: Any, *, strict: bool) -> Masks:
    public = check_row_mask(is_public, n_rows, strict=strict)
    validation = check_row_mask(is_validation, n_rows, name="is_public_validation", strict=strict)
    if (public & validation).any():
        raise ValueError("is_public and is_public_validation mark the same rows: train on them or score.")
    if (public | validation).all():
        raise ValueError("every row is public, so there is nothing to protect; use a plain search.")
    return Masks(public, validation, number_groups(groups, ~public & ~validation, strict=strict))
