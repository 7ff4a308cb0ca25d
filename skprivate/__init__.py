# SPDX-License-Identifier: BSD-3-Clause
"""Privacy-preserving machine learning with the scikit-learn API."""

from . import _requirements as _requirements
from .utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
