# SPDX-License-Identifier: BSD-3-Clause
"""Helpers shared by every room; importing this package needs neither scikit-learn nor SciPy."""

from ._arguments import (
    as_cells,
    as_column,
    as_labels,
    check_bounds,
    check_characters,
    check_epsilon,
    check_epsilons,
    check_int,
    check_positive,
    check_probability,
    check_row_mask,
    is_frame,
    is_structured,
    number_groups,
    select_rows,
    splits_by_group,
)
from ._public_module import lazy_exports

__all__ = ["as_cells", "as_column", "as_labels", "check_bounds", "check_characters", "check_epsilon"]
__all__ += ["check_epsilons", "check_int", "check_positive", "check_probability", "check_row_mask"]
__all__ += ["is_frame", "is_structured", "lazy_exports", "number_groups", "select_rows"]
__all__ += ["splits_by_group"]
