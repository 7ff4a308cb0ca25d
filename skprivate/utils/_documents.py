# SPDX-License-Identifier: BSD-3-Clause
"""States as JSON that is checked when it comes back: envelope, checksum, arrays of integers; no pickle."""

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_envelope(state: Any, format_name: str, version: int, fields: Sequence[str]) -> None:
    """Refuse parsed JSON that is not an object of this format and version with exactly these fields."""
    if not isinstance(state, dict) or state.get("format") != format_name:
        raise ValueError(f"it is not of the format {format_name!r}")
    found = state.get("version")
    if type(found) is int and found > version:
        raise ValueError(
            f"it is of version {found}, and this version of skprivate knows {version}: update skprivate"
        )
    if type(found) is int and 0 < found < version:
        raise ValueError(
            f"it is of version {found}, and this version of skprivate reads {version} only: make it anew"
        )
    if type(found) is not int or found != version:
        raise ValueError(f"its version is not {version}")
    if set(state) != {"format", "version", *fields}:
        raise ValueError(f"its fields must be {', '.join(('format', 'version', *fields))}")


def parse_json(text: str) -> Any:
    """Return parsed JSON; ValueError for anything else, without its content."""

    def refuse(constant: str) -> None:
        raise ValueError(f"it holds {constant}")

    try:
        return json.loads(text, parse_constant=refuse)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("it is not JSON, or only a part of it") from None


def canonical(content: dict[str, Any]) -> bytes:
    """Return the one JSON of this content: sorted, without spaces, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal digits."""
    return hashlib.sha256(canonical(content)).hexdigest()


def pack_integers(array: NDArray[np.int64]) -> str:
    """Return an array of int64 as text; its shape is for the reader to know."""
    return base64.b64encode(array.astype("<i8").tobytes()).decode("ascii")


def unpack_integers(text: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the array that `pack_integers` wrote; ValueError if it is not of this shape."""
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<i8").astype(np.int64).reshape(shape)
