# SPDX-License-Identifier: BSD-3-Clause
"""Fields of statements: checks, read-only copies, conversion to JSON values and back, and the schema."""

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from fractions import Fraction
from importlib import resources
from types import MappingProxyType
from typing import Any, cast

from ...utils import check_characters
from ...utils._json_documents import UNREADABLE, check_nesting, unpack_bytes
from ...utils._public_module import public_module
from .._privacy_amounts import from_signed_text, from_text, to_text

# Control characters and separators of lines and paragraphs (Unicode's Cc, Zl and Zp): they begin a line or
# steer a terminal. Embeddings, overrides and isolates of the bidirectional algorithm: they reorder a line.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Characters without width, with which two different names look the same. Texts may hold them; a report
# escapes them.
_UNSEEN = re.compile("[\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\U000e0000-\U000e007f]")


def check_text(value: object, name: str) -> None:
    """Refuse values that are not texts, empty texts, texts that no file can hold, and control characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}.")
    if not value.strip():
        raise ValueError(f"{name} must not be empty.")
    check_characters(value, name)
    if _CONTROLS.search(value):
        raise ValueError(
            f"{name} must not hold a line break or another control character, which could forge a line of a "
            "report. Write it on one line, with spaces."
        )


def escape_controls(text: str) -> str:
    """Return a text with control characters escaped as in a Python string, so that a line stays one line.

    Invisible characters are escaped too. Joiners and marks of direction stay, since scripts need them.
    """
    for unwanted in (_CONTROLS, _UNSEEN):
        text = unwanted.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
    return text


def check_choice(value: object, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the allowed texts."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}.")
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}.")


def check_texts(values: Any, name: str) -> tuple[str, ...]:
    """Return several texts as a tuple; refuse a single text, and texts that `check_text` refuses."""
    # A str is a sequence of str: ("seeded") for ("seeded",) would become six reasons.
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{name} must be a tuple of str, got {type(values).__name__}.")
    for value in values:
        check_text(value, f"each of {name}")
    return tuple(values)


# Read-only, hashable copies of mappings and sequences.

_FROZEN_TYPES = (str, bytes, int, float, Fraction, date, timedelta, type(None))


@public_module("skprivate.accounting")
class FrozenMapping(Mapping[str, Any]):
    """A read-only, hashable mapping that, unlike MappingProxyType, can be pickled and copied."""

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
    """Return a read-only copy of a mapping with text keys; `name` is its name in errors."""
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
    if not isinstance(value, _FROZEN_TYPES):
        raise TypeError(f"{name} holds a {type(value).__name__}; give text, numbers, sequences or mappings.")
    return value


# Amounts and public quantities as plain JSON values, and back.


def encode_amount(amount: Fraction | float | None) -> dict[str, Any] | None:
    """Return an amount exactly and rounded, as JSON values; JSON has no infinity."""
    if amount is None:
        return None
    if amount == math.inf:
        return {"exact": "infinity", "value": None}
    exact = Fraction(amount)
    try:
        return {"exact": to_text(exact), "value": float(exact)}
    except OverflowError:
        return {"exact": to_text(exact), "value": None}


def decode_amount(amount: Any) -> Fraction | float | None:
    """Return the exact amount from the output of `encode_amount`."""
    return None if amount is None else decode_required(amount)


def decode_required(amount: Any) -> Fraction | float:
    """Return the exact amount from the output of `encode_amount`; None is not allowed."""
    return math.inf if amount["exact"] == "infinity" else from_text(amount["exact"])


def decode_number(amount: Any) -> float:
    """Return an amount that was a float."""
    return float(decode_required(amount))


def decode_scale(amount: Any) -> Fraction | float | None:
    """Return a sensitivity or a scale of noise, whole numbers as int."""
    found = decode_amount(amount)
    return found.numerator if isinstance(found, Fraction) and found.denominator == 1 else found


def encode_value(value: Any) -> Any:
    """Return an unprotected quantity as JSON values; a type unknown to JSON is an object named after it."""
    if isinstance(value, tuple):
        return [encode_value(item) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": {name: encode_value(item) for name, item in value.items()}}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    for kind, name, write, _ in _TAGGED:
        if isinstance(value, kind):
            return {name: write(value)}
    return value


def decode_value(value: Any) -> Any:
    """Return the quantity that `encode_value` wrote; anything else raises one of the errors of `readable`."""
    if isinstance(value, list):
        return tuple(decode_value(item) for item in value)
    if not isinstance(value, Mapping):
        return value
    if len(value) != 1:
        raise ValueError("An unprotected quantity has a form that no statement has.")
    ((name, content),) = value.items()
    if name == "mapping":
        return {key: decode_value(item) for key, item in content.items()}
    return _READERS[name](content)


def _float(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ValueError("A quantity is written as the text of a float, and is not inf, -inf or nan.")
    return float(text)


def _duration(parts: Any) -> timedelta:
    if type(parts) is not list or len(parts) != 3 or any(type(part) is not int for part in parts):
        raise ValueError("A duration must be three whole numbers.")
    days, seconds, microseconds = parts
    return timedelta(days, seconds, microseconds)


# A datetime is also a date: the first matching type counts.
_TAGGED: tuple[tuple[type, str, Any, Any], ...] = (
    (Fraction, "fraction", str, from_signed_text),
    (datetime, "datetime", datetime.isoformat, datetime.fromisoformat),
    (date, "date", date.isoformat, date.fromisoformat),
    (timedelta, "duration", lambda value: [value.days, value.seconds, value.microseconds], _duration),
    (bytes, "base64", lambda value: base64.b64encode(value).decode(), unpack_bytes),
)
_READERS: Mapping[str, Any] = {"float": _float} | {tag: read for _, tag, _, read in _TAGGED}


# The JSON schema of statements, their version, and the checks when a statement is read.

#: Increased when a reader of older statements would misread newer ones.
VERSION = 1
_SCHEMA = "privacy_spent.schema.json"


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the statements that ``to_dict`` writes.

    Returns
    -------
    schema : dict
        Schema of the statements of `PrivacySpent`, `PrivacyGuarantee` and `privacy_report`.

    Notes
    -----
    **Privacy**: a constant. A valid statement is well-formed; it need not be true.

    Examples
    --------
    >>> from skprivate.accounting import statement_schema
    >>> statement_schema()["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    text = resources.files(__package__).joinpath(_SCHEMA).read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def check_kind(statement: Any, kind: str) -> None:
    """Refuse anything but a statement of this kind and version."""
    if not isinstance(statement, Mapping):
        kind = type(statement).__name__
        raise TypeError(f"statement must be a mapping, got {kind}: of JSON, pass what json.loads returns.")
    with readable():
        check_nesting(statement)
    schema, version = statement.get("schema"), statement.get("version")
    if schema != kind:
        raise ValueError(f"The statement's schema must be {kind!r}, got {_shorten(schema)}.")
    if version != VERSION:
        raise ValueError(
            f"The statement is of version {_shorten(version)}; this package reads version {VERSION}."
        )


def _shorten(value: Any) -> str:
    short = isinstance(value, str | int | float | None) and len(text := f"{value!r:.41}") <= 40
    return text if short else f"something of type {type(value).__name__}"


@contextmanager
def readable() -> Iterator[None]:
    """Turn every error that the content of a statement causes into a ValueError with an explanation."""
    try:
        yield
    except UNREADABLE as error:
        # A check of a field explains the error in a sentence, other errors in a few words.
        sentence = type(error) is ValueError and str(error).endswith(".")
        problem = str(error) if sentence else f"The statement cannot be read: {describe_error(error)}."
        cause = error
    else:
        return
    raise ValueError(problem) from cause


def check_unchanged(again: Mapping[str, Any], statement: Mapping[str, Any]) -> None:
    """Refuse a statement that has unknown parts, or parts that contradict each other."""
    nothing = object()
    names = again.keys() | statement.keys()
    wrong = sorted(str(name) for name in names if again.get(name, nothing) != statement.get(name, nothing))
    if wrong:
        raise ValueError(
            f"The statement contradicts itself, or has parts that no statement has: {', '.join(wrong)}."
        )


def describe_error(error: Exception) -> str:
    """Return the cause of an error in a few words, for a reader of statements."""
    missing = isinstance(error, KeyError)
    return f"it has no {error}" if missing else str(error).rstrip(".")
