# SPDX-License-Identifier: BSD-3-Clause
"""Private log-location-scale (accelerated failure time) regression."""

from ._accumulator import MomentAccumulator
from ._presets import DPLogisticLLSRegressor, DPNormalLLSRegressor, DPSEVRegressor
from ._regressor import DPLogLocationScaleRegressor

__all__ = [
    "DPLogLocationScaleRegressor",
    "DPLogisticLLSRegressor",
    "DPNormalLLSRegressor",
    "DPSEVRegressor",
    "MomentAccumulator",
]
