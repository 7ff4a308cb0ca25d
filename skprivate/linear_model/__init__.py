# SPDX-License-Identifier: BSD-3-Clause
"""Private log-location-scale (accelerated failure time) regression, and logistic regression."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
