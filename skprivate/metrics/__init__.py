# SPDX-License-Identifier: BSD-3-Clause
"""Disclosure metrics: the share of values or responses that an attacker links in spite of a perturbation.

Modules with an underscore hold what several rooms need to score models: their outputs on rows, and intervals.
"""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
