# SPDX-License-Identifier: BSD-3-Clause
"""Fits of estimators to sources, by the rounds that `fit` runs over rows in memory."""

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

# Parameters that another driver may have others of.
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
        Its bounds and classes must be declared, or told by `public`.
    source : TableSource
        Where the private rows are. Anything that `TableSource` takes as its tables and that needs no names of
        columns may be passed as it is.
    public : tuple (X, y), default=None
        Public rows, for estimators that use some.
    checkpoint : path-like, default=None
        File that keeps what was released so far. A fit that was stopped, by a kill or an error, and is called
        again with the same file goes on after its last complete round, and the ledger counts its cost once.
        The file is deleted when the fit is complete; an empty file ``.lock`` stays. Of a fit to
        `skprivate.collaborative.MaskedSites` it stays, too, and the same call gives the same fit again:
        delete it when the model is saved. Copy no such file, and put none back: every copy that goes on draws
        noise of its own for one charge. None: a fit that stops starts anew, and costs anew.

    Returns
    -------
    estimator : estimator
        The same object, fitted: bit for bit as by ``fit`` to the same rows with the same seed, whatever
        the tables, their number and their order. (In strict mode rows without a usable name of a person are
        one person's in each table, and one person's in all for ``fit``.)

    Raises
    ------
    TypeError
        The estimator has no rounds, or the source is none. Or a column has a type that cannot be read, such
        as text in place of numbers: nothing is charged then, unless ``n_rows`` is declared.
    ValueError
        Bounds or classes are missing; the source is empty, or its tables differ in columns or types: nothing
        is charged then. Or a table cannot be read, or is not as it was when it was looked at: this shows when
        rows are read, after the charge.
    PrivacyLeakError
        In strict mode, where the noise is seeded.
    BudgetExceededError, LedgerError
        The ledger refused; nothing is charged, and a previous fit is as it was.

    See Also
    --------
    TableSource : Where rows may be.

    Notes
    -----
    **Privacy.** As that of the estimator's ``fit``. The ledger is charged before rows are read: that reading
    fails is an answer about them. Workers get public plans and return exact sums; see `TableSource` for who
    has to be trusted. A checkpoint holds released values and public facts. A fit that goes on takes the
    rounds that are done as they are: rows that have changed since matter for the others.

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
        raise TypeError(f"{type(estimator).__name__} has no rounds: fit it to rows in memory.")
    source = source if isinstance(source, TableSource) else TableSource(source)
    return _fit_source(estimator, source, public, checkpoint)


@private_fit
def _fit_source(estimator: Any, source: TableSource, public: Any, checkpoint: Any) -> Any:
    """Fit to a source, as `fit_rounds` says.

    An estimator with rounds has ``_has_rounds = True``, a `_bounds_parameter` beside its domain, and
    ``_open_source(columns, facts, public)``: how rows are read, and what makes the rounds of a fit for a
    source of noise. That raises ValueError where bounds or classes are not declared, or other public facts
    forbid the fit.
    """
    with public_errors():
        # Raises in strict mode where the noise is seeded.
        estimator.announce_leaks([])
    # Names of persons may be missing: that a look at the tables fails tells of rows.
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
    """Return a hash of what a run depends on; what must not differ when it goes on."""
    name = f"{type(estimator).__module__}.{type(estimator).__name__}"
    parameters = {key: value for key, value in estimator.get_params().items() if key not in _NOT_HASHED}
    # Where the number of rows is protected, a hash of it would tell it.
    n_is_public = parameters.get("relation", "replace-one") == "replace-one"
    n_units = facts.n_units if n_is_public else None
    content = {"schema": schema.to_dict(), "rows": n_units, "parameters": repr(parameters)}
    return hashlib.sha256(name.encode() + b"\0" + canonical(content)).hexdigest()


def known_columns(estimator: Any) -> int | None:
    """Return the number of columns that an estimator's bounds or domain tell, None if they do not."""
    if estimator.domain is None:
        return count_columns(estimator._declared_bounds)
    return len(estimator.domain.names)


def schema_of(
    estimator: Any, columns: TableColumns, bounds: tuple[FloatArray, FloatArray], **target: Any
) -> RowSchema:
    """Return how the rows of a source are read for an estimator, given how its target is."""
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
    """Validate the public rows beside a source, all that a design is made of; there may be none."""
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
    """Return the public facts of a source: those that were declared, or found by a look at its tables.

    Where a domain declares the columns, their types in the tables do not matter. Where the number of rows is
    not public, a source without rows is no error. A target must be of the kind of the declared classes.
    """
    if source.n_rows is None:
        facts = source.inspect(domain=domain, classes=classes)
        if n_is_public and not facts.n_rows:
            raise ValueError("the source is empty: it has no row.")
        return replace(facts, n_is_public=n_is_public)
    features = source.columns.features
    width = len(features) if features is not None else n_features
    if width is None:
        raise ValueError(
            "a source with n_rows needs features, or an estimator whose bounds give their number."
        )
    roles = source.columns.roles
    return SourceFacts(source.n_rows, source.n_rows, features, width, True, roles, None, n_is_public)
