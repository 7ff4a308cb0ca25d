# SPDX-License-Identifier: BSD-3-Clause
"""What is public about the tables of a source, found before anything is charged: columns, types, sizes."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._config import config_context
from ..base._planned_cost import PublicShape
from ..domain import TableDomain
from ..domain._labels import refuse_label_types
from ..utils import is_frame, is_structured
from ..utils._groups import exact_names, number_units
from ..utils._json_documents import Fields, restore_in_silence, seal_document
from ..utils._private_fit import public_errors
from ._reading.batches import arrow_records, has_names, holds_arrow
from ._reading.columns import TableColumns, read_pieces
from ._reading.targets import check_form, find_roles
from ._task import check_batch_id

_FORMAT = "skprivate.inspection"
_VERSION = 2
_FIELDS = ("batch", "n_rows", "n_units", "features", "kinds", "has_target", "roles")
# Rows of a table: exact sums have room for fewer.
_MOST = 2**62
# Kinds of columns, by NumPy's letters and by the beginnings of Arrow's names: numbers may replace each other.
_NUMBERS = "biuf"
_CELLS = "cells"
_ARROW_NUMBERS = ("int", "uint", "float", "double", "half", "bool", "decimal")


@dataclass(frozen=True)
class TableFacts:
    """Public facts of one table.

    Attributes
    ----------
    batch : str
        Its id.
    n_rows, n_units : int
        Rows, and persons (rows where the unit is the row).
    features : tuple of str, or None
        Names of the columns of X; None: they have none.
    kinds : tuple of str
        Of the columns of X: "number", "other", or "declared".
    has_target : bool
        Whether there is a target.
    roles : tuple of str
        Fields of the target, such as event and time; none where it has no fields.
    """

    batch: str
    n_rows: int
    n_units: int
    features: tuple[str, ...] | None
    kinds: tuple[str, ...]
    has_target: bool
    roles: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Return the facts as JSON with a checksum."""
        names = None if self.features is None else list(self.features)
        lists = {"features": names, "kinds": list(self.kinds), "roles": list(self.roles)}
        return seal_document(_FORMAT, _VERSION, {**vars(self), **lists})

    @classmethod
    def from_bytes(cls, data: Any) -> "TableFacts":
        """Restore the facts; ValueError for what `to_bytes` would not write."""
        return restore_in_silence(data, _FORMAT, _VERSION, _FIELDS, cls._from_dict, "facts of a table")

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> "TableFacts":
        fields = Fields(content, ("format", "version", *_FIELDS))
        names = fields.maybe(fields.texts, "features")
        return cls(
            fields.text("batch"),
            fields.integer("n_rows", 0, _MOST),
            fields.integer("n_units", 0, _MOST),
            None if names is None else tuple(names),
            tuple(fields.texts("kinds")),
            fields.flag("has_target"),
            tuple(fields.texts("roles")),
        )


@dataclass(frozen=True)
class SourceFacts:
    """Public facts of a source.

    Attributes
    ----------
    n_rows : int
    n_units : int
    features : tuple of str, or None
    n_features : int
    has_target : bool
        False: there is none, and it is known.
    roles : tuple of str
        Fields of the target; none where it has no fields.
    batches : dict from str to int, or None
        Units of every batch; None: nobody has counted them.
    n_is_public : bool, default=True
        False: whether the source has as many rows as was declared, or any, decides no error.
    """

    n_rows: int
    n_units: int
    features: tuple[str, ...] | None
    n_features: int
    has_target: bool
    roles: tuple[str, ...]
    batches: dict[str, int] | None
    n_is_public: bool = True

    @property
    def structured(self) -> bool:
        """Whether the target has fields."""
        return bool(self.roles)

    @classmethod
    def of(cls, tables: Iterable[TableFacts]) -> "SourceFacts":
        """Join the facts of tables, which must have the same columns; those that come twice count once."""
        seen: dict[str, TableFacts] = {}
        for facts in tables:
            if seen.setdefault(facts.batch, facts) != facts:
                raise ValueError(f"the batch {facts.batch!r} came twice, with other rows or columns.")
        # A table without rows may lack columns, too.
        full = [facts for facts in seen.values() if facts.n_rows]
        full = full or [max(seen.values(), key=lambda facts: len(facts.kinds))]
        layouts = {(facts.features, facts.kinds, facts.has_target, facts.roles) for facts in full}
        if len(layouts) > 1:
            raise ValueError("the tables of the source differ in their columns, or in the types of these.")
        features, kinds, has_target, roles = layouts.pop()
        return cls(
            n_rows=sum(facts.n_rows for facts in seen.values()),
            n_units=sum(facts.n_units for facts in seen.values()),
            features=features,
            n_features=len(kinds),
            has_target=has_target,
            roles=roles,
            batches={name: facts.n_units for name, facts in seen.items()},
        )

    def shape(self, grouped: bool, public_labels: Any = None) -> PublicShape:
        """Return the shape of the rows as estimators check it."""
        return PublicShape(
            n_features=self.n_features,
            feature_names=self.features,
            n_rows=self.n_units,
            grouped=grouped,
            structured=self.structured,
            public_labels=public_labels,
        )

    def complete(self, columns: TableColumns) -> TableColumns:
        """Return the columns with the names that were found: tables are read by name, in one order."""
        return replace(columns, features=self.features) if columns.features is None else columns

    def require_target(self) -> None:
        """Refuse a source without a target."""
        if not self.has_target:
            raise ValueError("the source has no target: name its column with target=..., or pass (X, y).")

    def name_columns(self, estimator: Any) -> None:
        """Set the number and the names of the columns on an estimator."""
        estimator.n_features_in_ = self.n_features
        if self.features is not None:
            estimator.feature_names_in_ = np.array(self.features, dtype=object)
        else:
            vars(estimator).pop("feature_names_in_", None)


class InspectFunction:
    """The function that an engine maps over partitions to learn their public facts; it can be pickled.

    Parameters
    ----------
    columns : TableColumns
    strict : bool
    domain : TableDomain, default=None
        What the columns of X hold, so that their types in the tables need not be the same.
    classes : array-like, default=None
        Declared classes, of whose kind the type of the target must be.
    """

    def __init__(
        self, columns: TableColumns, strict: bool, domain: TableDomain | None = None, classes: Any = None
    ) -> None:
        self.columns, self.strict, self.domain, self.classes = columns, strict, domain, classes

    def __call__(self, table: Any, batch_id: str | int) -> bytes:
        """Return the facts of one partition, as bytes."""
        return self.inspect(table, batch_id).to_bytes()

    def inspect(self, table: Any, batch_id: str | int) -> TableFacts:
        """Return the facts of one table."""
        facts = self._facts(table, check_batch_id(batch_id))
        if self.domain is None and not self.strict:
            return facts
        # In strict mode one odd cell, which gives a column of pandas its type, must not make a fit fail.
        return replace(facts, kinds=(_CELLS,) * len(facts.kinds))

    def _facts(self, table: Any, batch: str) -> TableFacts:
        with config_context(strict=self.strict):
            if isinstance(table, tuple):
                return self._of_arrays(batch, *table)
            if holds_arrow(table):
                return self._of_arrow(batch, table)
            if has_names(table):
                return self._of_frame(batch, table)
            return self._of_arrays(batch, table)

    def _of_arrays(self, batch: str, X: Any, y: Any = None, groups: Any = None) -> TableFacts:
        with public_errors():
            refuse_label_types(y, self.classes)
        if _is_typed(X):
            self._refuse_types((X[:0], y[:0] if _is_typed(y) else None))
        n_rows = len(X) if hasattr(X, "__len__") else np.shape(X)[0]
        names: tuple[str, ...] | None = None
        if is_frame(X):
            chosen = self.columns.choose_features(X)
            kinds = [_kind_of(np.asarray(X[name]).dtype) for name in chosen]
            names = tuple(chosen) if has_names(X) else None
        elif isinstance(X, Mapping):
            names, n_rows = tuple(map(str, X)), len(next(iter(X.values()), ()))
            kinds = [_CELLS] * len(names)
        elif isinstance(X, list) and X and isinstance(X[0], Mapping):
            names = tuple(map(str, X[0]))
            kinds = [_CELLS] * len(names)
        elif isinstance(X, list):
            # Its cells give a list its type, and each is read by itself.
            kinds = [_CELLS] * (np.size(X[0]) if X else 0)
        else:
            array = np.asarray(X)
            if array.ndim != 2:
                raise ValueError("X must have two dimensions.")
            kinds = [_kind_of(array.dtype)] * array.shape[1]
        n_units = self._count_units(groups, n_rows)
        roles = find_roles(y) if y is not None and is_structured(y) else ()
        # Fields of one form may stand in another order in another table.
        return TableFacts(batch, n_rows, n_units, names, tuple(kinds), y is not None, tuple(sorted(roles)))

    def _of_frame(self, batch: str, table: Any) -> TableFacts:
        names = self.columns.choose(list(table.columns))
        self._check_types(table.__getitem__)
        kinds = tuple(_kind_of(np.asarray(table[name][:0]).dtype) for name in names)
        event = self.columns.event
        self.columns.refuse_codes(event is None or _may_hold_booleans(table[event][:0]))
        self._refuse_types(table[:0])
        group = None if self.columns.group is None else exact_names(table[self.columns.group])
        n_units = self._count_units(group, len(table))
        return TableFacts(batch, len(table), n_units, names, kinds, *self._target())

    def _of_arrow(self, batch: str, table: Any) -> TableFacts:
        group = self.columns.group
        n_rows, groups, event = getattr(table, "num_rows", None), [], self.columns.event
        if n_rows is None or group is not None:
            schema, records = arrow_records(table)
            names = self.columns.choose(list(schema))
            n_rows, kinds = 0, None
            for record in records:
                n_rows += record.num_rows
                kinds = self._arrow_kinds(record.schema, names)
                self.columns.refuse_codes(event is None or _is_boolean(record.schema, event))
                self._refuse_types(record.slice(0, 0))
                if group is not None:
                    groups.append(exact_names(record.column(group)))
            kinds = kinds or ()
        else:
            names = self.columns.choose(list(table.schema.names))
            kinds = self._arrow_kinds(table.schema, names)
            self.columns.refuse_codes(event is None or _is_boolean(table.schema, event))
            self._refuse_types(_no_rows(table.schema))
        n_units = self._count_units(np.concatenate(groups) if groups else None, n_rows)
        return TableFacts(batch, n_rows, n_units, names, kinds, *self._target())

    def _arrow_kinds(self, schema: Any, names: tuple[str, ...]) -> tuple[str, ...]:
        self._check_types(schema.field)
        types = (str(schema.field(name).type) for name in names)
        return tuple("number" if kind.startswith(_ARROW_NUMBERS) else "other" for kind in types)

    @public_errors()
    def _check_types(self, column_of: Callable[[str], Any]) -> None:
        self.columns.refuse_types(column_of, self.classes)

    @public_errors()
    def _refuse_types(self, no_rows: Any) -> None:
        """Read a table without rows, as each is read: what fails does so for the types of its columns."""
        for piece in read_pieces(no_rows, self.columns, self.domain, self.classes):
            if piece.target is not None and is_structured(piece.target):
                check_form(piece.target, False, strict=self.strict)

    def _target(self) -> tuple[bool, tuple[str, ...]]:
        return self.columns.has_target, tuple(sorted(self.columns.roles))

    def _count_units(self, groups: Any, n_rows: int) -> int:
        if self.columns.group is None or not n_rows:
            return n_rows
        units = number_units(groups, np.ones(n_rows, dtype=bool), strict=self.strict)
        if units is None:
            raise ValueError("every table must name the person of every row.")
        return units.n_units


def _kind_of(dtype: np.dtype[Any]) -> str:
    return "number" if dtype.kind in _NUMBERS else "other"


def _is_typed(part: Any) -> bool:
    """Tell whether all cells of a part have a public type: those of a list do not."""
    return is_frame(part) or hasattr(part, "dtype") or hasattr(part, "type")


def _no_rows(schema: Any) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pylist([], schema=schema)


def _may_hold_booleans(events: Any) -> bool:
    # Nullable booleans are objects in some frames; their cells are read one by one.
    is_text = str(events.dtype).lower().startswith("str")
    return not is_text and np.asarray(events).dtype.kind in "bO"


def _is_boolean(schema: Any, name: str) -> bool:
    return str(schema.field(name).type) == "bool"


def fingerprint(*texts: bytes) -> str:
    """Return a hash of public bytes."""
    return hashlib.sha256(b"\0".join(texts)).hexdigest()
