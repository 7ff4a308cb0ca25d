# SPDX-License-Identifier: BSD-3-Clause
"""Frozen records as JSON: fields are written as plain values, and validated by type and range when read."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np

from .._typing import FloatArray
from ..utils._json_documents import Fields


def stored(read: Callable[..., Any], *limits: Any, key: str = "", **options: Any) -> Any:
    """Return a field that ``read(fields, name, *limits)`` restores; `key` is its name in JSON."""
    return dataclasses.field(metadata={"read": read, "limits": limits, "key": key}, **options)


def spread(record: Any) -> Any:
    """Return a field whose record is written as fields of the enclosing record."""
    return dataclasses.field(metadata={"read": lambda fields, _: record._of_fields(fields), "spread": record})


class Record:
    """Base of frozen dataclasses all of whose fields are `stored` or `spread`.

    An optional class variable ``kind`` distinguishes the JSON of one class from that of another.
    """

    #: Name of the record in messages.
    _what: ClassVar[str] = "a plan"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        content = {"kind": self.kind} if hasattr(self, "kind") else {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            content |= value.to_dict() if "spread" in field.metadata else {_key(field): _plain(value)}
        return content

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Restore the record; ValueError for anything that `to_dict` would not write."""
        names = ["kind"] if hasattr(cls, "kind") else []
        return cls._of_fields(Fields(content, names + cls._names(), what=cls._what))

    @classmethod
    def _from_sealed(cls, content: dict[str, Any]) -> Self:
        return cls.from_dict({name: content[name] for name in cls._names()})

    @classmethod
    def _names(cls) -> list[str]:
        names: list[str] = []
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            names += field.metadata["spread"]._names() if "spread" in field.metadata else [_key(field)]
        return names

    @classmethod
    def _of_fields(cls, fields: Fields) -> Self:
        found = {
            field.name: field.metadata["read"](fields, _key(field), *field.metadata.get("limits", ()))
            for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        }
        record = cls(**found)
        record._check_fields()
        return record

    def _check_fields(self) -> None:
        """Raise ValueError if the fields contradict each other."""

    def _require(self, fits: Any, rule: str) -> None:
        if not fits:
            raise ValueError(f"{self._what}: {rule}")


def _key(field: "dataclasses.Field[Any]") -> str:
    return field.metadata.get("key") or field.name


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def maybe(fields: Fields, name: str, read: Callable[..., Any], *limits: Any) -> Any:
    """Return what `read` restores, None if the field is null."""
    return fields.maybe(lambda name: read(fields, name, *limits), name)


def array(fields: Fields, name: str, count: int | None = None) -> FloatArray:
    """Return finite numbers as an array."""
    return np.array(fields.numbers(name, count))


def pair(fields: Fields, name: str) -> tuple[float, float]:
    """Return two finite numbers."""
    low, high = fields.numbers(name, 2)
    return low, high


def texts(fields: Fields, name: str) -> tuple[str, ...]:
    """Return texts."""
    return tuple(fields.texts(name))


def integers(fields: Fields, name: str, least: int, most: int, problem: str) -> tuple[int, ...]:
    """Return integers within a range; otherwise ValueError with this text."""
    values = fields.items(name)
    if not all(type(value) is int and least <= value <= most for value in values):
        raise ValueError(problem)
    return tuple(values)


def record(fields: Fields, name: str, read: Callable[[Any], Any]) -> Any:
    """Return what `read` restores from an object."""
    return read(fields.mapping(name))


def records(fields: Fields, name: str, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return what `read` restores from every item of a list."""
    return tuple(map(read, fields.items(name)))


def of_kind(content: Any, classes: Iterable[Any], problem: str) -> Any:
    """Restore a record of one of several classes, by its kind."""
    kind = content.get("kind") if type(content) is dict else None
    found = [one for one in classes if one.kind == kind]
    if not found:
        raise ValueError(problem)
    return found[0].from_dict(content)


def refuse_sums(impossible: Any) -> None:
    """Raise ValueError if sums are impossible for the number of rows; the message repeats no sum."""
    if impossible:
        raise ValueError("the sums are impossible for this number of rows")
