# SPDX-License-Identifier: BSD-3-Clause
"""Helpers shared by every room; importing this package needs neither scikit-learn nor SciPy."""

from ._lazy import lazy_exports
from ._validation import check_bounds, check_epsilon, check_positive, check_probability, check_row_mask

__all__ = [
    "check_bounds",
    "check_epsilon",
    "check_positive",
    "check_probability",
    "check_row_mask",
    "lazy_exports",
]
