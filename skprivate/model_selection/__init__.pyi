# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.model_selection` and their modules."""

from ._private_search import PrivateGridSearch as PrivateGridSearch
from ._private_search import PrivateRandomizedSearch as PrivateRandomizedSearch
from ._split import PublicPrivateSplit as PublicPrivateSplit

__all__ = ["PrivateGridSearch", "PrivateRandomizedSearch", "PublicPrivateSplit"]
