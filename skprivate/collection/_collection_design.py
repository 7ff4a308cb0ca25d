# SPDX-License-Identifier: BSD-3-Clause
"""Design of a collection before it is published: names, bounds, targets and cells, from public rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from ..domain._labels import refuse_label_types
from ..exceptions import PrivacyLeakError
from ..rounds._reading.targets import refuse_other_forms
from ..tree import LocallyPrivateTreeRegressor
from ..tree._growth.first_phase import FIRST_SHARE, FirstPhase
from ..tree._local import BaseLocalTree
from ..tree._tree_design import TreeDesign
from ..utils import as_labels, check_epsilon
from ..utils._private_fit import redact_errors
from ..utils._table_validation import validate_data


@redact_errors
def design_collection(
    tree: BaseLocalTree, X: Any, y: Any, n_clients: int, features: Sequence[str] | None
) -> TreeDesign:
    """Return the public design of a tree; the steps are those of ``fit``, but all clients fill the leaves."""
    if X is None and tree.split_share != "auto" and tree.split_share > 0:
        raise ValueError(
            "without public rows, clients that shape the tree answer a specification of their own: plan with "
            "SplitCurator, or pass split_share=0 for splits that are drawn at random."
        )
    plan = clone(tree).set_params(split_share=0) if X is None else tree
    return _design(plan, X, y, n_clients, features)


@redact_errors
def design_splits(tree: BaseLocalTree, n_clients: int, features: Sequence[str] | None) -> TreeDesign:
    """Return the public design of a tree that reports will shape: its first phase."""
    automatic = tree.split_share == "auto"
    # Asked for by name, also with so few columns that a fit would halve them in turn.
    plan = clone(tree).set_params(split_share=float(FIRST_SHARE)) if automatic else tree
    design = _design(plan, None, None, n_clients, features)
    enough = not automatic or FirstPhase.plan(
        check_epsilon(tree.epsilon),
        "auto",
        n_clients,
        len(design.classes),
        design.bounds,
        () if tree.domain is None else tree.domain.groups,
    )
    if design.first_phase is None or not enough:
        raise ValueError(
            "reports of a share of these clients shape no tree: there are too few for this epsilon, or the "
            "plan asks for random splits, or for label privacy. Plan with TreeCurator, or pass split_share."
        )
    return design


def _design(
    tree: BaseLocalTree, X: Any, y: Any, n_clients: int, features: Sequence[str] | None
) -> TreeDesign:
    if (X is None) != (y is None):
        raise ValueError(f"X and y belong together: pass public rows with their {tree._targets}, or neither.")
    # The steps set attributes of a fit: on a copy, which is not kept.
    worker, domain = clone(tree), tree.domain
    worker.check_domain()
    if domain is not None and features is not None and tuple(features) != domain.names:
        raise ValueError("features must be the columns of the domain, in their order.")
    if X is None:
        # Both, whatever is protected: with protect="label", fit may read bounds from rows, but here are none.
        bounds = tree._declared_bounds
        declared = {tree._bounds_parameter: bounds if domain is None else domain}
        declared[tree._target_parameter] = getattr(tree, tree._target_parameter)
        missing = [name for name, value in declared.items() if value is None]
        if missing:
            raise PrivacyLeakError(f"without public rows {' and '.join(missing)} must be declared.")
        names = _names_without_rows(bounds, features) if domain is None else list(domain.encoded_names)
        X = np.empty((0, len(names) if names else _n_columns(bounds)))
        y = np.empty(0, dtype=np.float64 if isinstance(tree, LocallyPrivateTreeRegressor) else object)
        worker.n_features_in_ = X.shape[1]
    else:
        numbers = isinstance(tree, LocallyPrivateTreeRegressor)
        if numbers:
            refuse_other_forms(y)
        else:
            refuse_label_types(y, tree.classes)
        X, y = validate_data(
            worker,
            worker.encode_rows(X),
            y if numbers else as_labels(y),
            dtype=np.float64,
            order="C",
            y_numeric=numbers,
        )
        y = np.asarray(y, dtype=np.float64) if numbers else y
        own = getattr(worker, "feature_names_in_", None)
        names = _names_of_rows(own, features, X.shape[1]) if domain is None else []
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
    """Number of columns of declared bounds."""
    if isinstance(bounds, Mapping):
        return len(bounds)
    sizes = [np.size(side) for side in bounds if np.ndim(side)]
    if not sizes:
        raise ValueError("features must name the columns: the bounds do not tell how many there are.")
    return max(sizes)
