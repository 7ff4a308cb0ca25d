# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.preprocessing` and their modules."""

from ..accounting import EstimatedBounds as EstimatedBounds
from ..base._stateless_steps import SilentUfunc as SilentUfunc
from ._estimate_bounds import BoundsAccumulator as BoundsAccumulator
from ._estimate_bounds import estimate_bounds as estimate_bounds
from ._query_coarsening import TQMATransformer as TQMATransformer
from ._scaler_and_encoder import BoundsScaler as BoundsScaler
from ._scaler_and_encoder import DomainEncoder as DomainEncoder

__all__ = [
    "BoundsAccumulator",
    "BoundsScaler",
    "DomainEncoder",
    "EstimatedBounds",
    "SilentUfunc",
    "TQMATransformer",
    "estimate_bounds",
]
