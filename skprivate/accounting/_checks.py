# SPDX-License-Identifier: BSD-3-Clause
"""Checks of fields that several records share."""

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
