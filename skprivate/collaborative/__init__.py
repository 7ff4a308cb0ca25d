# SPDX-License-Identifier: BSD-3-Clause
"""Collaborative prediction: perturbed queries, local models at sites, swapped or summed answers."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._aggregators import BSTDAggregator as BSTDAggregator
    from ._aggregators import SecureSumAggregator as SecureSumAggregator
    from ._estimators import CollaborativeClassifier as CollaborativeClassifier
    from ._estimators import CollaborativeLARRegressor as CollaborativeLARRegressor
    from ._estimators import CollaborativeRegressor as CollaborativeRegressor
    from ._local_average.regressor import LocalAverageRegressor as LocalAverageRegressor
    from ._protocols.consent import ConsentBox as ConsentBox
    from ._protocols.keys import SiteKey as SiteKey
    from ._protocols.masked_sum import MaskedSum as MaskedSum
    from ._site import CollaborativeSite as CollaborativeSite

_HOMES = {
    "BSTDAggregator": "._aggregators",
    "CollaborativeClassifier": "._estimators",
    "CollaborativeLARRegressor": "._estimators",
    "CollaborativeRegressor": "._estimators",
    "CollaborativeSite": "._site",
    "ConsentBox": "._protocols.consent",
    "LocalAverageRegressor": "._local_average.regressor",
    "MaskedSum": "._protocols.masked_sum",
    "SecureSumAggregator": "._aggregators",
    "SiteKey": "._protocols.keys",
    # Not for users: pickles of fitted estimators name them here, so that files can be moved.
    "LocalAverageClassifier": "._estimators",
    "EpanechnikovModel": "._local_average.regressor",
    "GaussianModel": "._local_average.regressor",
    "LaplaceModel": "._local_average.regressor",
    "NeighborsModel": "._local_average.regressor",
    "PartitionModel": "._local_average.regressor",
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
