# SPDX-License-Identifier: BSD-3-Clause
"""Data sets and generators for examples, tests and benchmarks."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._census import fetch_census
    from ._diabetes import fetch_diabetes_outcome
    from ._simulations import make_location_scale, make_parties, make_posterior_drift
    from ._turbofan import fetch_turbofan
    from ._warfarin import fetch_warfarin

_HOMES = {
    "fetch_census": "._census",
    "fetch_diabetes_outcome": "._diabetes",
    "fetch_turbofan": "._turbofan",
    "fetch_warfarin": "._warfarin",
    "make_location_scale": "._simulations",
    "make_parties": "._simulations",
    "make_posterior_drift": "._simulations",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "fetch_census",
    "fetch_diabetes_outcome",
    "fetch_turbofan",
    "fetch_warfarin",
    "make_location_scale",
    "make_parties",
    "make_posterior_drift",
]
