# SPDX-License-Identifier: BSD-3-Clause
"""Collection of randomised reports: specification, clients, files of reports, curators and commands."""

from ..utils import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
