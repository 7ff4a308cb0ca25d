# SPDX-License-Identifier: BSD-3-Clause
"""Local randomizers: one client's report, the curator's aggregation, unbiased estimates.

A client needs only NumPy: nothing here imports scikit-learn or SciPy.
"""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
