# SPDX-License-Identifier: BSD-3-Clause
"""States as JSON that is checked when it comes back: envelope, checksum, ranges of fields; no pickle.

Everything that the package reads back goes through `parse_json` or `check_nesting`, and through `Fields`: a
field that is not of its type and in its range is a ValueError, whose message repeats no content.
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

#: What a reader's parts may raise, and the reader reports as content that cannot be used.
UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
# What is written nests about ten deep; far below the limit of recursion.
_DEEPEST = 64
_NUMBERS = {int, float, bool, type(None)}
# Bytes of a file; the specification of a tree of 2^18 leaves needs about a fifth of it.
_LARGEST_FILE = 2**26


class Fields:
    """The fields of a JSON object, read by type and range: exactly those of the names.

    Parameters
    ----------
    content : object
        Parsed JSON.
    names : sequence of str
        All of them must be there.
    what : str, default="it"
        The object, for messages.

    Raises
    ------
    ValueError
        No object, or other fields; later, a field of another type or out of its range.
    """

    def __init__(self, content: Any, names: Sequence[str], *, what: str = "it") -> None:
        if type(content) is not dict or set(content) != set(names):
            raise ValueError(f"{what} must have the fields {', '.join(names)}")
        self._content: dict[str, Any] = content
        self._what = what

    def integer(self, name: str, least: int, most: int) -> int:
        """Return a whole number; true is none."""
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
        """Return what a method of this object reads, None where the field is null."""
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

    No number is infinite, no name stands twice in an object, no text holds half of a surrogate pair, and
    nothing nests deeper than what is written does.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        content = json.loads(
            # Editors put a mark of the byte order in front, and json.loads takes none in a str.
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
        raise ValueError("it holds a number beyond what a double holds")
    return number


def _different_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("it names a field twice")
    return content


def check_nesting(content: Any) -> None:
    """Refuse lists and objects in each other deeper than any that is written, and texts that are none."""
    level = [content]
    for _ in range(_DEEPEST):
        level = [inner for value in level if type(value) not in _NUMBERS for inner in _inner(value)]
        if not level:
            return
    raise ValueError("its lists and objects are nested too deep")


def _inner(value: Any) -> list[Any]:
    """Return what of a value needs to be looked at; not the numbers of a long list one by one."""
    if isinstance(value, str):
        check_characters(value, "a text in it")
        return []
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, list | tuple) and not set(map(type, value)) <= _NUMBERS:
        return list(value)
    return []


def restore_json(source: Any, build: Callable[[Any], Value], what: str) -> Value:
    """Return what `build` makes of the JSON in a text, in bytes or in a file.

    Parameters
    ----------
    source : str, bytes or path-like
        Bytes are JSON; a path-like object is a file. A str is JSON where `is_json_text`. Any other str is the
        name of a file, if there is one or if it ends in ".json".
    build : callable
        From parsed JSON to the object; ValueError for anything that it cannot use.
    what : str
        The object, for messages.

    Raises
    ------
    TypeError, ValueError, OSError
        A source of another type; neither JSON nor a file, or not such an object; a file that cannot be read.
        No message repeats what the source holds, but for what `build` says of it.
    """
    text, origin = _read_source(source, what)
    try:
        return build(parse_json(text))
    except ValueError as error:
        problem = str(error)
    raise ValueError(f"{origin} is no {what} that can be used: {problem}")


def _read_source(source: Any, what: str) -> tuple[str | bytes, str]:
    """Return JSON, and where it is from."""
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
    """Whether it is a str that begins, after white space, as documents in JSON do, and no name of a file."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith(("{", "["))


def as_bytes(data: Any) -> bytes:
    """Return bytes; TypeError for a text or a path, whose file is the caller's to read."""
    if not isinstance(data, bytes | bytearray | memoryview):
        kind = type(data).__name__
        raise TypeError(f"from_bytes takes bytes, not {kind}: for a file, pass Path(...).read_bytes().")
    return bytes(data)


def read_sealed(data: Any, format_name: str, version: int, fields: Sequence[str]) -> dict[str, Any]:
    """Return what `seal_document` wrote, without its checksum; ValueError for anything else."""
    text = as_bytes(data).removeprefix(codecs.BOM_UTF8)
    if not text.isascii():
        raise ValueError("it is not text")
    content = parse_json(text)
    check_envelope(content, format_name, version, (*fields, "checksum"))
    checksum = content.pop("checksum")
    if checksum != digest(content):
        raise ValueError("its content does not fit its checksum: it was changed or damaged")
    return dict(content)


def restore_sealed(
    data: Any, format_name: str, version: int, fields: Sequence[str], build: Callable[..., Sealed]
) -> Sealed:
    """Return the object that `build` makes of what `seal_document` wrote.

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
    """Return what `restore_sealed` does; the ValueError for other bytes repeats nothing of them."""
    data = as_bytes(data)
    try:
        return restore_sealed(data, format_name, version, fields, build)
    except UNREADABLE:
        pass
    # Raised outside the handler: the error below it may repeat the content.
    raise ValueError(
        f"these are no {what} that can be used: damaged, foreign, or of another version than {version}, "
        "which this package reads."
    )


def check_rewritten(content: dict[str, Any], again: bytes) -> None:
    """Refuse content that is not, to the last digit, what is written of the object that was read from it."""
    if json.loads(again)["checksum"] != digest(content):
        raise ValueError("a field is missing, or not in the one form that is written")


def seal_document(format_name: str, version: int, content: dict[str, Any]) -> bytes:
    """Return content as JSON with its format, version and checksum."""
    whole = {"format": format_name, "version": version, **content}
    return json.dumps(whole | {"checksum": digest(whole)}).encode("ascii")


def canonical(content: dict[str, Any]) -> bytes:
    """Return the one JSON of this content: sorted, without spaces, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal digits."""
    return hashlib.sha256(canonical(content)).hexdigest()


def pack_integers(array: IntArray) -> str:
    """Return an array of int64 as text; its shape is for the reader to know."""
    return base64.b64encode(array.astype("<i8").tobytes()).decode("ascii")


def unpack_integers(text: Any, shape: tuple[int, ...]) -> IntArray:
    """Return the array that `pack_integers` wrote; ValueError if it is not of this shape."""
    data = unpack_bytes(text)
    # Before room is made; -1 stands for any length.
    if -1 not in shape and len(data) != 8 * math.prod(shape):
        raise ValueError("an array is not of its shape")
    return np.frombuffer(data, dtype="<i8").astype(np.int64).reshape(shape)


def unpack_bytes(text: Any) -> bytes:
    """Return the bytes that a text holds in base64, written in its one way."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64.b64encode(data).decode("ascii") != text:
        raise ValueError("a field does not hold bytes in base64")
    return data
