# SPDX-License-Identifier: BSD-3-Clause
"""What a curator settles before it publishes: names, bounds, classes and cells, from public rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from ..exceptions import PrivacyLeakError
from ..tree._classifier import LocallyPrivateTreeClassifier
from ..tree._tree_design import TreeDesign
from ..utils import as_labels
from ..utils._private_fit import redact_errors
from ..utils._table_validation import validate_data


@redact_errors
def design_collection(
    plan: LocallyPrivateTreeClassifier, X: Any, y: Any, n_clients: int, features: Sequence[str] | None
) -> TreeDesign:
    """Settle everything public, with what ``fit`` uses."""
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: pass public rows with their labels, or neither.")
    # Attributes of a fit end on this object, which is thrown away.
    worker = clone(plan)
    if X is None:
        # The plan is not asked: with protect="label", fit may read bounds from rows, but here are none.
        missing = [name for name in ("bounds", "classes") if getattr(plan, name) is None]
        if missing:
            raise PrivacyLeakError(f"without public rows {' and '.join(missing)} must be declared.")
        names = _names_without_rows(plan.bounds, features)
        X, y = np.empty((0, len(names) if names else _n_columns(plan.bounds))), np.empty(0, dtype=object)
        worker.n_features_in_ = X.shape[1]
    else:
        X, y = validate_data(worker, X, as_labels(y), dtype=np.float64, order="C")
        names = _names_of_rows(getattr(worker, "feature_names_in_", None), features, X.shape[1])
    if names:
        worker.feature_names_in_ = np.array(names, dtype=object)
    rows = worker._part_rows(X, y, np.ones(len(X), dtype=bool), None)
    return worker._design(rows, n_clients)


def _names_of_rows(found: Any, given: Sequence[str] | None, n_columns: int) -> list[str]:
    own = [] if found is None else [str(name) for name in found]
    names = own if given is None else list(given)
    if own and names != own:
        raise ValueError(f"features must be the columns of X in their order: {', '.join(own)}.")
    if given is not None and len(names) != n_columns:
        raise ValueError(f"features has {len(names)} names, but X has {n_columns} columns.")
    return names


def _names_without_rows(bounds: Any, given: Sequence[str] | None) -> list[str]:
    if given is not None:
        return list(given)
    by_name = isinstance(bounds, Mapping) and all(isinstance(name, str) for name in bounds)
    return list(bounds) if by_name else []


def _n_columns(bounds: Any) -> int:
    """Number of columns that declared bounds speak of."""
    if isinstance(bounds, Mapping):
        return len(bounds)
    sizes = [np.size(side) for side in bounds if np.ndim(side)]
    if not sizes:
        raise ValueError("features must name the columns: the bounds do not tell how many there are.")
    return max(sizes)
