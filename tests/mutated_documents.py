# SPDX-License-Identifier: BSD-3-Clause
"""Mutations of documents: bytes flipped, cut or repeated, and JSON with hostile values in its place."""

import copy
import json
import math
import re
from typing import Any

import numpy as np

Generator = np.random.Generator

DEPTH = 10_000
# A text that stands for itself, without quotation marks, in the JSON: what `json.dumps` would not write.
# As the name of a field, which comes first, it keeps its marks.
_RAW_NAME, _RAW = re.compile(r'"@raw:([^@]*)@":'), re.compile(r'"@raw:([^@]*)@"')
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
_OTHERS = (None, True, False, [], {}, [[]], {"": None}, {"a": 1}, {"fraction": "1/2"})
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
        first, last = sorted(rng.integers(len(data) + 1, size=2).tolist())
        damage = rng.integers(5)
        if damage == 0:  # flip bits
            damaged = bytearray(data)
            for place in rng.integers(len(data), size=rng.integers(1, 9)) if data else ():
                damaged[place] ^= 1 << int(rng.integers(8))
            data = bytes(damaged)
        elif damage == 1:  # cut
            data = data[:last]
        elif damage == 2:  # repeat a block
            data = data[:last] + data[first:last] * int(rng.integers(1, 4)) + data[last:]
        elif damage == 3:  # remove a block
            data = data[:first] + data[last:]
        else:  # insert bytes, or replace some
            more = rng.bytes(int(rng.integers(1, 9)))
            data = data[:last] + more + data[last + len(more) * int(rng.integers(2)) :]
    return data


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
    how, value = rng.integers(8), holder[key]
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[_any_of(_TEXTS, rng)] = value
    elif how == 1:
        holder.insert(key, value)
    elif how == 2:
        other, place = _choose(holder, rng)
        # The part itself, not a copy: it may be nested too deep to be copied.
        holder[key] = other[place] if other is not None else []
    elif how == 3:
        holder[key] = _near(value, rng)
    elif how == 4 and isinstance(holder, dict) and written:
        holder[f"@raw:{json.dumps(key)[1:-1]}@"] = value
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
    return value * int(rng.integers(0, 4)) if isinstance(value, list) else [value]


def _any_of(values: Any, rng: Generator) -> Any:
    return values[rng.integers(len(values))]


def hostile(rng: Generator, written: bool) -> Any:
    """Return a value that no field should be."""
    how = rng.integers(6)
    if how == 0 and written:
        return f"@raw:{_any_of(_WRITTEN_ONLY, rng)}@"
    if how == 0:
        return _any_of((math.nan, math.inf, -math.inf, nested()), rng)
    if how < 4:
        return _any_of((_NUMBERS, _TEXTS, _OTHERS)[how - 1], rng)
    repeated = _any_of((_NUMBERS, _TEXTS)[how - 4], rng)
    return [repeated] * int(rng.integers(5))


def write_json(content: Any) -> bytes:
    """Return JSON; texts that stand for themselves lose their quotation marks."""
    text = json.dumps(content, separators=(",", ":"))
    return _RAW.sub(lambda match: match[1], _RAW_NAME.sub(r'"\1":', text)).encode("ascii", "surrogatepass")
