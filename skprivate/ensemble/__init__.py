# SPDX-License-Identifier: BSD-3-Clause
"""Private ensembles: boosting with shape functions that can be read."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
