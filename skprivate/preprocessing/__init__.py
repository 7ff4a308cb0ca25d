# SPDX-License-Identifier: BSD-3-Clause
"""Preprocessing: declared columns, declared bounds, private estimates of bounds, coarsening of queries."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ..accounting import EstimatedBounds as EstimatedBounds
    from ..base._stateless_steps import SilentUfunc as SilentUfunc
    from ._estimate_bounds import BoundsAccumulator as BoundsAccumulator
    from ._estimate_bounds import estimate_bounds as estimate_bounds
    from ._query_coarsening import TQMATransformer as TQMATransformer
    from ._scaler_and_encoder import BoundsScaler as BoundsScaler
    from ._scaler_and_encoder import DomainEncoder as DomainEncoder

_HOMES = {
    "BoundsAccumulator": "._estimate_bounds",
    "BoundsScaler": "._scaler_and_encoder",
    "DomainEncoder": "._scaler_and_encoder",
    "EstimatedBounds": "..accounting",
    "SilentUfunc": "..base._stateless_steps",
    "TQMATransformer": "._query_coarsening",
    "estimate_bounds": "._estimate_bounds",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "BoundsAccumulator",
    "BoundsScaler",
    "DomainEncoder",
    "EstimatedBounds",
    "SilentUfunc",
    "TQMATransformer",
    "estimate_bounds",
]
