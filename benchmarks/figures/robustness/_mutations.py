# SPDX-License-Identifier: BSD-3-Clause
"""Mutations of documents: bytes flipped, cut or repeated, and JSON with hostile values in its place."""

import copy
import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

Generator = np.random.Generator

DEPTH = 10_000
# A text that stands for itself, without quotation marks, in the JSON: what `json.dumps` would not write.
_RAW = re.compile(r'"@raw:([^@]*)@"')
_NUMBERS = (
    *(0, -1, 1, 2, 3, 7, 31, 10**9, -(10**9), 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**30, 10**308),
    *(10**400, -(10**400), 10**4000),
    *(0.0, -0.0, 0.5, -1.5, 5e-324, 1e-300, 1e300, -1e300, 1.7976931348623157e308),
)
_TEXTS = (
    *("", " ", "a", "x" * 10_000, "\ud800", "\udcff", "\x00", "é", "null", "true", "nan", "inf", "-1", "1e9"),
    *("0/1", "1/0", "-1/2", "1/3", "1/2/3", f"{10**4000}/7", "9" * 5000, "1e999999999", "0x10", "1_000"),
    *("%%%", "AAAA", "AAAA" * 1000, "AB==", "../../etc/passwd", "{}", "{0.__class__}", "row", "dp", "local"),
)
_WRITTEN_ONLY = ("1e999", "-1e999", "NaN", "Infinity", "1" + "0" * 5000, "[" * DEPTH + "]" * DEPTH)


def nested(depth: int = DEPTH) -> list[Any]:
    """Return lists in each other, which `json` could not write."""
    whole: list[Any] = []
    for _ in range(depth):
        whole = [whole]
    return whole


def mutate_bytes(data: bytes, rng: Generator) -> bytes:
    """Return bytes with one to three damages."""
    for _ in range(int(rng.integers(1, 4))):
        data = _DAMAGES[rng.integers(len(_DAMAGES))](data, rng)
    return data


def _flip(data: bytes, rng: Generator) -> bytes:
    damaged = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)) if data else ():
        damaged[place] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def _cut(data: bytes, rng: Generator) -> bytes:
    return data[: rng.integers(len(data) + 1)]


def _block(data: bytes, rng: Generator) -> tuple[int, int]:
    first, last = sorted(rng.integers(len(data) + 1, size=2))
    return int(first), int(last)


def _repeat(data: bytes, rng: Generator) -> bytes:
    first, last = _block(data, rng)
    return data[:last] + data[first:last] * int(rng.integers(1, 4)) + data[last:]


def _remove(data: bytes, rng: Generator) -> bytes:
    first, last = _block(data, rng)
    return data[:first] + data[last:]


def _replace(data: bytes, rng: Generator) -> bytes:
    place = int(rng.integers(len(data) + 1))
    more = rng.bytes(int(rng.integers(1, 9)))
    return data[:place] + more + data[place + len(more) * int(rng.integers(2)) :]


_DAMAGES: tuple[Callable[[bytes, Generator], bytes], ...] = (_flip, _cut, _repeat, _remove, _replace)


def mutate_json(content: Any, rng: Generator, *, written: bool) -> Any:
    """Return a copy of parsed JSON with one or two parts changed.

    ``written``: the result goes through `write_json`, so that it may hold what only text can say.
    """
    content = copy.deepcopy(content)
    for _ in range(int(rng.integers(1, 3))):
        holder, key = _choose(content, rng)
        if holder is None:
            return content
        _change(holder, key, rng, written)
    return content


def _choose(content: Any, rng: Generator) -> tuple[Any, Any]:
    """Return any place in the content, at every depth as likely."""
    holder, key, value = None, None, content
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        holder, key = value, keys[rng.integers(len(keys))]
        value = holder[key]
        if rng.random() < 0.3:
            break
    return holder, key


def _change(holder: Any, key: Any, rng: Generator, written: bool) -> None:
    how = rng.integers(8)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[_text(rng)] = holder[key]
    elif how == 1:
        holder.insert(key, holder[key])
    elif how == 2:
        other, place = _choose(holder, rng)
        # The part itself, not a copy: it may be nested too deep to be copied.
        holder[key] = other[place] if other is not None else []
    elif how == 3:
        holder[key] = _near(holder[key], rng)
    elif how == 4 and isinstance(holder, dict) and written:
        holder[f"@raw:{json.dumps(key)[1:-1]}@"] = holder[key]
    else:
        holder[key] = hostile(rng, written)


def _near(value: Any, rng: Generator) -> Any:
    """Return a value of the same kind, another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.integers(-2, 3))
    if isinstance(value, float):
        return value * float(rng.uniform(-2, 2))
    if isinstance(value, str) and value:
        place = int(rng.integers(len(value)))
        return value[:place] + chr(int(rng.integers(32, 127))) + value[place + int(rng.integers(2)) :]
    if isinstance(value, list):
        return value * int(rng.integers(0, 4))
    return [value]


def _text(rng: Generator) -> str:
    return _TEXTS[rng.integers(len(_TEXTS))]


def hostile(rng: Generator, written: bool) -> Any:
    """Return a value that no field should be."""
    how = rng.integers(6)
    if how == 0:
        return _NUMBERS[rng.integers(len(_NUMBERS))]
    if how == 1:
        return _text(rng)
    if how == 2 and written:
        return f"@raw:{_WRITTEN_ONLY[rng.integers(len(_WRITTEN_ONLY))]}@"
    if how == 2:
        return (math.nan, math.inf, -math.inf, nested())[rng.integers(4)]
    if how == 3:
        return (None, True, False, [], {}, [[]], {"": None}, {"a": 1}, {"fraction": "1/2"})[rng.integers(9)]
    if how == 4:
        return [_NUMBERS[place] for place in rng.integers(len(_NUMBERS), size=rng.integers(5))]
    return [_text(rng)] * int(rng.integers(1, 4))


def write_json(content: Any) -> bytes:
    """Return JSON; texts that stand for themselves lose their quotation marks."""
    text = json.dumps(content, separators=(",", ":"))
    return _RAW.sub(lambda match: match[1], _KEYS.sub(r'"\1":', text)).encode("ascii", "surrogatepass")


# First: the name of a field keeps its marks.
_KEYS = re.compile(r'"@raw:([^@]*)@":')
