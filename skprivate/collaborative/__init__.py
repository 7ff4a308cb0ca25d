# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative prediction: perturbed queries, local models at sites, swapped or summed answers."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._classifier import CollaborativeClassifier as CollaborativeClassifier
    from ._lar_regressor import CollaborativeLARRegressor as CollaborativeLARRegressor
    from ._local_average.regressor import LocalAverageRegressor as LocalAverageRegressor
    from ._protocols.consent import ConsentBox as ConsentBox
    from ._protocols.keys import SiteKey as SiteKey
    from ._protocols.masked_sum import MaskedSum as MaskedSum
    from ._regressor import CollaborativeRegressor as CollaborativeRegressor
    from ._secure_sum import SecureSumAggregator as SecureSumAggregator
    from ._site import CollaborativeSite as CollaborativeSite
    from ._swapping import BSTDAggregator as BSTDAggregator

_HOMES = {
    "BSTDAggregator": "._swapping",
    "CollaborativeClassifier": "._classifier",
    "CollaborativeLARRegressor": "._lar_regressor",
    "CollaborativeRegressor": "._regressor",
    "CollaborativeSite": "._site",
    "ConsentBox": "._protocols.consent",
    "LocalAverageRegressor": "._local_average.regressor",
    "MaskedSum": "._protocols.masked_sum",
    "SecureSumAggregator": "._secure_sum",
    "SiteKey": "._protocols.keys",
    # Not for users: pickles of fitted estimators name them here, so that files can be moved.
    "LocalAverageClassifier": "._classifier",
    "EpanechnikovModel": "._local_average.row_layouts",
    "GaussianModel": "._local_average.row_layouts",
    "LaplaceModel": "._local_average.row_layouts",
    "NeighborsModel": "._local_average.row_layouts",
    "PartitionModel": "._local_average.row_layouts",
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
