# SPDX-License-Identifier: BSD-3-Clause
"""States as JSON with checks when they are read: envelope, checksum, ranges of fields; no pickle.

All states that the package reads pass `parse_json` or `check_nesting`, and `Fields`. A field of another type
or out of its range raises a ValueError. Its message repeats no content.
"""

import base64
import binascii
import codecs
import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from .._typing import IntArray
from ._arguments import check_characters


class _HasBytes(Protocol):
    def to_bytes(self) -> bytes: ...


Value = TypeVar("Value")
Sealed = TypeVar("Sealed", bound=_HasBytes)

#: Errors that parts of a reader may raise; the reader reports them as unusable content.
UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
# Set by hand: written documents nest about ten deep, and the limit of recursion is far above.
_DEEPEST = 64
_NUMBERS = {int, float, bool, type(None)}
# Bytes of a file, set by hand; the specification of a tree of 2^18 leaves needs about a fifth of it.
_LARGEST_FILE = 2**26


class Fields:
    """The fields of a JSON object, read by type and range; the object must have exactly these fields.

    Parameters
    ----------
    content : object
        Parsed JSON.
    names : sequence of str
        Names of the fields.
    what : str, default="it"
        Name of the object for messages.

    Raises
    ------
    ValueError
        The content is not an object, or has other fields. Methods raise it for a field of another type or out
        of its range.
    """

    def __init__(self, content: Any, names: Sequence[str], *, what: str = "it") -> None:
        if type(content) is not dict or set(content) != set(names):
            raise ValueError(f"{what} must have the fields {', '.join(names)}")
        self._content: dict[str, Any] = content
        self._what = what

    def integer(self, name: str, least: int, most: int) -> int:
        """Return a whole number; true is not one."""
        kind = f"a whole number from {least} to {most}"
        return self._one(name, int, kind, lambda value: least <= value <= most)

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self._content[name]
        if not _is_number(value):
            raise self._error(name, "a finite number")
        return float(value)

    def numbers(self, name: str, count: int | None = None) -> list[float]:
        """Return a list of finite numbers."""
        values = self._one(
            name,
            list,
            "a list of finite numbers",
            lambda found: count in (None, len(found)) and all(map(_is_number, found)),
        )
        return [float(value) for value in values]

    def text(self, name: str) -> str:
        """Return a text."""
        return self._one(name, str, "a text")

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        return self._one(name, list, "a list of texts", lambda it: all(type(value) is str for value in it))

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        return self._one(name, list, "a list of anything")

    def flag(self, name: str) -> bool:
        """Return true or false."""
        return self._one(name, bool, "true or false")

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an object."""
        return self._one(name, dict, "an object")

    def maybe(self, read: Callable[..., Value], name: str, *limits: Any) -> Value | None:
        """Return the value that a method of this object reads, or None if the field is null."""
        return None if self._content[name] is None else read(name, *limits)

    def _one(
        self, name: str, kind: type[Value], words: str, accepts: Callable[[Any], bool] = lambda value: True
    ) -> Value:
        value: Value = self._content[name]
        if type(value) is not kind or not accepts(value):
            raise self._error(name, words)
        return value

    def _error(self, name: str, kind: str) -> ValueError:
        return ValueError(f"{self._what}: {name} must be {kind}")


def _is_number(value: Any) -> bool:
    # False for NaN too.
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def check_envelope(state: Any, format_name: str, version: int, fields: Sequence[str]) -> None:
    """Refuse parsed JSON that is not an object of this format and version with exactly these fields."""
    if not isinstance(state, dict) or state.get("format") != format_name:
        raise ValueError(f"it is not of the format {format_name!r}")
    found = state.get("version")
    if type(found) is not int or found <= 0:
        raise ValueError(f"its version is not {version}")
    if found != version:
        known = f"reads {version} only: make it anew"
        if found > version:
            known = f"knows {version}: update skprivate"
        raise ValueError(f"it is of version {found}, and this version of skprivate {known}")
    if set(state) != {"format", "version", *fields}:
        raise ValueError(f"its fields must be {', '.join(('format', 'version', *fields))}")


def parse_json(text: str | bytes) -> Any:
    """Return parsed JSON; ValueError for anything else, without its content.

    No number may be infinite, no object may have a name twice, no text may hold half of a surrogate pair, and
    nothing may nest deeper than written documents do.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        content = json.loads(
            # Editors may write a byte order mark first, which json.loads refuses in a str.
            text.removeprefix("\ufeff"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_different_names,
        )
    except (json.JSONDecodeError, RecursionError, UnicodeError):
        raise ValueError("it is not JSON, or only a part of it") from None
    check_nesting(content)
    return content


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"it holds {constant}")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("it holds a number that a double cannot hold")
    return number


def _different_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("it names a field twice")
    return content


def check_nesting(content: Any) -> None:
    """Refuse lists and objects nested deeper than in any written document, and texts with surrogates."""
    level = [content]
    for _ in range(_DEEPEST):
        level = [inner for value in level if type(value) not in _NUMBERS for inner in _inner(value)]
        if not level:
            return
    raise ValueError("its lists and objects are nested too deep")


def _inner(value: Any) -> list[Any]:
    """Return the parts of a value to be checked, without the numbers of a long list."""
    if isinstance(value, str):
        check_characters(value, "a text in it")
        return []
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, list | tuple) and not set(map(type, value)) <= _NUMBERS:
        return list(value)
    return []


def restore_json(source: Any, build: Callable[[Any], Value], what: str) -> Value:
    """Return the object that `build` makes of the JSON in a text, in bytes or in a file.

    Parameters
    ----------
    source : str, bytes or path-like
        Bytes are JSON. A path-like object is a file. A str is JSON if `is_json_text`. Any other str is the
        name of a file, if there is one or if it ends in ".json".
    build : callable
        Takes parsed JSON and returns the object; ValueError for unusable content.
    what : str
        Name of the object for messages.

    Raises
    ------
    TypeError, ValueError, OSError
        The source has another type, is neither JSON nor a file, or holds another object. The file cannot be
        read. No message repeats the content of the source, except in the words of `build`.
    """
    text, origin = _read_source(source, what)
    try:
        return build(parse_json(text))
    except ValueError as error:
        problem = str(error)
    raise ValueError(f"{origin} is no {what} that can be used: {problem}")


def _read_source(source: Any, what: str) -> tuple[str | bytes, str]:
    """Return JSON and its origin."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), "what these bytes hold"
    if not isinstance(source, str | os.PathLike):
        kind = type(source).__name__
        raise TypeError(f"a {what} is read from JSON text, bytes or the path of a file, not {kind}.")
    if is_json_text(source):
        return str(source), "this text"
    if isinstance(source, str) and not source.endswith(".json") and not os.path.isfile(source):
        raise ValueError(f"this text is no {what}: it is not JSON, and there is no file of this name.")
    path = Path(source)
    if path.stat().st_size > _LARGEST_FILE:
        raise ValueError(f"{path} is too large for a {what}")
    return path.read_bytes(), str(path)


def is_json_text(source: Any) -> bool:
    """Return whether a str begins, after white space, like a document in JSON and not like a file name."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith(("{", "["))


def as_bytes(data: Any) -> bytes:
    """Return bytes; TypeError for a text or a path."""
    if not isinstance(data, bytes | bytearray | memoryview):
        kind = type(data).__name__
        raise TypeError(f"from_bytes takes bytes, not {kind}: for a file, pass Path(...).read_bytes().")
    return bytes(data)


def read_sealed(data: Any, format_name: str, version: int, fields: Sequence[str]) -> dict[str, Any]:
    """Return the content that `seal_document` wrote, without its checksum; ValueError for anything else."""
    text = as_bytes(data).removeprefix(codecs.BOM_UTF8)
    if not text.isascii():
        raise ValueError("it is not text")
    content = parse_json(text)
    check_envelope(content, format_name, version, (*fields, "checksum"))
    checksum = content.pop("checksum")
    if checksum != digest(content):
        raise ValueError("its content does not match its checksum: it was changed or damaged")
    return dict(content)


def restore_sealed(
    data: Any, format_name: str, version: int, fields: Sequence[str], build: Callable[..., Sealed]
) -> Sealed:
    """Return the object that `build` makes of the output of `seal_document`.

    One of `UNREADABLE` is raised for anything else, and for content that the object's ``to_bytes`` would not
    write.
    """
    content = read_sealed(data, format_name, version, fields)
    restored = build(content)
    check_rewritten(content, restored.to_bytes())
    return restored


def restore_in_silence(
    data: Any, format_name: str, version: int, fields: Sequence[str], build: Callable[..., Sealed], what: str
) -> Sealed:
    """Return the object of `restore_sealed`; the ValueError for other bytes does not repeat their content."""
    data = as_bytes(data)
    try:
        return restore_sealed(data, format_name, version, fields, build)
    except UNREADABLE:
        pass
    # It is raised outside the handler, because the original error may repeat the content.
    raise ValueError(
        f"these are no {what} that can be used: damaged, foreign, or of another version than {version}, "
        "which this package reads."
    )


def check_rewritten(content: dict[str, Any], again: bytes) -> None:
    """Refuse content that differs, in any digit, from the output of the object that was read from it."""
    if json.loads(again)["checksum"] != digest(content):
        raise ValueError("a field is missing, or not in the one form that is written")


def seal_document(format_name: str, version: int, content: dict[str, Any]) -> bytes:
    """Return content as JSON with its format, version and checksum."""
    whole = {"format": format_name, "version": version, **content}
    return json.dumps(whole | {"checksum": digest(whole)}).encode("ascii")


def canonical(content: dict[str, Any]) -> bytes:
    """Return the canonical JSON of this content: sorted, without spaces, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal digits."""
    return hashlib.sha256(canonical(content)).hexdigest()


def pack_integers(array: IntArray) -> str:
    """Return an array of int64 as text; the reader must know its shape."""
    return base64.b64encode(array.astype("<i8").tobytes()).decode("ascii")


def unpack_integers(text: Any, shape: tuple[int, ...]) -> IntArray:
    """Return the array that `pack_integers` wrote; ValueError if it is not of this shape."""
    data = unpack_bytes(text)
    # Checked before memory is allocated; -1 means any length.
    if -1 not in shape and len(data) != 8 * math.prod(shape):
        raise ValueError("an array is not of its shape")
    return np.frombuffer(data, dtype="<i8").astype(np.int64).reshape(shape)


def unpack_bytes(text: Any) -> bytes:
    """Return the bytes of a text in base64, which must be in its canonical form."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64.b64encode(data).decode("ascii") != text:
        raise ValueError("a field does not hold bytes in base64")
    return data
