# SPDX-License-Identifier: BSD-3-Clause
"""Checks of fields that several records share, and what becomes of characters that could forge a report."""

import re
from typing import Any

from ..utils import check_characters

# Control characters and separators of lines and paragraphs (Unicode's Cc, Zl and Zp), which begin a line or
# steer a terminal; embeddings, overrides and isolates of the bidirectional algorithm, which reorder a line.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# What a report shows escaped besides: characters without width that a name can do without, and with which two
# names look the same. Texts may hold them.
_UNSEEN = re.compile("[\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\U000e0000-\U000e007f]")


def check_text(value: object, name: str) -> None:
    """Refuse what is no text, empty text, text that no file can hold, and control characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}.")
    if not value.strip():
        raise ValueError(f"{name} must not be empty.")
    check_characters(value, name)
    if _CONTROLS.search(value):
        raise ValueError(
            f"{name} must not hold a line break or another control character, which could forge a line of a "
            "report. Write it on one line, with spaces."
        )


def escape_controls(text: str) -> str:
    """Return a text in which control characters are shown, as in a Python string: a line stays one.

    Shown are characters that nobody sees, too. Joiners and marks of direction stay: scripts need them.
    """
    for unwanted in (_CONTROLS, _UNSEEN):
        text = unwanted.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
    return text


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
