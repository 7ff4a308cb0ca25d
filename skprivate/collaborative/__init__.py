# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative prediction: perturbed queries, local models at sites, swapped or summed answers."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
