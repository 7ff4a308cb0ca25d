# SPDX-License-Identifier: BSD-3-Clause
"""Preprocessing: declared columns, declared bounds, private estimates of bounds, coarsening of queries."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ..accounting import EstimatedBounds as EstimatedBounds
    from ..base._public_steps import SilentUfunc as SilentUfunc
    from ._bounds_accumulator import BoundsAccumulator as BoundsAccumulator
    from ._bounds_scaler import BoundsScaler as BoundsScaler
    from ._domain_encoder import DomainEncoder as DomainEncoder
    from ._estimate_bounds import estimate_bounds as estimate_bounds
    from ._query_coarsening import TQMATransformer as TQMATransformer

_HOMES = {
    "BoundsAccumulator": "._bounds_accumulator",
    "BoundsScaler": "._bounds_scaler",
    "DomainEncoder": "._domain_encoder",
    "EstimatedBounds": "..accounting",
    "SilentUfunc": "..base._public_steps",
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
