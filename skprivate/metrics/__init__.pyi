# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.metrics` and their modules."""

from ._disclosure import correct_orientation_score as correct_orientation_score
from ._disclosure import record_linkage_score as record_linkage_score

__all__ = [
    "correct_orientation_score",
    "record_linkage_score",
]
