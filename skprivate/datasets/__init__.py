# SPDX-License-Identifier: BSD-3-Clause
"""Data sets and generators for examples, tests and benchmarks."""

from ._census import fetch_census
from ._diabetes import fetch_diabetes_outcome
from ._location_scale import make_location_scale
from ._parties import make_parties
from ._posterior_drift import make_posterior_drift
from ._turbofan import fetch_turbofan
from ._warfarin import fetch_warfarin

__all__ = [
    "fetch_census",
    "fetch_diabetes_outcome",
    "fetch_turbofan",
    "fetch_warfarin",
    "make_location_scale",
    "make_parties",
    "make_posterior_drift",
]
