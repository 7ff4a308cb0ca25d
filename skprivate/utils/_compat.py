# SPDX-License-Identifier: BSD-3-Clause
"""The one place for private names of scikit-learn, so that a new release breaks one file."""

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "Interval",
    "StrOptions",
    "fit_context",
    "has_callbacks",
    "num_samples",
    "safe_indexing",
    "validate_parameter_constraints",
]


def has_callbacks(estimator: Any) -> bool:
    """Return whether an estimator, or the search that fits it, has callbacks to tell of its progress."""
    return hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")
