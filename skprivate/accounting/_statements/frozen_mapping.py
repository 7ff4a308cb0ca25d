# SPDX-License-Identifier: BSD-3-Clause
"""Read-only, hashable copies of the mappings and sequences that a record is given."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ...utils import check_characters
from ...utils._public_module import public_module
from .._checks import check_text

_PLAIN = (str, bytes, int, float, Fraction, date, timedelta, type(None))


@public_module("skprivate.accounting")
class FrozenMapping(Mapping[str, Any]):
    """A read-only, hashable mapping that stays one through pickle and copy, as MappingProxyType does not."""

    __slots__ = ("_items",)
    _items: Mapping[str, Any]

    def __init__(self, items: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_items", MappingProxyType(dict(items)))

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("This mapping is read-only.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("This mapping is read-only.")

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(dict(self._items))

    def __reduce__(self) -> tuple[type["FrozenMapping"], tuple[dict[str, Any]]]:
        return FrozenMapping, (dict(self._items),)


def freeze_mapping(items: Any, name: str) -> FrozenMapping:
    """Return a read-only copy of a mapping with text keys; `name` stands for it in errors."""
    if not isinstance(items, Mapping):
        raise TypeError(f"{name} must be a mapping, got {type(items).__name__}.")
    for key in items:
        check_text(key, f"each key of {name}")
    return FrozenMapping({str(key): _freeze(value, name) for key, value in items.items()})


def _freeze(value: Any, name: str) -> Any:
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, pandas columns, without importing either
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(item, name) for item in value)
    if isinstance(value, Mapping):
        return freeze_mapping(value, name)
    if isinstance(value, str):
        check_characters(value, f"a text in {name}")
    if not isinstance(value, _PLAIN):
        raise TypeError(f"{name} holds a {type(value).__name__}; give text, numbers, sequences or mappings.")
    return value
