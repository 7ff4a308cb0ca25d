# SPDX-License-Identifier: BSD-3-Clause
"""Any model on labels that were made private one by one; features are in clear."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
