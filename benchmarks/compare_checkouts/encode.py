# SPDX-License-Identifier: BSD-3-Clause
"""Canonical JSON of anything that a case yields: exact floats, and nothing that changes from run to run."""

import dataclasses
import datetime
import enum
import hashlib
import inspect
import re
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

# Numbers of a larger array, bytes of a longer string, are replaced by their digest.
LARGEST_SHOWN = 64
_DEEPEST = 7
# What differs from run to run, or names a private module, and what stands for it.
_PATTERNS = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00| UTC|Z)?"), "<time>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"\bskprivate(?:\.\w+)*\._\w+(?:\.\w+)*\.(?=\w)"), ""),
    # Classes report the module that they are imported from, or that defines them.
    (re.compile(r"\bskprivate(?:\.\w+)*\.(?=_?[A-Z])"), ""),
    # scikit-learn's pages shorten objects in the middle of their module and address.
    (re.compile(r"&lt;skprivate[^&]*&gt;"), "<object>"),
    (re.compile(r" at 0x[0-9a-f]+"), ""),
    (re.compile(r"sk-(container|estimator)-id-\d+"), r"sk-\1-id"),
    (re.compile(re.escape(tempfile.gettempdir()) + r"/cmp-[^/\s'\"]*"), "<folder>"),
]
_fingerprints: list[tuple[str, str]] = []


def normalise_fingerprints(package: Any) -> None:
    """Replace from now on what changes with every edit of the package: the digests of its own files."""
    for name in ("sha256_sources", "sha256_kernels"):
        _fingerprints.append((getattr(package, name), f"<{name}>"))


def clean(text: str) -> str:
    """Take times, addresses, temporary folders, fingerprints and private modules out of a text."""
    for digest, name in _fingerprints:
        # Statements shorten digests.
        for length in (64, 32, 16, 12, 10, 8):
            text = text.replace(digest[:length], name)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def page(html: str) -> list[str]:
    """Return the lines of a page but for its style and scripts; sorted, as tables sort renamed rows."""
    html = re.sub(r"(?s)<(style|script)\b.*?</\1>", "", html)
    html = re.sub(r'(?s)<span class="param-doc-description".*?</span>', "", html)
    return sorted(line for raw in html.splitlines() if (line := clean(raw).strip()))


def encode(value: Any, depth: int = 0, seen: tuple[int, ...] = ()) -> Any:
    """Return a value as JSON; equal values give equal JSON, and different ones different JSON."""
    if value is None or isinstance(value, bool | np.bool_):
        return value if value is None else bool(value)
    if isinstance(value, enum.Enum):
        return str(value)
    for kinds, convert in _PLAIN:
        if isinstance(value, kinds):
            return convert(value)
    if depth > _DEEPEST or id(value) in seen:
        return f"<{type(value).__name__}>"
    inside = (depth + 1, (*seen, id(value)))
    return _container(value, *inside)


def _container(value: Any, *inside: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _array(value, *inside)
    if isinstance(value, Mapping):
        return _mapping(value, *inside)
    if isinstance(value, list | tuple):
        return [encode(item, *inside) for item in value]
    if isinstance(value, set | frozenset):
        return {"set": sorted((encode(item, *inside) for item in value), key=repr)}
    if sparse.issparse(value):
        return {"sparse": _array(value.toarray(), *inside)}
    return _object(value, *inside)


def _bytes(value: Any) -> Any:
    raw = bytes(value)
    return {"bytes": raw.hex() if len(raw) <= LARGEST_SHOWN else _digest(raw), "length": len(raw)}


def _digest(raw: bytes) -> str:
    return "sha256 " + hashlib.sha256(raw).hexdigest()


_PLAIN: list[tuple[Any, Any]] = [
    ((int, np.integer), int),
    (str, lambda value: clean(str(value))),
    ((float, np.floating), lambda value: "float " + np.float64(value).tobytes().hex()),
    (Fraction, lambda value: f"fraction {value}"),
    ((bytes, bytearray, memoryview), _bytes),
    ((datetime.datetime, datetime.date), lambda value: "<time>"),
    (type, lambda value: f"class {value.__name__}"),
    (np.random.RandomState | np.random.Generator, lambda value: f"<{type(value).__name__}>"),
]


def _array(value: np.ndarray, depth: int, seen: tuple[int, ...]) -> Any:
    if value.dtype.kind == "O":
        items: Any = [encode(item, depth, seen) for item in value.ravel()]
    elif value.size > LARGEST_SHOWN:
        items = _digest(np.ascontiguousarray(value).tobytes())
    elif value.dtype.names:
        items = value.tobytes().hex()
    else:
        items = [encode(item, depth, seen) for item in value.ravel().tolist()]
    return {"dtype": str(value.dtype), "shape": list(value.shape), "items": items}


def _mapping(value: Mapping[Any, Any], depth: int, seen: tuple[int, ...]) -> Any:
    if all(isinstance(key, str) for key in value):
        return {clean(key): encode(item, depth, seen) for key, item in value.items()}
    pairs = [[encode(key, depth, seen), encode(item, depth, seen)] for key, item in value.items()]
    return {"pairs": sorted(pairs, key=repr)}


def _object(value: Any, depth: int, seen: tuple[int, ...]) -> Any:
    if inspect.isroutine(value):
        return f"<function {getattr(value, '__name__', '')}>"
    found: dict[str, Any] = {"class": type(value).__name__}
    if isinstance(value, BaseEstimator):
        found["parameters"] = _mapping(value.get_params(deep=False), depth, seen)
        found["fitted"] = encode(fitted(value), depth, seen)
        return found
    state = _state(value)
    if not state and type(value).__repr__ is not object.__repr__:
        return {**found, "repr": clean(repr(value))}
    return {**found, "state": _mapping(state, depth, seen)}


def _state(value: Any) -> dict[str, Any]:
    """Return what is public of an object, whether it keeps it in a dict, in slots or computes it."""
    kind, names = type(value), set(getattr(value, "__dict__", {}))
    if dataclasses.is_dataclass(value):
        names |= {field.name for field in dataclasses.fields(value)}
    if kind.__module__.startswith("skprivate"):
        names |= {name for name in dir(kind) if not callable(getattr(kind, name, None))}
    kept = (name for name in names if not name.startswith("_") and not name.endswith("_request"))
    return {name: read(value, name) for name in sorted(kept)}


def read(value: Any, name: str) -> Any:
    """Return an attribute, or what went wrong."""
    try:
        return getattr(value, name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def fitted(estimator: Any) -> dict[str, Any]:
    """Return all public fitted attributes of an estimator, those that are computed too."""
    kind = type(estimator)
    computed = (name for name in dir(kind) if isinstance(inspect.getattr_static(kind, name, None), property))
    names = {
        name for name in (*vars(estimator), *computed) if name.endswith("_") and not name.startswith("_")
    }
    return {name: read(estimator, name) for name in sorted(names)}
