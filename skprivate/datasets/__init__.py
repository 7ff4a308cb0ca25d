# SPDX-License-Identifier: BSD-3-Clause
"""Data sets and generators for examples, tests and benchmarks."""

from ._census import fetch_census
from ._diabetes import fetch_diabetes_outcome
from ._location_scale import make_location_scale
from ._posterior_drift import make_posterior_drift
from ._turbofan import fetch_turbofan

__all__ = [
    "fetch_census",
    "fetch_diabetes_outcome",
    "fetch_turbofan",
    "make_location_scale",
    "make_posterior_drift",
]
