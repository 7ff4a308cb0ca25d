# SPDX-License-Identifier: BSD-3-Clause
"""Public description of how a batch is read: columns, target, bounds, classes, persons and strict mode."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._config import config_context
from .._typing import FloatArray
from ..domain import TableDomain
from ..domain._labels import declared_classes, number_labels
from ..utils import as_labels, is_structured
from ..utils._arguments import KEY_BYTES, number_units
from ..utils._json_documents import Fields
from ..utils._tables import refuse_cells, refuse_kinds, refuse_missing, within_bounds
from ._codec import Record, array, maybe, pair, record, spread, stored, texts
from ._rows import (
    PreparedRows,
    Target,
    check_observations,
    check_target_bounds,
    find_roles,
    on_model_scale,
    read_target,
    replace_target,
    within_target_bounds,
)
from ._tables import Piece, TableColumns, read_pieces

# Kinds of observation if none are declared.
_KINDS = ("exact", "right")
# Most columns and classes of a schema, as in `cells`; and most rows of a person, as in estimators.
_MOST = 2**24
_MOST_ROWS = 2**62


def _read_classes(fields: Fields, name: str) -> NDArray[Any]:
    return declared_classes(fields.items(name))


def _read_key(fields: Fields, name: str) -> bytes:
    return bytes.fromhex(fields.text(name))


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSchema(Record):
    """Everything public about how rows are read.

    Attributes
    ----------
    columns : TableColumns
        Roles of the columns of a table.
    n_features : int
        Number of columns of X; with a domain, of encoded columns.
    domain : TableDomain, or None
        Declaration of the table's columns; None: numbers.
    lower, upper : ndarray of shape (n_features,), or None
        Bounds. In strict mode, values that are not finite are replaced by values within them. None: the
        largest floats.
    log_target : bool
        Whether the logarithm of a numeric target is modelled.
    bounds_y : pair of floats, or None
        Bounds of a numeric target in the units of the table.
    structured : bool
        Whether the target has fields of events and times.
    kinds : tuple of str
        Declared kinds of observation, for a target with fields.
    classes : ndarray, or None
        Classes of a target of labels.
    strict : bool
        Whether the rules of strict mode apply.
    max_rows_per_unit : int or None
        Most rows of a person that count; None: the unit is the row.
    key : bytes
        Key by which these rows are chosen; empty if none are.
    """

    columns: TableColumns = spread(TableColumns)
    n_features: int = stored(Fields.integer, 0, _MOST)
    domain: TableDomain | None = stored(maybe, record, TableDomain.from_dict, default=None)
    lower: FloatArray | None = stored(maybe, array, default=None)
    upper: FloatArray | None = stored(maybe, array, default=None)
    log_target: bool = stored(Fields.flag, default=False)
    bounds_y: tuple[float, float] | None = stored(maybe, pair, default=None)
    structured: bool = stored(Fields.flag, default=False)
    kinds: tuple[str, ...] = stored(texts, key="observations", default=_KINDS)
    classes: NDArray[Any] | None = stored(maybe, _read_classes, default=None)
    strict: bool = stored(Fields.flag, default=False)
    max_rows_per_unit: int | None = stored(maybe, Fields.integer, 1, _MOST_ROWS, default=None)
    key: bytes = stored(_read_key, default=b"")
    _what: ClassVar[str] = "a schema"

    def read(self, table: Any) -> Iterator[tuple[PreparedRows, int]]:
        """Read a batch in pieces; yield each with its number of persons, or rows.

        Raises
        ------
        TypeError, ValueError
            Columns or their types differ from the schema, or, outside strict mode, a value cannot be used. No
            message repeats a value.
        """
        with config_context(strict=self.strict):
            pieces = read_pieces(table, self.columns, self.domain, self.classes)
            if self.max_rows_per_unit is None:
                for piece in pieces:
                    rows = self._prepare(piece)
                    yield rows, rows.n_rows
                return
            # Rows are chosen from all rows of a person together.
            whole = Piece.joined(list(pieces))
            if whole is None:
                return
            units = number_units(whole.group, np.ones(len(whole.X), dtype=bool), strict=self.strict)
            if units is None:
                raise ValueError("a batch must name the person of every row.")
            rows = self._prepare(whole)
            yield rows.keeping(units.choose_rows(self.max_rows_per_unit, self.key)), units.n_units

    def _prepare(self, piece: Piece) -> PreparedRows:
        X = piece.X
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"a batch must have {self.n_features} columns of features.")
        if piece.is_finite:
            pass
        elif self.strict:
            largest = np.finfo(np.float64).max
            lower: Any = -largest if self.lower is None else self.lower
            upper: Any = largest if self.upper is None else self.upper
            X = within_bounds(X.astype(np.float64, copy=False), lower, upper)
        elif not np.isfinite(X).all():
            raise ValueError("X must be finite: NaN and infinity are refused.")
        if self.classes is not None:
            return PreparedRows(X, labels=number_labels(self._labels(piece.target), self.classes))
        if self.bounds_y is None:
            return PreparedRows(X)
        if is_structured(piece.target) is not self.structured:
            raise ValueError("the target of a batch must have the same form as in the other batches.")
        target = self._target(piece, self.bounds_y)
        if target.structured or self.log_target:
            target = within_target_bounds(target, self.kinds, on_model_scale(self.bounds_y, self.log_target))
        return PreparedRows(
            X, y=target.time_on_model_scale, event=target.event, start=target.start, entry=target.entry
        )

    def _labels(self, labels: Any) -> NDArray[Any]:
        refuse_kinds(labels, "y")
        if self.strict:
            return np.asarray(labels)
        refuse_missing(labels, "y")
        refuse_cells(labels, "y")
        return np.asarray(as_labels(labels))

    def _target(self, piece: Piece, bounds: tuple[float, float]) -> Target:
        if self.structured:
            check_observations(self.kinds, True, find_roles(piece.target))
        if self.strict:
            return replace_target(piece.target, bounds, self.log_target, self.kinds)
        target = read_target(piece.target, self.log_target, self.kinds)
        if not (target.structured or np.isfinite(target.time_on_model_scale).all()):
            raise ValueError("y must be finite: NaN and infinity are refused.")
        return target

    def _check_fields(self) -> None:
        canonical = self.kinds == _KINDS or check_observations(self.kinds, self.structured) == self.kinds
        self._require(canonical, "the kinds of observation are not in their canonical form")
        self._require((self.lower is None) == (self.upper is None), "lower and upper must be given together")
        for name in ("lower", "upper"):
            side = getattr(self, name)
            known = side is None or len(side) == self.n_features
            self._require(known, f"{name} must be a list of finite numbers")
        if self.bounds_y is not None:
            check_target_bounds(self.bounds_y, self.log_target)
        length = 0 if self.max_rows_per_unit is None else KEY_BYTES
        self._require(len(self.key) == length, "the key must have eight bytes where persons are protected")
