# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.collaborative` and their modules; those outside ``__all__`` are for pickles."""

from ._aggregators import BSTDAggregator as BSTDAggregator
from ._aggregators import SecureSumAggregator as SecureSumAggregator
from ._estimators import CollaborativeClassifier as CollaborativeClassifier
from ._estimators import CollaborativeLARRegressor as CollaborativeLARRegressor
from ._estimators import CollaborativeRegressor as CollaborativeRegressor
from ._estimators import LocalAverageClassifier as LocalAverageClassifier
from ._local_average.regressor import EpanechnikovModel as EpanechnikovModel
from ._local_average.regressor import GaussianModel as GaussianModel
from ._local_average.regressor import LaplaceModel as LaplaceModel
from ._local_average.regressor import LocalAverageRegressor as LocalAverageRegressor
from ._local_average.regressor import NeighborsModel as NeighborsModel
from ._local_average.regressor import PartitionModel as PartitionModel
from ._masked_sites import MaskedSites as MaskedSites
from ._protocols.consent import ConsentBox as ConsentBox
from ._protocols.keys import SiteKey as SiteKey
from ._protocols.masked_sum import MaskedSum as MaskedSum
from ._site import CollaborativeSite as CollaborativeSite
from ._site_state import SiteState as SiteState

__all__ = [
    "BSTDAggregator",
    "CollaborativeClassifier",
    "CollaborativeLARRegressor",
    "CollaborativeRegressor",
    "CollaborativeSite",
    "ConsentBox",
    "LocalAverageRegressor",
    "MaskedSites",
    "MaskedSum",
    "SecureSumAggregator",
    "SiteKey",
    "SiteState",
]
