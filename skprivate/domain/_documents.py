# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of columns as plain lists, numbers and texts that are checked when they come back."""

from collections.abc import Callable, Mapping
from typing import Any

from ..utils._json_documents import UNREADABLE, Fields, check_envelope
from ._columns import BooleanColumn, CategoricalColumn, Column, DateColumn, NumberColumn
from ._stress_columns import StressColumn

FORMAT = "skprivate.domain"
VERSION = 1
# Fields that a column has only where its text is written in another way than usual.
_WRITTEN = {"decimal": ".", "thousands": None, "unit": None, "format": None}
_COMMON = ("name", "kind", "missing", "fill", "missing_values")


def columns_to_dict(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return the document of columns."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "columns": [_column_to_dict(name, column) for name, column in columns.items()],
    }


def _column_to_dict(name: str, column: Column) -> dict[str, Any]:
    common = {
        "name": name,
        "kind": column.kind,
        "missing": column.missing,
        "fill": column.fill,
        "missing_values": list(column.missing_values),
    }
    if isinstance(column, CategoricalColumn):
        return common | {"levels": list(column.levels), "ordered": column.ordered}
    if isinstance(column, StressColumn):
        common = common | {"law": column.law}
    if isinstance(column, NumberColumn | DateColumn):
        written = {name: getattr(column, name, usual) for name, usual in _WRITTEN.items()}
        unusual = {name: sign for name, sign in written.items() if sign != _WRITTEN[name]}
        return common | {"lower": column.lower, "upper": column.upper} | unusual
    return common


def columns_from_dict(state: Any) -> dict[str, Column]:
    """Return the columns of a document.

    Parameters
    ----------
    state : object
        Parsed JSON.

    Returns
    -------
    columns : dict

    Raises
    ------
    ValueError
        Anything that `columns_to_dict` does not return; the message repeats no content.
    """
    check_envelope(state, FORMAT, VERSION, ("columns",))
    fields = Fields({"columns": state["columns"]}, ("columns",), what="the domain")
    try:
        found = [_column_from_dict(one) for one in fields.items("columns")]
    except UNREADABLE as error:
        raise ValueError(f"a column of it is no declaration: {error}") from None
    if len(dict(found)) < len(found):
        raise ValueError("it declares a column twice")
    return dict(found)


def _column_from_dict(state: Any) -> tuple[str, Column]:
    kind = state.get("kind") if isinstance(state, dict) else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError("its kind must be one of " + ", ".join(_KINDS))
    own, build = _KINDS[kind]
    written = [name for name in _WRITTEN if name in state and (name == "format") is (kind == "date")]
    fields = Fields(state, (*_COMMON, *own, *(written if "lower" in own else ())), what="a column")
    column = build(
        fields,
        {
            **{name: fields.text(name) for name in written if "lower" in own},
            "missing": fields.text("missing"),
            "fill": state["fill"],
            "missing_values": fields.items("missing_values"),
        },
    )
    return fields.text("name"), column


def _number(fields: Fields, common: dict[str, Any]) -> Column:
    return NumberColumn(fields.number("lower"), fields.number("upper"), **common)


def _stress(fields: Fields, common: dict[str, Any]) -> Column:
    law: Any = fields.text("law")  # checked by the column
    return StressColumn(fields.number("lower"), fields.number("upper"), law, **common)


def _date(fields: Fields, common: dict[str, Any]) -> Column:
    return DateColumn(fields.text("lower"), fields.text("upper"), **common)


def _categorical(fields: Fields, common: dict[str, Any]) -> Column:
    return CategoricalColumn(fields.items("levels"), fields.flag("ordered"), **common)


def _boolean(fields: Fields, common: dict[str, Any]) -> Column:
    return BooleanColumn(**common)


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Fields, dict[str, Any]], Column]]] = {
    "number": (("lower", "upper"), _number),
    "stress": (("lower", "upper", "law"), _stress),
    "date": (("lower", "upper"), _date),
    "categorical": (("levels", "ordered"), _categorical),
    "boolean": ((), _boolean),
}
