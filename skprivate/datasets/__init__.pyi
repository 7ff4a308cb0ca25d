# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.datasets` and their modules."""

from ._census import fetch_census as fetch_census
from ._diabetes import fetch_diabetes_outcome as fetch_diabetes_outcome
from ._simulations import make_location_scale as make_location_scale
from ._simulations import make_parties as make_parties
from ._simulations import make_posterior_drift as make_posterior_drift
from ._turbofan import fetch_turbofan as fetch_turbofan
from ._warfarin import fetch_warfarin as fetch_warfarin

__all__ = [
    "fetch_census",
    "fetch_diabetes_outcome",
    "fetch_turbofan",
    "fetch_warfarin",
    "make_location_scale",
    "make_parties",
    "make_posterior_drift",
]
