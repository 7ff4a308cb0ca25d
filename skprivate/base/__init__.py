# SPDX-License-Identifier: BSD-3-Clause
"""The contract of a private estimator, reports over pipelines, and tools for authors of estimators."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
