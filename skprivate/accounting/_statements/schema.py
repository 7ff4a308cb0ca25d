# SPDX-License-Identifier: BSD-3-Clause
"""The JSON schema of statements, their version, and the checks of whoever reads one."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from typing import Any, cast

from ...utils._json_documents import UNREADABLE, check_nesting

#: Raised when a reader of older statements would misread newer ones.
VERSION = 1
_SCHEMA = "privacy_spent.schema.json"


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the statements that ``to_dict`` writes.

    Returns
    -------
    schema : dict
        It describes statements of `PrivacySpent`, of `PrivacyGuarantee` and of `privacy_report`.

    Notes
    -----
    **Privacy**: a constant. That a statement is valid says that it is well-formed, not that it is true.

    Examples
    --------
    >>> from skprivate.accounting import statement_schema
    >>> statement_schema()["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    text = resources.files(__package__).joinpath(_SCHEMA).read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def check_kind(statement: Any, kind: str) -> None:
    """Refuse what is no statement of this kind and version."""
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
    """Turn whatever a statement's content makes fail into a ValueError that says so."""
    try:
        yield
    except UNREADABLE as error:
        # A check of a field says what is wrong in a sentence, other errors say it in a few words.
        sentence = type(error) is ValueError and str(error).endswith(".")
        problem = str(error) if sentence else f"The statement cannot be read: {describe_error(error)}."
        cause = error
    else:
        return
    raise ValueError(problem) from cause


def check_unchanged(again: Mapping[str, Any], statement: Mapping[str, Any]) -> None:
    """Refuse a statement of which something is left over, or contradicts the rest."""
    nothing = object()
    names = again.keys() | statement.keys()
    wrong = sorted(str(name) for name in names if again.get(name, nothing) != statement.get(name, nothing))
    if wrong:
        raise ValueError(
            f"The statement contradicts itself, or holds what no statement has, in: {', '.join(wrong)}."
        )


def describe_error(error: Exception) -> str:
    """Say what an error was about, as a reader of statements sees it."""
    missing = isinstance(error, KeyError)
    return f"it has no {error}" if missing else str(error).rstrip(".")
