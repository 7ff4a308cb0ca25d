# SPDX-License-Identifier: BSD-3-Clause
"""Fits estimators to sources, with the same rounds that `fit` runs over rows in memory."""

import hashlib
import os
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray
from ..base import private_fit
from ..domain import TableDomain
from ..noise import check_entropy
from ..utils._arguments import KEY_BYTES
from ..utils._json_documents import canonical
from ..utils._private_fit import public_errors
from ._driver import drive, open_record
from ._schema import RowSchema
from ._sources import SourceFacts, SourceRun, TableSource
from ._tables import TableColumns, count_columns, has_names

# Parameters that may differ when another driver continues.
_NOT_HASHED = ("ledger", "random_state")

Estimator = TypeVar("Estimator", bound=BaseEstimator)


def fit_rounds(
    estimator: Estimator,
    source: TableSource,
    *,
    public: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Estimator:
    """Fit an estimator to rows that stay where they are, in rounds of exact sums.

    Parameters
    ----------
    estimator : DPTreeClassifier, DPTreeRegressor, DPBoostingClassifier, DPBoostingRegressor, or of
        `linear_model` DPLogisticRegression, DPLogLocationScaleRegressor or a preset of it.
        Its bounds and classes must be declared, or follow from `public`.
    source : TableSource
        The private rows. Tables for which `TableSource` needs no column names may be passed directly.
    public : tuple (X, y), default=None
        Public rows, for estimators that use them. None: there are none.
    checkpoint : path-like, default=None
        File with the releases so far. If a fit was stopped by a kill or an error, call it again with the same
        file: it continues after its last complete round, and the ledger counts its cost once. The file is
        deleted when the fit is complete; an empty file ``.lock`` remains. After a fit to
        `skprivate.collaborative.MaskedSites` the file remains as well, and the same call returns the same fit
        again: delete it when the model is saved. Never copy or restore such a file: every copy that continues
        draws its own noise for one charge. None: a stopped fit starts again, and is charged again.

    Returns
    -------
    estimator : estimator
        The same object, fitted. It equals ``fit`` on the same rows with the same seed bit by bit, for any
        number and order of the tables. One exception: in strict mode, rows without a usable name of a person
        count as one person in each table, and as one person in all for ``fit``.

    Raises
    ------
    TypeError
        The estimator has no rounds, `source` is no source, or a column has a type that cannot be read, such
        as text in place of numbers. Nothing is charged then, unless ``n_rows`` is declared.
    ValueError
        Before the charge: bounds or classes are missing, the source is empty, or its tables differ in columns
        or types. After the charge, when rows are read: a table cannot be read, or has changed since it was
        inspected.
    PrivacyLeakError
        The noise is seeded in strict mode.
    BudgetExceededError, LedgerError
        The ledger refused. Nothing is charged, and a previous fit remains.

    See Also
    --------
    TableSource : Where rows may be.

    Notes
    -----
    **Privacy.** The guarantee is that of the estimator's ``fit``. The ledger is charged before rows are read,
    because an error of reading reveals something about them. Workers receive public plans and return exact
    sums; `TableSource` lists who must be trusted. A checkpoint contains released values and public facts. A
    fit that continues does not repeat complete rounds: later changes of rows affect only the other rounds.

    Proof: :doc:`/proofs/rounds`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.rounds import TableSource, fit_rounds
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"age": rng.uniform(18, 90, 20000), "dose": rng.uniform(0, 5, 20000)})
    >>> rows["ill"] = (rows["age"] > 50).astype(int)
    >>> parts = [rows[i::4] for i in range(4)]
    >>> tree = DPTreeClassifier(1.0, bounds={"age": (18, 90), "dose": (0, 5)}, classes=[0, 1])
    >>> known = rows[:50][["age", "dose"]], rows["ill"][:50]
    >>> tree = fit_rounds(tree, TableSource(parts, target="ill"), public=known)
    >>> bool(tree.score(rows[["age", "dose"]], rows["ill"]) > 0.9), tree.privacy_spent_.private
    (True, True)
    """
    if not getattr(type(estimator), "_has_rounds", False):
        raise TypeError(f"{type(estimator).__name__} cannot be fitted in rounds: fit it to rows in memory.")
    source = source if isinstance(source, TableSource) else TableSource(source)
    return _fit_source(estimator, source, public, checkpoint)


@private_fit
def _fit_source(estimator: Any, source: TableSource, public: Any, checkpoint: Any) -> Any:
    """Fit to a source, as `fit_rounds` describes.

    An estimator with rounds has ``_has_rounds = True``, a `_bounds_parameter` besides its domain, and a
    method ``_open_source(columns, facts, public)``. It returns the schema of the rows, and a function from a
    source of noise to the rounds. It raises ValueError if bounds or classes are missing, or if other public
    facts forbid the fit.
    """
    with public_errors():
        # Raises in strict mode where the noise is seeded.
        estimator.announce_leaks([])
    # Names of persons may be missing: an error while tables are inspected would reveal something about rows.
    n_is_public = not estimator.may_lack_rows()
    domain, classes = estimator.domain, getattr(estimator, "classes", None)
    facts = find_facts(
        source, known_columns(estimator), domain=domain, n_is_public=n_is_public, classes=classes
    )
    with ExitStack() as stack:
        with public_errors():
            schema, open_rounds = estimator._open_source(facts.complete(source.columns), facts, public)
            record = stack.enter_context(open_record(checkpoint, _hash_of(estimator, schema, facts)))
        entropy = check_entropy(estimator.random_state)
        key = b"" if schema.max_rows_per_unit is None else entropy.random_bytes(KEY_BYTES)
        schema = replace(schema, key=record.begin(key))
        run = SourceRun(source, schema, facts, record.run)
        stack.callback(run.end)
        drive(open_rounds(entropy.source), run, entropy, estimator.charge, record)
        estimator._after_release()
        run.finish(record)
    return estimator


def _hash_of(estimator: BaseEstimator, schema: RowSchema, facts: SourceFacts) -> str:
    """Return a hash of everything that must be the same when a run continues."""
    name = f"{type(estimator).__module__}.{type(estimator).__name__}"
    parameters = {key: value for key, value in estimator.get_params().items() if key not in _NOT_HASHED}
    # If the number of rows is protected, a hash of it would reveal it.
    n_is_public = parameters.get("relation", "replace-one") == "replace-one"
    n_units = facts.n_units if n_is_public else None
    content = {"schema": schema.to_dict(), "rows": n_units, "parameters": repr(parameters)}
    return hashlib.sha256(name.encode() + b"\0" + canonical(content)).hexdigest()


def known_columns(estimator: Any) -> int | None:
    """Return the number of columns by an estimator's bounds or domain, None if they do not determine it."""
    if estimator.domain is None:
        return count_columns(estimator._declared_bounds)
    return len(estimator.domain.names)


def schema_of(
    estimator: Any, columns: TableColumns, bounds: tuple[FloatArray, FloatArray], **target: Any
) -> RowSchema:
    """Return the schema of a source's rows for an estimator; `target` describes its target."""
    return RowSchema(
        columns=columns,
        n_features=len(bounds[0]),
        domain=estimator.domain,
        lower=bounds[0],
        upper=bounds[1],
        strict=estimator.is_strict(),
        max_rows_per_unit=None if columns.group is None else estimator.max_rows_per_group,
        **target,
    )


def read_public_rows(estimator: Any, public: Any, facts: SourceFacts, rows_per_unit: int) -> Any:
    """Validate the public rows of a fit to a source, which alone determine the design; there may be none."""
    domain = estimator.domain
    if public is None:
        width = facts.n_features if domain is None else len(domain.encoded_names)
        X, y = np.empty((0, width)), estimator._no_targets()
    else:
        if not isinstance(public, tuple) or len(public) != 2:
            raise TypeError("public must be a tuple (X, y).")
        X, y = public
        if domain is None and facts.features is not None and has_names(X):
            X = X[TableColumns(facts.features).choose_features(X)]
        X, y = estimator._read_rows(X, y)
        # The names are those of the source.
        facts.name_columns(estimator)
        estimator._name_columns()
    rows = estimator._part_rows(X, y, np.ones(len(X), dtype=bool), None)
    return replace(rows, rows_per_unit=rows_per_unit)


def find_facts(
    source: TableSource,
    n_features: int | None,
    *,
    domain: TableDomain | None = None,
    n_is_public: bool = True,
    classes: Any = None,
) -> SourceFacts:
    """Return the public facts of a source, as they were declared or found by inspecting its tables.

    If a domain declares the columns, their types in the tables do not matter. If the number of rows is not
    public, a source without rows is no error. A target must have the type of the declared classes.
    """
    if source.n_rows is None:
        facts = source.inspect(domain=domain, classes=classes)
        if n_is_public and not facts.n_rows:
            raise ValueError("the source has no rows.")
        return replace(facts, n_is_public=n_is_public)
    features = source.columns.features
    width = len(features) if features is not None else n_features
    if width is None:
        raise ValueError(
            "a source with n_rows needs features, or an estimator whose bounds determine their number."
        )
    roles = source.columns.roles
    return SourceFacts(source.n_rows, source.n_rows, features, width, True, roles, None, n_is_public)
