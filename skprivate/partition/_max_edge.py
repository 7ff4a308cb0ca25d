# SPDX-License-Identifier: BSD-3-Clause
"""Rule "max-edge": of the longest edges of a cell, the one whose halves separate the public labels best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._halving import EdgeChoice
from ._max_edge_kernels import choose_by_entropy, choose_by_gini


def purest_edges(entropy_terms: NDArray[np.float64] | None) -> EdgeChoice:
    """Return the rule as a function; `entropy_terms` are k log k, or None for the Gini impurity."""

    def choose(
        right: NDArray[np.int32], total: NDArray[np.int32], allowed: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        feature = np.empty(len(allowed), dtype=np.int32)
        if entropy_terms is None:
            choose_by_gini(right, total, allowed.view(np.uint8), feature)
        else:
            choose_by_entropy(right, total, allowed.view(np.uint8), entropy_terms, feature)
        return feature

    return choose
