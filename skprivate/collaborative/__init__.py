# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative prediction: coarsened queries, local models that stay local, swapped or summed answers."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._classifier import CollaborativeClassifier as CollaborativeClassifier
    from ._consent import ConsentBox as ConsentBox
    from ._keys import SiteKey as SiteKey
    from ._local_average import LocalAverageRegressor as LocalAverageRegressor
    from ._masked_sum import MaskedSum as MaskedSum
    from ._preset import CollaborativeLARRegressor as CollaborativeLARRegressor
    from ._regressor import CollaborativeRegressor as CollaborativeRegressor
    from ._secure_sum import SecureSumAggregator as SecureSumAggregator
    from ._site import CollaborativeSite as CollaborativeSite
    from ._swapping import BSTDAggregator as BSTDAggregator

_HOMES = {
    "BSTDAggregator": "._swapping",
    "CollaborativeClassifier": "._classifier",
    "CollaborativeLARRegressor": "._preset",
    "CollaborativeRegressor": "._regressor",
    "CollaborativeSite": "._site",
    "ConsentBox": "._consent",
    "LocalAverageRegressor": "._local_average",
    "MaskedSum": "._masked_sum",
    "SecureSumAggregator": "._secure_sum",
    "SiteKey": "._keys",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "BSTDAggregator",
    "CollaborativeClassifier",
    "CollaborativeLARRegressor",
    "CollaborativeRegressor",
    "CollaborativeSite",
    "ConsentBox",
    "LocalAverageRegressor",
    "MaskedSum",
    "SecureSumAggregator",
    "SiteKey",
]
