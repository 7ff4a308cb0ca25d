# SPDX-License-Identifier: BSD-3-Clause
"""Amounts and public quantities as plain JSON values, and back."""

import base64
import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from ...utils._json_documents import unpack_bytes
from .._amounts import from_signed_text, from_text, to_text


def encode_amount(amount: Fraction | float | None) -> dict[str, Any] | None:
    """Write an amount exactly and rounded; JSON has no infinity."""
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
    """Read the exact part of `encode_amount` back."""
    return None if amount is None else decode_required(amount)


def decode_required(amount: Any) -> Fraction | float:
    """Read the exact part of an amount that is there."""
    return math.inf if amount["exact"] == "infinity" else from_text(amount["exact"])


def decode_number(amount: Any) -> float:
    """Read an amount that was a float."""
    return float(decode_required(amount))


def decode_scale(amount: Any) -> Fraction | float | None:
    """Read a sensitivity or a scale of noise, whole numbers as int."""
    found = decode_amount(amount)
    return found.numerator if isinstance(found, Fraction) and found.denominator == 1 else found


def encode_value(value: Any) -> Any:
    """Write an unprotected quantity; what JSON does not have becomes an object with its type as only name."""
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
    """Read `encode_value` back; what it would not write is one of the errors of a reader's parts."""
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
        raise ValueError("A quantity is written as a float's text, and is finite or no number.")
    return float(text)


def _duration(parts: Any) -> timedelta:
    if type(parts) is not list or len(parts) != 3 or any(type(part) is not int for part in parts):
        raise ValueError("A duration must be three whole numbers.")
    days, seconds, microseconds = parts
    return timedelta(days, seconds, microseconds)


# A datetime is a date too: the first kind that fits counts.
_TAGGED: tuple[tuple[type, str, Any, Any], ...] = (
    (Fraction, "fraction", str, from_signed_text),
    (datetime, "datetime", datetime.isoformat, datetime.fromisoformat),
    (date, "date", date.isoformat, date.fromisoformat),
    (timedelta, "duration", lambda value: [value.days, value.seconds, value.microseconds], _duration),
    (bytes, "base64", lambda value: base64.b64encode(value).decode(), unpack_bytes),
)
_READERS: Mapping[str, Any] = {"float": _float} | {tag: read for _, tag, _, read in _TAGGED}
