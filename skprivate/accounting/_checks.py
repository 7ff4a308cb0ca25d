# SPDX-License-Identifier: BSD-3-Clause
"""Checks of fields that several records share."""

from typing import Any

from ..utils import check_characters


def check_text(value: object, name: str) -> None:
    """Refuse what is no text, empty text, and text that no file can hold."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}.")
    if not value.strip():
        raise ValueError(f"{name} must not be empty.")
    check_characters(value, name)


def check_choice(value: object, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of some texts."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}.")
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}.")


def check_texts(values: Any, name: str) -> tuple[str, ...]:
    """Return several texts as a tuple; refuse what `check_text` refuses, and one text alone."""
    # A str is a sequence of str: ("seeded") for ("seeded",) would become six reasons.
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{name} must be a tuple of str, got {type(values).__name__}.")
    for value in values:
        check_text(value, f"each of {name}")
    return tuple(values)
