# SPDX-License-Identifier: BSD-3-Clause
"""Whether a fit warned of its utility, and whether an interval holds the true value."""

import warnings
from typing import Any

from numpy.typing import ArrayLike

from skprivate.exceptions import UtilityWarning


def fit_warns(model: Any, X: ArrayLike, y: ArrayLike, **more: Any) -> bool:
    """Fit, and return whether the fit warned that its release is of little use."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **more)
    return any(issubclass(warning.category, UtilityWarning) for warning in caught)


def holds(interval: Any, value: float) -> bool:
    """Return whether an interval holds a value."""
    return bool(interval[0] <= value <= interval[1])
