# SPDX-License-Identifier: BSD-3-Clause
"""The only module that uses private names of scikit-learn, so that a new release can break only one file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.metrics._scorer import _BaseScorer as BaseScorer
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _num_samples as num_samples

try:
    from sklearn.utils._repr_html.estimator import _get_visual_block, _VisualBlock
except ImportError:  # scikit-learn < 1.7
    from sklearn.utils._estimator_html_repr import _get_visual_block, _VisualBlock

try:
    from sklearn.callback import CallbackSupportMixin, ProgressBar
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty base of estimators with callbacks: this scikit-learn has no callbacks."""

    ProgressBar = None

__all__ = ["BaseScorer", "CallbackSupportMixin", "HasMethods", "Interval", "InvalidParameterError"]
__all__ += ["ProgressBar", "StrOptions", "captioned_block", "fit_context", "num_samples", "rows_of"]
__all__ += ["safe_indexing", "validate_parameter_constraints"]


def rows_of(value: Any, rows: Any, n_rows: int) -> Any:
    """Return these rows of an argument of ``fit`` with one entry per row; return any other unchanged."""
    if isinstance(value, str | bytes | Mapping):
        return value
    if hasattr(value, "__array_namespace__"):
        value = np.asarray(value)
    shape = getattr(value, "shape", None)
    length = len(value) if shape is None and hasattr(value, "__len__") else (shape or (None,))[0]
    return safe_indexing(value, rows) if length == n_rows else value


def captioned_block(estimator: Any, caption: str) -> _VisualBlock:
    """Return the block of an estimator for scikit-learn's diagrams, with a caption below its name, if any.

    The box of a meta-estimator has no place for a caption. There the caption is a separate box above those of
    the inner estimators.
    """
    block = _get_visual_block(_Undescribed(estimator))
    if block.kind == "single":
        return _VisualBlock(
            "single",
            estimator,
            names=type(estimator).__name__,
            name_details=str(estimator),
            name_caption=caption or None,  # scikit-learn 1.6 would draw an empty one
        )
    if not caption:
        return block
    parts = [_VisualBlock("single", caption, names=caption, name_details=caption), block]
    return _VisualBlock("serial", parts, dash_wrapped=False)


class _Undescribed:
    """An estimator's parameters without its own description, so that scikit-learn makes its usual one."""

    def __init__(self, estimator: Any) -> None:
        self.get_params = estimator.get_params
