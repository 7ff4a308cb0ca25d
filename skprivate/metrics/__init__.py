# SPDX-License-Identifier: BSD-3-Clause
"""Disclosure metrics: the share of values or responses that an attacker links in spite of a perturbation.

Modules with an underscore hold what several rooms need to score models: their outputs on rows, and intervals.
"""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._disclosure import correct_orientation_score as correct_orientation_score
    from ._disclosure import record_linkage_score as record_linkage_score

_HOMES = {
    "correct_orientation_score": "._disclosure",
    "record_linkage_score": "._disclosure",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "correct_orientation_score",
    "record_linkage_score",
]
