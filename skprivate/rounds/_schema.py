# SPDX-License-Identifier: BSD-3-Clause
"""Public description of how a batch is read: columns, target, bounds, classes, persons, and the mode."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._config import config_context
from .._typing import FloatArray
from ..domain import TableDomain
from ..domain._labels import declared_classes, number_labels
from ..utils import as_labels, is_structured
from ..utils._arguments import KEY_BYTES, RowUnits, number_units
from ..utils._json_documents import Fields
from ..utils._tables import refuse_cells, refuse_kinds, refuse_missing, within_bounds
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
from ._tables import OPTIONAL_ROLES, Piece, TableColumns, read_pieces

_FIELDS = (
    *("features", "n_features", "target", "event", "group"),
    *(
        "log_target",
        "bounds_y",
        "structured",
        "classes",
        "lower",
        "upper",
        "strict",
        "max_rows_per_unit",
        "key",
        "domain",
        "observations",
    ),
    *(f"{role}_column" for role in OPTIONAL_ROLES),
    *("happened", "censored"),
)
# Kinds of observation where none are declared.
_KINDS = ("exact", "right")
# Columns and classes that a schema may name, as `axes`; and rows of a person, as many as estimators take.
_MOST = 2**24
_MOST_ROWS = 2**62


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSchema:
    """Everything public about how rows are read.

    Attributes
    ----------
    columns : TableColumns
        Which columns of a table are what.
    n_features : int
        Number of columns of X, of encoded ones where there is a domain.
    domain : TableDomain, or None
        What the columns of the table hold; None: numbers.
    lower, upper : ndarray of shape (n_features,), or None
        Bounds: what is not finite is put within them in strict mode. None: of the largest floats.
    log_target : bool
        Whether a numeric target is modelled by its logarithm.
    bounds_y : pair of floats, or None
        Bounds of a numeric target in the units of the table.
    structured : bool
        Whether the target has fields, of events and times.
    kinds : tuple of str
        Kinds of observation that are declared, where it has.
    classes : ndarray, or None
        Classes of a target of labels.
    strict : bool
        Whether the rules of strict mode hold.
    max_rows_per_unit : int or None
        Rows of a person that count; None: the unit is the row.
    key : bytes
        Key of the choice of these rows; empty where there is none.
    """

    columns: TableColumns
    n_features: int
    domain: TableDomain | None = None
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    log_target: bool = False
    bounds_y: tuple[float, float] | None = None
    structured: bool = False
    kinds: tuple[str, ...] = _KINDS
    classes: NDArray[Any] | None = None
    strict: bool = False
    max_rows_per_unit: int | None = None
    key: bytes = b""

    def read(self, table: Any) -> Iterator[tuple[PreparedRows, int]]:
        """Read a batch piece by piece; also the number of persons, or rows, in each.

        Raises
        ------
        TypeError, ValueError
            The columns or their types are others; or, outside strict mode, a value cannot be used. No message
            repeats a value.
        """
        with config_context(strict=self.strict):
            pieces = read_pieces(table, self.columns, self.domain, self.classes)
            if self.max_rows_per_unit is None:
                for piece in pieces:
                    rows = self._prepare(piece)
                    yield rows, rows.n_rows
                return
            # All rows of a person are looked at together.
            whole = Piece.joined(list(pieces))
            if whole is None:
                return
            units = self._units(whole)
            rows = self._prepare(whole)
            yield rows.keeping(units.choose_rows(self.max_rows_per_unit, self.key)), units.n_units

    def _check_width(self, piece: Piece) -> int:
        if piece.X.ndim != 2 or piece.X.shape[1] != self.n_features:
            raise ValueError(f"a batch must have {self.n_features} columns of features.")
        return len(piece.X)

    def _units(self, piece: Piece) -> RowUnits:
        units = number_units(piece.group, np.ones(len(piece.X), dtype=bool), strict=self.strict)
        if units is None:
            raise ValueError("a batch must name the person of every row.")
        return units

    def _prepare(self, piece: Piece) -> PreparedRows:
        self._check_width(piece)
        X = piece.X
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
            raise ValueError("a batch must have the form of target that the others have.")
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            **self.columns.to_dict(),
            "n_features": self.n_features,
            "log_target": self.log_target,
            "bounds_y": None if self.bounds_y is None else list(self.bounds_y),
            "structured": self.structured,
            "classes": None if self.classes is None else self.classes.tolist(),
            "lower": None if self.lower is None else self.lower.tolist(),
            "upper": None if self.upper is None else self.upper.tolist(),
            "strict": self.strict,
            "max_rows_per_unit": self.max_rows_per_unit,
            "key": self.key.hex(),
            "domain": None if self.domain is None else self.domain.to_dict(),
            "observations": list(self.kinds),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "RowSchema":
        """Restore the schema; ValueError for what `to_dict` would not write."""
        fields = Fields(content, _FIELDS, what="a schema")
        declared = fields.maybe(fields.mapping, "domain")
        structured = fields.flag("structured")
        kinds = tuple(fields.texts("observations"))
        if kinds != _KINDS and check_observations(kinds, structured) != kinds:
            raise ValueError("a schema: the kinds of observation are not in the one form that is written")
        n_features = fields.integer("n_features", 0, _MOST)
        lower = fields.maybe(fields.numbers, "lower", n_features)
        upper = fields.maybe(fields.numbers, "upper", n_features)
        if (lower is None) != (upper is None):
            raise ValueError("a schema: lower and upper belong together")
        bounds_y = fields.maybe(fields.numbers, "bounds_y", 2)
        log_target = fields.flag("log_target")
        classes = fields.maybe(fields.items, "classes")
        key, grouped = (
            bytes.fromhex(fields.text("key")),
            fields.maybe(fields.integer, "max_rows_per_unit", 1, _MOST_ROWS),
        )
        if len(key) != (0 if grouped is None else KEY_BYTES):
            raise ValueError("a schema: the key must have eight bytes where persons are protected")
        return cls(
            columns=TableColumns.from_fields(fields),
            n_features=n_features,
            domain=None if declared is None else TableDomain.from_dict(declared),
            lower=None if lower is None else np.array(lower),
            upper=None if upper is None else np.array(upper),
            log_target=log_target,
            bounds_y=None if bounds_y is None else check_target_bounds(bounds_y, log_target),
            structured=structured,
            kinds=kinds,
            classes=None if classes is None else declared_classes(classes),
            strict=fields.flag("strict"),
            max_rows_per_unit=grouped,
            key=key,
        )
